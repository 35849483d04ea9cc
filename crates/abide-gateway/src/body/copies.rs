//! Requests that may be sent again, and that wait.

use std::sync::Arc;

use abide::layer::Repeat;
use bytes::BytesMut;
use http::{HeaderMap, HeaderValue, Request};

use super::outgoing::Outgoing;

/// Lets go of the buffer that a head was read into, of which its values are pieces: it is many times
/// as large.
fn compact(headers: &mut HeaderMap) {
    let size = headers.values().map(HeaderValue::len).sum();
    let mut all = BytesMut::with_capacity(size);
    for value in headers.values_mut() {
        all.extend_from_slice(value.as_bytes());
        if let Ok(mut same) = HeaderValue::from_maybe_shared(all.split().freeze()) {
            same.set_sensitive(value.is_sensitive());
            *value = same;
        }
    }
}

/// Copies requests whose body is remembered. Extensions are left out: nothing below looks at them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copies;

impl Repeat<Outgoing> for Copies {
    fn waits(&self, request: &mut Request<Outgoing>) {
        compact(request.headers_mut());
    }

    fn copy(&self, request: &Request<Outgoing>) -> Option<Request<Outgoing>> {
        let body = match request.body() {
            Outgoing::Empty => Outgoing::Empty,
            Outgoing::Once(_) => return None,
            Outgoing::Kept { kept, .. } => Outgoing::Kept {
                kept: Arc::clone(kept),
                next: 0,
            },
        };
        let mut copy = Request::new(body);
        copy.method_mut().clone_from(request.method());
        copy.uri_mut().clone_from(request.uri());
        *copy.version_mut() = request.version();
        copy.headers_mut().clone_from(request.headers());
        Some(copy)
    }

    fn holds(&self, copy: &Request<Outgoing>) -> bool {
        match copy.body() {
            Outgoing::Kept { kept, .. } => !kept.lock().is_lost(),
            Outgoing::Empty | Outgoing::Once(_) => true,
        }
    }
}
