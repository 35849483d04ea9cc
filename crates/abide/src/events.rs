//! What happens to providers and calls, told to whoever wants to know.
//!
//! Everything that keeps a call waiting, sends it again or turns it away is an event. A listener
//! that falls behind loses the oldest and is told how many: nobody is held up for it.

use std::sync::Arc;

use abide_core::control::{Learned, Limit};
use abide_core::hold::Hold;
use abide_core::provider::Event as Change;
use abide_core::refusal::RefusalKind;
use abide_core::{Scope, Verdict, WallTime};
use tokio::sync::broadcast;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// When.
    pub at: WallTime,
    /// The provider.
    pub provider: Arc<str>,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum What {
    /// The breaker opened.
    BreakerOpened {
        /// Until then.
        until: WallTime,
    },
    /// A call was turned away and is to be put off, as its caller wished.
    Deferred {
        /// Until then.
        until: WallTime,
    },
    /// A hold is over, and an answer came to a request sent after it.
    HoldEnded,
    /// A hold got longer.
    HoldExtended {
        /// What it covers.
        scope: Scope,
        /// Why.
        cause: Verdict,
        /// Until when.
        until: WallTime,
    },
    /// A person lifted a hold.
    HoldLifted,
    /// A hold began.
    HoldOpened {
        /// What it covers.
        scope: Scope,
        /// Why.
        cause: Verdict,
        /// Until when.
        until: WallTime,
    },
    /// In a rehearsal: a request went at once that would have waited.
    LetBy {
        /// Until then, where that is known.
        until: Option<WallTime>,
    },
    /// What was thought to be a hidden limit is not, and no other is known.
    LimitForgotten {
        /// What it covered.
        scope: Scope,
        /// What was thought to be the limit.
        was: Limit,
    },
    /// A hidden limit was found, or turned out to be another.
    LimitLearned {
        /// What it covers.
        scope: Scope,
        /// The limit, and what it cost to find it.
        learned: Learned,
        /// What was thought before.
        was: Option<Limit>,
    },
    /// Our own network is back.
    Online,
    /// Our own network is down.
    Offline {
        /// The first probe goes then.
        until: WallTime,
    },
    /// The one request after a hold was let out.
    ProbeSent,
    /// A call is made again.
    Retried {
        /// Sends so far.
        attempts: u32,
        /// What the last one meant.
        cause: Verdict,
    },
    /// A call was turned away.
    TurnedAway {
        /// Why.
        kind: RefusalKind,
        /// The verdict behind it.
        cause: Option<Verdict>,
        /// When to come back, if anyone knows.
        retry_at: Option<WallTime>,
    },
}

impl What {
    /// A word for it, for output and metrics.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::BreakerOpened { .. } => "breaker_opened",
            Self::Deferred { .. } => "deferred",
            Self::HoldEnded => "hold_ended",
            Self::HoldExtended { .. } => "hold_extended",
            Self::HoldLifted => "hold_lifted",
            Self::HoldOpened { .. } => "hold_opened",
            Self::LetBy { .. } => "let_by",
            Self::LimitForgotten { .. } => "limit_forgotten",
            Self::LimitLearned { .. } => "limit_learned",
            Self::Online => "online",
            Self::Offline { .. } => "offline",
            Self::ProbeSent => "probe_sent",
            Self::Retried { .. } => "retried",
            Self::TurnedAway { .. } => "turned_away",
        }
    }

    /// What a change of a machine is to those outside.
    pub(crate) fn of(
        change: &Change,
        wall: impl Fn(abide_core::Instant) -> WallTime,
    ) -> Option<Self> {
        let held = |scope: &Scope, hold: &Hold| (*scope, hold.cause, wall(hold.until));
        Some(match change {
            Change::BreakerOpened { until, .. } => Self::BreakerOpened {
                until: wall(*until),
            },
            Change::EpisodeEnded { .. } => Self::HoldEnded,
            Change::HoldLengthened { scope, hold, .. } => {
                let (scope, cause, until) = held(scope, hold);
                Self::HoldExtended {
                    scope,
                    cause,
                    until,
                }
            }
            Change::HoldLifted { .. } => Self::HoldLifted,
            Change::HoldOpened { scope, hold, .. } => {
                let (scope, cause, until) = held(scope, hold);
                Self::HoldOpened {
                    scope,
                    cause,
                    until,
                }
            }
            Change::LetBy { until, .. } => Self::LetBy {
                until: until.map(wall),
            },
            Change::LimitForgotten { scope, was, .. } => Self::LimitForgotten {
                scope: *scope,
                was: *was,
            },
            Change::LimitLearned {
                scope,
                learned,
                was,
                ..
            } => Self::LimitLearned {
                scope: *scope,
                learned: *learned,
                was: *was,
            },
            Change::CameOnline => Self::Online,
            Change::WentOffline { until } => Self::Offline {
                until: wall(*until),
            },
            Change::ProbeSent { .. } => Self::ProbeSent,
            _ => return None,
        })
    }
}

/// What happens from now on.
#[derive(Debug)]
pub struct Events(pub(crate) broadcast::Receiver<Event>);

/// What a listener gets.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Heard {
    /// Something happened.
    Event(Event),
    /// So many events are lost: the listener was too far behind.
    Missed(u64),
}

impl Events {
    /// The next event; `None` when the governor is gone.
    pub async fn next(&mut self) -> Option<Heard> {
        match self.0.recv().await {
            Ok(event) => Some(Heard::Event(event)),
            Err(broadcast::error::RecvError::Lagged(n)) => Some(Heard::Missed(n)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The next event that is there already.
    pub fn try_next(&mut self) -> Option<Heard> {
        match self.0.try_recv() {
            Ok(event) => Some(Heard::Event(event)),
            Err(broadcast::error::TryRecvError::Lagged(n)) => Some(Heard::Missed(n)),
            Err(_) => None,
        }
    }
}
