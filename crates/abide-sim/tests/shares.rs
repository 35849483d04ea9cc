//! Who gets how much of a limit: what bulk leaves to interactive calls, and what it keeps while
//! urgent work saturates.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use abide_core::Instant;
use abide_core::pace::{Fixed, Gcra, Window};
use abide_core::queue::Urgency;
use abide_core::reserve::Reserve;
use abide_core::spread::Spread;
use abide_sim::policy::{FixedWindow, TokenBucket};
use abide_sim::world::{Plan, Report, Seen, World};
use abide_sim::{Fate, Policy, Provider};

const SECOND: Duration = Duration::from_secs(1);
const TRIP: Duration = Duration::from_millis(20);

fn plan(windows: Vec<Window>, reserve: Reserve) -> Plan {
    let mut plan = Plan::new(32, TRIP).jittered(0.3);
    plan.gates.account.windows = windows;
    plan.gates.provider.reserve = reserve;
    plan.gates.account.reserve = reserve;
    plan.gates.route.reserve = reserve;
    plan
}

/// Bulk from the beginning, and a call of somebody at the screen in each window after bulk has
/// used up what it may.
fn mixed(policy: impl Policy + 'static, plan: Plan, bulk: u32, seed: u64) -> (Report, Duration) {
    let mut world = World::new(plan, seed);
    let site = world.add(Provider::new(policy), 0);
    world.more(site, Urgency::BULK, (0..bulk).map(|_| Instant::ORIGIN));
    let came = (1..5).map(|n| Instant::from_millis(2_000 * n + 1_500));
    let screen = world.more(site, Urgency::INTERACTIVE, came);
    let r = world.run();
    assert_eq!((r.done, r.lost, r.sent_inside_hold), (r.items, 0, 0));
    let slowest = r.took[screen].iter().map(|t| t.unwrap()).max().unwrap();
    (r, slowest)
}

#[test]
fn a_reserve_of_a_known_window_is_there_when_somebody_comes() {
    let known = || vec![Fixed::new(100, 2 * SECOND, Instant::ORIGIN).into()];
    for seed in 0..10 {
        let limit = FixedWindow::new(100, 2 * SECOND);
        let (r, slowest) = mixed(limit, plan(known(), Reserve::Share(20)), 800, seed);
        assert!(slowest <= 2 * TRIP, "seed {seed}: {slowest:?}");
        assert_eq!(r.refused, 0, "seed {seed}");
        // Eighty in each window of two seconds.
        let bulk = r.elapsed.as_secs_f64();
        assert!((18.0..18.6).contains(&bulk), "seed {seed}: {bulk}");

        let limit = FixedWindow::new(100, 2 * SECOND);
        let (_, slowest) = mixed(limit, plan(known(), Reserve::Unit), 800, seed);
        assert!(slowest >= 10 * TRIP, "without one it waits: {slowest:?}");
    }
}

#[test]
fn a_reserve_of_an_announced_window_is_there_too() {
    for seed in 0..10 {
        let limit = FixedWindow::new(100, 2 * SECOND).announced();
        let (r, slowest) = mixed(limit, plan(Vec::new(), Reserve::Share(20)), 800, seed);
        assert!(slowest <= 2 * TRIP, "seed {seed}: {slowest:?}");
        assert_eq!(r.refused, 0, "seed {seed}");
        let bulk = r.elapsed.as_secs_f64();
        assert!((18.0..18.7).contains(&bulk), "seed {seed}: {bulk}");
    }
}

/// The pace of a bucket is not touched: it gives back at once what was taken.
#[test]
fn a_reserve_of_a_bucket_costs_bulk_nothing_and_serves_a_burst() {
    for seed in 0..10 {
        let limit = TokenBucket::new(50, SECOND, 10);
        let windows = vec![Gcra::per(50, SECOND, 10).into()];
        let mut world = World::new(plan(windows, Reserve::Units(6)), seed);
        let site = world.add(Provider::new(limit), 0);
        let bulk = world.more(site, Urgency::BULK, (0..500).map(|_| Instant::ORIGIN));
        let came = [Instant::from_secs(3); 5];
        let screen = world.more(site, Urgency::INTERACTIVE, came);
        let r = world.run();
        assert_eq!((r.done, r.refused), (505, 0));
        for item in screen {
            assert!(r.took[item].unwrap() <= 2 * TRIP, "{:?}", r.took[item]);
        }
        let last = bulk.map(|i| r.took[i].unwrap()).max().unwrap();
        assert!(last <= Duration::from_millis(10_300), "{last:?}");
    }
}

/// Urgent work that saturates a limit leaves one unit in ten to bulk that waits, and no more.
#[test]
fn bulk_keeps_a_tenth_while_urgent_work_saturates() {
    for seed in 0..10 {
        let limit = TokenBucket::new(50, SECOND, 10);
        let windows = vec![Gcra::per(50, SECOND, 10).into()];
        let mut world = World::new(plan(windows, Reserve::Unit), seed);
        let site = world.add(Provider::new(limit), 0);
        let urgent = world.more(
            site,
            Urgency::INTERACTIVE,
            (0..2_000).map(|_| Instant::ORIGIN),
        );
        let bulk = world.more(site, Urgency::BULK, (0..100).map(|_| Instant::ORIGIN));
        let r = world.run();
        assert_eq!((r.done, r.refused), (2_100, 0), "seed {seed}");
        let end = |items: std::ops::Range<usize>| items.map(|i| r.took[i].unwrap()).max().unwrap();
        let (bulk, urgent) = (end(bulk).as_secs_f64(), end(urgent).as_secs_f64());
        // A hundred at five a second; two thousand beside them at forty-five, then at fifty.
        assert!((18.0..22.0).contains(&bulk), "seed {seed}: {bulk}");
        assert!((41.0..43.0).contains(&urgent), "seed {seed}: {urgent}");
    }
}

/// Each second of an announced window has its part.
#[test]
fn an_announced_window_is_spread_where_that_is_asked_for() {
    for seed in 0..5 {
        let mut plan = plan(Vec::new(), Reserve::Unit);
        plan.watched = true;
        plan.gates.account.spread = Spread::EVEN;
        plan.gates.provider.spread = Spread::EVEN;
        let mut world = World::new(plan, seed);
        let limit = FixedWindow::new(100, 10 * SECOND).announced();
        world.add(Provider::new(limit), 90);
        let r = world.run();
        assert_eq!((r.done, r.refused), (90, 0), "seed {seed}");
        assert!(r.elapsed >= 8 * SECOND, "seed {seed}: {:?}", r.elapsed);
        let mut seconds = [0; 10];
        for mark in r.timeline.iter() {
            if let Seen::Answered(Fate::Accepted) = mark.seen {
                seconds[(mark.at.as_nanos() / 1_000_000_000).min(9) as usize] += 1;
            }
        }
        assert!(seconds.iter().all(|n| *n <= 14), "seed {seed}: {seconds:?}");
    }
}
