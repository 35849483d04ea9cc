//! Our own network, as all providers of a governor see it.
//!
//! Whether it is down is decided in the core, from what became of the exchanges of all providers;
//! here its machine has its lock, and its news travel to theirs. No two locks are held together:
//! what is to be told is read first and told afterwards, and each machine ignores what is older
//! than what it knows.

use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide_core::Instant;
use abide_core::classify::Transport;
use abide_core::outage::{Leave, Network, Outage, OutageNews, OutagePolicy, OutageProbe, Witness};
use abide_core::provider::News;
use parking_lot::Mutex;

/// Whoever has to hear whether our network is down.
pub(crate) trait Audience: Send + Sync {
    /// Hears of a change. No lock of the guard is held meanwhile.
    fn hear(&self, news: OutageNews);
}

/// The outage guard of a governor; without a machine it sees nothing.
pub(crate) struct Guard {
    machine: Option<Mutex<Outage>>,
    /// A name that has nothing to do with any provider.
    neutral: Option<String>,
    /// Somebody is asking for it.
    asking: AtomicBool,
    /// Not owned: providers know their governor's guard.
    audience: Weak<dyn Audience>,
}

impl Guard {
    pub(crate) fn new(
        policy: Option<OutagePolicy>,
        neutral: Option<String>,
        audience: Weak<dyn Audience>,
    ) -> Self {
        Self {
            neutral: neutral.filter(|_| policy.is_some()),
            asking: AtomicBool::new(false),
            machine: policy.map(|p| Mutex::new(Outage::new(p))),
            audience,
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
    pub(crate) fn answered(&self, now: Instant, host: Witness) {
        self.change(now, |m| m.heard(now, host));
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
        if let Some(audience) = self.audience.upgrade() {
            audience.hear(news);
        }
    }

    /// The neutral name to be asked for now: one at a time.
    pub(crate) fn begins_to_ask(&self) -> Option<&str> {
        let name = self.neutral.as_deref()?;
        (!self.asking.swap(true, Ordering::AcqRel)).then_some(name)
    }

    /// Whether that name was found.
    pub(crate) fn asked(&self, now: Instant, found: bool) {
        self.asking.store(false, Ordering::Release);
        if !found {
            self.change(now, |m| m.neutral_dns_failed(now));
        }
    }
}
