//! The service below: answers at once, with nothing.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body_util::Empty;
use tower_service::Service;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Noop;

impl Service<Request<()>> for Noop {
    type Response = Response<Empty<&'static [u8]>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::new(Empty::new())))
    }
}
