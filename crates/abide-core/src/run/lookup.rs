//! What a row does whose lookup was turned away: a row that is calls of the program's own, which
//! wait for nothing themselves.

use std::time::Duration;

use super::{End, Item, LaneId, Run, Turn};
use crate::refusal::{Refusal, RefusalKind};
use crate::time::Instant;
use crate::verdict::Verdict;

/// How long a row waits whose turn comes at a time that nobody knows (a probe is out). Default
/// 250 ms: short enough to lose nothing, long enough to cost nothing.
const NOBODY_KNOWS: Duration = Duration::from_millis(250);

/// What a row does next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Step {
    /// Look up again, then.
    Again(Instant),
    /// It is over.
    Over(End),
}

impl Run {
    /// A row's lookup was turned away by the provider its run depends on. `held` is until when that
    /// one is closed as a whole.
    pub fn turned(
        &mut self,
        now: Instant,
        lane: LaneId,
        item: Item,
        refusal: &Refusal,
        held: Option<Instant>,
    ) -> Step {
        let known = refusal.retry_at.max(held);
        let until = known.unwrap_or_else(|| now.after(NOBODY_KNOWS));
        match refusal.cause {
            // Only in line: its turn comes, and nobody refused it.
            None if refusal.kind == RefusalKind::QueueTooLong => Step::Again(until),
            // The provider's answer about this row.
            Some(Verdict::NotFound | Verdict::ClientError | Verdict::AuthError) => {
                Step::Over(End::Answered)
            }
            Some(Verdict::Unavailable) if held.is_none() => Step::Over(End::Unavailable {
                open: false,
                retry_at: refusal.retry_at,
            }),
            // Neither is waited for in a run.
            Some(Verdict::QuotaExhausted | Verdict::Banned) => Self::given_up(refusal),
            _ => {
                let patience = self.policy_of(lane).patience;
                let waits = self.refused(now, lane, item, until) == Turn::Wait
                    && self.closed(now, lane, until, patience) == Turn::Wait;
                match waits {
                    true => Step::Again(until),
                    false => Self::given_up(refusal),
                }
            }
        }
    }

    fn given_up(refusal: &Refusal) -> Step {
        Step::Over(End::Refused(Box::new(refusal.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::RunPolicy;
    use super::*;
    use crate::refusal::DecidedBy;

    fn at(secs: u64) -> Instant {
        Instant::from_secs(secs)
    }

    fn refusal(kind: RefusalKind, cause: Option<Verdict>, retry_at: Option<Instant>) -> Refusal {
        let mut r = Refusal::new(kind, DecidedBy::Provider);
        (r.cause, r.retry_at) = (cause, retry_at);
        r
    }

    fn run() -> (Run, LaneId) {
        let mut run = Run::new(RunPolicy::default());
        let lane = run.lane();
        run.add(lane, 0, 0);
        (run, lane)
    }

    #[test]
    fn a_row_in_line_comes_again_when_anybody_knows_or_soon() {
        let (mut run, lane) = run();
        let line = refusal(RefusalKind::QueueTooLong, None, None);
        let step = run.turned(at(1), lane, 0, &line, None);
        assert_eq!(step, Step::Again(Instant::from_millis(1_250)));
        let line = refusal(RefusalKind::QueueTooLong, None, Some(at(9)));
        assert_eq!(run.turned(at(1), lane, 0, &line, None), Step::Again(at(9)));
    }

    #[test]
    fn a_hold_is_waited_out_three_times_and_a_quota_never() {
        let (mut run, lane) = run();
        let held = refusal(RefusalKind::Held, Some(Verdict::RateLimited), Some(at(10)));
        for _ in 0..3 {
            assert_eq!(run.turned(at(1), lane, 0, &held, None), Step::Again(at(10)));
        }
        let over = Step::Over(End::Refused(Box::new(held.clone())));
        assert_eq!(run.turned(at(1), lane, 0, &held, None), over);
        let day = refusal(
            RefusalKind::Held,
            Some(Verdict::QuotaExhausted),
            Some(at(2)),
        );
        let over = Step::Over(End::Refused(Box::new(day.clone())));
        assert_eq!(run.turned(at(1), lane, 1, &day, None), over);
    }

    #[test]
    fn an_answer_about_the_row_ends_the_row_alone() {
        let (mut run, lane) = run();
        let missing = refusal(RefusalKind::AttemptsSpent, Some(Verdict::NotFound), None);
        let over = Step::Over(End::Answered);
        assert_eq!(run.turned(at(1), lane, 0, &missing, None), over);
        let broken = refusal(RefusalKind::AttemptsSpent, Some(Verdict::Unavailable), None);
        let (open, retry_at) = (false, None);
        let over = Step::Over(End::Unavailable { open, retry_at });
        assert_eq!(run.turned(at(1), lane, 0, &broken, None), over);
    }
}
