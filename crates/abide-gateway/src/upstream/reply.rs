//! The body of a provider's answer.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::idle::Lent;

/// The body of an answer; its connection is free again when it is read to its end.
pub(crate) struct Reply {
    body: Incoming,
    lent: Option<Lent>,
}

impl Reply {
    /// One of a connection that looks after itself.
    pub(super) const fn of(body: Incoming) -> Self {
        Self { body, lent: None }
    }

    pub(super) fn new(body: Incoming, lent: Option<Lent>) -> Self {
        let mut reply = Self { body, lent };
        reply.at_end();
        reply
    }

    fn at_end(&mut self) {
        if self.body.is_end_stream()
            && let Some(lent) = self.lent.take()
        {
            lent.give_back();
        }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let next = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &next {
            Some(Ok(_)) => self.at_end(),
            // Broken: whoever has it next would have what is left.
            Some(Err(_)) => self.lent = None,
            None => {
                if let Some(lent) = self.lent.take() {
                    lent.give_back();
                }
            }
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
