//! A request that is let through at once costs the layer no allocation.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use abide::clock::Clock;
use abide::core::{Instant, WallTime};
use abide::{Governor, Layer};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Request, Response};
use http_body_util::Empty;
use tower::{Layer as _, Service};

/// A second passes whenever somebody looks, so that no pace is in the way.
#[derive(Debug, Default)]
struct Hurried(AtomicU64);

impl Clock for Hurried {
    fn now(&self) -> Instant {
        Instant::from_secs(1000 + self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn wall(&self) -> WallTime {
        WallTime::from_unix_secs(1_773_144_000)
    }
}

/// Answers at once, with nothing.
#[derive(Clone)]
struct Noop;

type Body = Empty<&'static [u8]>;

impl Service<Request<()>> for Noop {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::new(Body::new())))
    }
}

/// Sends one request and reads its answer, all of which is there at once.
fn send<S, B>(service: &mut S, request: Request<()>)
where
    S: Service<Request<()>, Response = Response<B>, Error: std::fmt::Debug>,
    B: http_body::Body,
{
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(matches!(service.poll_ready(cx), Poll::Ready(Ok(()))));
    let mut future = pin!(service.call(request));
    let Poll::Ready(Ok(answer)) = future.as_mut().poll(cx) else {
        panic!("it has to wait");
    };
    let mut body = pin!(answer.into_body());
    assert!(matches!(body.as_mut().poll_frame(cx), Poll::Ready(None)));
}

/// How many allocations a thousand requests take beyond those of the service below.
fn beyond(request: impl Fn() -> Request<()>) -> u64 {
    let clock = Arc::new(Hurried::default());
    let governor = Governor::builder().clock(clock).seed(7).build().unwrap();
    let mut service = Layer::new(governor).layer(Noop);
    let many = |service: &mut dyn FnMut(Request<()>)| {
        let requests: Vec<_> = (0..1000).map(|_| request()).collect();
        let counted = allocation_counter::measure(|| requests.into_iter().for_each(service));
        counted.count_total
    };
    let bare = many(&mut |request| send(&mut Noop, request));
    many(&mut |request| send(&mut service, request));
    many(&mut |request| send(&mut service, request)) - bare
}

fn get(url: &'static str) -> impl Fn() -> Request<()> {
    move || Request::get(url).body(()).unwrap()
}

#[test]
fn an_unknown_provider_costs_no_allocation() {
    assert_eq!(beyond(get("https://api.example.org/items/1?page=2")), 0);
}

#[test]
fn a_known_provider_costs_no_allocation() {
    let url = "https://openlibrary.org/isbn/9780140328721.json";
    assert_eq!(beyond(get(url)), 0);
}

#[test]
fn a_credential_costs_no_allocation() {
    let with = || {
        Request::get("https://api.example.org/items")
            .header(AUTHORIZATION, "Bearer s3cr3t")
            .header(ACCEPT, "application/json")
            .body(())
            .unwrap()
    };
    assert_eq!(beyond(with), 0);
}

#[test]
fn a_write_and_its_headers_cost_no_allocation() {
    let write = || {
        Request::post("https://API.example.org:8443/items")
            .header(CONTENT_TYPE, "application/json")
            .extension(options())
            .body(())
            .unwrap()
    };
    assert_eq!(beyond(write), 0);
}

fn options() -> abide::layer::Options {
    let mut options = abide::layer::Options::default();
    options.patience = Some(Duration::from_secs(1));
    options.cost = 2;
    options
}
