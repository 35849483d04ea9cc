//! The oracle against a client that knows everything and needs exactly that long.

mod common;

use std::time::Duration;

use abide_core::{Instant, Moment};
use abide_sim::policy::{
    Concurrency, FixedWindow, Graphql, Outage, PenaltyBox, Plain, Quota, Reset, Service,
    SlidingWindow, Timed, TokenBucket, WrongClock,
};
use abide_sim::{Job, Policy, scenarios};
use common::{clairvoyant, moment, ms};
use fastrand::Rng;

const SEEDS: u64 = 150;

fn exact<P: Policy + Clone>(seed: u64, policy: &P, job: Job) {
    let (time, accepted) = clairvoyant(policy, job);
    let what = policy.describe();
    assert!(accepted, "seed {seed}: refused by {what}");
    assert_eq!(time, policy.oracle(job), "seed {seed}: {what}, {job:?}");
}

fn job(rng: &mut Rng) -> Job {
    let start = moment(Instant::from_nanos(rng.u64(..20_000_000_000)));
    Job::new(rng.u64(0..40), Duration::from_nanos(rng.u64(..300_000_000))).starting(start)
}

fn span(rng: &mut Rng) -> Duration {
    Duration::from_nanos(rng.u64(1_000..10_000_000_000))
}

fn bucket(rng: &mut Rng) -> TokenBucket {
    TokenBucket::new(rng.u64(1..200), span(rng), rng.u64(1..12))
}

#[test]
fn limits_by_rate() {
    for seed in 0..SEEDS {
        let rng = &mut Rng::with_seed(seed);
        let job = job(rng);
        let bucket = bucket(rng);
        exact(seed, &bucket, job);
        exact(seed, &PenaltyBox::around(bucket.clone()), job);
        exact(seed, &Graphql::over(bucket), job);
        exact(seed, &SlidingWindow::new(rng.usize(1..12), span(rng)), job);
        let window = FixedWindow::new(rng.u64(1..12), span(rng)).shifted(span(rng));
        exact(seed, &window, job);
        exact(seed, &WrongClock::ahead(window.clone(), span(rng)), job);
        exact(seed, &WrongClock::behind(window, span(rng)), job);
        exact(
            seed,
            &Quota::new(rng.u64(1..12), Reset::After(span(rng))),
            job,
        );
        exact(
            seed,
            &Quota::new(rng.u64(1..12), Reset::Every(span(rng))),
            job,
        );
    }
}

#[test]
fn a_bucket_whose_rate_changes() {
    for seed in 0..SEEDS {
        let rng = &mut Rng::with_seed(seed);
        let job = job(rng);
        let change = |rng: &mut Rng| {
            (
                job.start
                    .now
                    .after(Duration::from_nanos(rng.u64(..5_000_000_000))),
                rng.u64(1..200),
            )
        };
        let (one, two) = (change(rng), change(rng));
        let bucket = bucket(rng).changing(one.0, one.1).changing(two.0, two.1);
        exact(seed, &bucket, job);
        exact(seed, &Timed::over(bucket, Service::constant(ms(30))), job);
    }
}

#[test]
fn limits_by_width() {
    for seed in 0..SEEDS {
        let rng = &mut Rng::with_seed(seed);
        let limit = rng.u64(1..8);
        let service = Service::constant(Duration::from_nanos(rng.u64(..400_000_000)));
        let job = job(rng);
        exact(
            seed,
            &Concurrency::new(limit, service.clone()),
            job.with_workers(limit),
        );
        exact(
            seed,
            &Timed::over(Plain::new(), service),
            job.with_workers(rng.u64(1..8)),
        );
        exact(seed, &Plain::new(), job);
    }
}

#[test]
fn an_outage_in_the_middle() {
    for seed in 0..SEEDS {
        let rng = &mut Rng::with_seed(seed);
        let job = job(rng).with_workers(rng.u64(1..8));
        let from = job
            .start
            .now
            .after(Duration::from_nanos(rng.u64(..2_000_000_000)));
        let until = from.after(Duration::from_nanos(rng.u64(1_000_000_000..5_000_000_000)));
        let down = Outage::over(Plain::new(), from, until, rng.fork());
        let service = Service::constant(Duration::from_nanos(rng.u64(..500_000_000)));
        exact(seed, &Timed::over(down, service.clone()), job);
        let timed = Timed::over(Plain::new(), service);
        exact(seed, &Outage::over(timed, from, until, rng.fork()), job);
    }
}

#[test]
fn an_outage_is_never_beaten_whatever_is_inside() {
    for seed in 0..SEEDS {
        let rng = &mut Rng::with_seed(seed);
        let job = job(rng);
        let from = job
            .start
            .now
            .after(Duration::from_nanos(rng.u64(..2_000_000_000)));
        let down = Outage::over(bucket(rng), from, from.after(span(rng)), rng.fork());
        let (time, accepted) = clairvoyant(&down, job);
        // A bucket that fills up during the outage keeps up to a nanosecond more than a fresh one.
        let bound = down.oracle(job).saturating_sub(Duration::from_nanos(1));
        assert!(
            accepted && bound <= time,
            "seed {seed}: {accepted} {bound:?} {time:?}, {job:?}"
        );
    }
}

#[test]
fn the_scenarios_take_what_was_worked_out_by_hand() {
    let start = Moment::new(
        Instant::from_secs(1),
        moment(Instant::ORIGIN).wall.after(ms(500)),
    );
    let job = Job::new(1_000, ms(20)).starting(start).with_workers(32);
    let time = |name: &str| scenarios::named(name, 1).unwrap().oracle(job);
    for name in ["a", "d", "g"] {
        assert_eq!(time(name), ms(19_800 + 20), "{name}");
    }
    // The first arrival is 510 ms into a window of 2 s: nine boundaries, and the way back.
    assert_eq!(time("b"), ms(18_000 - 500 + 10));
    assert_eq!(time("b2"), time("b"));
    assert_eq!(time("c"), ms(24_000 + 20));
    assert_eq!(time("e"), ms(30_000));
    assert_eq!(time("h"), ms(20));
    assert_eq!(time("i"), ms(9 * 600_000 + 20));
    assert_eq!(time("j"), ms(32 * 20));
    assert_eq!(
        scenarios::NAMES
            .iter()
            .filter(|n| scenarios::named(n, 1).is_none())
            .count(),
        0
    );
    assert!(scenarios::named("?", 1).is_none());
}

#[test]
fn scenario_f_waits_out_its_outage() {
    let job = Job::new(1_000, ms(20)).with_workers(32);
    // Nine rounds of 32 arrive before 3 s; the other 712 need 23 more from 8 s on.
    let time = ms(8_000 - 10 + 23 * 340);
    assert_eq!(scenarios::named("f", 1).unwrap().oracle(job), time);
}

#[test]
fn no_figures_are_too_large() {
    let job = Job::new(u64::MAX, Duration::MAX)
        .starting(Moment::new(Instant::FAR, moment(Instant::FAR).wall));
    for name in scenarios::NAMES {
        scenarios::named(name, 1).unwrap().oracle(job);
    }
    let wild = TokenBucket::new(u64::MAX, Duration::MAX, u64::MAX);
    wild.oracle(job);
    FixedWindow::new(u64::MAX, Duration::ZERO)
        .shifted(Duration::MAX)
        .oracle(job);
    assert_eq!(common::fates(wild, &[0, 0, u64::MAX]), "+++");
}
