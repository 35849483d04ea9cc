//! What a call does next after a recorded answer: whether it is sent again, waits, or is turned
//! away. Decided by the core's own [`Call`], with its defaults.

use std::time::Duration;

use abide_core::budget::{Budget, BudgetPolicy, RepeatCause};
use abide_core::call::{Attempt, Call, CallPolicy, Plan, Safety};
use abide_core::classify::ClassifyPolicy;
use abide_core::policy::ProviderPolicy;
use abide_core::{Instant, Verdict};
use http::Method;

use crate::gates::Choice;
use crate::judge::{Judged, Recorded, judge};
use crate::profile::Profile;

/// What a call does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The answer is handed to the caller.
    Return,
    /// It is sent again at this instant at the earliest.
    Again(Instant),
    /// The caller is turned away; the last answer goes with it. When to come back, if anyone
    /// knows.
    TurnedAway(Option<Instant>),
}

/// What a call of one method does next, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The method.
    pub method: Method,
    /// What is done.
    pub step: Step,
    /// Why it is not sent again, or why it may be.
    pub why: Why,
    /// Its waits end together no later than this after it began.
    pub patience: Duration,
}

/// Why a request is sent again, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is an answer.
    Answer,
    /// It only reads, and waiting can heal what was answered.
    Reads,
    /// Asking again cannot help.
    Final,
    /// Waiting does help, but nobody waits for a quota or a ban inside a call.
    TooLong,
    /// The wait is longer than the caller's patience.
    Impatient,
    /// It may have changed something: it is sent once.
    Write,
    /// It may have changed something, yet the refusal says that nothing was done: the policy
    /// `retry.write = "refused-only"` would send it again.
    RefusedWrite,
}

/// What a call of this method would do next after this answer, with the defaults of the core.
/// `body` is the request's, which tells reads from writes at some providers.
pub fn next(profile: &Profile, recorded: &Recorded, method: &Method, body: Option<&[u8]>) -> Next {
    let recorded = Recorded {
        method: method.clone(),
        ..recorded.clone()
    };
    let judged = judge(profile, &recorded);
    let reads =
        Safety::of(method) == Safety::Read || profile.only_reads(method, &recorded.path, body);
    let safety = if reads { Safety::Read } else { Safety::Write };
    let policy = CallPolicy::default();
    let patience = policy.patience;
    let step = step(&judged, held(profile, &judged), policy, safety);
    Next {
        method: method.clone(),
        why: why(&judged, safety, step),
        step,
        patience,
    }
}

/// How long the gates that an answer closes stay closed; `None` where it closes none. Where nobody
/// says, a gate begins at the foot of its ladder.
pub fn held(profile: &Profile, judged: &Judged) -> Option<Duration> {
    let finding = &judged.finding;
    if !finding.holds {
        return None;
    }
    if judged.asked.is_some() {
        return judged.wait;
    }
    let mut policy = ProviderPolicy::default();
    let mut classify = ClassifyPolicy::default();
    profile.apply(&mut policy, &mut classify, &Choice::default(), judged.at);
    let gate = policy.gate(finding.scope);
    let first = gate.ladder.wait(0).max(gate.floor);
    Some(first.max(finding.wait.unwrap_or_default()))
}

fn step(judged: &Judged, held: Option<Duration>, policy: CallPolicy, safety: Safety) -> Step {
    let now = judged.at.now;
    let patience = policy.patience;
    let mut call = Call::new(policy, safety, now);
    let _ = call.asks(now);
    call.sent(now);
    let attempt = Attempt {
        finding: &judged.finding,
        retry_on: judged.retry_on,
        cause: match judged.finding.verdict.is_refusal() {
            true => RepeatCause::Refusal,
            false => RepeatCause::Failure,
        },
        unsent: false,
        kept: true,
    };
    let mut budget = Budget::new(BudgetPolicy::default());
    // The longest backoff that the dice can give: what is told to a person is never early.
    let plan = call.plan(now, &attempt, &mut budget, 1.0);
    match plan {
        Plan::Return => Step::Return,
        // A hold is waited out at its gate, which turns away whom it outlasts.
        Plan::Again if held.is_some_and(|d| d > patience) => {
            Step::TurnedAway(held.map(|d| now.after(d)))
        }
        Plan::Again => {
            let own = call.asks(now).not_before;
            Step::Again(own.max(held.map_or(now, |d| now.after(d))))
        }
        Plan::Fail(refusal) => {
            let known = refusal.retry_at.or_else(|| held.map(|d| now.after(d)));
            Step::TurnedAway(known)
        }
    }
}

fn why(judged: &Judged, safety: Safety, step: Step) -> Why {
    match (step, judged.finding.verdict) {
        (Step::Return, _) => Why::Answer,
        (Step::Again(_), _) => Why::Reads,
        _ if !judged.again && !judged.retry_on => Why::Final,
        (_, Verdict::QuotaExhausted | Verdict::Banned) => Why::TooLong,
        // Whatever else may be sent again was only kept by its patience.
        _ if safety == Safety::Read && judged.retry_on => Why::Impatient,
        _ if safety == Safety::Read => Why::Final,
        (_, Verdict::RateLimited) => Why::RefusedWrite,
        _ => Why::Write,
    }
}

#[cfg(test)]
mod tests {
    use abide_core::WallTime;
    use http::{HeaderMap, HeaderValue, StatusCode};

    use super::*;
    use crate::Catalogue;

    fn after(status: u16, retry_after: Option<&'static str>, method: Method) -> (Step, Why) {
        let mut headers = HeaderMap::new();
        if let Some(value) = retry_after {
            headers.insert("retry-after", HeaderValue::from_static(value));
        }
        let recorded = Recorded {
            method: Method::GET,
            path: "/".to_owned(),
            wall: WallTime::from_unix_secs(1_773_144_000),
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: None,
            json: false,
        };
        let generic = Catalogue::built_in().generic();
        let next = next(&generic, &recorded, &method, None);
        (next.step, next.why)
    }

    fn at(secs: u64) -> Instant {
        Instant::from_secs(1_000_000 + secs)
    }

    #[test]
    fn a_read_waits_a_short_hold_out_and_no_long_one() {
        let get = |status, told| after(status, told, Method::GET);
        assert_eq!(get(429, Some("5")), (Step::Again(at(5)), Why::Reads));
        assert_eq!(
            get(429, Some("31")),
            (Step::TurnedAway(Some(at(31))), Why::Impatient)
        );
        assert_eq!(
            get(429, Some("90000")),
            (Step::TurnedAway(Some(at(90_000))), Why::TooLong)
        );
        assert_eq!(
            get(429, None),
            (Step::Again(at(1)), Why::Reads),
            "the foot of the ladder"
        );
        assert_eq!(get(200, None), (Step::Return, Why::Answer));
        assert_eq!(get(404, None), (Step::Return, Why::Answer));
        assert!(matches!(get(503, None), (Step::Again(_), Why::Reads)));
        assert_eq!(get(500, None), (Step::TurnedAway(None), Why::Final));
    }

    #[test]
    fn a_write_is_sent_once() {
        let post = |status, told| after(status, told, Method::POST);
        assert_eq!(
            post(429, Some("5")),
            (Step::TurnedAway(Some(at(5))), Why::RefusedWrite)
        );
        assert_eq!(post(503, None), (Step::TurnedAway(None), Why::Write));
        assert_eq!(post(200, None), (Step::Return, Why::Answer));
    }
}
