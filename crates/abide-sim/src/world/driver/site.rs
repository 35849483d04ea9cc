//! One client of one provider: its gates, its lanes, its items.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use abide_core::gate::{GateKey, GateSpec, KeyHasher};
use abide_core::hold::{Hold, SetBy};
use abide_core::lease::LeaseId;
use abide_core::provider::{GateRecord, News, Provider as Gates, Ticket};
use abide_core::queue::Urgency;
use abide_core::run::LaneId;
use abide_core::{GateClass, Instant, Scope, Skew};

use super::Driver;

/// One provider, as this side sees it.
#[derive(Debug)]
pub(in crate::world) struct Site {
    /// Which of the providers.
    pub(in crate::world) provider: usize,
    pub(super) gates: Gates,
    pub(super) specs: Vec<GateSpec>,
    /// One for each kind of items.
    pub(super) lanes: Vec<LaneId>,
    pub(super) skew: Skew,
    pub(super) waiting: HashMap<Ticket, u32>,
    /// A hold that is not worth waiting for: whoever comes now leaves too.
    pub(super) unaffordable: Option<Hold>,
}

/// One item.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct Item {
    pub(in crate::world) site: usize,
    pub(super) lane: LaneId,
    pub(super) urgency: Urgency,
    /// When it was there to be worked.
    pub(in crate::world) came: Instant,
}

/// What a client wants of the store it shares with others.
#[derive(Debug)]
pub(in crate::world) enum Ask {
    /// Permits.
    Acquire {
        key: GateKey,
        cost: u32,
        id: LeaseId,
    },
    /// That the others learn of a hold, or that it is over.
    Announce { key: GateKey, hold: Option<Hold> },
}

impl Driver {
    /// A client of a provider with its gates, and without items.
    pub(in crate::world) fn site(&mut self, provider: usize) -> usize {
        let site = self.sites.len();
        // Clients of one provider mean the same gate by the same key.
        let keys = KeyHasher::new((self.seed, provider as u64));
        let spec = |(scope, class, cost): &(Scope, GateClass, u32)| {
            let own = class
                .index()
                .map_or([0; 8], |n| (n as u64 + 1).to_be_bytes());
            GateSpec {
                class: *class,
                weight: *cost,
                ..GateSpec::new(keys.key(*scope, &[b"only", &own]), *scope)
            }
        };
        let mut gates = Gates::new(self.plan.gates.clone(), self.seed ^ site as u64);
        gates.tell_time(self.plan.moment(Instant::ORIGIN));
        self.sites.push(Site {
            provider,
            gates,
            specs: self.plan.passes.iter().map(spec).collect(),
            lanes: Vec::new(),
            skew: Skew::new(),
            waiting: HashMap::new(),
            unaffordable: None,
        });
        self.ended_at.push(Instant::ORIGIN);
        site
    }

    /// Items of one urgency in a lane of their own, each there from its instant on.
    pub(in crate::world) fn items(
        &mut self,
        site: usize,
        urgency: Urgency,
        came: impl IntoIterator<Item = Instant>,
    ) -> Range<usize> {
        let lane = self.run.lane();
        self.sites[site].lanes.push(lane);
        let first = self.items.len();
        for came in came {
            let item = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
            self.items.push(Item {
                site,
                lane,
                urgency,
                came,
            });
            self.endings.push(Vec::new());
            if came == Instant::ORIGIN {
                self.run.add(lane, item, 3);
            } else {
                self.coming.insert((came, item));
            }
        }
        first..self.items.len()
    }

    /// Takes in what was remembered of a site's gates in an earlier run, whose times are past.
    pub(in crate::world) fn restore(&mut self, site: usize, records: &[GateRecord]) {
        let site = &mut self.sites[site];
        for record in records {
            let Some(spec) = site.specs.iter().find(|s| s.scope == record.scope) else {
                continue;
            };
            let news = News::Restored {
                rung: record.rung,
                interval: record.interval,
                learned: record.learned,
                failures: record.failures,
                last_success: record.last_success.map(|_| Instant::ORIGIN),
                counts: Vec::new(),
            };
            site.gates.learn(Instant::ORIGIN, *spec, news);
        }
    }

    /// What each site's gates want remembered.
    pub(in crate::world) fn records(&self, now: Instant) -> Vec<Vec<GateRecord>> {
        self.sites.iter().map(|s| s.gates.records(now)).collect()
    }

    /// What the clients want of their store, each with its site.
    pub(in crate::world) fn asks(&mut self) -> Vec<(usize, Ask)> {
        std::mem::take(&mut self.asks)
    }

    /// News from the store for one of a site's gates.
    pub(in crate::world) fn learn(&mut self, now: Instant, site: usize, key: GateKey, news: News) {
        let site = &mut self.sites[site];
        if let Some(spec) = site.specs.iter().find(|s| s.key == key) {
            site.gates.learn(now, *spec, news);
        }
    }

    /// The sites of one provider, other than `site` itself.
    pub(in crate::world) fn others(&self, site: usize) -> Vec<usize> {
        let provider = self.sites[site].provider;
        let all = (0..).zip(&self.sites);
        all.filter(|(n, s)| *n != site && s.provider == provider)
            .map(|(n, _)| n)
            .collect()
    }

    pub(in crate::world) fn hold(&mut self, now: Instant, site: usize, until: Instant) {
        let spec = self.sites[site].specs[0];
        self.sites[site].gates.place_hold(now, spec, until);
    }

    /// Items and clients of each provider.
    pub(in crate::world) fn loads(&self, providers: usize) -> Vec<(u64, u64)> {
        let mut loads = vec![(0, 0); providers];
        for site in &self.sites {
            loads[site.provider].1 += 1;
        }
        for item in &self.items {
            loads[self.sites[item.site].provider].0 += 1;
        }
        loads
    }

    /// Requests on the wire and waiting, at every gate: all zero when a run is over.
    pub(in crate::world) fn left_over(&self, now: Instant) -> usize {
        let views = self.sites.iter().flat_map(|s| s.gates.view(now));
        views.map(|v| v.in_flight as usize + v.waiting).sum()
    }

    pub(in crate::world) fn held(&self, now: Instant, site: usize) -> Duration {
        let lanes = self.sites[site].lanes.iter();
        let waits = lanes.map(|lane| self.run.closing(now, *lane).waited);
        waits.max().unwrap_or_default()
    }
}

/// A hold as another client of the store learns of it.
pub(in crate::world) const fn told(hold: Hold) -> News {
    if hold.lifted {
        return News::Lifted { id: Some(hold.id) };
    }
    News::Held {
        id: Some(hold.id),
        until: hold.until,
        cause: hold.cause,
        ask: hold.ask,
        set_by: SetBy::Shared,
        probes: hold.probes,
    }
}
