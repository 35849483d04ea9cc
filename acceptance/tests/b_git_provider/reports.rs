//! What users of programs of this kind complained of.

use std::sync::{Arc, Mutex};

use abide::core::AskSource;
use abide::core::Verdict;
use abide::core::refusal::RefusalKind;
use abide_acceptance::wire::{Script, asking, bare, cut, good, json};
use http::Method;

use crate::common::{GITHUB, GITLAB, One, RETRY, TRIP, secs};

/// How often, and after what, could not be chosen, nor switched off.
#[tokio::test(start_paused = true)]
async fn b3_attempts_and_what_is_repeated_are_knobs() {
    for attempts in [1, 2, 11, 30] {
        let text = RETRY
            .replace(
                "attempts = 4",
                &format!("attempts = {attempts}\npatience = \"10m\""),
            )
            .replace("backoff.max = \"4s\"", "backoff.max = \"250ms\"");
        let one = One::with(&text, GITLAB, Script::of([bare(503)]));
        one.get("/api/v4/projects/1").await.unwrap();
        assert_eq!(one.came.count(), attempts);
    }
    // Off altogether.
    let off = RETRY.replace(
        "retry.on = [\"500\", \"503\", \"504\", \"head\"]",
        "retry.on = []",
    );
    for script in [
        Script::of([bare(503)]),
        Script::of([bare(429)]),
        Script::of([cut()]),
    ] {
        let one = One::with(&off, GITLAB, script);
        drop(one.get("/api/v4/projects/1").await);
        assert_eq!(one.came.count(), 1);
    }
}

/// When to come back was nowhere to be seen.
#[tokio::test(start_paused = true)]
async fn b3_the_wait_that_was_asked_for_is_told_to_the_caller() {
    let one = One::new(GITLAB, Script::of([asking(429, 300)]));
    let came = one.get("/api/v4/projects/1").await.unwrap();
    let turned = came.turned();
    let ask = turned.refusal.ask.unwrap();
    assert_eq!(ask.source, AskSource::RetryAfter);
    assert_eq!(ask.until.since(turned.at.now), secs(300));
    // And to the next, who was not sent.
    let missed = one.get("/api/v4/projects/1").await.unwrap_err();
    let turned = missed.turned().unwrap();
    assert_eq!(
        (turned.refusal.attempts, turned.refusal.ask),
        (0, Some(ask))
    );
    assert!(
        turned.to_string().contains("2026-03-10T12:05:0"),
        "{turned}"
    );
}

/// It said 429 when it was a 502.
#[tokio::test(start_paused = true)]
async fn b3_the_failure_that_is_told_is_the_one_that_was() {
    let text = RETRY.replace("attempts = 4", "attempts = 4\npatience = \"10m\"");
    let patient = One::with(&text, GITHUB, Script::of([bare(429), bare(502)]));
    let came = patient.get("/repos/o/r").await.unwrap();
    assert_eq!((came.status.as_u16(), patient.came.count()), (502, 4));
    let turned = came.turned();
    assert_eq!(turned.refusal.cause, Some(Verdict::Unavailable));
    assert!(!turned.to_string().contains("429"), "{turned}");
}

/// More than is waited for at once ends the call; as much is waited.
#[tokio::test(start_paused = true)]
async fn b3_a_call_stops_when_it_is_asked_to_wait_longer_than_its_limit() {
    let text = RETRY.replace(
        "attempts = 4",
        "attempts = 4\npatience = \"10m\"\nwait.max = \"60s\"",
    );
    for (asked, requests) in [(60, 2), (61, 1), (7_200, 1)] {
        let one = One::with(&text, GITHUB, Script::of([asking(429, asked), good()]));
        let came = one.get("/repos/o/r").await.unwrap();
        assert_eq!(one.came.count(), requests, "{asked}");
        if requests == 1 {
            let turned = came.turned();
            assert_eq!(turned.refusal.kind, RefusalKind::Held);
            assert_eq!(turned.refusal.retry_in(turned.at.now), Some(secs(asked)));
            assert_eq!(one.elapsed(), TRIP);
        }
    }
}

/// Headers about a quota count on a refusal; other failures are short and bounded.
#[tokio::test(start_paused = true)]
async fn b3_other_failures_are_not_made_long_by_headers_about_a_quota() {
    let failing = abide_acceptance::wire::with(bare(502), "x-ratelimit-remaining", "17");
    let failing = abide_acceptance::wire::with(failing, "x-ratelimit-reset", "1773147600");
    let one = One::new(GITHUB, Script::of([failing]));
    one.get("/repos/o/r").await.unwrap();
    assert_eq!(one.came.count(), 4);
    assert!(one.elapsed() < secs(2), "{:?}", one.elapsed());
}

/// A refusal proves that nothing was done; nothing else does. An opt-in, with the same bytes.
#[tokio::test(start_paused = true)]
async fn b3_a_write_is_repeated_after_a_refusal_only_and_only_where_that_was_wished() {
    let wished = RETRY.replace("retry.write = \"never\"", "retry.write = \"refused-only\"");
    for (first, requests) in [
        (asking(429, 2), 2),
        (bare(408), 1),
        (bare(500), 1),
        (bare(502), 1),
        (bare(503), 1),
        (cut(), 1),
    ] {
        let one = One::with(&wished, GITHUB, Script::of([first.clone(), good()]));
        drop(one.send(Method::POST, "/repos/o/r/pulls").await);
        let seen = one.came.all();
        assert_eq!(seen.len(), requests, "{first:?}");
        assert!(seen.iter().all(|s| s.body == r#"{"name":"x"}"#));
        let one = One::new(GITHUB, Script::of([first, good()]));
        drop(one.send(Method::POST, "/repos/o/r/pulls").await);
        assert_eq!(one.came.count(), 1, "never, unless wished");
    }
}

/// What a server knows: the state of the world, and how it breaks.
#[derive(Debug, Default)]
struct World {
    repo: bool,
    branch: bool,
    protected: bool,
    /// The next write happens, and its answer is lost.
    loses: bool,
    writes: Vec<String>,
}

impl World {
    fn script(world: &Arc<Mutex<Self>>) -> Script {
        let world = Arc::clone(world);
        Script::new(move |_, _, seen| {
            let mut w = world.lock().unwrap();
            let what = match (&seen.method, seen.path.as_str()) {
                (_, "/repos/o/r" | "/user/repos") => &mut w.repo,
                (_, p) if p.ends_with("/protection") => &mut w.protected,
                _ => &mut w.branch,
            };
            if seen.method == Method::GET {
                return if *what { good() } else { json(404, "{}") };
            }
            *what = true;
            w.writes.push(format!("{} {}", seen.method, seen.path));
            match std::mem::take(&mut w.loses) {
                true => cut(),
                false => json(201, "{}"),
            }
        })
    }
}

/// Each step looks at the world first; what a crash left behind is found there, not in a file.
async fn bootstrap(one: &One) -> Result<(), String> {
    for (check, method, path) in [
        ("/repos/o/r", Method::POST, "/user/repos"),
        (
            "/repos/o/r/git/ref/heads/dev",
            Method::POST,
            "/repos/o/r/git/refs",
        ),
        (
            "/repos/o/r/branches/dev/protection",
            Method::PUT,
            "/repos/o/r/branches/dev/protection",
        ),
    ] {
        let there = one.get(check).await.map_err(|e| e.to_string())?;
        if there.status == 404 {
            let done = one.send(method, path).await.map_err(|e| e.to_string())?;
            assert_eq!(done.status, 201);
        }
    }
    Ok(())
}

/// A write that may have happened is not sent again: the next run looks, and goes on from there.
#[tokio::test(start_paused = true)]
async fn b2_a_bootstrap_that_was_cut_off_amid_a_write_goes_on_without_a_second_one() {
    let world = Arc::new(Mutex::new(World::default()));
    let one = One::new(GITHUB, World::script(&world));
    world.lock().unwrap().loses = true;
    // The repository is made, and nobody hears of it.
    bootstrap(&one).await.unwrap_err();
    assert_eq!(world.lock().unwrap().writes, ["POST /user/repos"]);
    bootstrap(&one).await.unwrap();
    bootstrap(&one).await.unwrap();
    let writes = world.lock().unwrap().writes.clone();
    assert_eq!(
        writes,
        [
            "POST /user/repos",
            "POST /repos/o/r/git/refs",
            "PUT /repos/o/r/branches/dev/protection"
        ]
    );
}
