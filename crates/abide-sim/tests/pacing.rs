//! What people who pace their clients reported, each by the number of its row.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use abide_core::Instant;
use abide_core::pace::{Gcra, Sliding, Window};
use abide_sim::policy::{All, Hint, Limit, Outage, SlidingWindow, TokenBucket};
use abide_sim::world::{Mark, Plan, Report, Seen, World};
use abide_sim::{Fate, Policy, Provider, scenarios};
use fastrand::Rng;

const SECOND: Duration = Duration::from_secs(1);

fn run(policy: impl Policy + 'static, windows: Vec<Window>, items: u32, seed: u64) -> Report {
    let mut plan = Plan::new(32, Duration::from_millis(20)).jittered(0.3);
    plan.gates.account.windows = windows;
    let mut world = World::new(plan, seed);
    world.add(Provider::new(policy), items);
    world.run()
}

const fn watched(mut plan: Plan) -> Plan {
    plan.watched = true;
    plan
}

/// When requests of that fate reached their provider.
fn answered(r: &Report, fate: Fate) -> impl Iterator<Item = Instant> + '_ {
    let of = move |m: &&Mark| m.seen == Seen::Answered(fate);
    r.timeline.iter().filter(of).map(|m| m.at)
}

/// The end of a hold lets one request out and not the herd, and none before it, however long the
/// hold and whoever waits.
#[test]
fn sc_j01_after_a_hold_one_goes_first_and_nobody_early() {
    for seed in 0..10 {
        let plan = Plan::new(32, Duration::from_millis(20)).jittered(0.3);
        let mut world = World::new(plan, seed);
        let site = world.add(Provider::new(scenarios::named("a", seed).unwrap()), 200);
        world.hold(site, Instant::from_secs(20));
        let r = world.run();
        assert_eq!((r.sent_inside_hold, r.lost), (0, 0));
        assert!(r.elapsed >= Duration::from_secs(20), "{:?}", r.elapsed);
        // The probe, and what the pace allows within a tenth of a second.
        assert!(r.sites[0].peak_burst <= 16, "{}", r.sites[0].peak_burst);
    }
}

/// A second's limit and a minute's are kept at once.
#[test]
fn sc_j06_a_limit_a_second_and_a_limit_a_minute_at_once() {
    let minute = 60 * SECOND;
    for seed in 0..10 {
        let limits = vec![
            Limit::Sliding(SlidingWindow::new(10, SECOND)),
            Limit::Sliding(SlidingWindow::new(150, minute)),
        ];
        let windows = vec![
            Sliding::new(10, SECOND).into(),
            Sliding::new(150, minute).into(),
        ];
        let r = run(All::of(limits), windows, 400, seed);
        // Ten answers may not tell yet by how much the way varies: that may cost one.
        assert!(
            r.done == 400 && r.refused <= 1,
            "seed {seed}: {:?}",
            r.sites
        );
        assert!(r.elapsed >= 2 * minute, "{:?}", r.elapsed);
    }
}

/// What varies is added to the time that a provider names, and never taken from it: a limit that
/// is certain is not tried in the middle.
#[test]
fn sc_j02_nothing_goes_before_the_time_that_was_named() {
    for seed in 0..10 {
        let bucket = TokenBucket::new(20, SECOND, 5).hinting(Hint::Fixed(7 * SECOND));
        let plan = Plan::new(32, Duration::from_millis(20)).jittered(0.3);
        let mut world = World::new(watched(plan), seed);
        world.add(Provider::new(bucket), 100);
        let r = world.run();
        assert_eq!((r.done, r.lost, r.sent_inside_hold), (100, 0, 0));
        let refused: Vec<Instant> = answered(&r, Fate::Refused).collect();
        assert!(!refused.is_empty(), "seed {seed}: it is met");
        let arrived = |from: Instant, until: Instant| {
            let all = answered(&r, Fate::Accepted).chain(answered(&r, Fate::Refused));
            all.filter(|t| *t > from && *t < until).count()
        };
        for at in &refused {
            // What was on the wire when the refusal came back arrives within a round trip.
            let (from, until) = (at.after(Duration::from_millis(40)), at.after(7 * SECOND));
            assert_eq!(arrived(from, until), 0, "seed {seed}: refused at {at:?}");
        }
    }
}

/// Where a request that is a little too soon makes the penalty grow, more is waited than was asked
/// for.
#[test]
fn sc_j03_a_margin_is_added_to_what_was_asked_for() {
    let margin = Duration::from_millis(700);
    let run = |margin: Duration, seed: u64| {
        let mut plan = watched(Plan::new(32, Duration::from_millis(20)).jittered(0.3));
        plan.gates.provider.margin = margin;
        plan.gates.account.margin = margin;
        plan.gates.route.margin = margin;
        let mut world = World::new(plan, seed);
        let bucket = TokenBucket::new(20, SECOND, 5).hinting(Hint::Fixed(2 * SECOND));
        world.add(Provider::new(bucket), 60);
        let r = world.run();
        assert_eq!((r.done, r.sent_inside_hold), (60, 0));
        let (from, until) = r.holds()[0];
        until.since(from)
    };
    for seed in 0..10 {
        let (plain, more) = (run(Duration::ZERO, seed), run(margin, seed));
        assert_eq!(more, plain + margin, "seed {seed}");
    }
}

/// What has filled up while nothing went is released at the bucket's pace.
#[test]
fn sc_j04_after_a_long_hold_no_more_goes_than_the_bucket_holds() {
    for seed in 0..10 {
        let mut plan = watched(Plan::new(64, Duration::from_millis(20)).jittered(0.3));
        plan.gates.account.windows = vec![Gcra::per(50, SECOND, 10).into()];
        let mut world = World::new(plan, seed);
        let site = world.add(Provider::new(TokenBucket::new(50, SECOND, 10)), 500);
        // Long enough for hundreds, had they been counted.
        world.hold(site, Instant::from_secs(30));
        let r = world.run();
        assert_eq!((r.done, r.refused, r.sent_inside_hold), (500, 0, 0));
        let sent: Vec<Instant> = answered(&r, Fate::Accepted).collect();
        for (i, at) in sent.iter().enumerate() {
            let within = sent[i..].iter().take_while(|t| t.since(*at) < SECOND);
            assert!(within.count() <= 61, "seed {seed}: at {at:?}");
        }
    }
}

/// A limit is told when it is found, and when it turns out to be another: once each.
#[test]
fn what_is_learned_of_a_limit_is_told_once() {
    for (name, most) in [("a", 4), ("b2", 6), ("c", 6), ("e", 8)] {
        for seed in 0..10 {
            let plan = watched(Plan::new(32, Duration::from_millis(20)).jittered(0.3));
            let mut world = World::new(plan, seed);
            world.add(Provider::new(scenarios::named(name, seed).unwrap()), 1_000);
            let r = world.run();
            let mut told = Vec::new();
            for mark in &r.timeline {
                match mark.seen {
                    Seen::Learned { limit } => told.push(Some(limit)),
                    Seen::Forgotten => told.push(None),
                    _ => {}
                }
            }
            let known = r.records[0].iter().find_map(|g| g.learned);
            let last = told.last().copied().flatten();
            assert!(
                match (known, last) {
                    (Some(known), Some(last)) => known.limit.says_the_same(&last),
                    (known, last) => known.is_none() && last.is_none(),
                },
                "{name} {seed}: {known:?} after {told:?}"
            );
            for pair in told.windows(2) {
                let same = match (&pair[0], &pair[1]) {
                    (Some(a), Some(b)) => a.says_the_same(b),
                    (a, b) => a.is_none() && b.is_none(),
                };
                assert!(!same, "{name} {seed}: {told:?}");
            }
            assert!(told.len() <= most, "{name} {seed}: {told:?}");
        }
    }
}

/// Ten thousand jobs stand in one line and go as slots come, not by a ladder of each.
#[test]
fn sc_j07_ten_thousand_jobs_take_what_the_limit_takes() {
    let bucket = TokenBucket::new(200, SECOND, 10);
    let windows = vec![Gcra::per(200, SECOND, 10).into()];
    let r = run(bucket, windows, 10_000, 1);
    assert_eq!((r.done, r.refused), (10_000, 0));
    assert!(r.times_oracle() <= 1.01, "{}", r.times_oracle());
}

/// What is sent again is counted like what is sent first.
#[test]
fn sc_j11_repeats_keep_to_the_limit_too() {
    for seed in 0..10 {
        let window = SlidingWindow::new(40, SECOND);
        let (from, until) = (Instant::from_secs(3), Instant::from_secs(4));
        let flaky = Outage::over(window, from, until, Rng::with_seed(seed));
        let r = run(flaky, vec![Sliding::new(40, SECOND).into()], 400, seed);
        assert!(r.requests > 400, "something was sent again");
        assert_eq!((r.done, r.refused), (400, 0), "seed {seed}");
    }
}
