//! Whether our own network is down.
//!
//! One machine beside those of all providers, since no provider can tell its own outage from
//! ours. It is fed what became of every exchange, and says what the others need to know: that we
//! are offline, when the next probe goes, that we are online again.
//!
//! It takes positive evidence, which does not depend on how long ago anything went well: at a
//! cold start there is no such time, and after a quiet hour it says nothing.
//!
//! * Hosts that fail in a way that ours may have caused (names not found, no way there, timeouts),
//!   two or more of them within the window and no answer of any host in between.
//! * With one host, and none other that answered within the window: no way out of here, or its
//!   name not found and a neutral name neither.
//!
//! While offline one real request at a time probes, spaced by a ladder. The first answer of any
//! kind ends it, and so does a probe that fails in any other way: it got farther than our network.
//! Hosts of this machine are neither evidence nor proof.

mod evidence;

use std::time::Duration;

use self::evidence::{Host, Says};
use crate::classify::Transport;
use crate::ladder::Ladder;
use crate::time::Instant;

pub use self::evidence::{Witness, is_loopback};

/// The most hosts whose failures are remembered: two are enough to know.
const HOSTS: usize = 16;

/// When we are taken for offline, and how the way back is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutagePolicy {
    /// Failures this close together are one event. Default 30 s: as long as a request takes to
    /// time out, so that two hosts that died together are seen together.
    pub window: Duration,
    /// The waits before probes. Default 1 s × 2 up to 30 s: a cable is back in a second, and
    /// nobody wants to miss for longer that the network is.
    pub probe: Ladder,
    /// How long a probe may be out before another goes. Default 60 s: as for a hold's probe.
    pub probe_lease: Duration,
}

impl Default for OutagePolicy {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(30),
            probe: Ladder::Growing {
                base: Duration::from_secs(1),
                factor: 2,
                cap: Duration::from_secs(30),
            },
            probe_lease: Duration::from_secs(60),
        }
    }
}

/// How our network is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// As far as anyone knows it works.
    Online,
    /// It is down.
    Offline {
        /// What failed since then says nothing about providers.
        since: Instant,
        /// The next probe goes then; while one is out, when it is given up.
        not_before: Instant,
        /// Whether a probe is out.
        probing: bool,
    },
}

/// What the machines of providers are told, in the order of `revision`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageNews {
    /// Older ones are to be ignored.
    pub revision: u64,
    /// How it is.
    pub network: Network,
}

/// Leave to be the probe of an outage; given back by what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageProbe(u64);

/// What a request hears that wants to be sent while its provider thinks us offline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// We are online.
    Online,
    /// It is the probe.
    Probe(OutageProbe),
    /// Not now: the news say when.
    Wait,
}

/// Failures of one host.
#[derive(Clone, Copy, Debug)]
struct Failed {
    host: Host,
    last: Instant,
    says: Says,
}

#[derive(Clone, Copy, Debug)]
struct Down {
    since: Instant,
    not_before: Instant,
    rung: u32,
    probe: Option<(OutageProbe, Instant)>,
}

/// The machine.
#[derive(Debug)]
pub struct Outage {
    policy: OutagePolicy,
    /// Since the last answer, oldest first.
    failed: Vec<Failed>,
    /// When a neutral name was not found, since the last answer.
    neutral: Option<Instant>,
    /// When two different hosts answered last, the latest first.
    answered: [Option<(Host, Instant)>; 2],
    down: Option<Down>,
    probes: u64,
    revision: u64,
}

impl Outage {
    /// The policy in force.
    pub const fn policy(&self) -> &OutagePolicy {
        &self.policy
    }

    /// Online, knowing nothing.
    pub const fn new(policy: OutagePolicy) -> Self {
        Self {
            policy,
            failed: Vec::new(),
            neutral: None,
            answered: [None; 2],
            down: None,
            probes: 0,
            revision: 0,
        }
    }

    /// An exchange with a host failed. `probe` is what it held, if it was the probe. Returns
    /// whether there are [`news`](Self::news).
    pub fn failed(
        &mut self,
        now: Instant,
        host: &str,
        transport: &Transport,
        probe: Option<OutageProbe>,
    ) -> bool {
        let says = evidence::of(transport);
        if let Some(down) = &mut self.down {
            // Who was on the wire before tells nothing new.
            if probe.is_none() || down.probe.map(|(p, _)| p) != probe {
                return false;
            }
            if says == Says::Nothing {
                return self.back();
            }
            down.rung = down.rung.saturating_add(1);
            down.probe = None;
            down.not_before = now.after(self.policy.probe.wait(down.rung));
            return self.changed();
        }
        if says == Says::Nothing || is_loopback(host) {
            return false;
        }
        let host = Host::of(host);
        self.failed.retain(|f| f.host != host);
        if self.failed.len() >= HOSTS {
            self.failed.remove(0);
        }
        self.failed.push(Failed {
            host,
            last: now,
            says,
        });
        self.recognise(now)
    }

    /// A name that has nothing to do with any provider was not found either. Returns whether
    /// there are [`news`](Self::news).
    pub fn neutral_dns_failed(&mut self, now: Instant) -> bool {
        self.neutral = Some(now);
        self.down.is_none() && self.recognise(now)
    }

    /// A host answered, whatever it said. Returns whether there are [`news`](Self::news).
    pub fn answered(&mut self, now: Instant, host: &str) -> bool {
        self.heard(now, Witness::of(host))
    }

    /// The same, of a host that is known already.
    pub fn heard(&mut self, now: Instant, Witness(host): Witness) -> bool {
        let Some(host) = host else {
            return false;
        };
        if self.answered[0].is_some_and(|(h, _)| h != host) {
            self.answered.swap(0, 1);
        }
        self.answered[0] = Some((host, now));
        self.failed.clear();
        self.neutral = None;
        self.down.is_some() && self.back()
    }

    /// May a request be the probe?
    pub fn lease(&mut self, now: Instant) -> Leave {
        let Some(down) = &mut self.down else {
            return Leave::Online;
        };
        let out = down.probe.is_some_and(|(_, lapses)| now < lapses);
        if out || now < down.not_before {
            return Leave::Wait;
        }
        self.probes += 1;
        let probe = OutageProbe(self.probes);
        down.probe = Some((probe, now.after(self.policy.probe_lease)));
        self.revision += 1;
        Leave::Probe(probe)
    }

    /// A probe ended without telling anything. If it was `sent`, the next one keeps its distance.
    /// Returns whether there are [`news`](Self::news).
    pub fn give_back(&mut self, now: Instant, probe: OutageProbe, sent: bool) -> bool {
        let Some(down) = &mut self.down else {
            return false;
        };
        if down.probe.is_none_or(|(p, _)| p != probe) {
            return false;
        }
        down.probe = None;
        if sent {
            down.not_before = now.after(self.policy.probe.wait(down.rung));
        }
        self.changed()
    }

    /// How it is, for the machines of providers.
    pub fn news(&self, now: Instant) -> OutageNews {
        let network = match &self.down {
            None => Network::Online,
            Some(down) => {
                let out = down.probe.filter(|(_, lapses)| now < *lapses);
                Network::Offline {
                    since: down.since,
                    not_before: out.map_or(down.not_before, |(_, lapses)| lapses),
                    probing: out.is_some(),
                }
            }
        };
        OutageNews {
            revision: self.revision,
            network,
        }
    }

    /// Whether we are offline.
    pub const fn is_offline(&self) -> bool {
        self.down.is_some()
    }

    fn recognise(&mut self, now: Instant) -> bool {
        let begin = now.before(self.policy.window);
        self.failed.retain(|f| f.last >= begin);
        let neutral = self.neutral.is_some_and(|at| at >= begin);
        let known = match self.failed.as_slice() {
            [] => false,
            [one] => self.alone(one, begin, neutral),
            _ => true,
        };
        if !known {
            return false;
        }
        let answer = self.answered[0].map_or(Instant::ORIGIN, |(_, at)| at);
        self.down = Some(Down {
            since: begin.max(answer),
            not_before: now.after(self.policy.probe.wait(0)),
            rung: 0,
            probe: None,
        });
        self.failed.clear();
        self.changed()
    }

    /// Whether the failure of one host is enough.
    fn alone(&self, failed: &Failed, begin: Instant, neutral: bool) -> bool {
        let mut answered = self.answered.iter().flatten();
        // A host that is well says that there is a way out; perhaps not to this one.
        let others = answered.any(|(host, at)| *host != failed.host && *at >= begin);
        let enough = match failed.says {
            Says::NoWayOut => true,
            Says::Name => neutral,
            Says::Nothing | Says::OneHost => false,
        };
        enough && !others
    }

    fn back(&mut self) -> bool {
        self.down = None;
        self.failed.clear();
        self.neutral = None;
        self.changed()
    }

    const fn changed(&mut self) -> bool {
        self.revision += 1;
        true
    }
}

#[cfg(test)]
mod tests;
