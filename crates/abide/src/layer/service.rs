//! The service: readiness is the inner one's, and the instance that was polled ready is the one
//! that is called.

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};

use super::body::Body;
use super::error::Error;
use super::failures::{Failures, Opaque};
use super::future::ResponseFuture;
use super::repeat::{Once, Repeat};
use super::{Layer, Options, Told};

/// A service whose every request passes its provider's gates; made by a [`Layer`]. Clones share
/// everything but the inner service, which is cloned.
#[derive(Clone)]
pub struct Service<S, R = Once, F = Opaque> {
    inner: S,
    told: Arc<Told<R, F>>,
}

impl<S, R, F> Service<S, R, F> {
    /// Puts a layer around a service.
    pub fn new(inner: S, layer: Layer<R, F>) -> Self {
        Self {
            inner,
            told: Arc::new(layer.told),
        }
    }

    /// The service below.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service below.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The service below.
    pub fn into_inner(self) -> S {
        self.inner
    }

    /// Calls it as [`Options`] say, which count in place of those in the request's extensions: who
    /// makes every request anew saves what extensions cost.
    pub fn call_with<B, RB>(
        &mut self,
        request: Request<B>,
        options: Options,
    ) -> ResponseFuture<S, B, RB, R, F>
    where
        S: tower_service::Service<Request<B>, Response = Response<RB>> + Clone,
        RB: http_body::Body,
    {
        let fresh = self.inner.clone();
        let readied = mem::replace(&mut self.inner, fresh);
        ResponseFuture::new(readied, request, Some(options), Arc::clone(&self.told))
    }
}

impl<S: fmt::Debug, R, F> fmt::Debug for Service<S, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl<S, B, RB, R, F> tower_service::Service<Request<B>> for Service<S, R, F>
where
    S: tower_service::Service<Request<B>, Response = Response<RB>> + Clone,
    RB: http_body::Body,
    R: Repeat<B>,
    F: Failures<S::Error>,
{
    type Response = Response<Body<RB>>;
    type Error = Error<S::Error>;
    type Future = ResponseFuture<S, B, RB, R, F>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(Error::Inner)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let fresh = self.inner.clone();
        let readied = mem::replace(&mut self.inner, fresh);
        ResponseFuture::new(readied, request, None, Arc::clone(&self.told))
    }
}
