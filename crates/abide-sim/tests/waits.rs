//! Caps, deadlines and bounded waits: rows W, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::time::Duration;

use abide_core::Instant;
use abide_core::Verdict;
use abide_core::call::CallPolicy;
use abide_core::pace::{Sliding, Window};
use abide_core::policy::ProviderPolicy;
use abide_core::refusal::{DecidedBy, RefusalKind};
use abide_core::run::{Run, RunPolicy, Turn};
use abide_sim::Provider;
use abide_sim::world::{Plan, World};
use common::call::{Heard, Site};
use common::ms;
use common::script::{Script, ok};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn patient(patience: u64) -> CallPolicy {
    let mut call = CallPolicy::default();
    call.patience = secs(patience);
    call
}

const OK: Heard<'static> = (200, "");

#[test]
fn sc_w02_a_cap_fails_and_never_shortens_and_an_ask_as_long_as_it_is_waited() {
    for status in [429, 503] {
        let cap = |ask: &str, wait_max: Option<Duration>| {
            let mut call = patient(60);
            call.wait_max = wait_max;
            Site::new().ask(&call, &[(status, ask), OK])
        };
        for wait_max in [None, Some(secs(60))] {
            let equal = cap("60", wait_max);
            assert!(equal.refusal.is_none(), "{equal:?}");
            assert!(equal.sends[1].since(equal.answers[0]) >= secs(60));
            let above = cap("61", wait_max);
            assert_eq!((above.sends.len(), above.waited), (1, Duration::ZERO));
            let told = above.refusal().describe("api.example", above.at);
            assert!(told.contains("next possible at 2026-"), "{told}");
        }
        assert_eq!(cap("21", Some(secs(20))).sends.len(), 1);
        assert_eq!(cap("20", Some(secs(20))).sends.len(), 2);
    }
}

/// "Within 50 ms" is here "at the instant of the answer": nothing was slept.
#[test]
fn sc_w03_a_wait_longer_than_the_time_left_fails_at_once() {
    let mut call = patient(300);
    call.deadline = Some(secs(30));
    let told = Site::new().ask(&call, &[(429, "60"), OK]);
    assert_eq!(told.at.now, told.answers[0]);
    assert_eq!(told.refusal().kind, RefusalKind::DeadlineTooSoon);
    assert_eq!(
        told.refusal().retry_at,
        Some(told.answers[0].after(secs(60)))
    );
    // Time already used counts: 20 s fit into the 30 s once, not twice.
    let twice: Heard<'_> = (429, "20");
    let told = Site::new().ask(&call, &[twice, twice, OK]);
    assert_eq!((told.sends.len(), told.at.now), (2, told.answers[1]));
}

#[test]
fn sc_w04_ten_thousand_waits_and_none_is_early() {
    let mut rng = fastrand::Rng::with_seed(44);
    for n in 0..10_000 {
        let mut site = Site::new();
        site.now = Instant::from_nanos(rng.u64(1..1 << 50));
        site.trip = Duration::from_nanos(rng.u64(0..1 << 30));
        site.dice = rng.f64();
        let asked = Duration::from_nanos(rng.u64(1..300_000_000_000));
        // Digits behind the point are read as exactly as they are written.
        let digits = [0, 1, 3, 9][rng.usize(..4)];
        let text = format!("{:.digits$}", asked.as_secs_f64());
        let least = text.parse::<f64>().unwrap();
        if least == 0.0 {
            continue;
        }
        let status = if rng.bool() { 429 } else { 503 };
        let heard: Heard<'_> = (status, &text);
        let told = site.ask(&patient(301), &[heard, OK]);
        let waited = told.sends[1].since(told.answers[0]).as_secs_f64();
        assert!(waited >= least - 1e-9, "{n}: {text} asked, {waited} waited");
    }
}

#[test]
fn sc_w07_a_backoff_of_our_own_is_bounded_too() {
    let mut call = patient(30);
    call.deadline = Some(secs(1));
    call.backoff.base = ms(3_200);
    let told = Site::new().ask(&call, &[(502, ""), OK]);
    assert_eq!(
        (told.at.now, told.waited),
        (told.answers[0], Duration::ZERO)
    );
    assert_eq!(told.refusal().decided_by, DecidedBy::Deadline);
    call.deadline = None;
    call.patience = secs(1);
    let told = Site::new().ask(&call, &[(502, ""), OK]);
    assert_eq!((told.at.now, told.sends.len()), (told.answers[0], 1));
}

#[test]
fn sc_w11_too_long_is_not_absent() {
    for ask in ["61", "3600", "86399", "99999999999"] {
        let heard: Heard<'_> = (429, ask);
        let mut site = Site::new();
        let told = site.ask(&patient(60), &[heard, OK]);
        assert_eq!(told.sends.len(), 1, "{ask}");
        // Nor is it forgotten for the next call.
        assert!(site.ask(&patient(60), &[OK]).sends.is_empty(), "{ask}");
    }
    let heard: Heard<'_> = (503, "61");
    let told = Site::new().ask(&patient(300), &[heard, OK]);
    assert!(told.sends[1].since(told.answers[0]) >= secs(61));
}

/// The end of a budget is the caller's own number, so the refusal tells its kind, who decided and
/// when the next attempt would have been.
#[test]
fn sc_w14_a_run_that_ends_early_says_why() {
    let mut call = patient(30);
    call.backoff.base = secs(60);
    call.backoff.max = secs(60);
    call.deadline = Some(secs(20));
    let told = Site::new().ask(&call, &[(502, ""), OK]);
    assert_eq!(told.refusal().retry_at, Some(told.at.now.after(secs(30))));
    let text = told.refusal().describe("api.example", told.at);
    assert!(
        text.contains("deadline") && text.contains("next possible at"),
        "{text}"
    );

    let mut gates = ProviderPolicy::default();
    gates.budget.ratio = 0.0;
    gates.budget.per_second = 0.1;
    let told = Site::with(gates).ask(&patient(300), &[(502, "")]);
    assert_eq!(told.refusal().kind, RefusalKind::BudgetSpent);
    assert!(told.refusal().retry_at.unwrap() > told.at.now);
    let text = told.refusal().describe("api.example", told.at);
    assert!(
        text.contains("budget") && text.contains("next possible at"),
        "{text}"
    );
}

/// The stop is transient: asking again later can help, and the refusal says so.
#[test]
fn sc_w18_the_longest_wait_is_a_knob_of_each_provider() {
    let mut short = RunPolicy::default();
    short.wait_max = Some(secs(10));
    let mut run = Run::new(RunPolicy::default());
    let (patient_lane, short_lane) = (run.lane(), run.lane_with(short));
    let (now, until) = (Instant::ORIGIN, Instant::from_secs(60));
    assert_eq!(run.refused(now, patient_lane, 0, until), Turn::Wait);
    assert_eq!(run.refused(now, short_lane, 1, until), Turn::GiveUp);

    let mut call = patient(300);
    call.wait_max = Some(secs(10));
    let told = Site::new().ask(&call, &[(429, "11"), OK]);
    assert!(told.refusal().is_retryable() && told.refusal().is_rate_limited());
    assert_eq!(told.refusal().kind, RefusalKind::Held);
}

/// A hundred callers, two rates: whoever wakes checks both again and takes nothing for granted.
#[test]
fn sc_w20_a_slot_is_never_assumed_after_waking() {
    let mut plan = Plan::new(100, ms(10)).jittered(0.0);
    plan.gates.provider.windows = [(5, 1), (40, 20)]
        .map(|(count, length)| Window::from(Sliding::new(count, secs(length))))
        .to_vec();
    let script = Script::new(|_, _| ok());
    let arrivals = script.arrivals();
    let mut world = World::new(plan, 20);
    world.add(Provider::new(script), 200);
    let report = world.run();
    assert_eq!((report.done, report.refused), (200, 0));
    let arrivals = arrivals.lock().unwrap();
    assert_eq!(arrivals.len(), 200);
    for (count, length) in [(5, secs(1)), (40, secs(20))] {
        for pair in arrivals.windows(count + 1) {
            assert!(
                pair[count].since(pair[0]) >= length,
                "{count} in {length:?}"
            );
        }
    }
}

#[test]
fn sc_w21_retry_after_sets_the_time_and_the_status_decides() {
    for status in [400, 401, 404, 409, 410, 422] {
        let heard: Heard<'_> = (status, "1");
        let mut site = Site::new();
        let told = site.ask(&patient(30), &[heard, OK]);
        assert_eq!(
            (told.sends.len(), told.refusal.is_none()),
            (1, true),
            "{status}"
        );
        assert_ne!(told.verdict, Some(Verdict::RateLimited));
        // And it holds nobody.
        let next = site.ask(&CallPolicy::default(), &[OK]);
        assert_eq!(next.waited, Duration::ZERO, "{status}");
    }
}

#[test]
fn sc_h09_the_newest_answer_counts() {
    let short: Heard<'_> = (429, "9");
    let long: Heard<'_> = (429, "107");
    let told = Site::new().ask(&patient(300), &[short, long, short, OK]);
    let waits: Vec<u64> = (1..4)
        .map(|n| told.sends[n].since(told.answers[n - 1]).as_secs())
        .collect();
    assert_eq!(waits, [9, 107, 9]);
}
