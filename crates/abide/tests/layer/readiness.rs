//! Readiness, clones and back-pressure.

use std::convert::Infallible;
use std::time::Duration;

use abide::core::call::{Call, CallPolicy, Safety};
use abide::layer::Error;
use abide::{Admission, Layer, Permit};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Empty;
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready, assert_ready_err, assert_ready_ok};
use tower::limit::ConcurrencyLimit;
use tower::{Layer as _, Service, ServiceExt, service_fn};

use crate::probe::{Failure, Handle};
use crate::world::{
    HOST, SECOND, call, gate, get, governor, governor_with, narrow, pass, plain, to,
};

#[tokio::test(start_paused = true)]
async fn the_instance_that_was_polled_ready_is_called() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    for n in 0..3 {
        let id = service.get_ref().id;
        let mut answer = call(&mut service, get());
        assert_ready_ok!(answer.poll());
        assert_eq!(probe.see().by[n], id);
    }
    let seen = probe.see();
    assert_eq!((seen.violations, seen.calls.len()), (0, 3));
    assert_eq!(seen.readied, 0, "none was polled ready for nothing");
    assert_eq!((seen.clones, seen.readiness_polls), (3, 3), "one a request");
}

#[tokio::test(start_paused = true)]
async fn readiness_is_that_of_the_service_below() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    probe.block();
    let mut ready = spawn(service.ready());
    assert_pending!(ready.poll());
    probe.unblock();
    assert!(ready.is_woken());
    assert_ready_ok!(ready.poll());
}

#[tokio::test(start_paused = true)]
async fn a_service_that_breaks_down_says_so_itself() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    probe.break_down();
    let mut ready = spawn(service.ready());
    let error = assert_ready_err!(ready.poll());
    assert_eq!(error.into_inner(), Some(Failure("broken")));
}

#[tokio::test(start_paused = true)]
async fn a_wait_lets_the_readied_instance_go() {
    let governor = governor();
    let (probe, mut service) = plain(&governor);
    governor.hold(HOST, SECOND);
    let mut answer = call(&mut service, get());
    assert_eq!(probe.see().readied, 1, "before it is polled");
    assert_pending!(answer.poll());
    assert_eq!(probe.see().readied, 0, "while it waits");
    pass(SECOND).await;
    assert!(answer.is_woken());
    assert_ready_ok!(answer.poll());
    let seen = probe.see();
    assert_eq!((seen.violations, seen.readied, seen.calls.len()), (0, 0, 1));
}

/// One slot for all: who waits for a closed provider must not keep it from the others.
#[tokio::test(start_paused = true)]
async fn a_wait_takes_no_slot_of_a_limit_below() {
    let governor = governor();
    let below = service_fn(|_: Request<&'static str>| async {
        Ok::<_, Infallible>(Response::new(Empty::<&[u8]>::new()))
    });
    let mut service = Layer::new(governor.clone()).layer(ConcurrencyLimit::new(below, 1));
    governor.hold(HOST, SECOND);
    assert_ready_ok!(spawn(service.ready()).poll());
    let mut held = spawn(service.call(get()));
    assert_pending!(held.poll());
    assert_ready_ok!(spawn(service.ready()).poll());
    let mut other = spawn(service.call(to("other.example")));
    assert_ready_ok!(other.poll());
    drop(other);
    pass(SECOND).await;
    assert_ready_ok!(held.poll());
}

#[tokio::test(start_paused = true)]
async fn leave_is_given_back_while_the_service_is_not_ready() {
    let governor = governor_with(narrow(), "");
    let (probe, mut service) = plain(&governor);
    governor.hold(HOST, SECOND);
    let mut answer = call(&mut service, get());
    assert_pending!(answer.poll());
    probe.block();
    pass(SECOND).await;
    assert_pending!(answer.poll());
    assert_eq!(gate(&governor, HOST).in_flight, 0, "its place is free");

    let url = format!("https://{HOST}/x").parse().unwrap();
    let target = governor
        .target(&Method::GET, &url, &HeaderMap::new())
        .unwrap();
    let now = governor.clock().now();
    let mut other = Call::new(CallPolicy::default(), Safety::Read, now);
    let (shard, admission) = (governor.provider(HOST), Admission::to(target));
    let permit = {
        let mut asking = spawn(Permit::acquire(&shard, &admission, &mut other));
        assert_ready_ok!(asking.poll())
    };
    probe.unblock();
    assert!(answer.is_woken());
    assert_pending!(answer.poll());
    assert_eq!(probe.see().readied, 0, "in line again, and let go again");
    permit.settle(&abide::core::provider::Outcome::Answered(
        abide::core::Finding::success(),
    ));
    pass(Duration::ZERO).await;
    assert_ready_ok!(answer.poll());
    assert_eq!(probe.see().violations, 0);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_breaks_down_after_a_wait_gives_leave_back() {
    let governor = governor_with(narrow(), "");
    let (probe, mut service) = plain(&governor);
    governor.hold(HOST, SECOND);
    let mut answer = call(&mut service, get());
    assert_pending!(answer.poll());
    probe.break_down();
    pass(SECOND).await;
    let error = assert_ready!(answer.poll()).unwrap_err();
    assert!(matches!(error, Error::Inner(Failure("broken"))));
    assert_eq!(gate(&governor, HOST).in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn clones_and_other_services_share_the_gates() {
    let governor = governor();
    let (probe, service) = plain(&governor);
    let (others, mut other) = plain(&governor);
    probe.says([crate::probe::refusal("3600")]);
    assert_ready_ok!(call(&mut service.clone(), get()).poll());
    crate::world::turned(assert_ready!(call(&mut service.clone(), get()).poll()));
    crate::world::turned(assert_ready!(call(&mut other, get()).poll()));
    assert_eq!((probe.calls(), others.calls()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_service_below_can_be_reached() {
    let probe = Handle::default();
    let mut service = Layer::new(governor()).layer(probe.probe());
    let id = service.get_ref().id;
    assert_eq!(service.get_mut().id, id);
    assert_eq!(service.into_inner().id, id);
}

#[tokio::test(start_paused = true)]
async fn a_service_can_be_boxed_and_sent_elsewhere() {
    let governor = governor();
    let (probe, service) = plain(&governor);
    let boxed = service.boxed_clone();
    let answer = tokio::spawn(boxed.oneshot(get())).await.unwrap();
    assert_eq!(answer.unwrap().status(), 200);
    assert_eq!(probe.see().violations, 0);
}
