//! Leaving: dropping a future or a body anywhere frees what it held.

use tokio_test::{assert_pending, assert_ready_ok};

use crate::probe::{Reply, Script, answer, saying};
use crate::world::{
    HOST, SECOND, call, gate, get, governor, governor_with, narrow, pass, plain, repeating, settle,
};

#[tokio::test(start_paused = true)]
async fn a_future_that_was_never_polled_takes_nothing() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    drop(call(&mut service, get()));
    let seen = probe.see();
    assert_eq!((seen.calls.len(), seen.readied), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn leaving_the_line_frees_the_place() {
    let governor = governor();
    let (_, mut service) = plain(&governor);
    governor.hold(HOST, SECOND);
    let mut waiting = call(&mut service, get());
    assert_pending!(waiting.poll());
    assert_eq!(gate(&governor, HOST).waiting, 1);
    drop(waiting);
    assert_eq!(gate(&governor, HOST).waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn leaving_with_leave_in_hand_passes_it_on() {
    let governor = governor_with(narrow(), "");
    let (probe, mut service) = plain(&governor);
    probe.says([Reply::Silence]);
    let mut first = call(&mut service, get());
    assert_pending!(first.poll());
    let mut second = call(&mut service, get());
    assert_pending!(second.poll());
    let mut third = call(&mut service, get());
    assert_pending!(third.poll());
    drop(first);
    settle().await;
    // Granted, but never polled again.
    drop(second);
    settle().await;
    assert_ready_ok!(third.poll());
    assert_eq!(probe.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn leaving_the_wire_frees_the_place() {
    let governor = governor_with(narrow(), "");
    let (probe, mut service) = plain(&governor);
    probe.says([Reply::Silence]);
    let mut sent = call(&mut service, get());
    assert_pending!(sent.poll());
    assert_eq!(gate(&governor, HOST).in_flight, 1);
    drop(sent);
    assert_eq!(gate(&governor, HOST).in_flight, 0);
    assert_eq!(probe.see().cancelled, 1);
}

#[tokio::test(start_paused = true)]
async fn leaving_while_a_refusal_is_looked_into_keeps_what_its_head_said() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    probe.says([Reply::Answer(saying(
        429,
        Script::default().data("slow").stuck(),
    ))]);
    let mut sent = call(&mut service, get());
    assert_pending!(sent.poll());
    drop(sent);
    assert_eq!(gate(&governor, HOST).in_flight, 0);
    assert!(!governor.held().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_body_has_its_place_until_it_is_dropped() {
    let governor = governor_with(narrow(), "");
    let (probe, mut service) = plain(&governor);
    probe.says([Reply::Answer(saying(
        200,
        Script::default().data("x").stuck(),
    ))]);
    let answer = assert_ready_ok!(call(&mut service, get()).poll());
    assert_eq!(gate(&governor, HOST).in_flight, 1);
    let mut next = call(&mut service, get());
    assert_pending!(next.poll());
    drop(answer);
    settle().await;
    assert_ready_ok!(next.poll());
}

#[tokio::test(start_paused = true)]
async fn leaving_in_a_backoff_frees_the_place() {
    let governor = governor();
    let (probe, mut service) = repeating(&governor);
    probe.says([Reply::Answer(answer(503))]);
    let mut sent = call(&mut service, get());
    assert_pending!(sent.poll());
    drop(sent);
    pass(10 * SECOND).await;
    assert_eq!(probe.calls(), 1);
    let gate = gate(&governor, HOST);
    assert_eq!((gate.waiting, gate.in_flight), (0, 0));
}
