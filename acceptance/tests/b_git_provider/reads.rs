//! Reads are repeated, with full jitter; writes are not.

use std::time::Duration;

use abide::core::call::Safety;
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::refusal::RefusalKind;
use abide::{Failed, Said};
use abide_acceptance::Program;
use abide_acceptance::wire::{Cut, Script, bare, cut, good, json};
use http::Method;

use crate::common::{GITHUB, GITLAB, One, RETRY, TRIP, ms, secs};

const READS: [(&str, &str); 9] = [
    (GITHUB, "/repos/o/r"),
    (GITHUB, "/repos/o/r/branches"),
    (GITHUB, "/repos/o/r/git/trees/main?recursive=1"),
    (GITHUB, "/repos/o/r/compare/a...b"),
    (GITHUB, "/repos/o/r/pulls?state=open"),
    (GITHUB, "/repos/o/r/branches/main"),
    (GITLAB, "/api/v4/projects/1"),
    (GITLAB, "/api/v4/projects/1/repository/branches"),
    (
        GITLAB,
        "/api/v4/projects/1/repository/files/a/blame?ref=main",
    ),
];

fn writes() -> [(&'static str, Method, &'static str); 10] {
    [
        (GITHUB, Method::POST, "/user/repos"),
        (GITHUB, Method::POST, "/repos/o/r/git/refs"),
        (GITHUB, Method::PUT, "/repos/o/r/branches/main/protection"),
        (GITHUB, Method::POST, "/repos/o/r/git/commits"),
        (GITHUB, Method::POST, "/repos/o/r/pulls"),
        (GITHUB, Method::PUT, "/repos/o/r/pulls/1/merge"),
        (GITLAB, Method::POST, "/api/v4/projects"),
        (
            GITLAB,
            Method::POST,
            "/api/v4/projects/1/repository/commits",
        ),
        (
            GITLAB,
            Method::PUT,
            "/api/v4/projects/1/merge_requests/1/merge",
        ),
        (
            GITLAB,
            Method::DELETE,
            "/api/v4/projects/1/repository/branches/x",
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn b01_reads_may_be_repeated_and_mutations_may_not() {
    for (host, path) in READS {
        let one = One::new(host, Script::of([bare(503), good()]));
        assert_eq!(one.get(path).await.unwrap().status, 200, "{path}");
        assert_eq!(one.came.count(), 2, "{path}");
    }
    for (host, method, path) in writes() {
        let one = One::new(host, Script::of([bare(503), good()]));
        let came = one.send(method, path).await.unwrap();
        assert_eq!((came.status.as_u16(), one.came.count()), (503, 1), "{path}");
    }
}

/// Whatever a write fails of comes back as it was, for its caller to decide.
#[tokio::test(start_paused = true)]
async fn b02_only_reads_are_repeated_and_a_writes_first_failure_is_raw() {
    const BODY: &str = r#"{"message":"Reference already exists","documentation_url":"x"}"#;
    for (host, method, path) in writes() {
        for status in [400, 403, 404, 409, 422, 429, 500, 502, 503, 504] {
            let one = One::new(host, Script::of([json(status, BODY)]));
            let came = one.send(method.clone(), path).await.unwrap();
            assert_eq!(
                (came.status.as_u16(), &came.body[..]),
                (status, BODY.as_bytes())
            );
            assert_eq!(
                (one.came.count(), one.elapsed()),
                (1, TRIP),
                "{status} {path}"
            );
        }
        let one = One::new(host, Script::of([cut()]));
        let missed = one.send(method, path).await.unwrap_err();
        assert_eq!((missed.into_inner(), one.came.count()), (Some(Cut), 1));
    }
}

/// random(0, min(4 s, 250 ms × 2^n)), four attempts with the first.
#[tokio::test(start_paused = true)]
async fn b03_full_jitter_over_four_attempts() {
    let setup = Program::new(RETRY).setup;
    let call = setup.config().call(abide_config::Use::Call, Some("github"));
    let ceilings: Vec<_> = (1..=6).map(|n| call.backoff.ceiling(n)).collect();
    assert_eq!(ceilings, [250, 500, 1000, 2000, 4000, 4000].map(ms));
    let (mut least, mut most) = ([Duration::MAX; 3], [Duration::ZERO; 3]);
    let mut sum = Duration::ZERO;
    for seed in 0..200 {
        let one = One::seeded(RETRY, GITHUB, Script::of([bare(502)]), seed);
        let came = one.get("/repos/o/r").await.unwrap();
        assert_eq!((came.status.as_u16(), one.came.count()), (502, 4));
        let waits = one.waits();
        for (n, wait) in waits.iter().enumerate() {
            // Waits of our own are whole milliseconds by the timer, never less than drawn.
            assert!(*wait <= ceilings[n] + ms(1), "{seed}: {wait:?}");
            least[n] = least[n].min(*wait);
            most[n] = most[n].max(*wait);
        }
        sum += waits.iter().sum::<Duration>();
        // No wait after the last attempt.
        assert_eq!(one.elapsed(), waits.iter().sum::<Duration>() + 4 * TRIP);
    }
    // From nothing to the ceiling, evenly.
    for n in 0..3 {
        assert!(least[n] <= ceilings[n] / 20, "{least:?}");
        assert!(most[n] >= ceilings[n] * 19 / 20, "{most:?}");
    }
    let mean = sum / 200;
    assert!(mean > ms(800) && mean < ms(950), "{mean:?}");
}

/// The text said about 12 s; the three waits add up to 1.75 s, and the cap of 4 s is never met.
#[tokio::test(start_paused = true)]
async fn b2_the_three_waits_are_1_75_s_at_most() {
    let setup = Program::new(RETRY).setup;
    let call = setup.config().call(abide_config::Use::Call, Some("github"));
    let waits: Duration = (1..call.attempts).map(|n| call.backoff.ceiling(n)).sum();
    assert_eq!(waits, ms(1_750));
    let mut longest = Duration::ZERO;
    for seed in 0..100 {
        let one = One::seeded(RETRY, GITHUB, Script::of([bare(502)]), seed);
        one.get("/repos/o/r").await.unwrap();
        longest = longest.max(one.waits().iter().sum());
    }
    assert!(
        longest <= waits + ms(3) && longest > ms(1_400),
        "{longest:?}"
    );
}

/// One rule for each provider, in one program.
#[tokio::test(start_paused = true)]
async fn b04_what_is_tried_again_is_each_providers_own() {
    let requests = |host, status: u16| async move {
        let one = One::new(host, Script::of([bare(status), good()]));
        one.get("/api/v4/repos/o/r").await.unwrap();
        one.came.count()
    };
    for (status, github, gitlab, other) in [
        (500, 2, 2, 1),
        (502, 2, 1, 2),
        (503, 2, 2, 2),
        (504, 2, 2, 2),
        (404, 1, 1, 1),
        (422, 1, 1, 1),
    ] {
        assert_eq!(requests(GITHUB, status).await, github, "{status}");
        assert_eq!(requests(GITLAB, status).await, gitlab, "{status}");
        assert_eq!(requests("git.example", status).await, other, "{status}");
    }
}

/// A function, an error of its own, nothing else: no client of anybody's, no HTTP.
#[tokio::test(start_paused = true)]
async fn b09_the_loop_knows_nothing_of_clients() {
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Boom(u32);

    let program = Program::new(RETRY);
    // The error tells which attempt it was of.
    let run = |safety, said: fn() -> Said| {
        let call = program
            .governor
            .call("github", safety, move |attempt| async move {
                Err::<(), _>(Failed::new(Boom(attempt.number()), said()))
            });
        async { call.await.unwrap_err().into_error() }
    };
    let lost = || {
        Said::failed(Transport {
            phase: Phase::Head,
            kind: TransportKind::Timeout,
        })
    };
    // The last error, as it was thrown.
    assert_eq!(run(Safety::Read, lost).await, Some(Boom(4)));
    assert_eq!(run(Safety::Write, lost).await, Some(Boom(1)));
    assert_eq!(run(Safety::Read, Said::client_error).await, Some(Boom(1)));
    // Its caller knows better: never, or always.
    assert_eq!(
        run(Safety::Read, || Said::unavailable().again(false)).await,
        Some(Boom(1))
    );
    assert_eq!(
        run(Safety::Read, || Said::client_error().again(true)).await,
        Some(Boom(4))
    );
}

/// The program bounded each wait, and nothing their sum.
#[tokio::test(start_paused = true)]
async fn b10_all_waits_of_a_call_are_bounded_together() {
    let text = RETRY
        .replace("attempts = 4", "attempts = 100\npatience = \"12s\"")
        .replace("backoff.base = \"250ms\"", "backoff.base = \"4s\"");
    for seed in 0..20 {
        let one = One::seeded(&text, GITHUB, Script::of([bare(502)]), seed);
        let came = one.get("/repos/o/r").await.unwrap();
        let waited: Duration = one.waits().iter().sum();
        assert!(waited <= secs(12), "{waited:?}");
        assert!(one.came.count() > 3 && one.came.count() < 100);
        let refusal = &came.turned().refusal;
        assert_eq!(refusal.kind, RefusalKind::Held);
        assert!(refusal.retry_at.is_some());
    }
}

/// Errors of a class of their own, with what belongs to them.
#[tokio::test(start_paused = true)]
async fn b2_an_error_keeps_its_class_and_its_fields() {
    #[derive(Debug, PartialEq, Eq)]
    enum GitError {
        RepoNotFound { repo: String },
        BranchAlreadyExists { branch: String },
        PermissionDenied,
    }
    let program = Program::new(RETRY);
    for (status, wanted) in [
        (404, GitError::RepoNotFound { repo: "o/r".into() }),
        (422, GitError::BranchAlreadyExists { branch: "x".into() }),
        (403, GitError::PermissionDenied),
    ] {
        let (sim, came) = program.provider(Script::of([bare(status)]));
        let call = program.governor.call("github", Safety::Write, |_| {
            let sim = sim.clone();
            async move {
                sim.ask("/repos/o/r/git/refs").await.map_err(|failed| {
                    let error = match failed.error.as_u16() {
                        404 => GitError::RepoNotFound { repo: "o/r".into() },
                        422 => GitError::BranchAlreadyExists { branch: "x".into() },
                        _ => GitError::PermissionDenied,
                    };
                    Failed::new(error, failed.said)
                })
            }
        });
        assert_eq!(call.await.unwrap_err().into_error(), Some(wanted));
        assert_eq!(came.count(), 1);
    }
}
