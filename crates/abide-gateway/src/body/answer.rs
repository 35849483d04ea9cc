//! What a caller gets: a provider's answer as it comes, counted on its way, or one of our own.
//!
//! A body that stands still is cut off: a provider that never ends one must not keep a place for
//! ever. The clock runs only while nothing comes.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use crate::record::Record;
use crate::upstream::Reply;

/// The bytes of an answer of our own.
pub(crate) type Own = http_body_util::Full<Bytes>;

/// The body of an answer.
pub(crate) struct Answer {
    source: Source,
    record: Record,
}

enum Source {
    Own(Own),
    Passed(Passed),
}

struct Passed {
    body: abide::layer::Body<Reply>,
    idle: Duration,
    /// Runs while nothing comes.
    still: Option<Pin<Box<Sleep>>>,
}

/// Why a body ends before its time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    /// The provider's broke off.
    #[error("the provider's answer broke off")]
    Broke(#[source] hyper::Error),
    /// It stood still.
    #[error("the provider's answer stood still for {0:?}")]
    Still(Duration),
}

impl Answer {
    /// One of our own.
    pub(crate) fn own(body: Own, record: Record) -> Self {
        Self {
            source: Source::Own(body),
            record,
        }
    }

    /// A provider's; `idle` bounds how long it may stand still.
    pub(crate) fn passed(body: abide::layer::Body<Reply>, idle: Duration, record: Record) -> Self {
        Self {
            source: Source::Passed(Passed {
                body,
                idle,
                still: None,
            }),
            record,
        }
    }
}

impl Passed {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(next) => {
                self.still = None;
                Poll::Ready(next.map(|frame| frame.map_err(BodyError::Broke)))
            }
            Poll::Pending => {
                let idle = self.idle;
                let still = self
                    .still
                    .get_or_insert_with(|| Box::pin(tokio::time::sleep(idle)));
                let over = still.as_mut().poll(cx);
                over.map(|()| Some(Err(BodyError::Still(idle))))
            }
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let next = match &mut this.source {
            Source::Own(body) => Pin::new(body)
                .poll_frame(cx)
                .map(|next| next.map(|frame| frame.map_err(|never| match never {}))),
            Source::Passed(body) => body.poll(cx),
        };
        match &next {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    this.record.carries(data.len());
                }
            }
            Poll::Ready(Some(Err(_))) => this.record.breaks(),
            _ => {}
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Own(body) => body.is_end_stream(),
            Source::Passed(passed) => passed.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Own(body) => body.size_hint(),
            Source::Passed(passed) => passed.body.size_hint(),
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}
