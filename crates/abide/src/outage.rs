//! Our own network, as all providers of a governor see it.
//!
//! Whether it is down is decided in the core, from what became of the exchanges of all providers;
//! here its machine has its lock, and its news travel to theirs. No two locks are held together:
//! what is to be told is read first and told afterwards, and each machine ignores what is older
//! than what it knows.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use abide_core::Instant;
use abide_core::classify::Transport;
use abide_core::outage::{Leave, Network, Outage, OutageNews, OutagePolicy, OutageProbe};
use abide_core::provider::News;
use parking_lot::{Mutex, RwLock};
use tokio::runtime::Handle;

use crate::providers::Providers;
use crate::shared::Shared;

/// The providers of a governor.
pub(crate) type Shards = RwLock<Providers>;

/// The outage guard of a governor; without a machine it sees nothing.
#[derive(Debug)]
pub(crate) struct Guard {
    machine: Option<Mutex<Outage>>,
    /// A name that has nothing to do with any provider.
    neutral: Option<String>,
    /// Somebody is asking for it.
    asking: AtomicBool,
    /// Not owned: providers know their governor's guard.
    shards: Weak<Shards>,
}

impl Guard {
    pub(crate) fn new(
        policy: Option<OutagePolicy>,
        neutral: Option<String>,
        shards: &Arc<Shards>,
    ) -> Self {
        Self {
            neutral: neutral.filter(|_| policy.is_some()),
            asking: AtomicBool::new(false),
            machine: policy.map(|p| Mutex::new(Outage::new(p))),
            shards: Arc::downgrade(shards),
        }
    }

    /// How close together failures are one event; `None` where nobody looks.
    pub(crate) fn window(&self) -> Option<Duration> {
        self.machine.as_ref().map(|m| m.lock().policy().window)
    }

    pub(crate) fn is_offline(&self) -> bool {
        self.machine.as_ref().is_some_and(|m| m.lock().is_offline())
    }

    /// An exchange failed. `probe` is what it held, if it was the probe.
    pub(crate) fn failed(
        &self,
        now: Instant,
        host: &str,
        transport: &Transport,
        probe: Option<OutageProbe>,
    ) {
        self.change(now, |m| m.failed(now, host, transport, probe));
    }

    /// A name that has nothing to do with any provider was not found either.
    pub(crate) fn neutral_dns_failed(&self, now: Instant) {
        self.change(now, |m| m.neutral_dns_failed(now));
    }

    /// A host answered, whatever it said.
    pub(crate) fn answered(&self, now: Instant, host: &str) {
        self.change(now, |m| m.answered(now, host));
    }

    /// A probe ended without telling anything.
    pub(crate) fn give_back(&self, now: Instant, probe: OutageProbe, sent: bool) {
        self.change(now, |m| m.give_back(now, probe, sent));
    }

    /// May a request be the probe? With what its provider is to be told if it may not.
    pub(crate) fn lease(&self, now: Instant) -> (Leave, Option<OutageNews>) {
        let Some(machine) = &self.machine else {
            return (Leave::Online, None);
        };
        let mut machine = machine.lock();
        let leave = machine.lease(now);
        (leave, Some(machine.news(now)))
    }

    /// What a provider that was not known until now has to hear.
    pub(crate) fn news(&self, now: Instant) -> Option<News> {
        let machine = self.machine.as_ref()?.lock();
        machine
            .is_offline()
            .then(|| News::Outage(machine.news(now)))
    }

    fn change(&self, now: Instant, f: impl FnOnce(&mut Outage) -> bool) {
        let Some(machine) = &self.machine else {
            return;
        };
        let (was, news) = {
            let mut machine = machine.lock();
            let was = machine.is_offline();
            if !f(&mut machine) {
                return;
            }
            (was, machine.news(now))
        };
        let offline = matches!(news.network, Network::Offline { .. });
        if offline && !was {
            tracing::warn!("our own network is down: nothing but one probe at a time is sent");
        } else if was && !offline {
            tracing::info!("our own network is back");
        }
        let Some(shards) = self.shards.upgrade() else {
            return;
        };
        let all = shards.read().all();
        for shard in all {
            if !shard.is_local() {
                shard.tell(News::Outage(news));
            }
        }
    }
}

/// A provider's name was not found: is it the provider's, or are there no names at all? One
/// neutral name is asked for at a time, beside the call.
pub(crate) fn ask_for_neutral_name(shared: &Arc<Shared>) {
    let guard = &shared.outage;
    let (Some(name), Ok(runtime)) = (&guard.neutral, Handle::try_current()) else {
        return;
    };
    if guard.asking.swap(true, Ordering::AcqRel) {
        return;
    }
    let (name, shared) = (name.clone(), Arc::clone(shared));
    runtime.spawn(async move {
        let found = tokio::net::lookup_host((name.as_str(), 443)).await;
        if found.map_or(0, Iterator::count) == 0 {
            shared.outage.neutral_dns_failed(shared.clock.now());
        }
        shared.outage.asking.store(false, Ordering::Release);
    });
}
