//! Waiting, waking, being turned away, and the errors that tell of it.

use std::error::Error as _;
use std::time::Duration;

use abide::Treatment;
use abide::core::pace::Sliding;
use abide::core::policy::ProviderPolicy;
use abide::core::refusal::RefusalKind;
use abide::layer::{Error, Options};
use abide::profile::Paths;
use http::{Request, header};
use tokio_test::{assert_pending, assert_ready, assert_ready_ok};

use crate::probe::{Failure, Reply, answer, refusal};
use crate::world::{
    HOST, SECOND, call, gate, get, governor, governor_with, narrow, pass, plain, settle, turned,
};

#[tokio::test(start_paused = true)]
async fn a_waiter_is_woken_once_and_sends() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    governor.hold(HOST, 5 * SECOND);
    let mut answer = call(&mut service, get());
    assert_pending!(answer.poll());
    pass(4 * SECOND).await;
    assert!(!answer.is_woken(), "early");
    pass(SECOND).await;
    assert!(answer.is_woken());
    assert_ready_ok!(answer.poll());
    assert_eq!(probe.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_comes_first_goes_first() {
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
    assert!(second.is_woken() && !third.is_woken());
    drop(assert_ready_ok!(second.poll()));
    settle().await;
    assert!(third.is_woken());
    assert_ready_ok!(third.poll());
    assert_eq!(probe.see().peak, 1);
}

#[tokio::test(start_paused = true)]
async fn held_beyond_its_patience_is_turned_away_unsent() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    governor.hold(HOST, 31 * SECOND);
    let refused = turned(assert_ready!(call(&mut service, get()).poll()));
    assert_eq!(refused.refusal.kind, RefusalKind::Held);
    let until = governor.clock().now().after(31 * SECOND);
    assert_eq!(refused.refusal.retry_at, Some(until));
    let seen = probe.see();
    assert_eq!((seen.calls.len(), seen.readied), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_may_have_patience_of_its_own() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    governor.hold(HOST, 31 * SECOND);
    let mut request = get();
    let mut options = Options::default();
    options.patience = Some(60 * SECOND);
    request.extensions_mut().insert(options);
    let mut answer = call(&mut service, request);
    assert_pending!(answer.poll());
    pass(31 * SECOND).await;
    assert_ready_ok!(answer.poll());
    assert_eq!(probe.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_grows_turns_away_who_will_not_wait_so_long() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    governor.hold(HOST, SECOND);
    let mut waiting = call(&mut service, get());
    assert_pending!(waiting.poll());
    governor.hold(HOST, 3600 * SECOND);
    assert!(waiting.is_woken());
    let refused = turned(assert_ready!(waiting.poll()));
    assert_eq!(refused.refusal.kind, RefusalKind::Held);
    assert_eq!(probe.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_turns_away_at_once() {
    let mut policy = ProviderPolicy::default();
    policy.waiting_calls = 1;
    let governor = governor_with(policy, "");
    let (_, mut service) = plain(&governor);
    governor.hold(HOST, SECOND);
    let mut first = call(&mut service, get());
    assert_pending!(first.poll());
    let refused = turned(assert_ready!(call(&mut service, get()).poll()));
    assert_eq!(refused.refusal.kind, RefusalKind::QueueFull);
    drop(first);
    assert_pending!(call(&mut service, get()).poll());
}

#[tokio::test(start_paused = true)]
async fn the_deadline_bounds_an_answer_that_does_not_come() {
    let governor = governor_with(narrow(), "");
    let (probe, mut service) = plain(&governor);
    probe.says([Reply::Silence]);
    let mut request = get();
    let mut options = Options::default();
    options.deadline = Some(2 * SECOND);
    request.extensions_mut().insert(options);
    let mut answer = call(&mut service, request);
    assert_pending!(answer.poll());
    pass(2 * SECOND + Duration::from_millis(1)).await;
    assert!(answer.is_woken());
    let refused = turned(assert_ready!(answer.poll()));
    assert_eq!(refused.refusal.kind, RefusalKind::DeadlinePassed);
    assert_eq!(refused.refusal.attempts, 1);
    assert_eq!(probe.see().cancelled, 1, "before the future is dropped");
    assert_eq!(gate(&governor, HOST).in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_host_may_stand_in_its_header_and_must_stand_somewhere() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    governor.hold(HOST, 3600 * SECOND);
    let path = || Request::get("/x").body("").unwrap();
    let mut beside = path();
    let host = HOST.parse().unwrap();
    beside.headers_mut().insert(header::HOST, host);
    turned(assert_ready!(call(&mut service, beside).poll()));
    let nowhere = assert_ready!(call(&mut service, path()).poll());
    assert!(matches!(nowhere, Err(Error::NoHost)));
    assert_eq!(probe.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_inner_error_is_handed_back_as_it_is() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    probe.says([Reply::Fail("why"), Reply::Fail("why"), Reply::Fail("why")]);
    let mut fail = || assert_ready!(call(&mut service, get()).poll()).unwrap_err();
    let source = fail();
    let source = source.source().unwrap().downcast_ref::<Failure>();
    assert_eq!(source, Some(&Failure("why")));
    assert_eq!(fail().into_inner(), Some(Failure("why")));
    assert_eq!(fail().boxed().downcast_ref(), Some(&Failure("why")));
    assert!(gate(&governor, HOST).healthy, "nobody knows whose fault");
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_provider_is_an_answer() {
    let governor = governor();
    for status in [200, 404, 429, 500, 503] {
        let (probe, mut service) = plain(&governor);
        probe.says([Reply::Answer(answer(status))]);
        let mut request = get();
        *request.uri_mut() = format!("https://s{status}.example/").parse().unwrap();
        let got = assert_ready_ok!(call(&mut service, request).poll());
        assert_eq!(got.status(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn a_path_may_be_exempt_from_the_pace_and_from_no_hold() {
    let mut treatment = Treatment::default();
    treatment.policy.provider.windows = vec![Sliding::new(1, 20 * SECOND).into()];
    treatment.unpaced = Paths::parse(["/token"]).unwrap();
    let governor = abide::testing::governor(&abide::testing::clock());
    let governor = governor.treat(HOST, treatment).build().unwrap();
    let (probe, mut service) = plain(&governor);
    let token = || Request::get(format!("https://{HOST}/token")).body("");
    assert_ready_ok!(call(&mut service, get()).poll());
    let mut paced = call(&mut service, get());
    assert_pending!(paced.poll());
    for _ in 0..3 {
        assert_ready_ok!(call(&mut service, token().unwrap()).poll());
    }
    probe.says([refusal("20")]);
    let refused = assert_ready_ok!(call(&mut service, token().unwrap()).poll());
    assert_eq!(refused.status().as_u16(), 429);
    assert_pending!(call(&mut service, token().unwrap()).poll());
}
