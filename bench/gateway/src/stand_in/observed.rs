//! A body that is counted on its way; its line is written when it is read or dropped.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};

use super::log::Log;

pub(crate) struct Observed<B> {
    body: B,
    log: Arc<Log>,
    line: String,
    status: StatusCode,
    began: Duration,
    bytes: u64,
}

impl<B> Observed<B> {
    pub(crate) const fn new(
        body: B,
        log: Arc<Log>,
        line: String,
        status: StatusCode,
        began: Duration,
    ) -> Self {
        Self {
            body,
            log,
            line,
            status,
            began,
            bytes: 0,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Observed<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let next = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &next
            && let Some(data) = frame.data_ref()
        {
            self.bytes += data.len() as u64;
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

impl<B> Drop for Observed<B> {
    fn drop(&mut self) {
        let took = self.log.now().saturating_sub(self.began);
        let line = std::mem::take(&mut self.line);
        self.log.done(line, self.status, self.bytes, took);
    }
}
