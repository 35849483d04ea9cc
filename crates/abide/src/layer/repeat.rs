//! Which requests can be sent again.
//!
//! Whether one *may* be is decided by the core, from its safety and the policy of its call; this
//! only says whether there is anything left to send. Bodies of requests are often streams, so
//! nothing is copied unless the caller says that copies are cheap.

use http::Request;

/// Keeps a copy of a request for the case that it is sent again.
pub trait Repeat<B> {
    /// A request is to wait in line: whatever it holds meanwhile may be put into less room.
    fn waits(&self, request: &mut Request<B>) {
        let _ = request;
    }

    /// A copy of a request about to be sent; `None` when it can be sent only once.
    fn copy(&self, request: &Request<B>) -> Option<Request<B>>;

    /// Whether a copy can still be sent: one of a stream is kept while the stream goes by, and may
    /// turn out to be too large.
    fn holds(&self, _copy: &Request<B>) -> bool {
        true
    }
}

/// Nothing is sent again: every request goes out once, and every answer is handed on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Once;

impl<B> Repeat<B> for Once {
    fn copy(&self, _: &Request<B>) -> Option<Request<B>> {
        None
    }
}

/// Every request is copied with its body, so that it can be sent again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copies;

impl<B: Clone> Repeat<B> for Copies {
    fn copy(&self, request: &Request<B>) -> Option<Request<B>> {
        Some(request.clone())
    }
}
