//! A client below that repeats by itself, in spite of everything said above it.

use std::time::Duration;

use abide::core::call::Safety;
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::refusal::RefusalKind;
use abide::testing::Sim;
use abide::{CallOptions, Failed, Said};
use abide_acceptance::Program;
use abide_acceptance::wire::{Script, asking, bare, good};
use abide_sim::Answer;
use http::StatusCode;

use crate::common::{GITLAB, One, RETRY, TRIP, ms, secs};

/// A client as it is found: 429 and 502 are repeated ten times after 2^n × 250 ms, without dice,
/// whatever the method.
async fn library(sim: &Sim, path: &str) -> Result<Answer, Failed<StatusCode>> {
    let mut n = 0;
    loop {
        let result = sim.ask(path).await;
        match &result {
            Err(failed) if matches!(failed.error.as_u16(), 429 | 502) && n < 10 => {
                tokio::time::sleep(ms(250) * 2_u32.pow(n)).await;
                n += 1;
            }
            _ => return result,
        }
    }
}

/// What it repeats itself is not repeated above it; what it does not is.
#[tokio::test(start_paused = true)]
async fn b06_a_client_that_repeats_429_and_502_itself_is_not_repeated_for_those() {
    for (status, requests) in [
        (429, 1),
        (502, 1),
        (500, 4),
        (503, 4),
        (504, 4),
        (400, 1),
        (403, 1),
        (404, 1),
        (422, 1),
    ] {
        let one = One::new(GITLAB, Script::of([bare(status)]));
        let came = one.get("/api/v4/projects/1").await.unwrap();
        assert_eq!((came.status.as_u16(), one.came.count()), (status, requests));
    }
    // Its own timeout is; that nobody listens is not.
    for (phase, kind, attempts) in [
        (Phase::Head, TransportKind::Timeout, 4),
        (Phase::Connect, TransportKind::Refused, 1),
    ] {
        let program = Program::new(RETRY);
        let call = program
            .governor
            .call("gitlab", Safety::Read, |_| async move {
                Err::<(), _>(Failed::new((), Said::failed(Transport { phase, kind })))
            });
        assert_eq!(call.await.unwrap_err().turned().refusal.attempts, attempts);
    }
    // Not repeated, and yet heard: whoever comes next waits for as long as was asked.
    let one = One::new(GITLAB, Script::of([asking(429, 12), good()]));
    let came = one.get("/api/v4/projects/1").await.unwrap();
    assert_eq!(came.status, 429);
    assert_eq!(one.get("/api/v4/projects/1").await.unwrap().status, 200);
    assert_eq!(one.waits(), [secs(12)]);
    one.sim.assert_no_send_inside_hold();
}

/// The known gap, told and not hidden: the client repeats writes, too, and nobody above can help
/// it. Ten repeats take 255.75 s.
#[tokio::test(start_paused = true)]
async fn b07_a_client_below_repeats_writes_after_429_and_502_and_nothing_else() {
    for (status, requests) in [
        (429, 11),
        (502, 11),
        (400, 1),
        (403, 1),
        (404, 1),
        (422, 1),
        (500, 1),
        (503, 1),
        (504, 1),
    ] {
        let program = Program::new(RETRY);
        let (sim, came) = program.provider(Script::of([bare(status)]));
        let path = "/api/v4/projects/1/repository/commits";
        let write = program
            .governor
            .call("gitlab", Safety::Write, |_| library(&sim, path));
        let error = write.await.unwrap_err();
        // One attempt of ours, however many the client made of it.
        assert_eq!(error.turned().refusal.attempts, 1, "{status}");
        assert_eq!(error.into_error().map(|s| s.as_u16()), Some(status));
        assert_eq!(came.count(), requests, "{status}");
        let waits: Duration = came.gaps().iter().map(|gap| *gap - TRIP).sum();
        let sum = if requests > 1 {
            ms(255_750)
        } else {
            Duration::ZERO
        };
        assert_eq!(waits, sum, "{status}");
    }
}

/// Two layers that both repeat would have made four times eleven requests of a read.
#[tokio::test(start_paused = true)]
async fn b2_two_layers_do_not_multiply() {
    for (text, requests) in [
        (RETRY.to_owned(), 11),
        // What it would be without the list: the gates see to the waits, but not to the client's.
        (
            RETRY.replace("retry.on = [\"500\"", "retry.on = [\"502\", \"500\""),
            44,
        ),
    ] {
        let program = Program::new(&text);
        let (sim, came) = program.provider(Script::of([bare(502)]));
        let read = program.governor.call("gitlab", Safety::Read, |_| {
            library(&sim, "/api/v4/projects/1")
        });
        read.await.unwrap_err();
        assert_eq!(came.count(), requests);
    }
    // A deadline bounds what the client below does, too.
    let program = Program::new(RETRY);
    let (sim, came) = program.provider(Script::of([bare(502)]));
    let mut options = CallOptions::default();
    options.safety = Some(Safety::Read);
    options.deadline = Some(secs(20));
    let read = program
        .governor
        .call_with("gitlab", &options, |_| library(&sim, "/api/v4/projects/1"));
    let error = read.await.unwrap_err();
    assert_eq!(error.turned().refusal.kind, RefusalKind::DeadlinePassed);
    assert_eq!((program.clock.elapsed(), came.count()), (secs(20), 7));
}
