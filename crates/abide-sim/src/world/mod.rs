//! A bulk run against simulated providers, in virtual time.
//!
//! Nothing here waits: an event queue moves time from one instant at which something happens to
//! the next. On one side stand the core's own machines (provider, call, run), driven as the shell
//! drives them; on the other a [`Provider`] that knows the truth; between
//! them a wire that takes its time. The [`Driver`] is the part a shell mirrors:
//! it only passes words on, and decides nothing.
//!
//! The same seed gives the same run, to the nanosecond.

#[cfg(feature = "chart")]
mod chart;
mod driver;
mod ending;
mod plan;
mod report;
mod rules;
mod store;
mod timeline;
mod wire;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::Duration;

use abide_core::Instant;
use abide_core::provider::GateRecord;
use abide_core::queue::Urgency;
use fastrand::Rng;

#[cfg(feature = "chart")]
pub use chart::{NotDrawn, png, svg};
pub use ending::Ending;
pub use plan::Plan;
pub use report::{Report, SiteReport};
pub use rules::GraphqlRules;
pub use store::Store;
pub use timeline::{Mark, Seen};

use crate::policy::Job;
use crate::provider::Provider;
use driver::Driver;
use wire::{Happening, Wire};

/// How often things may happen at one instant before the world is taken to spin.
const SPIN: u32 = 1_000_000;

/// A bulk run and its providers.
#[derive(Debug)]
pub struct World {
    plan: Plan,
    driver: Driver,
    wire: Wire,
    store: Option<Store>,
    events: BinaryHeap<Reverse<(Instant, Happening)>>,
    rng: Rng,
    now: Instant,
}

impl World {
    /// A world without providers.
    pub fn new(plan: Plan, seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        Self {
            driver: Driver::new(&plan, rng.u64(..)),
            wire: Wire::new(plan.trip, plan.jitter),
            store: None,
            events: BinaryHeap::new(),
            now: Instant::ORIGIN,
            plan,
            rng,
        }
    }

    /// Adds a provider and the items that are for it.
    pub fn add(&mut self, provider: Provider, items: u32) -> usize {
        self.wire.providers.push(provider);
        let site = self.driver.site(self.wire.providers.len() - 1);
        self.more(site, Urgency::NORMAL, (0..items).map(|_| Instant::ORIGIN));
        site
    }

    /// One more client of the provider that `site` is a client of, with gates of its own and the
    /// items that it works: another process.
    pub fn beside(&mut self, site: usize, items: u32) -> usize {
        let site = self.driver.site(self.driver.sites[site].provider);
        self.more(site, Urgency::NORMAL, (0..items).map(|_| Instant::ORIGIN));
        site
    }

    /// More items for a site, of one urgency and in a lane of their own, each there from its
    /// instant on. Returns their numbers.
    pub fn more(
        &mut self,
        site: usize,
        urgency: Urgency,
        came: impl IntoIterator<Item = Instant>,
    ) -> Range<usize> {
        self.driver.items(site, urgency, came)
    }

    /// Has the clients of a provider share a store. Which of their gates send only what it lent
    /// is said by their policy ([`leased`](abide_core::policy::GatePolicy::leased)).
    pub fn share(&mut self, store: Store) {
        self.store = Some(store);
    }

    /// Gives a site what an earlier run wanted remembered ([`Report::records`]).
    pub fn restore(&mut self, site: usize, records: &[GateRecord]) {
        self.driver.restore(site, records);
    }

    /// Closes everything of a provider until `until`, as a person would.
    pub fn hold(&mut self, site: usize, until: Instant) {
        self.driver.hold(self.now, site, until);
    }

    /// Runs to the end, and says what came of it.
    pub fn run(mut self) -> Report {
        let mut still = 0;
        loop {
            self.work();
            if self.driver.is_done() {
                break;
            }
            let Some(next) = self.next() else { break };
            still = if next > self.now { 0 } else { still + 1 };
            if still > SPIN || next.since(Instant::ORIGIN) > self.plan.at_most {
                break;
            }
            self.now = self.now.max(next);
            self.happen();
        }
        self.report()
    }

    /// The next instant at which anything happens.
    fn next(&self) -> Option<Instant> {
        let wire = self.events.peek().map(|Reverse((at, _))| *at);
        let store = self.store.as_ref().and_then(Store::next);
        [wire, store, self.driver.next_wake(self.now)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Lets one thing happen on the wire, or else wakes whoever is due.
    fn happen(&mut self) {
        if let Some(store) = &mut self.store
            && store.next().is_some_and(|at| at <= self.now)
        {
            for (site, key, news) in store.run(self.now) {
                self.driver.learn(self.now, site, key, news);
            }
            return;
        }
        let first = self.events.peek().map(|Reverse(e)| *e);
        let Some((_, happening)) = first.filter(|(at, _)| *at <= self.now) else {
            return self.driver.wake(self.now);
        };
        self.events.pop();
        let moment = self.plan.moment(self.now);
        match happening {
            Happening::Depart(trip) => self.wire.depart(moment, trip),
            Happening::Arrive(trip) => {
                let (events, rng) = (&mut self.events, &mut self.rng);
                let fate = self.wire.arrive(moment, trip, events, rng);
                if self.plan.watched
                    && let Some(fate) = fate
                {
                    let (at, seen) = (self.now, Seen::Answered(fate));
                    self.driver.marks.push(Mark { at, seen });
                }
            }
            Happening::Receive(trip) => {
                let (item, what) = self.wire.receive(self.now, trip);
                self.driver.receive(moment, item, &what, self.rng.f64());
            }
            Happening::TimeOut(trip) => {
                if let Some(item) = self.wire.give_up(trip) {
                    self.driver.time_out(self.now, item, self.rng.f64());
                }
            }
        }
    }

    /// Lets the driver do all it can now, and puts on the wire what it sends.
    fn work(&mut self) {
        self.driver.work(self.now);
        for (site, ask) in self.driver.asks() {
            if let Some(store) = &mut self.store {
                let others = self.driver.others(site);
                store.take(self.now, site, ask, &others);
            }
        }
        for (item, site) in self.driver.sends() {
            let client = u32::try_from(site).unwrap_or(u32::MAX);
            let to = (self.driver.sites[site].provider, client);
            let patience = self.now.after(self.plan.timeout);
            self.wire.send(
                self.now,
                item,
                to,
                patience,
                &mut self.events,
                &mut self.rng,
            );
        }
    }

    fn report(self) -> Report {
        let loads = self.driver.loads(self.wire.providers.len());
        let job = |(items, clients): (u64, u64)| {
            Job::new(items, self.plan.trip)
                .starting(self.plan.moment(Instant::ORIGIN))
                .with_workers(u64::from(self.plan.in_hand) * clients)
        };
        let oracle: Vec<Duration> = (loads.into_iter())
            .zip(&self.wire.providers)
            .map(|(load, p)| p.oracle(job(load)))
            .collect();
        report::sum_up(self.driver, &self.wire.providers, &oracle, self.now)
    }
}
