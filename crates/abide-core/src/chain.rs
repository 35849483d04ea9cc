//! Several providers for one question, in order.
//!
//! Who is asked next follows from how the last one answered, never from how long it took:
//!
//! * *not found* is an answer: the next is asked, and if nobody knows better it is returned,
//!   also over a refusal met later.
//! * *refused*: no other network provider is asked, since a second one would only be flooded in
//!   its turn; what is at hand locally is. Its miss says nothing, so then the refusal is returned.
//!   Members declared independent are an exception, made by whoever knows that they share nothing.
//! * *unavailable*: the next is asked only once the breaker of this one is open. A single failure
//!   is a failure of this call.
//! * anything else is the caller's own mistake and is returned.
//!
//! An answer of any but the first member that could have answered is *degraded* if somebody
//! before it was refused or down: it may be shown, never be bound as the first one's.

use crate::refusal::{Refusal, RefusalKind};
use crate::verdict::Verdict;

/// Where a member is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// On this machine: costs no vendor anything, is never cut off by an outage.
    Local,
    /// Somewhere else.
    #[default]
    Network,
}

/// One provider of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Member {
    /// Where it is.
    pub role: Role,
    /// It shares nothing with those before it (no vendor, no quota, no address), so that it may
    /// be asked after one of them refused. Default no.
    pub independent: bool,
}

/// How a member's call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What its last answer meant, or why there was none.
    pub verdict: Verdict,
    /// Its breaker is open, or it is held for an outage: it is known to be down.
    pub is_down: bool,
}

impl Ended {
    /// The end of a call that was turned away. Who was turned away unsent for want of time was as
    /// good as refused: somebody else's quota is no way around a queue.
    pub fn of(refusal: &Refusal, is_down: bool) -> Self {
        let verdict = refusal.cause.unwrap_or(match refusal.kind {
            RefusalKind::BreakerOpen => Verdict::Unavailable,
            RefusalKind::CostTooLarge | RefusalKind::Closed => Verdict::ClientError,
            _ => Verdict::RateLimited,
        });
        Self { verdict, is_down }
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// Ask this member.
    Ask(usize),
    /// Return this member's end.
    Return {
        /// Whose.
        member: usize,
        /// Somebody before it was refused or down.
        degraded: bool,
    },
}

/// One question on its way through a chain.
#[derive(Clone, Debug)]
pub struct Chain {
    members: Vec<Member>,
    at: usize,
    /// The first that did not have it.
    missed: Option<usize>,
    /// The first that was refused.
    refused: Option<usize>,
    /// The first that was down.
    down: Option<usize>,
    /// Our own network is.
    offline: bool,
}

impl Chain {
    /// A question that nobody was asked yet. The first to be asked is member 0.
    pub const fn new(members: Vec<Member>) -> Self {
        Self {
            members,
            at: 0,
            missed: None,
            refused: None,
            down: None,
            offline: false,
        }
    }

    /// The member that is asked now ended so.
    pub fn ended(&mut self, ended: Ended) -> Next {
        let (at, member) = (self.at, self.members.get(self.at).copied());
        let local = member.is_some_and(|m| m.role == Role::Local);
        match ended.verdict {
            Verdict::Success => return self.returns(at),
            // A local stand-in that lacks it proves nothing once the real one could not be asked.
            Verdict::NotFound if local && self.is_degraded() => {}
            Verdict::NotFound => self.missed = self.missed.or(Some(at)),
            v if v.is_refusal() => self.refused = self.refused.or(Some(at)),
            // Without a network only what is on this machine is left.
            Verdict::Offline => {
                self.down = self.down.or(Some(at));
                self.offline = true;
            }
            Verdict::Unavailable if ended.is_down => self.down = self.down.or(Some(at)),
            _ => return self.returns(at),
        }
        match self.next() {
            Some(next) => {
                self.at = next;
                Next::Ask(next)
            }
            None => self.gives_up(at),
        }
    }

    fn next(&self) -> Option<usize> {
        let rest = self.members.iter().enumerate().skip(self.at + 1);
        let may = |m: &Member| match m.role {
            Role::Local => true,
            Role::Network if self.offline => false,
            Role::Network => self.refused.is_none() || m.independent,
        };
        rest.filter(|(_, m)| may(m)).map(|(i, _)| i).next()
    }

    /// A confirmed miss beats what was refused or down, whichever came first.
    fn gives_up(&self, at: usize) -> Next {
        let member = self.missed.or(self.refused).or(self.down).unwrap_or(at);
        Next::Return {
            member,
            degraded: false,
        }
    }

    const fn returns(&self, member: usize) -> Next {
        Next::Return {
            member,
            degraded: self.is_degraded(),
        }
    }

    const fn is_degraded(&self) -> bool {
        self.refused.is_some() || self.down.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: Member = Member {
        role: Role::Network,
        independent: false,
    };
    const LOCAL: Member = Member {
        role: Role::Local,
        independent: false,
    };
    const OTHER: Member = Member {
        role: Role::Network,
        independent: true,
    };

    fn ended(verdict: Verdict) -> Ended {
        Ended {
            verdict,
            is_down: false,
        }
    }

    const DOWN: Ended = Ended {
        verdict: Verdict::Unavailable,
        is_down: true,
    };

    fn returns(member: usize, degraded: bool) -> Next {
        Next::Return { member, degraded }
    }

    #[test]
    fn a_miss_asks_the_next_and_a_hit_is_returned() {
        let mut c = Chain::new(vec![NETWORK, NETWORK, LOCAL]);
        assert_eq!(c.ended(ended(Verdict::NotFound)), Next::Ask(1));
        assert_eq!(c.ended(ended(Verdict::Success)), returns(1, false));
    }

    #[test]
    fn a_refusal_asks_local_providers_only() {
        let mut c = Chain::new(vec![NETWORK, NETWORK, LOCAL]);
        assert_eq!(c.ended(ended(Verdict::RateLimited)), Next::Ask(2));
        assert_eq!(c.ended(ended(Verdict::Success)), returns(2, true));
    }

    #[test]
    fn a_local_miss_after_a_refusal_is_the_refusal() {
        let mut c = Chain::new(vec![NETWORK, LOCAL]);
        assert_eq!(c.ended(ended(Verdict::QuotaExhausted)), Next::Ask(1));
        assert_eq!(c.ended(ended(Verdict::NotFound)), returns(0, false));
    }

    #[test]
    fn a_confirmed_miss_beats_a_later_refusal() {
        let mut c = Chain::new(vec![NETWORK, NETWORK, LOCAL]);
        assert_eq!(c.ended(ended(Verdict::NotFound)), Next::Ask(1));
        assert_eq!(c.ended(ended(Verdict::RateLimited)), Next::Ask(2));
        assert_eq!(c.ended(ended(Verdict::NotFound)), returns(0, false));
    }

    #[test]
    fn an_independent_member_is_asked_after_a_refusal() {
        let mut c = Chain::new(vec![NETWORK, NETWORK, OTHER]);
        assert_eq!(c.ended(ended(Verdict::RateLimited)), Next::Ask(2));
        assert_eq!(c.ended(ended(Verdict::Success)), returns(2, true));
    }

    #[test]
    fn an_outage_asks_the_next_only_once_it_is_known() {
        let mut c = Chain::new(vec![NETWORK, NETWORK]);
        assert_eq!(c.ended(ended(Verdict::Unavailable)), returns(0, false));
        let mut c = Chain::new(vec![NETWORK, NETWORK]);
        assert_eq!(c.ended(DOWN), Next::Ask(1));
        assert_eq!(c.ended(ended(Verdict::Success)), returns(1, true));
    }

    #[test]
    fn sc_b07_without_a_network_only_what_is_local_is_asked() {
        let mut c = Chain::new(vec![NETWORK, OTHER, LOCAL]);
        assert_eq!(c.ended(ended(Verdict::Offline)), Next::Ask(2));
        assert_eq!(c.ended(ended(Verdict::Success)), returns(2, true));
        let mut c = Chain::new(vec![NETWORK, OTHER]);
        assert_eq!(c.ended(ended(Verdict::Offline)), returns(0, false));
    }

    #[test]
    fn a_mistake_of_the_caller_ends_it() {
        let mut c = Chain::new(vec![NETWORK, NETWORK]);
        assert_eq!(c.ended(ended(Verdict::ClientError)), returns(0, false));
    }
}
