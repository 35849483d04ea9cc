//! Bodies: settled at their end, seen by the rules, handed on as they came.

use abide::core::Verdict;
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready, assert_ready_ok};

use crate::probe::{Failure, Reply, Script, saying};
use crate::world::{
    HOST, SECOND, call, gate, get, governor, governor_with, narrow, pass, plain, repeating,
};

/// A refusal hides in a 200.
const BEFORE: &str = r#"
[[rule]]
why = "a throttle hides in a 200"
status = [200]
json = { "$.error" = "slow" }
verdict = "rate_limited"
gate = "provider"
ask = [{ json = "$.wait" }]
"#;

const THROTTLED: &str = r#"{"error":"slow","wait":5}"#;

/// As that, but nobody is kept waiting for it.
fn beside() -> String {
    format!("{BEFORE}inspect = \"beside\"\n")
}

fn text(body: Script) -> Reply {
    Reply::Answer(saying(200, body))
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_body_frees_the_place_before_it_is_dropped() {
    let governor = governor_with(narrow(), "");
    let (probe, mut service) = plain(&governor);
    probe.says([text(Script::default().data("a").data("b"))]);
    let answer = assert_ready_ok!(call(&mut service, get()).poll());
    let mut body = spawn(answer.into_body());
    let mut next = || body.enter(|cx, body| body.poll_frame(cx));
    assert_ready!(next()).unwrap().unwrap();
    assert_eq!(gate(&governor, HOST).in_flight, 1);
    assert_ready!(next()).unwrap().unwrap();
    // Whoever looks at `is_end_stream` asks for no further frame.
    assert_eq!(gate(&governor, HOST).in_flight, 0);
    assert!(assert_ready!(next()).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_empty_frees_the_place_at_once() {
    let governor = governor_with(narrow(), "");
    let (_, mut service) = plain(&governor);
    let answer = assert_ready_ok!(call(&mut service, get()).poll());
    assert!(answer.body().is_end_stream());
    assert_eq!(gate(&governor, HOST).in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn trailers_and_failures_pass_through() {
    let governor = governor_with(narrow(), "");
    let (probe, mut service) = plain(&governor);
    let whole = Script::default().data("a").trailers("grpc-status", "0");
    probe.says([text(whole), text(Script::default().data("a").broken())]);
    let answer = assert_ready_ok!(call(&mut service, get()).poll());
    let collected = assert_ready_ok!(spawn(answer.into_body().collect()).poll());
    assert_eq!(collected.trailers().unwrap()["grpc-status"], "0");
    assert_eq!(collected.to_bytes(), "a");
    let answer = assert_ready_ok!(call(&mut service, get()).poll());
    let broken = assert_ready!(spawn(answer.into_body().collect()).poll());
    assert_eq!(broken.unwrap_err(), Failure("broke off"));
    assert_eq!(gate(&governor, HOST).in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_kept_back_until_the_rules_have_seen_it() {
    let governor = governor_with(narrow(), BEFORE);
    let (probe, mut service) = repeating(&governor);
    probe.says([
        text(Script::default().data(THROTTLED)),
        text(Script::default().data("[1,").data("2]").trailers("x", "y")),
    ]);
    let mut sent = call(&mut service, get());
    assert_pending!(sent.poll());
    assert_eq!(governor.held().len(), 1);
    pass(6 * SECOND).await;
    let answer = assert_ready_ok!(sent.poll());
    assert_eq!(probe.calls(), 2);
    let hint = answer.body().size_hint();
    assert_eq!(hint.exact(), Some(5), "it is all there");
    let collected = assert_ready_ok!(spawn(answer.into_body().collect()).poll());
    assert_eq!(collected.trailers().unwrap()["x"], "y");
    assert_eq!(collected.to_bytes(), "[1,2]");
    assert_eq!(gate(&governor, "own").in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stands_still_is_handed_on_after_a_while() {
    let governor = governor_with(narrow(), BEFORE);
    let (probe, mut service) = plain(&governor);
    probe.says([text(Script::default().data("[1,").stuck())]);
    let mut sent = call(&mut service, get());
    assert_pending!(sent.poll());
    pass(5 * SECOND + std::time::Duration::from_millis(1)).await;
    assert!(sent.is_woken());
    let answer = assert_ready_ok!(sent.poll());
    let mut body = spawn(answer.into_body());
    let first = body.enter(|cx, body| body.poll_frame(cx));
    let first = assert_ready!(first).unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), "[1,");
    assert_pending!(body.enter(|cx, body| body.poll_frame(cx)));
    assert_eq!(gate(&governor, "own").in_flight, 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_off_within_the_sample_breaks_off_for_its_caller() {
    let governor = governor_with(narrow(), BEFORE);
    let (probe, mut service) = plain(&governor);
    probe.says([text(Script::default().data("[1,").broken())]);
    let answer = assert_ready_ok!(call(&mut service, get()).poll());
    let broken = assert_ready!(spawn(answer.into_body().collect()).poll());
    assert_eq!(broken.unwrap_err(), Failure("broke off"));
    assert_eq!(gate(&governor, "own").in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn rules_see_a_body_while_it_is_read() {
    let governor = governor_with(narrow(), &beside());
    let (probe, mut service) = plain(&governor);
    let (first, second) = THROTTLED.split_at(10);
    probe.says([text(Script::default().data(first).data(second))]);
    let answer = assert_ready_ok!(call(&mut service, get()).poll());
    assert_eq!(answer.body().finding().verdict, Verdict::Success);
    assert!(governor.held().is_empty());
    let mut body = spawn(answer.into_body());
    for _ in 0..2 {
        assert_ready!(body.enter(|cx, body| body.poll_frame(cx)));
    }
    assert_eq!(body.finding().verdict, Verdict::RateLimited);
    assert_eq!(governor.held().len(), 1);
}

/// A hundred KiB in one piece: what is behind the sample is handed on all the same.
#[tokio::test(start_paused = true)]
async fn what_is_behind_the_sample_is_handed_on() {
    let governor = governor_with(narrow(), BEFORE);
    let (probe, mut service) = plain(&governor);
    let long: &'static str = Box::leak("x".repeat(40_000).into_boxed_str());
    let body = Script::default().data(long).data(long).data(long);
    probe.says([text(body)]);
    let answer = assert_ready_ok!(call(&mut service, get()).poll());
    let all = assert_ready_ok!(spawn(answer.into_body().collect()).poll());
    assert_eq!(all.to_bytes().len(), 120_000);
    assert_eq!(gate(&governor, "own").in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_head_holds_before_its_body_is_read() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    probe.says([crate::probe::refusal("5")]);
    let _unread = assert_ready_ok!(call(&mut service, get()).poll());
    assert_eq!(governor.held().len(), 1);
}
