//! Several clients of one provider, items that come later, and what a run leaves for the next.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use abide_core::Instant;
use abide_core::control::Adaptive;
use abide_core::pace::Gcra;
use abide_core::queue::Urgency;
use abide_sim::policy::TokenBucket;
use abide_sim::world::{Plan, Report, Seen, Store, World};
use abide_sim::{Fate, Provider, scenarios};

const SECOND: Duration = Duration::from_secs(1);
const TRIP: Duration = Duration::from_millis(20);

fn provider(seed: u64) -> Provider {
    Provider::new(scenarios::named("a", seed).unwrap())
}

fn whole(r: &Report) {
    assert_eq!(
        (r.done, r.lost, r.sent_inside_hold, r.left_over),
        (r.items, 0, 0, 0)
    );
}

/// Two clients of the provider of `a`, over one store.
fn replicas(limit: TokenBucket, seed: u64) -> Report {
    let mut plan = Plan::new(16, TRIP).jittered(0.3);
    plan.gates.account.leased = true;
    plan.gates.account.adaptive = Adaptive::Off;
    let mut world = World::new(plan, seed);
    let one = world.add(provider(seed), 200);
    world.beside(one, 200);
    world.share(Store::new(limit, 4, TRIP));
    world.run()
}

#[test]
fn clients_that_share_a_store_are_together_as_fast_as_one() {
    for seed in 0..8 {
        let r = replicas(TokenBucket::new(50, SECOND, 9), seed);
        whole(&r);
        assert_eq!(r.refused, 0, "seed {seed}");
        assert!(r.times_oracle() < 1.02, "{} at {seed}", r.times_oracle());
        assert_eq!((r.sites[0].done, r.sites[1].done), (200, 200));
    }
}

#[test]
fn a_store_that_lends_too_much_passes_the_holds_on() {
    for seed in 0..8 {
        let r = replicas(TokenBucket::new(60, SECOND, 12), seed);
        whole(&r);
        assert!(r.refused > 0, "seed {seed}");
        // A client that was not refused itself stays away as well.
        let (one, other) = (r.sites[0].held, r.sites[1].held);
        let apart = one.abs_diff(other).as_secs_f64() / one.max(other).as_secs_f64();
        assert!(apart < 0.1, "{one:?} and {other:?} at {seed}");
    }
}

#[test]
fn items_that_come_later_are_timed_from_then() {
    let mut plan = Plan::new(8, TRIP);
    plan.gates.account.windows = vec![Gcra::per(50, SECOND, 10).into()];
    let mut world = World::new(plan, 3);
    let site = world.add(provider(3), 0);
    let bulk = world.more(site, Urgency::BULK, vec![Instant::ORIGIN; 300]);
    let late = (1..=4).map(Instant::from_secs);
    let late = world.more(site, Urgency::INTERACTIVE, late);
    assert_eq!((bulk, late.clone()), (0..300, 300..304));
    let r = world.run();
    whole(&r);
    for item in late {
        let took = r.took[item].unwrap();
        assert!(took <= 3 * TRIP, "{took:?}, before all the bulk");
    }
    assert!(r.took[299].unwrap() > 5 * SECOND);
}

#[test]
fn a_run_waits_for_what_comes_after_all_else_is_done() {
    let mut world = World::new(Plan::new(8, TRIP), 3);
    let site = world.add(provider(3), 1);
    world.more(site, Urgency::NORMAL, [Instant::from_secs(60)]);
    let r = world.run();
    whole(&r);
    assert_eq!(r.elapsed, 60 * SECOND + TRIP);
}

#[test]
fn what_was_learned_is_there_the_second_time() {
    let run = |records: &[_]| {
        let mut world = World::new(Plan::new(32, TRIP), 5);
        let site = world.add(provider(5), 300);
        world.restore(site, records);
        world.run()
    };
    let first = run(&[]);
    let records = &first.records[0];
    assert!(records.iter().any(|r| r.interval.is_some()));
    let second = run(records);
    whole(&second);
    assert_ne!(second.elapsed, first.elapsed, "it made a difference");
}

#[test]
fn a_timeline_tells_every_answer_and_hold() {
    let mut plan = Plan::new(32, TRIP);
    plan.watched = true;
    let mut world = World::new(plan, 5);
    world.add(provider(5), 300);
    let r = world.run();
    let count = |f: &dyn Fn(Seen) -> bool| r.timeline.iter().filter(|m| f(m.seen)).count() as u64;
    assert_eq!(count(&|s| s == Seen::Answered(Fate::Accepted)), 300);
    assert_eq!(count(&|s| s == Seen::Answered(Fate::Refused)), r.refused);
    assert!(count(&|s| matches!(s, Seen::Held { .. })) > 0);
    assert!(r.timeline.is_sorted_by_key(|m| m.at));
}
