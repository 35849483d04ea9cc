//! Every scenario in virtual time: how long it took against the fastest schedule, and how often
//! it was refused.
//!
//! `cargo run --release -p abide-sim --example scenarios -- [SEEDS]`

use std::time::Duration;

use abide_sim::world::{Plan, Report, World};
use abide_sim::{Provider, scenarios};

const ITEMS: [(&str, u32); 11] = [
    ("a", 400),
    ("b", 1_000),
    ("b2", 1_000),
    ("c", 400),
    ("d", 400),
    ("e", 400),
    ("f", 400),
    ("g", 400),
    ("h", 400),
    ("i", 400),
    ("j", 2_000),
];

fn main() {
    let seeds = std::env::args()
        .nth(1)
        .and_then(|a| a.parse().ok())
        .unwrap_or(20);
    println!(
        "| scenario | trip | time/oracle (worst) | refused (worst) | done | skipped | failed | inside | bans | held |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, items) in ITEMS {
        for trip in [1, 20] {
            let reports: Vec<Report> = (0..seeds)
                .filter_map(|seed| run(name, items, trip, seed))
                .collect();
            row(name, trip, &reports);
        }
    }
}

fn run(name: &str, items: u32, trip: u64, seed: u64) -> Option<Report> {
    let plan = Plan::new(32, Duration::from_millis(trip)).jittered(0.2);
    let mut world = World::new(plan, seed);
    world.add(Provider::new(scenarios::named(name, seed)?), items);
    Some(world.run())
}

fn row(name: &str, trip: u64, reports: &[Report]) {
    let n = reports.len().max(1) as f64;
    let mean = |f: &dyn Fn(&Report) -> f64| reports.iter().map(f).sum::<f64>() / n;
    let worst = |f: &dyn Fn(&Report) -> f64| reports.iter().map(f).fold(0.0, f64::max);
    let refused = |r: &Report| r.refused as f64;
    let held = |r: &Report| r.sites.iter().map(|s| s.held.as_secs_f64()).sum::<f64>();
    println!(
        "| {name} | {trip} ms | {:.2} ({:.2}) | {:.1} ({:.0}) | {:.1} | {:.1} | {:.1} | {:.0} | {:.2} | {:.1} s |",
        mean(&Report::times_oracle),
        worst(&Report::times_oracle),
        mean(&refused),
        worst(&refused),
        mean(&|r| r.done as f64),
        mean(&|r| r.skipped as f64),
        mean(&|r| r.failed as f64),
        worst(&|r| (r.sent_inside_hold + r.lost + r.ended_twice + r.left_over as u64) as f64),
        mean(&|r| r.bans as f64),
        mean(&held),
    );
}
