//! GitHub: a limit for each resource, limits beside those, and a 403 that means many things.

use abide::core::Verdict;
use abide::core::refusal::RefusalKind;
use abide_acceptance::wire::{Script, asking, bare, good, json, with};
use abide_sim::{Announced, Reply};
use http::Method;
use tokio::task::JoinSet;

use crate::common::{GITHUB, One, RETRY, TRIP, ms, secs};

/// Where the clock of a test begins.
const NOON: u64 = 1_773_144_000;

fn primary(reset: u64) -> Reply {
    let body = r#"{"message":"API rate limit exceeded for user ID 1."}"#;
    let reply = with(json(403, body), "x-ratelimit-remaining", "0");
    let reply = with(reply, "x-ratelimit-limit", "5000");
    with(reply, "x-ratelimit-reset", &(NOON + reset).to_string())
}

fn secondary(status: u16, after: Option<u64>) -> Reply {
    let body = r#"{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}"#;
    let reply = with(json(status, body), "x-ratelimit-remaining", "4321");
    let reply = with(reply, "x-ratelimit-reset", &(NOON + 3_000).to_string());
    match after {
        Some(after) => {
            with(reply, "retry-after", &after.to_string()).announcing(Announced::For(secs(after)))
        }
        None => reply,
    }
}

/// A good answer, which tells of its pool.
fn pooled(remaining: u32) -> Reply {
    let reply = with(good(), "x-ratelimit-resource", "core");
    let reply = with(reply, "x-ratelimit-limit", "5000");
    let reply = with(reply, "x-ratelimit-remaining", &remaining.to_string());
    with(reply, "x-ratelimit-reset", &(NOON + 3_600).to_string())
}

/// A caller who waits for as long as it takes.
fn patient() -> String {
    RETRY.replace("attempts = 4", "attempts = 4\npatience = \"1h\"")
}

#[tokio::test(start_paused = true)]
async fn b05_a_429_any_5xx_and_a_403_of_an_empty_pool_and_no_bare_403() {
    let one = One::new(GITHUB, Script::of([asking(429, 5), good()]));
    assert_eq!(one.get("/repos/o/r").await.unwrap().status, 200);
    assert_eq!(one.waits(), [secs(5)]);
    for status in [500, 501, 502, 503, 504, 505, 520, 522, 599] {
        let one = One::new(GITHUB, Script::of([bare(status)]));
        let came = one.get("/repos/o/r").await.unwrap();
        assert_eq!((came.status.as_u16(), one.came.count()), (status, 4));
    }
    // The pool is empty until its reset, which is waited for where it is near enough.
    let one = One::new(GITHUB, Script::of([primary(20), good()]));
    assert_eq!(one.get("/repos/o/r").await.unwrap().status, 200);
    let wait = one.waits()[0];
    assert!(wait >= secs(19) && wait <= secs(21), "{wait:?}");
    let one = One::new(GITHUB, Script::of([primary(3_000)]));
    let came = one.get("/repos/o/r").await.unwrap();
    assert_eq!((came.status.as_u16(), one.came.count()), (403, 1));
    let turned = came.turned();
    assert_eq!(turned.refusal.kind, RefusalKind::Held);
    // By GitHub's own clock, of which only whole seconds are told.
    let reset = turned.retry_at().unwrap().to_string();
    assert!(reset.starts_with("2026-03-10T12:50:0"), "{reset}");
    // A bare 403 is a missing right, also where the pool happens to be empty.
    let right = r#"{"message":"Resource not accessible by integration"}"#;
    let denied = json(403, right);
    let empty = with(denied.clone(), "x-ratelimit-remaining", "0");
    let empty = with(empty, "x-ratelimit-reset", &(NOON + 60).to_string());
    for forbidden in [bare(403), denied, empty] {
        let one = One::new(GITHUB, Script::of([forbidden]));
        let came = one.get("/repos/o/r").await.unwrap();
        assert_eq!((came.status.as_u16(), one.came.count()), (403, 1));
        assert_eq!(one.elapsed(), TRIP);
        assert!(one.program.governor.held().is_empty());
        let limited = came.turned.is_some_and(|t| t.is_rate_limited());
        assert!(!limited, "a denial is no limit");
    }
}

/// The program saw only an empty pool. If told how long, so long; else a minute at least, and
/// longer each time, and an end.
#[tokio::test(start_paused = true)]
async fn b2_secondary_limits_are_waited_out() {
    for status in [403, 429] {
        let script = Script::of([secondary(status, Some(75)), good()]);
        let one = One::with(&patient(), GITHUB, script);
        assert_eq!(one.get("/repos/o/r").await.unwrap().status, 200);
        assert_eq!(one.waits(), [secs(75)]);

        let one = One::with(&patient(), GITHUB, Script::of([secondary(status, None)]));
        let came = one.get("/repos/o/r").await.unwrap();
        assert_eq!((came.status.as_u16(), one.came.count()), (status, 4));
        assert_eq!(one.waits(), [secs(60), secs(120), secs(240)]);
        assert!(came.turned().is_rate_limited());
        // It covers everything this credential asks for, and says when.
        let refusal = &came.turned().refusal;
        assert_eq!(refusal.cause, Some(Verdict::RateLimited));
        assert_eq!(refusal.retry_in(came.turned().at.now), Some(secs(480)));
    }
    // A caller without that patience is told at once, and nobody hammers on.
    let one = One::new(GITHUB, Script::of([secondary(403, None)]));
    for path in ["/repos/o/r", "/repos/o/r/branches", "/repos/o/r/pulls"] {
        let limited = match one.get(path).await {
            Ok(came) => came.turned().is_rate_limited(),
            Err(missed) => missed.turned().unwrap().is_rate_limited(),
        };
        assert!(limited);
    }
    assert_eq!((one.came.count(), one.elapsed()), (1, TRIP));
}

/// A hundred at once, 900 points a minute, 80 requests that create content.
#[tokio::test(start_paused = true)]
async fn b2_the_documented_secondary_limits_are_kept_beforehand() {
    let text = patient().replace(
        "[providers.github]",
        "[providers.github]\nconcurrency = 500\npace.gentle = false",
    );
    // A hundred on the wire.
    let slow = Script::new(|_, _, _| pooled(4_000).taking(secs(1)));
    let one = One::with(&text, GITHUB, slow);
    // The first answer names the pool.
    one.get("/repos/o/r/commits").await.unwrap();
    let mut reads = JoinSet::new();
    for n in 0..150 {
        let http = one.http.clone();
        let url = format!("https://{GITHUB}/repos/o/r/commits?page={n}");
        let send = async move {
            let get = http.request(Method::GET, &url, "", Some("t0k3n"), |_| {});
            get.await.unwrap().status
        };
        reads.spawn(send);
    }
    tokio::time::sleep(ms(500)).await;
    assert_eq!(one.came.count(), 1 + 100);
    while let Some(status) = reads.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }

    for (method, path, count, most) in [
        (Method::GET, "/repos/o/r/commits", 1_000, 900),
        (Method::POST, "/repos/o/r/issues", 100, 80),
        // Five points each.
        (Method::PATCH, "/notifications/threads/1", 200, 180),
    ] {
        let one = One::with(&text, GITHUB, Script::of([pooled(4_000)]));
        let mut sends = JoinSet::new();
        for _ in 0..count {
            let (http, method) = (one.http.clone(), method.clone());
            let url = format!("https://{GITHUB}{path}");
            sends.spawn(async move {
                let sent = http.request(method, &url, "{}", Some("t0k3n"), |_| {});
                sent.await.unwrap().status
            });
        }
        while let Some(status) = sends.join_next().await {
            assert_eq!(status.unwrap(), 200);
        }
        let at: Vec<_> = one.came.all().iter().map(|s| s.at).collect();
        let busiest = at.iter().map(|from| {
            at.iter()
                .filter(|t| **t >= *from && t.since(*from) < secs(60))
                .count()
        });
        assert_eq!(busiest.max(), Some(most), "{method} {path}");
    }
}

/// A server of one's own may have no limits and tell none: its requests do not go one by one.
#[tokio::test(start_paused = true)]
async fn b2_a_server_that_names_no_pool_is_asked_side_by_side() {
    let script = Script::new(|_, _, _| good().taking(secs(1)));
    let one = One::new(GITHUB, script);
    let mut reads = JoinSet::new();
    for _ in 0..40 {
        let http = one.http.clone();
        let url = format!("https://{GITHUB}/repos/o/r");
        reads.spawn(async move {
            let get = http.request(Method::GET, &url, "", Some("t0k3n"), |_| {});
            get.await.unwrap().status
        });
    }
    while let Some(status) = reads.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    // One, and then by a gentle start up to eight at once.
    assert!(one.elapsed() <= secs(9), "{:?}", one.elapsed());
}
