//! What a card catalogue asked of its downloads, item by item, in virtual time.
//!
//! Item 4 (no wait after the last attempt) is tested where it is decided, in the core's `call`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::time::Duration;

use abide_core::call::CallPolicy;
use abide_core::classify::HintZero;
use abide_core::refusal::RefusalKind;
use abide_core::{Instant, Verdict};
use abide_sim::Provider;
use abide_sim::world::{Ending, Plan, World};
use common::call::{Heard, Site, Told};
use common::script::{Script, asking, ok};
use common::{EPOCH, ms};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Three attempts, 30 s at a time, 60 s together: that program's numbers, as knobs.
fn call() -> CallPolicy {
    let mut call = CallPolicy::default();
    call.attempts = 3;
    call.wait_max = Some(secs(30));
    call.patience = secs(60);
    call
}

fn ask(answers: &[Heard<'_>]) -> Told {
    Site::new().ask(&call(), answers)
}

fn waits(told: &Told) -> Vec<u128> {
    let pairs = told.sends[1..].iter().zip(&told.answers);
    pairs
        .map(|(sent, heard)| sent.since(*heard).as_millis())
        .collect()
}

#[test]
fn d01_a_call_waits_thirty_seconds_at_a_time_and_sixty_in_all() {
    let told = ask(&[(429, "30"), (429, "30"), (200, "")]);
    assert!(told.refusal.is_none());
    assert_eq!(waits(&told), [30_000, 30_000]);
    assert_eq!(told.waited, secs(60));
    let spent = ask(&[(429, "30")]);
    assert_eq!((spent.sends.len(), spent.waited), (3, secs(60)));
    assert_eq!(spent.refusal().kind, RefusalKind::AttemptsSpent);
    // The sum binds where a single wait does not.
    let mut many = call();
    many.attempts = 9;
    let told = Site::new().ask(&many, &[(429, "25")]);
    assert_eq!((told.sends.len(), told.waited), (3, secs(50)));
}

#[test]
fn d02_a_longer_ask_ends_the_call_at_once_on_any_attempt() {
    for status in [429, 500, 503] {
        for before in 0..2 {
            let mut answers = vec![(429, "1"); before];
            answers.extend([(status, "31"), (200, "")]);
            let told = ask(&answers);
            assert_eq!(told.sends.len(), before + 1);
            assert_eq!(told.at.now, told.answers[before]);
            let r = told.refusal();
            assert_eq!(r.ask.unwrap().until, told.at.now.after(secs(31)));
            assert_eq!(r.retry_at, Some(told.at.now.after(secs(31))));
            assert_eq!(r.is_rate_limited(), status == 429);
        }
    }
}

/// Differs twice: a decimal number is read too, and zero means a second unless `hint.zero` says
/// at once. Without a hint the hold's ladder says 1 s then 2 s, as there.
#[test]
fn d03_digits_or_a_date_and_nothing_else() {
    let second = |ask| waits(&ask_twice(ask, &mut Site::new()));
    for nonsense in [
        "",
        "-5",
        "0x1F",
        "1_0",
        "1e3",
        "soon",
        "Tue, 10 Mar 2020 12:00:00 GMT",
    ] {
        assert_eq!(second(nonsense), [1_000, 2_000], "{nonsense}");
    }
    assert_eq!(second("7"), [7_000, 7_000]);
    assert_eq!(second("0"), [1_000, 1_000]);
    let mut site = Site::new();
    site.classify.hint_zero = HintZero::Immediate;
    let at_once = waits(&ask_twice("0", &mut site));
    assert_eq!(at_once[0], 0);

    // A date is a whole second: it is waited for to its very end, however much of the present
    // second is over.
    let mut site = Site::new();
    site.now = Instant::from_millis(1_000_300);
    site.trip = ms(1);
    let told = site.ask(&call(), &[(429, &date(1_005)), (200, "")]);
    assert!(told.sends[1] >= Instant::from_secs(1_005), "{told:?}");
    // And the bound is the same: 30 s fit, more do not.
    assert_eq!(ask(&[(429, &date(1_031)), (200, "")]).sends.len(), 1);
}

fn ask_twice(ask: &str, site: &mut Site) -> Told {
    site.ask(&call(), &[(429, ask), (429, ask), (200, "")])
}

/// So many seconds after the origin of virtual time.
fn date(second: u64) -> String {
    let wall = std::time::UNIX_EPOCH + secs(u64::try_from(EPOCH).unwrap() + second);
    httpdate::fmt_http_date(wall)
}

#[test]
fn d05_the_refusal_tells_the_last_wait_asked_for() {
    let too_long = ask(&[(429, "5"), (429, "90")]);
    let r = too_long.refusal();
    assert_eq!(r.ask.unwrap().until, too_long.at.now.after(secs(90)));
    let spent = ask(&[(429, "5"), (429, "7"), (429, "9")]);
    let r = spent.refusal();
    assert_eq!(r.ask.unwrap().until, spent.at.now.after(secs(9)));
    // Nobody said: no ask.
    let silent = ask(&[(429, "")]);
    assert_eq!(silent.sends.len(), 3);
    assert_eq!(silent.refusal().ask, None);
}

#[test]
fn d06_a_final_failure_is_no_refusal() {
    let told = ask(&[(502, "")]);
    let r = told.refusal();
    assert_eq!((told.sends.len(), r.cause), (3, Some(Verdict::Unavailable)));
    assert!(!r.is_rate_limited());
    assert_eq!((r.ask, r.retry_at), (None, None));
    // And it holds nobody.
    let mut site = Site::new();
    site.ask(&call(), &[(502, "")]);
    assert_eq!(site.ask(&call(), &[(200, "")]).waited, Duration::ZERO);
}

/// A host that asks for an hour gets no request for each image that is left; what was fetched
/// stays, and what was not is skipped with the time to come back, never failed.
#[test]
fn d07_a_refusal_stops_the_run_and_a_failure_costs_one_item() {
    let mut world = World::new(Plan::new(4, ms(20)), 7);
    let script = Script::new(|n, _| if n < 200 { ok() } else { asking(429, 3_600) });
    world.add(Provider::new(script), 1_000);
    let r = world.run();
    assert_eq!((r.done, r.skipped, r.failed, r.lost), (200, 800, 0, 0));
    assert!(
        r.requests <= 204 && r.sent_inside_hold == 0,
        "{}",
        r.requests
    );
    for ending in r.endings.iter().flatten() {
        if let Ending::Skipped { cause, retry_at } = ending {
            assert_eq!(*cause, Verdict::RateLimited);
            assert!(retry_at.unwrap() >= Instant::from_secs(3_600));
        }
    }

    let mut plan = Plan::new(1, ms(20));
    plan.call.attempts = 3;
    let mut world = World::new(plan, 7);
    let script = Script::new(|n, _| match n {
        10..13 => common::script::bare(502),
        20 => common::script::bare(404),
        _ => ok(),
    });
    world.add(Provider::new(script), 100);
    let r = world.run();
    assert_eq!((r.failed, r.done, r.skipped), (1, 99, 0));
}
