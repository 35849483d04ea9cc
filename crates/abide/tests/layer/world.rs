//! Governors on a clock that stands still, and the small steps every test is made of.

use std::sync::Arc;
use std::time::Duration;

use abide::clock::Clock;
use abide::core::classify::ClassifyPolicy;
use abide::core::policy::ProviderPolicy;
use abide::core::provider::GateView;
use abide::core::{Instant, Scope, WallTime};
use abide::layer::{Body, Error, ResponseFuture};
use abide::profile::Catalogue;
use abide::{Governor, Layer, TurnedAway};
use http::{Request, Response};
use tokio_test::task::{Spawn, spawn};
use tower::{Layer as _, Service};

use crate::probe::{Failure, Handle, Probe, Script};

pub(crate) const HOST: &str = "api.example.org";
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Tokio's clock, which a test lets pass.
#[derive(Debug)]
struct Paused(tokio::time::Instant);

#[expect(clippy::disallowed_methods, reason = "it is the test's own clock")]
impl Clock for Paused {
    fn now(&self) -> Instant {
        Instant::from_secs(1000).after(tokio::time::Instant::now() - self.0)
    }

    fn wall(&self) -> WallTime {
        WallTime::from_unix_secs(1_773_144_000).after(tokio::time::Instant::now() - self.0)
    }
}

pub(crate) fn governor() -> Governor {
    governor_with(ProviderPolicy::default(), "")
}

/// A governor whose default policy is this, and which knows [`HOST`] by a profile of these lines,
/// if any.
#[expect(clippy::disallowed_methods, reason = "it is the test's own clock")]
pub(crate) fn governor_with(policy: ProviderPolicy, lines: &str) -> Governor {
    let mut all = Catalogue::built_in();
    if !lines.is_empty() {
        let text = format!("name = \"own\"\nhosts = [\"{HOST}\"]\n{lines}");
        all.add("own.toml", text).unwrap();
    }
    Governor::builder()
        .clock(Arc::new(Paused(tokio::time::Instant::now())))
        .seed(7)
        .policy(policy)
        .classify(ClassifyPolicy::default())
        .catalogue(Arc::new(all))
        .build()
        .unwrap()
}

/// One place on the wire.
pub(crate) fn narrow() -> ProviderPolicy {
    let mut policy = ProviderPolicy::default();
    policy.provider.concurrency = 1;
    policy
}

pub(crate) fn get() -> Request<&'static str> {
    to(HOST)
}

pub(crate) fn to(host: &str) -> Request<&'static str> {
    Request::get(format!("https://{host}/x")).body("").unwrap()
}

pub(crate) fn post() -> Request<&'static str> {
    let uri = format!("https://{HOST}/x");
    Request::post(uri).body("written").unwrap()
}

/// A probe below a plain layer.
pub(crate) fn plain(governor: &Governor) -> (Handle, abide::Service<Probe>) {
    let handle = Handle::default();
    let service = Layer::new(governor.clone()).layer(handle.probe());
    (handle, service)
}

/// A probe below a layer that repeats.
pub(crate) fn repeating(
    governor: &Governor,
) -> (Handle, abide::Service<Probe, abide::layer::Copies>) {
    let handle = Handle::default();
    let layer = Layer::new(governor.clone()).repeating();
    let service = layer.layer(handle.probe());
    (handle, service)
}

pub(crate) type Answer = Response<Body<Script>>;
pub(crate) type Pending<R, F> = Spawn<ResponseFuture<Probe, &'static str, Script, R, F>>;

/// Polls a service ready, and calls it.
pub(crate) fn call<R, F>(
    service: &mut abide::Service<Probe, R, F>,
    request: Request<&'static str>,
) -> Pending<R, F>
where
    R: abide::layer::Repeat<&'static str>,
    F: abide::layer::Failures<Failure>,
{
    let ready = spawn(()).enter(|cx, _| service.poll_ready(cx));
    assert!(matches!(ready, std::task::Poll::Ready(Ok(()))));
    spawn(service.call(request))
}

/// Lets time pass, and the timers of providers do what is due.
pub(crate) async fn pass(time: Duration) {
    settle().await;
    tokio::time::advance(time).await;
    settle().await;
}

/// Lets everything that is due be done.
pub(crate) async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// The gate of the provider as it stands.
pub(crate) fn gate(governor: &Governor, name: &str) -> GateView {
    let gates = governor.provider(name).view();
    gates
        .into_iter()
        .find(|g| g.scope == Scope::Provider)
        .unwrap()
}

pub(crate) fn turned(result: Result<Answer, Error<Failure>>) -> TurnedAway {
    match result {
        Err(Error::Turned(turned)) => *turned,
        other => panic!("not turned away: {other:?}"),
    }
}
