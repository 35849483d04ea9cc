//! What is sent again.

use abide::core::call::{CallPolicy, Safety};
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::refusal::RefusalKind;
use abide::events::{Heard, What};
use abide::layer::Options;
use abide::{Layer, TurnedAway};
use tokio_test::{assert_pending, assert_ready, assert_ready_ok};
use tower::Layer as _;

use crate::probe::{Failure, Handle, Reply, answer, refusal};
use crate::world::{
    HOST, SECOND, call, gate, get, governor, pass, plain, post, repeating, settle, turned,
};

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_twice_unless_told() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    probe.says([Reply::Answer(answer(503))]);
    let got = assert_ready_ok!(call(&mut service, get()).poll());
    assert_eq!((got.status().as_u16(), probe.calls()), (503, 1));
}

#[tokio::test(start_paused = true)]
async fn a_read_is_sent_again_by_an_instance_polled_ready_again() {
    let governor = governor();
    let (probe, mut service) = repeating(&governor);
    probe.says([Reply::Answer(answer(503)), Reply::Fail("cut")]);
    let mut sent = call(&mut service, get());
    while sent.poll().is_pending() {
        pass(SECOND).await;
    }
    let seen = probe.see();
    assert_eq!((seen.calls.len(), seen.violations), (3, 0));
    assert_eq!((seen.peak, seen.readied), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn inv06_a_write_is_sent_once() {
    let governor = governor();
    let (probe, mut service) = repeating(&governor);
    probe.says([Reply::Answer(answer(503)), Reply::Fail("cut")]);
    let got = assert_ready_ok!(call(&mut service, post()).poll());
    assert_eq!((got.status().as_u16(), probe.calls()), (503, 1));
    let error = assert_ready!(call(&mut service, post()).poll()).unwrap_err();
    assert_eq!(error.into_inner(), Some(Failure("cut")));
    assert_eq!(probe.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_its_caller_says_only_reads_is_sent_again_whole() {
    let governor = governor();
    let (probe, mut service) = repeating(&governor);
    probe.says([Reply::Answer(answer(503))]);
    let mut request = post();
    let mut options = Options::default();
    options.safety = Some(Safety::Read);
    request.extensions_mut().insert(options);
    let mut sent = call(&mut service, request);
    while sent.poll().is_pending() {
        pass(SECOND).await;
    }
    let seen = probe.see();
    let bodies: Vec<_> = seen.calls.iter().map(|r| *r.body()).collect();
    assert_eq!(bodies, ["written", "written"]);
}

#[tokio::test(start_paused = true)]
async fn a_last_failure_is_told_to_whoever_listens() {
    let governor = governor();
    let mut events = governor.events();
    let mut told = || {
        let mut kinds = Vec::new();
        while let Some(Heard::Event(event)) = events.try_next() {
            if let What::TurnedAway { kind, .. } = event.what {
                kinds.push(kind);
            }
        }
        kinds
    };
    let (probe, mut service) = plain(&governor);
    probe.says([Reply::Fail("cut")]);
    assert_ready!(call(&mut service, post()).poll()).unwrap_err();
    assert_eq!(told(), [RefusalKind::AttemptsSpent]);
    let (probe, mut service) = repeating(&governor);
    probe.says([
        Reply::Fail("1"),
        Reply::Fail("2"),
        Reply::Fail("3"),
        Reply::Fail("4"),
    ]);
    let mut sent = call(&mut service, get());
    while sent.poll().is_pending() {
        pass(SECOND).await;
    }
    assert_eq!(told().len(), 1, "once a call");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_waited_out_and_sent_again() {
    let governor = governor();
    let (probe, mut service) = repeating(&governor);
    probe.says([refusal("5")]);
    let mut sent = call(&mut service, get());
    assert_pending!(sent.poll());
    pass(4 * SECOND).await;
    assert_pending!(sent.poll());
    assert_eq!(probe.calls(), 1, "never early");
    pass(2 * SECOND).await;
    let got = assert_ready_ok!(sent.poll());
    assert_eq!((got.status().as_u16(), probe.calls()), (200, 2));
}

#[tokio::test(start_paused = true)]
async fn inv07_a_refusal_too_long_to_wait_for_is_handed_on_and_says_when() {
    let governor = governor();
    let (probe, mut service) = repeating(&governor);
    probe.says([refusal("3600")]);
    let got = assert_ready_ok!(call(&mut service, get()).poll());
    assert_eq!((got.status().as_u16(), probe.calls()), (429, 1));
    let told = got.extensions().get::<TurnedAway>().unwrap();
    let until = governor.clock().now().after(3600 * SECOND);
    assert_eq!(told.refusal.retry_at, Some(until));
}

#[tokio::test(start_paused = true)]
async fn turned_away_while_it_waits_for_another_attempt_tells_the_last_answer() {
    let governor = governor();
    let (probe, mut service) = repeating(&governor);
    probe.says([refusal("5")]);
    let mut sent = call(&mut service, get());
    assert_pending!(sent.poll());
    governor.hold(HOST, 3600 * SECOND);
    let refused = turned(assert_ready!(sent.poll()));
    assert_eq!(refused.last.unwrap().status, 429);
    assert_eq!((refused.refusal.attempts, probe.calls()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn attempts_are_bounded() {
    let governor = governor();
    let handle = Handle::default();
    let mut policy = CallPolicy::default();
    policy.attempts = 2;
    let layer = Layer::new(governor).repeating().call(policy);
    let mut service = layer.layer(handle.probe());
    handle.says((0..5).map(|_| Reply::Answer(answer(503))));
    let mut sent = call(&mut service, get());
    let got = loop {
        match sent.poll() {
            std::task::Poll::Ready(got) => break got.unwrap(),
            std::task::Poll::Pending => pass(SECOND).await,
        }
    };
    assert_eq!((got.status().as_u16(), handle.calls()), (503, 2));
}

fn told(e: &Failure) -> Option<Transport> {
    let phase = match e.0 {
        "refused" => Phase::Connect,
        "cut" => Phase::Head,
        _ => return None,
    };
    Some(Transport {
        phase,
        kind: TransportKind::Other,
    })
}

#[tokio::test(start_paused = true)]
async fn a_write_that_never_left_is_sent_again() {
    let governor = governor();
    let handle = Handle::default();
    let layer = Layer::new(governor.clone()).repeating().failures(told);
    let mut service = layer.layer(handle.probe());
    handle.says([Reply::Fail("refused")]);
    let mut sent = call(&mut service, post());
    while sent.poll().is_pending() {
        pass(SECOND).await;
    }
    assert_eq!(handle.calls(), 2);
    handle.says([Reply::Fail("cut")]);
    let error = assert_ready!(call(&mut service, post()).poll()).unwrap_err();
    assert_eq!(error.into_inner(), Some(Failure("cut")));
    assert_eq!(handle.calls(), 3);
    assert!(!gate(&governor, HOST).healthy, "now it is known");
}

#[tokio::test(start_paused = true)]
async fn a_call_has_one_pass_at_a_time() {
    let governor = crate::world::governor_with(crate::world::narrow(), "");
    let (probe, mut service) = repeating(&governor);
    probe.says([Reply::Answer(answer(503))]);
    let mut sent = call(&mut service, get());
    assert_pending!(sent.poll());
    assert_eq!(
        gate(&governor, HOST).in_flight,
        0,
        "it holds none in its backoff"
    );
    settle().await;
    pass(SECOND).await;
    assert_ready_ok!(sent.poll());
}
