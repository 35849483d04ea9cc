//! Item 3: digits, or an HTTP date, and nothing else.

use abide::clock::Clock;
use abide::core::Moment;
use abide_acceptance::script::{hinting, ok};
use tokio::time::sleep;

use crate::*;

/// So many seconds after this moment, as a date.
fn date(at: Moment, ahead: i64) -> String {
    let second = at.wall.as_unix_nanos().div_euclid(1_000_000_000) + ahead;
    let second = u64::try_from(second).unwrap();
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + secs(second))
}

/// Answers twice with this hint, then well.
async fn twice(hint: &str) -> Ended {
    let world = World::saying([hinting(429, hint), hinting(429, hint), ok()]);
    world.ask(SOURCE).await
}

#[tokio::test(start_paused = true)]
async fn d03_what_is_neither_digits_nor_a_date_is_no_hint() {
    for nonsense in [
        "-5",
        "0x1F",
        "1_0",
        "1e3",
        "+7",
        "",
        "soon",
        "7 seconds",
        "Tue, 10 Mar 2020 12:00:00 GMT",
        "Tue, 99 Mar 2026 12:00:00 GMT",
    ] {
        let ended = twice(nonsense).await;
        assert!(ended.result.is_ok(), "{nonsense}");
        assert_eq!(ended.waits, [secs(1), secs(2)], "{nonsense}");
        let replies = [hinting(503, nonsense), hinting(503, nonsense), ok()];
        let ended = World::saying(replies).ask(IMAGES).await;
        assert_eq!(ended.waits, [secs(1), secs(2)], "{nonsense} of a 503");
    }
}

#[tokio::test(start_paused = true)]
async fn d03_digits_are_seconds() {
    for (hint, wait) in [("1", 1), ("7", 7), ("007", 7), ("30", 30), (" 9 ", 9)] {
        assert_eq!(twice(hint).await.waits, [secs(wait), secs(wait)], "{hint}");
    }
    // Too many to be counted is very long, not absent.
    for hint in ["31", "3600", "99999999999999999999999999"] {
        assert_eq!(twice(hint).await.sends, 1, "{hint}");
    }
}

#[tokio::test(start_paused = true)]
async fn d03_zero_asks_again_at_once() {
    let ended = twice("0").await;
    assert!(ended.result.is_ok());
    assert_eq!(ended.waits, [Duration::ZERO, Duration::ZERO]);
}

/// A date is a whole second: it is waited for to its very end, however much of the present second
/// is over.
#[tokio::test(start_paused = true)]
async fn d03_a_date_is_waited_for_to_its_whole_second() {
    for begun in [0, 1, 300, 700, 999] {
        for ahead in [1, 5, 28] {
            let script = Script::by(move |n, at, _| match n {
                0 => hinting(429, &date(at, ahead)),
                _ => ok(),
            });
            let world = World::new(script);
            sleep(ms(begun)).await;
            let ended = world.ask(SOURCE).await;
            assert!(ended.result.is_ok());
            let all = world.arrivals.all();
            let wall = |at| world.program.clock.moment().wall_at(at);
            let asked = wall(all[0]).as_unix_nanos().div_euclid(1_000_000_000) + ahead;
            let came = wall(all[1]).as_unix_nanos();
            let late = came - asked * 1_000_000_000;
            assert!(late >= 0, "{begun} {ahead}: early by {late} ns");
            assert!(late <= 1_100_000_000, "{begun} {ahead}: late by {late} ns");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn d03_a_date_has_the_same_bound() {
    for (ahead, sends) in [(29, 2), (32, 1), (3_600, 1)] {
        let script = Script::by(move |n, at, _| match n {
            0 => hinting(429, &date(at, ahead)),
            _ => ok(),
        });
        let ended = World::new(script).ask(SOURCE).await;
        assert_eq!(ended.sends, sends, "{ahead}");
        if sends == 1 {
            assert!(ended.asked().unwrap() > secs(30), "{ahead}");
        }
    }
}

/// Limit f: there, dates were measured by the local clock.
#[tokio::test(start_paused = true)]
async fn d13f_a_date_is_measured_by_the_sources_own_clock() {
    use abide_sim::policy::WrongClock;
    let hour = secs(3_600);
    for ahead in [true, false] {
        let script = Script::by(|n, at, _| match n {
            0 => hinting(429, &date(at, 10)),
            _ => ok(),
        });
        let arrivals = script.arrivals();
        let program = Program::new(POLICY);
        let sim = match ahead {
            true => Sim::new(WrongClock::ahead(script, 2 * hour), &program.clock),
            false => Sim::new(WrongClock::behind(script, 2 * hour), &program.clock),
        };
        let world = World {
            program,
            sim,
            arrivals,
        };
        let ended = world.ask(SOURCE).await;
        assert!(ended.result.is_ok(), "ahead: {ahead}");
        let wait = ended.waits[0];
        assert!(
            wait >= secs(9) && wait <= secs(12),
            "ahead: {ahead}: {wait:?}"
        );
    }
}
