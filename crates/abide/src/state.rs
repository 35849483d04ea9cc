//! How a provider is, for whoever chooses among several or shows them to a person.
//!
//! Two views of one state. *Healthy*: nothing failed since the last success; a list for the
//! foreground shows only those. *Available*: nothing holds it now; work in the background may try
//! again. Whoever shows the healthy ones only must see to it that somebody tries the others again
//! ([`Prober`](crate::Prober)), or a single failure hides a provider for ever.

use std::sync::Arc;
use std::time::Duration;

use abide_core::control::Learned;
use abide_core::policy::Mode;
use abide_core::{Verdict, WallTime};

use crate::shard::Handle;
use crate::shard::Shard;

/// How one provider is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderState {
    /// The provider.
    pub provider: Arc<str>,
    /// Nothing failed since the last success.
    pub healthy: bool,
    /// Nothing holds it as a whole now: no hold, no open breaker. Of several hosts the one counts
    /// at which it is asked when it is called by its name.
    pub available: bool,
    /// When it can be asked again, where it is not available.
    pub retry_at: Option<WallTime>,
    /// Why it is held.
    pub cause: Option<Verdict>,
    /// Failures in a row since the last success.
    pub failures: u32,
    /// When an answer last proved it well.
    pub last_success: Option<WallTime>,
    /// Requests on the wire.
    pub in_flight: u32,
    /// Requests that wait.
    pub waiting: usize,
    /// The interval between requests it was found to want.
    pub interval: Option<Duration>,
    /// The limits that were learned from refusals, those of wider gates first.
    pub learned: Vec<Learned>,
    /// Gates of it that are held, beside the provider's own.
    pub held_gates: usize,
    /// Whether what is decided is done.
    pub mode: Mode,
}

/// Which of several providers are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum View {
    /// Those that nothing holds now.
    Available,
    /// Those that did not fail since their last success. Needs a prober.
    Healthy,
}

impl View {
    /// Whom it leaves out, in words.
    pub(crate) const fn leaves_out(self) -> &'static str {
        match self {
            Self::Available => "held now",
            Self::Healthy => "failed since its last success",
        }
    }
}

impl Shard {
    /// How it is now.
    pub fn state(self: &Arc<Self>) -> ProviderState {
        let at = self.shared().clock.moment();
        let (views, mode, waiting) = self.with(|s, now| {
            let machine = &s.machine;
            (machine.view(now), machine.policy().mode, machine.waiting())
        });
        // What befalls any gate befalls this one: another account's success heals the provider,
        // and a failure of several accounts is counted here.
        let key = self.own();
        let own = views.iter().find(|g| g.key == key);
        // With several hosts, by the one at which it is asked when it is called by its name.
        let host = self.host_key();
        let host = views.iter().find(|g| Some(g.key) == host);
        let closed = own.and_then(|g| g.closed_until);
        let closed = closed.max(host.and_then(|g| g.closed_until));
        let last = views.iter().filter_map(|g| g.last_success).max();
        let hold = own.and_then(|g| g.hold);
        let others = views.iter().filter(|g| g.key != key);
        ProviderState {
            provider: Arc::clone(self.name()),
            healthy: own.is_none_or(|g| g.healthy),
            available: closed.is_none(),
            retry_at: closed.map(|t| at.wall_at(t)),
            cause: match hold {
                Some(hold) => Some(hold.cause),
                None => closed.map(|_| Verdict::Unavailable),
            },
            failures: own.map_or(0, |g| g.failures),
            last_success: last.map(|t| at.wall_at(t)),
            in_flight: own.map_or(0, |g| g.in_flight),
            waiting,
            interval: views.iter().filter_map(|g| g.interval).max(),
            learned: views.iter().filter_map(|g| g.learned).collect(),
            held_gates: others.filter(|g| g.hold.is_some()).count(),
            mode,
        }
    }

    /// Nothing failed since the last success.
    pub fn is_healthy(self: &Arc<Self>) -> bool {
        self.state().healthy
    }

    /// Nothing holds it now.
    pub fn is_available(self: &Arc<Self>) -> bool {
        self.state().available
    }

    /// It is known to be down: its breaker is open, or it is held for an outage.
    pub fn is_down(self: &Arc<Self>) -> bool {
        let state = self.state();
        !state.available && matches!(state.cause, Some(Verdict::Unavailable | Verdict::Offline))
    }
}

/// The providers of these that a view shows, in their order.
pub(crate) fn shown<'a>(handles: impl Iterator<Item = &'a Handle>, view: View) -> Vec<Arc<str>> {
    let fits = |h: &&Handle| match view {
        View::Available => h.is_available(),
        View::Healthy => h.is_healthy(),
    };
    handles.filter(fits).map(|h| Arc::clone(h.name())).collect()
}
