//! One request loop for six providers.

use abide::core::Verdict;
use abide::core::WallTime;
use abide::core::refusal::RefusalKind;
use abide_acceptance::Program;
use abide_acceptance::wire::{Script, asking, bare, cut, good, json, with};

use crate::common::{BOOKS, GOOGLE, LOOP, OPENLIBRARY, One, SIX, TRIP, cause, ms, secs};

/// Before, one of the six repeated a 429 and the others made one bare request.
#[tokio::test(start_paused = true)]
async fn a01_one_request_loop_serves_all_six_providers() {
    for provider in SIX {
        let one = One::new(provider, Script::of([asking(429, 2), good()]));
        assert_eq!(one.get().await.unwrap().status, 200, "{provider:?}");
        assert_eq!(one.came.gaps(), [secs(2) + TRIP], "{provider:?}");
        one.sim.assert_no_send_inside_hold();

        // What stays refused is marked, whoever refuses.
        let one = One::new(provider, Script::of([asking(429, 2)]));
        let came = one.get().await.unwrap();
        assert_eq!((came.status.as_u16(), one.came.count()), (429, 4));
        assert!(came.turned().is_rate_limited(), "{provider:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a02_four_requests_for_a_429_502_503_504_or_a_broken_exchange() {
    for status in [429, 502, 503, 504] {
        let one = One::new(SIX[0], Script::of([bare(status)]));
        let came = one.get().await.unwrap();
        assert_eq!((came.status.as_u16(), one.came.count()), (status, 4));
        assert_eq!(came.turned().refusal.attempts, 4);
        assert_eq!(came.turned().refusal.kind, RefusalKind::AttemptsSpent);
    }
    let one = One::new(SIX[0], Script::of([cut()]));
    assert!(one.get().await.is_err());
    assert_eq!(one.came.count(), 4);
    // Everything else is asked for once, a bare 500 too.
    for status in [400, 401, 404, 410, 500, 501] {
        let one = One::new(SIX[0], Script::of([bare(status)]));
        let came = one.get().await.unwrap();
        assert_eq!((came.status.as_u16(), one.came.count()), (status, 1));
    }
}

/// 30 s at most; the true ask is told all the same.
#[tokio::test(start_paused = true)]
async fn a03_an_ask_is_kept_to_the_second_and_clamped_to_30_s() {
    for (said, secs) in [
        ("7", 7),
        ("30", 30),
        ("31", 30),
        ("3600", 30),
        ("86400", 30),
        ("99999999999999999999999999", 30),
    ] {
        let refusal = with(bare(429), "retry-after", said);
        let one = One::new(SIX[0], Script::of([refusal.clone(), good()]));
        assert_eq!(one.get().await.unwrap().status, 200, "{said}");
        // Without dice: what was asked for, and the way there and back.
        assert_eq!(one.came.gaps(), [ms(secs * 1000) + TRIP], "{said}");
    }
    let hour = with(bare(429), "retry-after", "3600");
    let one = One::new(SIX[0], Script::of([hour]));
    let came = one.get().await.unwrap();
    assert_eq!(one.elapsed(), 4 * TRIP + 3 * secs(30));
    let turned = came.turned();
    let ask = turned.refusal.ask.unwrap();
    assert_eq!(ask.until.since(turned.at.now), secs(3600));
}

/// Seconds or a date; all else says nothing, and the wait is our own.
#[tokio::test(start_paused = true)]
async fn a2_the_parse_table_of_retry_after() {
    // Where the clock of a test begins: 2026-03-10 12:00:00.
    for (said, wait) in [
        ("9", secs(9)),
        ("Tue, 10 Mar 2026 12:00:09 GMT", secs(9)),
        ("0", ms(500)),
        ("-5", ms(500)),
        ("-99999999999999999999999999", ms(500)),
        ("soon", ms(500)),
        ("0x1F", ms(500)),
        ("1_0", ms(500)),
        ("", ms(500)),
        ("Tue, 10 Mar 2026 11:59:00 GMT", ms(500)),
        ("99999999999999999999999999", secs(30)),
    ] {
        for status in [429, 503] {
            let refusal = with(bare(status), "retry-after", said);
            let one = One::new(SIX[0], Script::of([refusal, good()]));
            assert_eq!(one.get().await.unwrap().status, 200, "{said:?}");
            let gap = one.came.gaps()[0];
            // A date counts from the provider's clock, whose seconds are whole.
            let late = gap.saturating_sub(wait + TRIP);
            let most = if said.contains("GMT") { secs(1) } else { ms(0) };
            assert!(gap >= wait && late <= most, "{status} {said:?}: {gap:?}");
        }
    }
}

/// 0.5 s, 1 s, 2 s: what the gate is held where nobody names a time.
#[tokio::test(start_paused = true)]
async fn a2_without_an_ask_the_waits_double_from_half_a_second() {
    for status in [429, 502, 503, 504] {
        let one = One::new(SIX[4], Script::of([bare(status)]));
        one.get().await.unwrap();
        let waits: Vec<_> = one.came.gaps().iter().map(|gap| *gap - TRIP).collect();
        assert_eq!(waits, [ms(500), secs(1), secs(2)], "{status}");
    }
    // A broken exchange: drawn evenly below the same ceilings, and 8 s at most.
    let call = Program::new(LOOP)
        .setup
        .config()
        .call(abide_config::Use::Call, None);
    let ceilings: Vec<_> = (1..=6).map(|n| call.backoff.ceiling(n)).collect();
    let told = [500, 1000, 2000, 4000, 8000, 8000].map(ms);
    assert_eq!(ceilings, told);
    let one = One::new(SIX[4], Script::of([cut()]));
    one.get().await.unwrap_err();
    for (gap, most) in one.came.gaps().iter().zip(told) {
        assert!(*gap <= most + TRIP, "{gap:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a05_what_survives_the_retries_is_marked() {
    for (status, mark) in [
        (429, Verdict::RateLimited),
        (502, Verdict::Unavailable),
        (503, Verdict::Unavailable),
        (504, Verdict::Unavailable),
        // Marked, though not tried again.
        (500, Verdict::Unavailable),
    ] {
        let one = One::new(SIX[0], Script::of([bare(status)]));
        let result = one.get().await;
        assert_eq!(cause(&result), Some(mark), "{status}");
        assert_eq!(result.unwrap().turned().is_rate_limited(), status == 429);
        // So that discovery backs off: whoever asks is told to.
        let open = one.program.governor.provider("openlibrary").is_available();
        assert_eq!(open, status == 500, "{status}");
    }
}

/// Keys in addresses (Google Books) and kinds of failures (Open Library) at once.
#[tokio::test(start_paused = true)]
async fn a06_no_error_shows_a_key_and_its_kind_survives() {
    let text = format!("{LOOP}{BOOKS}");
    for script in [
        Script::of([bare(503)]),
        Script::of([json(
            400,
            r#"{"error":{"message":"API key s3cr3t not valid"}}"#,
        )]),
        Script::of([cut()]),
    ] {
        let one = One::with(&text, ("www.googleapis.com", GOOGLE), script);
        let told = match one.get().await {
            Ok(came) => format!("{:?} {}", came.turned, came.status),
            Err(missed) => format!("{missed} {missed:?}"),
        };
        assert!(!told.contains("s3cr3t"), "{told}");
    }
    // Whoever looks for a failure of its own kind finds it, untouched.
    let one = One::new(("openlibrary.org", OPENLIBRARY), Script::of([cut()]));
    let missed = one.get().await.unwrap_err();
    assert_eq!(missed.into_inner(), Some(abide_acceptance::wire::Cut));
    // What does not exist is an answer, and is handed on.
    let lost = json(404, r#"{"error":"notfound"}"#);
    let one = One::new(SIX[0], Script::of([lost]));
    let came = one.get().await.unwrap();
    assert_eq!(
        (came.status.as_u16(), &came.body[..9]),
        (404, &b"{\"error\":"[..])
    );
    assert!(came.turned.is_none());
}

/// The reason decides, by the status 403 or 429.
#[tokio::test(start_paused = true)]
async fn a10_a_used_up_day_is_final_and_a_minute_is_not() {
    let text = format!("{LOOP}{BOOKS}");
    let saying = |status, reason: &str| {
        let body = format!(
            r#"{{"error":{{"code":{status},"message":"{}","errors":[{{"reason":"{reason}"}}]}}}}"#,
            // The reason sits past a long message.
            "Quota. ".repeat(570)
        );
        json(status, &body)
    };
    for status in [403, 429] {
        for reason in ["dailyLimitExceeded", "quotaExceeded"] {
            let script = Script::of([saying(status, reason)]);
            let one = One::with(&text, ("www.googleapis.com", GOOGLE), script);
            let came = one.get().await.unwrap();
            assert_eq!((came.status.as_u16(), one.came.count()), (status, 1));
            let turned = came.turned();
            assert!(turned.is_rate_limited());
            assert_eq!(turned.refusal.cause, Some(Verdict::QuotaExhausted));
            // Until midnight where Google is: 19 hours on.
            let midnight = WallTime::from_unix_secs(1_773_144_000 + 19 * 3600);
            assert_eq!(turned.retry_at(), Some(midnight));
            let told = turned.to_string();
            let words = "google-books says the quota is used up; next possible at 2026-03-11T07";
            assert!(told.starts_with(words), "{told}");
            assert_eq!(one.elapsed(), TRIP);
        }
        // By the minute: tried again. A 403 too, which the program itself overlooks.
        for reason in ["rateLimitExceeded", "userRateLimitExceeded"] {
            let script = Script::of([saying(status, reason), good()]);
            let one = One::with(&text, ("www.googleapis.com", GOOGLE), script);
            assert_eq!(one.get().await.unwrap().status, 200, "{status} {reason}");
            assert_eq!(one.came.count(), 2);
        }
    }
    // Any other 403 is none of these.
    let script = Script::of([saying(403, "ipRefererBlocked")]);
    let one = One::with(&text, ("www.googleapis.com", GOOGLE), script);
    let result = one.get().await;
    assert_eq!((result.is_ok(), one.came.count()), (true, 1));
}

/// A suite of failing calls takes no time: the same file with other numbers.
#[tokio::test(start_paused = true)]
async fn a12_the_base_of_every_wait_is_a_knob() {
    let slow = One::new(SIX[3], Script::of([bare(503)]));
    slow.get().await.unwrap();
    assert!(slow.elapsed() > secs(3));
    let tests = format!(
        "{LOOP}
[providers.nb-norway]
backoff.base = \"1ms\"
ladder.base = \"1ms\"
override = true
limits = [\"1000/s\"]
"
    );
    let fast = One::with(&tests, SIX[3], Script::of([bare(503)]));
    fast.get().await.unwrap();
    assert_eq!(fast.came.count(), 4);
    assert!(fast.elapsed() <= ms(100), "{:?}", fast.elapsed());
}
