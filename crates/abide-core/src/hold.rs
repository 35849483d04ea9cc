//! A hold: a gate is closed until an instant.
//!
//! A hold only lengthens: of all that is said within one hold the longest counts, and the cause
//! is the one that lengthened it last, so that a caller turned away by an outage is not told it
//! asked too often. Only a person shortens one, by lifting it.

use crate::finding::{Ask, AskSource};
use crate::time::Instant;
use crate::verdict::Verdict;

/// Names one hold among all processes that share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldId(pub u64);

/// Who closed the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SetBy {
    /// An answer this process received.
    Answer,
    /// Another process that shares the store.
    Shared,
    /// The store, after a restart.
    Restored,
    /// A person.
    Operator,
}

/// A gate is closed until an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Names it; a lift names the hold it lifts.
    pub id: HoldId,
    /// Why: the verdict of the answer that opened or last lengthened it.
    pub cause: Verdict,
    /// Closed before this instant, open at it.
    pub until: Instant,
    /// What the provider really asked for, even beyond what we believe (`hold.max`).
    pub ask: Option<Ask>,
    /// When it was opened.
    pub since: Instant,
    /// Who opened it.
    pub set_by: SetBy,
    /// Opened by a refusal or an outage: its end lets one probe out before the others.
    pub probes: bool,
    /// A person lifted it: told to others so that it does not come back, never in force.
    pub lifted: bool,
}

impl Hold {
    /// Whether the gate is closed at `now`.
    pub fn is_active(&self, now: Instant) -> bool {
        now < self.until
    }

    /// The instant a caller may be told to come back at: the true ask when it is longer than
    /// what is believed here.
    pub fn retry_at(&self) -> Instant {
        self.ask.map_or(self.until, |a| a.until.max(self.until))
    }

    /// Takes in another word about the same closing. Returns whether the hold got longer.
    pub(crate) fn lengthen(&mut self, until: Instant, cause: Verdict, ask: Option<Ask>) -> bool {
        if let Some(new) = ask
            && self.ask.is_none_or(|old| new.until > old.until)
        {
            self.ask = Some(new);
        }
        if until <= self.until {
            return false;
        }
        self.until = until;
        self.cause = cause;
        true
    }

    /// Where the end of this hold came from.
    pub fn source(&self) -> AskSource {
        self.ask.map_or(AskSource::Policy, |a| a.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::GateClass;
    use crate::verdict::Scope;

    #[test]
    fn sc_h04_a_second_longer_word_extends_and_a_shorter_one_does_not() {
        let ask = |s| {
            Some(Ask {
                until: Instant::from_secs(s),
                source: AskSource::RetryAfter,
                scope: Scope::Account,
                class: GateClass::PLAIN,
            })
        };
        let mut h = Hold {
            id: HoldId(1),
            cause: Verdict::RateLimited,
            until: Instant::from_secs(1),
            ask: ask(1),
            since: Instant::ORIGIN,
            set_by: SetBy::Answer,
            probes: true,
            lifted: false,
        };
        assert!(h.lengthen(Instant::from_secs(60), Verdict::Unavailable, ask(60)));
        assert_eq!(
            (h.until, h.cause),
            (Instant::from_secs(60), Verdict::Unavailable)
        );
        assert!(!h.lengthen(Instant::from_secs(5), Verdict::RateLimited, ask(5)));
        assert_eq!(
            (h.until, h.cause),
            (Instant::from_secs(60), Verdict::Unavailable)
        );
        assert_eq!(h.retry_at(), Instant::from_secs(60));
    }
}
