//! A middleware for any [`tower_service::Service`] that speaks HTTP.
//!
//! Every request passes the path that the client's do: the gates of its provider, the reading of
//! its answer, and, where [`Layer::repeating`] allows it, another attempt. What a provider answers
//! is handed on, a 429 too; what is not sent since a gate is closed for too long is an [`Error`],
//! which says when to come back. A final refusal of the provider carries the same
//! [`TurnedAway`](crate::TurnedAway) in its response's extensions.
//!
//! Readiness is that of the service below, and the instance that was polled ready is the one that
//! is called. Gates are waited at in the future, not in `poll_ready`: which gates there are depends
//! on the request, and one closed provider must not stop the others. An instance that was polled
//! ready may hold a place of its own (a slot of a concurrency limit, a connection), so it is let go
//! before a wait, and a clone is polled ready after it. Leave to send is not kept while that takes
//! long: it is given back, and asked for anew once the service is ready.
//!
//! Waiting needs a tokio runtime with its time enabled.

mod answer;
mod body;
mod error;
mod failures;
mod future;
mod options;
mod repeat;
mod service;
mod steps;
mod talk;

use std::fmt;

use abide_core::call::CallPolicy;
use abide_core::classify::Transport;

pub use self::body::Body;
pub use self::error::Error;
pub use self::failures::{By, Failures, Opaque};
pub use self::future::ResponseFuture;
pub use self::options::Options;
pub use self::repeat::{Copies, Once, Repeat};
pub use self::service::Service;

use crate::governor::Governor;

/// Makes services whose every request passes its provider's gates.
///
/// ```
/// use std::convert::Infallible;
///
/// use http::{Request, Response};
/// use http_body_util::Empty;
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A provider that is asked too much, in place of a real client.
/// let below = service_fn(|_: Request<()>| async {
///     let refused = Response::builder().status(429).header("retry-after", "3600");
///     Ok::<_, Infallible>(refused.body(Empty::<&[u8]>::new()).unwrap())
/// });
/// let governor = abide::Governor::builder().build()?;
/// let service = ServiceBuilder::new()
///     .layer(abide::Layer::new(governor))
///     .service(below);
///
/// let get = || Request::get("https://api.example.org/items").body(());
/// let answer = service.clone().oneshot(get()?).await?;
/// assert_eq!(answer.status(), 429);
///
/// // It asked to be left alone for an hour: nothing more is sent until then.
/// let error = service.oneshot(get()?).await.unwrap_err();
/// assert!(error.turned().is_some_and(|turned| turned.retry_at().is_some()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Layer<R = Once, F = Opaque> {
    told: Told<R, F>,
}

/// What a layer was told.
#[derive(Clone)]
struct Told<R, F> {
    governor: Governor,
    call: CallPolicy,
    repeat: R,
    failures: F,
}

impl Layer {
    /// A layer over the gates of a governor. Nothing is sent twice.
    pub fn new(governor: Governor) -> Self {
        Self {
            told: Told {
                governor,
                call: CallPolicy::default(),
                repeat: Once,
                failures: Opaque,
            },
        }
    }
}

impl<R, F> Layer<R, F> {
    /// The knobs of every call.
    #[must_use]
    pub fn call(mut self, call: CallPolicy) -> Self {
        self.told.call = call;
        self
    }

    /// Copies requests, and sends again what may be repeated: what only reads, by its method, its
    /// provider's profile or its [`Options`].
    #[must_use]
    pub fn repeating(self) -> Layer<Copies, F> {
        self.repeating_by(Copies)
    }

    /// As [`repeating`](Self::repeating), with another way to copy.
    #[must_use]
    pub fn repeating_by<R2>(self, repeat: R2) -> Layer<R2, F> {
        let told = self.told;
        Layer {
            told: Told {
                governor: told.governor,
                call: told.call,
                repeat,
                failures: told.failures,
            },
        }
    }

    /// Tells what errors of the service below mean; without it they say nothing about the provider.
    #[must_use]
    pub fn failures<E, F2: Fn(&E) -> Option<Transport>>(self, read: F2) -> Layer<R, By<F2>> {
        let told = self.told;
        Layer {
            told: Told {
                governor: told.governor,
                call: told.call,
                repeat: told.repeat,
                failures: By(read),
            },
        }
    }

    /// The governor behind it.
    pub const fn governor(&self) -> &Governor {
        &self.told.governor
    }
}

impl<R, F> fmt::Debug for Layer<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer")
            .field("governor", &self.told.governor)
            .field("call", &self.told.call)
            .finish_non_exhaustive()
    }
}

impl<S, R: Clone, F: Clone> tower_layer::Layer<S> for Layer<R, F> {
    type Service = Service<S, R, F>;

    fn layer(&self, inner: S) -> Self::Service {
        Service::new(inner, self.clone())
    }
}
