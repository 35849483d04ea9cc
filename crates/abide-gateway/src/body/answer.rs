//! What a caller gets: a provider's answer as it comes, counted on its way, or one of our own.
//!
//! A body that stands still is cut off: a provider that never ends one must not keep a place for
//! ever. The clock runs only while nothing comes. So is one that its caller does not take: where that
//! does not show on the connection (HTTP/2), somebody looks.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Sleep;

use super::busy::Busy;
use crate::record::Record;
use crate::upstream::Reply;

/// The bytes of an answer of our own.
pub(crate) type Own = http_body_util::Full<Bytes>;

/// The body of an answer.
pub(crate) struct Answer {
    source: Source,
    /// Absent where it is written down elsewhere.
    record: Option<Record>,
    /// Its connection is busy for as long.
    _busy: Option<Busy>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "nearly every answer is a provider's"
)]
enum Source {
    Own(Own),
    Passed(Passed),
    Watched(Arc<Watched>),
}

struct Passed {
    body: abide::layer::Body<Reply>,
    idle: Duration,
    /// Runs while nothing comes.
    still: Option<Pin<Box<Sleep>>>,
}

/// A body that nobody may ask for: HTTP/2 has answers whose caller takes none of it while its
/// connection is well.
struct Watched {
    passed: Mutex<Option<Passed>>,
    /// Somebody asked for more since it was looked at last.
    asked: AtomicBool,
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
    /// Nobody took it.
    #[error("the caller took nothing of the answer for too long")]
    Untaken,
}

impl Answer {
    /// One of our own.
    pub(crate) fn own(body: Own, record: Record) -> Self {
        Self {
            source: Source::Own(body),
            record: Some(record),
            _busy: None,
        }
    }

    /// None: its connection leaves HTTP, and what becomes of it is written down there.
    pub(crate) fn left() -> Self {
        Self {
            source: Source::Own(Own::default()),
            record: None,
            _busy: None,
        }
    }

    /// A provider's; `idle` bounds how long it may stand still.
    pub(crate) fn passed(body: abide::layer::Body<Reply>, idle: Duration, record: Record) -> Self {
        let source = Source::Passed(Passed {
            body,
            idle,
            still: None,
        });
        Self {
            source,
            record: Some(record),
            _busy: None,
        }
    }

    /// Its connection is busy until it has ended.
    pub(crate) fn keeps(mut self, busy: Busy) -> Self {
        self._busy = Some(busy);
        self
    }

    /// Lets it go, and its provider's place with it, where nobody asks for any of it for as long as it
    /// may stand still.
    pub(crate) fn watched(mut self) -> Self {
        let passed = match self.source {
            Source::Passed(passed) if !passed.body.is_end_stream() => passed,
            source => {
                self.source = source;
                return self;
            }
        };
        let idle = passed.idle;
        let watched = Arc::new(Watched {
            passed: Mutex::new(Some(passed)),
            asked: AtomicBool::new(true),
        });
        let seen = Arc::downgrade(&watched);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(idle).await;
                let Some(watched) = seen.upgrade() else {
                    return;
                };
                if !watched.asked.swap(false, Ordering::Relaxed) {
                    let untaken = watched.passed.lock().take();
                    return drop(untaken);
                }
            }
        });
        self.source = Source::Watched(watched);
        self
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
            Source::Watched(watched) => {
                watched.asked.store(true, Ordering::Relaxed);
                match &mut *watched.passed.lock() {
                    Some(body) => body.poll(cx),
                    None => Poll::Ready(Some(Err(BodyError::Untaken))),
                }
            }
        };
        let Some(record) = &mut this.record else {
            return next;
        };
        match &next {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    record.carries(data.len() as u64);
                }
            }
            Poll::Ready(Some(Err(_))) => record.breaks(),
            _ => {}
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Own(body) => body.is_end_stream(),
            Source::Passed(passed) => passed.body.is_end_stream(),
            Source::Watched(watched) => {
                let passed = watched.passed.lock();
                passed.as_ref().is_some_and(|p| p.body.is_end_stream())
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Own(body) => body.size_hint(),
            Source::Passed(passed) => passed.body.size_hint(),
            Source::Watched(watched) => {
                let passed = watched.passed.lock();
                let hint = passed.as_ref().map(|p| p.body.size_hint());
                hint.unwrap_or_default()
            }
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").finish_non_exhaustive()
    }
}
