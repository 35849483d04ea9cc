//! What all providers of a governor share.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_core::Scope;
use abide_core::hold::Hold;
use abide_core::provider::Event;
use abide_profile::Catalogue;
use abide_store::{Store, StoredGate};
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedSender;

use crate::broadcast::Broadcast;
use crate::clock::Clock;
use crate::events::{self, What};
use crate::health::Health;
use crate::lending::Lending;
use crate::names::Names;
use crate::outage::Guard;

/// A provider that the configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub provider: String,
    /// Its profile, by name; the catalogue's own for the address when absent.
    pub profile: Option<String>,
    /// Whether several hosts answer for it: each has a breaker of its own then.
    pub several_hosts: bool,
}

/// Finds the configured provider of a host and port; `None` where it is its own.
pub(crate) type Namer = Arc<dyn Fn(&str, u16) -> Option<Named> + Send + Sync>;

/// Finds the profile of a provider by the provider's name.
pub(crate) type Profiler = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Somebody who wants to hear everything, with the provider's name.
pub(crate) type Listener = UnboundedSender<(Arc<str>, Event)>;

/// So many failures in a row are told loudly: three are bad luck, more are a habit.
const A_HABIT: u32 = 4;

/// What all providers of a governor share.
pub(crate) struct Shared {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) health: Health,
    /// The store lends what is sent.
    pub(crate) lending: Option<Arc<Lending>>,
    pub(crate) names: Names,
    pub(crate) namer: Option<Namer>,
    pub(crate) catalogue: Arc<Catalogue>,
    /// The profile of a provider that is only known by name.
    pub(crate) profiler: Option<Profiler>,
    /// What the store knew of gates of providers that are not met yet.
    pub(crate) remembered: Mutex<HashMap<String, Vec<StoredGate>>>,
    pub(crate) dice: Mutex<fastrand::Rng>,
    pub(crate) listeners: Mutex<Vec<Listener>>,
    pub(crate) events: Broadcast,
    /// Providers that somebody tries again when they failed.
    pub(crate) probed: Mutex<HashMap<Arc<str>, u32>>,
    /// Apart from all providers: whether our own network is down.
    pub(crate) outage: Guard,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Takes what is remembered of a provider.
    pub(crate) fn recalled(&self, provider: &str) -> Vec<StoredGate> {
        self.remembered.lock().remove(provider).unwrap_or_default()
    }

    /// Remembers gates until their provider is met.
    pub(crate) fn keep(&self, gates: impl IntoIterator<Item = StoredGate>) {
        let mut remembered = self.remembered.lock();
        for gate in gates {
            let all = remembered.entry(gate.key.provider.clone()).or_default();
            match all.iter_mut().find(|g| g.key == gate.key) {
                Some(old) => *old = gate,
                None => all.push(gate),
            }
        }
    }

    /// A throw of the dice in [0, 1).
    pub(crate) fn dice(&self) -> f64 {
        self.dice.lock().f64()
    }

    /// Tells whoever listens of something that happened to a call.
    pub(crate) fn happened(&self, provider: &Arc<str>, what: impl FnOnce() -> What) {
        self.events.tell(|| {
            Some(events::Event {
                at: self.clock.wall(),
                provider: Arc::clone(provider),
                what: what(),
            })
        });
    }

    /// Tells whoever listens, and the log.
    pub(crate) fn tell(&self, provider: &Arc<str>, event: Event) {
        self.log(provider, &event);
        self.events.tell(|| {
            let at = self.clock.moment();
            Some(events::Event {
                at: at.wall,
                provider: Arc::clone(provider),
                what: What::of(&event, |t| at.wall_at(t))?,
            })
        });
        let mut listeners = self.listeners.lock();
        listeners.retain(|l| l.send((Arc::clone(provider), event.clone())).is_ok());
    }

    /// Failures in a row are told at WARN from the fourth one on, and at DEBUG before.
    fn log_failures(&self, provider: &str, scope: Scope, failures: u32, wait: Duration) {
        let scope = scope.as_str();
        match failures >= A_HABIT {
            true => tracing::warn!(provider, scope, failures, ?wait, "keeps failing"),
            false => tracing::debug!(provider, scope, failures, ?wait, "failed"),
        }
    }

    /// A hold is logged once at INFO with provider, cause and end, then at DEBUG; a limit that was
    /// learned at INFO, once each time that it is another.
    fn log(&self, provider: &str, event: &Event) {
        let until = |h: &Hold| self.clock.moment().wall_at(h.until);
        match event {
            Event::HoldOpened { scope, hold, .. } => tracing::info!(
                provider,
                scope = scope.as_str(),
                cause = hold.cause.as_str(),
                source = hold.source().as_str(),
                until = %until(hold),
                "held"
            ),
            Event::HoldLengthened { scope, hold, .. } => tracing::debug!(
                provider,
                scope = scope.as_str(),
                cause = hold.cause.as_str(),
                until = %until(hold),
                "held for longer"
            ),
            Event::LimitLearned {
                scope,
                learned,
                was,
                ..
            } => {
                let (limit, refusals) = (learned.limit, learned.refusals);
                let was = was.map(tracing::field::display);
                let scope = scope.as_str();
                tracing::info!(provider, scope, %limit, refusals, was, "learned a limit");
            }
            Event::LimitForgotten { scope, was, .. } => {
                let scope = scope.as_str();
                tracing::info!(provider, scope, %was, "a limit is another than was thought");
            }
            Event::Failed {
                scope,
                failures,
                until,
                ..
            } => {
                let now = self.clock.now();
                let wait = until.map_or(Duration::ZERO, |t| t.since(now));
                self.log_failures(provider, *scope, *failures, wait);
            }
            other => tracing::debug!(provider, event = ?other, "changed"),
        }
    }
}

/// A provider's name was not found: is it the provider's, or are there no names at all? One neutral
/// name is asked for at a time, beside the call.
pub(crate) fn ask_for_neutral_name(shared: &Arc<Shared>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return;
    };
    let Some(name) = shared.outage.begins_to_ask().map(str::to_owned) else {
        return;
    };
    let asking = Asking(Arc::clone(shared));
    runtime.spawn(async move {
        let found = tokio::net::lookup_host((name.as_str(), 443)).await;
        asking.ends(found.map_or(0, Iterator::count) > 0);
    });
}

/// A question after the neutral name; one that is cut off with its runtime tells nothing.
struct Asking(Arc<Shared>);

impl Asking {
    fn ends(&self, found: bool) {
        self.0.outage.asked(self.0.clock.now(), found);
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.ends(true);
    }
}
