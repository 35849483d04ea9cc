//! What people who pace their clients reported, each by the number of its row.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use abide_core::Instant;
use abide_core::pace::{Gcra, Sliding, Window};
use abide_sim::policy::{All, Limit, Outage, SlidingWindow, TokenBucket};
use abide_sim::world::{Plan, Report, World};
use abide_sim::{Policy, Provider, scenarios};
use fastrand::Rng;

const SECOND: Duration = Duration::from_secs(1);

fn run(policy: impl Policy + 'static, windows: Vec<Window>, items: u32, seed: u64) -> Report {
    let mut plan = Plan::new(32, Duration::from_millis(20)).jittered(0.3);
    plan.gates.account.windows = windows;
    let mut world = World::new(plan, seed);
    world.add(Provider::new(policy), items);
    world.run()
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
