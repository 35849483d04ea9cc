//! What a book importer asked of its bulk runs, items 15 to 19, in virtual time.
//!
//! The items about single calls are tested over a wire, with the client.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::time::Duration;

use abide_core::{Instant, Verdict};
use abide_sim::Provider;
use abide_sim::world::{Ending, Plan, Report, World};
use common::ms;
use common::script::{Arrivals, Script, asking, bare, ok};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// A row at a time, as an importer asks.
fn import(script: Script, rows: u32) -> (Report, Vec<Instant>) {
    in_hand(1, script, rows)
}

fn in_hand(hands: u32, script: Script, rows: u32) -> (Report, Vec<Instant>) {
    let arrivals: Arrivals = script.arrivals();
    let mut world = World::new(Plan::new(hands, ms(20)), 15);
    world.add(Provider::new(script), rows);
    let report = world.run();
    assert_eq!((report.lost, report.sent_inside_hold), (0, 0));
    let arrivals = arrivals.lock().unwrap().clone();
    (report, arrivals)
}

fn skipped(report: &Report) -> impl Iterator<Item = (Verdict, Option<Instant>)> {
    report.endings.iter().flatten().filter_map(|e| match e {
        Ending::Skipped { cause, retry_at } => Some((*cause, *retry_at)),
        _ => None,
    })
}

/// One refusal, or many far apart, trips nothing.
#[test]
fn a15_refusals_that_are_waited_out_are_no_streak() {
    let (r, _) = import(
        Script::new(|n, _| match n {
            1 => asking(429, 1),
            _ => ok(),
        }),
        1_000,
    );
    assert_eq!((r.done, r.requests), (1_000, 1_001));
    let (r, _) = import(
        Script::new(|n, _| match n % 3 {
            1 => asking(429, 1),
            _ => ok(),
        }),
        300,
    );
    assert_eq!((r.done, r.failed, r.skipped), (300, 0, 0));
}

/// Differs where nobody names a time: the hold's ladder (1 s, 2 s, 4 s) instead of always 2 s.
#[test]
fn a16_a_row_waits_out_the_hold_and_asks_again() {
    let (r, at) = import(
        Script::new(|n, _| match n {
            0 => asking(429, 25),
            1 => asking(429, 3),
            2 => asking(429, 7),
            _ => ok(),
        }),
        1,
    );
    assert_eq!((r.done, r.requests), (1, 4));
    let waits: Vec<u64> = at.windows(2).map(|w| w[1].since(w[0]).as_secs()).collect();
    assert_eq!(waits, [25, 3, 7]);
    let (r, at) = import(Script::new(|n, _| if n < 3 { bare(429) } else { ok() }), 1);
    assert_eq!(r.done, 1);
    let waits: Vec<u64> = at.windows(2).map(|w| w[1].since(w[0]).as_secs()).collect();
    assert_eq!(waits, [1, 2, 4]);
}

/// An outage that says until when is waited out; one that does not end stops the run.
#[test]
fn a17_an_outage_with_a_known_end_is_waited_out_and_counts() {
    let (r, _) = import(
        Script::new(|n, _| match n {
            5 | 6 => asking(503, 20),
            _ => ok(),
        }),
        100,
    );
    assert_eq!((r.done, r.requests), (100, 102));
    assert!(r.elapsed >= secs(40));

    let (r, _) = import(Script::new(|_, _| asking(503, 20)), 1_000);
    assert_eq!((r.done, r.failed + r.skipped), (0, 1_000));
    assert!(r.requests <= 12, "{}", r.requests);
}

/// Three waits a row and three rows: twelve requests, and everybody else is told when to come
/// back, unsent.
#[test]
fn a18_a_provider_that_refuses_for_ever_is_asked_twelve_times() {
    for say in [|_, _| asking(429, 2), |_, _| bare(429)] {
        let (r, _) = import(Script::new(say), 1_000);
        assert_eq!((r.done, r.skipped, r.failed), (0, 1_000, 0));
        assert_eq!(r.requests, 12);
        for (cause, retry_at) in skipped(&r) {
            assert_eq!(cause, Verdict::RateLimited);
            assert!(retry_at.is_some());
        }
    }
}

/// However many rows wait at once, the run is blocked for ten minutes at most.
#[test]
fn a19_a_run_waits_out_holds_for_ten_minutes_in_all() {
    for hands in [1, 8, 32] {
        // An answer now and then, so that no streak ends it first.
        let script = Script::new(|n, _| if n % 2 == 0 { asking(429, 50) } else { ok() });
        let (r, _) = in_hand(hands, script, 1_000);
        let held = r.sites[0].held;
        assert!(held <= secs(600), "{held:?} with {hands} in hand");
        assert!(held > secs(540), "{held:?} with {hands} in hand");
        assert!(r.requests <= 200 && r.skipped > 0, "{}", r.requests);
        assert!(skipped(&r).all(|(_, retry_at)| retry_at.is_some()));
    }
}
