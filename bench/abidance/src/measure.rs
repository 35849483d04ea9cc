//! One run of one scenario, in virtual time.

use std::time::Duration;

use abide_core::Instant;
use abide_core::control::Adaptive;
use abide_core::provider::GateRecord;
use abide_core::queue::Urgency;
use abide_sim::Provider;
use abide_sim::policy::TokenBucket;
use abide_sim::world::{Plan, Report, Store, World};
use fastrand::Rng;

use crate::scenario::{Kind, Scenario};

/// How many interactive items come a second.
const INTERACTIVE: f64 = 2.0;
/// The rate and the burst of the limit that bulk and interactive items share.
const RATE: f64 = 50.0;
const BURST: f64 = 10.0;

/// What all runs of a row have in common.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) items: u32,
    /// Items in hand, and requests on the wire.
    pub(crate) width: u32,
    pub(crate) adaptive: Adaptive,
    /// Whether the report tells what happened when.
    pub(crate) watched: bool,
}

/// What came of one run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) report: Report,
    pub(crate) mixed: Option<Mixed>,
}

/// What came of bulk and interactive items under one limit.
#[derive(Debug)]
pub(crate) struct Mixed {
    /// How long each interactive item took, in round trips.
    pub(crate) trips: Vec<f64>,
    /// The part that bulk got of what interactive items left.
    pub(crate) share: f64,
}

/// Runs it. The seed says when on the provider's clock it begins, too: a window that is met at its
/// beginning is not met in its middle.
pub(crate) fn run(scenario: &Scenario, setup: &Setup, seed: u64) -> Run {
    let mut rng = Rng::with_seed(seed ^ 0x5eed);
    let mut plan = Plan::new(setup.width, scenario.trip).jittered(0.3);
    plan.begins = Duration::from_millis(rng.u64(0..60_000));
    plan.watched = setup.watched;
    for gate in [
        &mut plan.gates.provider,
        &mut plan.gates.account,
        &mut plan.gates.route,
    ] {
        gate.adaptive = setup.adaptive.clone();
    }
    scenario.tell(&mut plan);
    let report = match scenario.kind {
        Kind::Plain => plain(scenario, setup, plan, seed, &[]),
        Kind::Second => {
            // An hour later, the dice fall anew.
            let first = plain(scenario, setup, plan.clone(), seed, &[]);
            let pause = Duration::from_secs(3_600);
            plan.begins = plan.begins + first.elapsed + pause;
            scenario.tell(&mut plan);
            let records = first.records.first().map_or(&[][..], |r| r);
            plain(scenario, setup, plan, seed + 1_000, records)
        }
        Kind::Replicas => replicas(scenario, setup, plan, seed),
        Kind::Mixed => return mixed(scenario, setup, plan, seed, &mut rng),
    };
    Run {
        report,
        mixed: None,
    }
}

fn plain(
    scenario: &Scenario,
    setup: &Setup,
    plan: Plan,
    seed: u64,
    learned: &[GateRecord],
) -> Report {
    let mut world = World::new(plan, seed);
    let site = world.add(Provider::new(scenario.policy(seed)), setup.items);
    world.restore(site, learned);
    world.run()
}

/// Two processes, each with half of the items and half of the hands, and a store that knows the
/// limit and lends it to them.
fn replicas(scenario: &Scenario, setup: &Setup, mut plan: Plan, seed: u64) -> Report {
    let width = (setup.width / 2).max(1);
    (plan.in_hand, plan.run.concurrency) = (width, width);
    plan.gates.provider.concurrency = width;
    plan.gates.account.leased = true;
    plan.gates.account.adaptive = Adaptive::Off;
    // What was lent in time may arrive late, and what is lent next early: one is kept for that.
    let limit = TokenBucket::new(50, Duration::from_secs(1), 9);
    let mut world = World::new(plan, seed);
    let half = setup.items / 2;
    let one = world.add(Provider::new(scenario.policy(seed)), half);
    world.beside(one, setup.items - half);
    world.share(Store::new(limit, 4, scenario.trip));
    world.run()
}

/// Bulk from the beginning, and interactive items that come at random until it is nearly done.
fn mixed(scenario: &Scenario, setup: &Setup, plan: Plan, seed: u64, rng: &mut Rng) -> Run {
    let mut world = World::new(plan, seed);
    let site = world.add(Provider::new(scenario.policy(seed)), 0);
    let bulk = world.more(
        site,
        Urgency::BULK,
        (0..setup.items).map(|_| Instant::ORIGIN),
    );
    let lasts = 0.95 * f64::from(setup.items) / (RATE - INTERACTIVE);
    let mut came = Vec::new();
    let mut at = 0.0;
    loop {
        at -= (1.0 - rng.f64()).ln() / INTERACTIVE;
        if at > lasts {
            break;
        }
        came.push(Instant::ORIGIN.after(Duration::from_secs_f64(at)));
    }
    let interactive = world.more(site, Urgency::INTERACTIVE, came.iter().copied());
    let report = world.run();
    let took = |item: usize| report.took.get(item).copied().flatten();
    let trip = scenario.trip.as_secs_f64();
    let trips = interactive
        .map(|n| took(n).map_or(f64::INFINITY, |t| t.as_secs_f64() / trip))
        .collect();
    let done = bulk.clone().filter_map(took).max().unwrap_or_default();
    let others = came.iter().filter(|t| t.since(Instant::ORIGIN) < done);
    let left = BURST + RATE * (done.as_secs_f64() - trip) - others.count() as f64;
    let share = bulk.len() as f64 / left.max(1.0);
    Run {
        report,
        mixed: Some(Mixed { trips, share }),
    }
}
