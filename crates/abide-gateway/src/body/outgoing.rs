//! What a caller sends, on its way to a provider.
//!
//! It streams. What may be sent again is remembered piece by piece while it goes by, up to a bound;
//! beyond that it can be sent once only, and what was remembered is let go. Up to that bound it is read
//! while its request still waits: that a caller has left stands behind its body, and whoever left must
//! not keep a place in line. What is larger is not read before the provider takes it. A caller that sends
//! nothing for too long is cut off: it must not keep a place on the wire.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use abide::layer::Repeat;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::time::Sleep;

/// The body of a request.
pub(crate) enum Outgoing {
    /// There is none.
    Empty,
    /// It goes by once.
    Once(Timed),
    /// It is remembered as it goes by; `next` is the piece this copy sends next.
    Kept { kept: Arc<Mutex<Kept>>, next: usize },
}

/// What is remembered of a body.
pub(crate) struct Kept {
    rest: Timed,
    pieces: Vec<Bytes>,
    trailers: Option<HeaderMap>,
    size: u64,
    most: u64,
    ended: bool,
    /// Too large, or broken: it cannot be sent again.
    lost: bool,
    /// It is being sent: whoever sends it reads it.
    sent: bool,
}

/// What a caller sends, and how long it may send nothing.
pub(crate) struct Timed {
    body: Incoming,
    idle: Duration,
    /// Runs while nothing comes.
    still: Option<Pin<Box<Sleep>>>,
    /// Pieces so far.
    gone_by: Arc<AtomicU64>,
}

/// Why a body ends before its time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallerError {
    /// It broke off.
    #[error("the caller's body broke off")]
    Broke(#[source] hyper::Error),
    /// It stood still.
    #[error("the caller's body stood still for {0:?}")]
    Still(Duration),
}

impl Timed {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Next>> {
        if let Poll::Ready(next) = Pin::new(&mut self.body).poll_frame(cx) {
            self.still = None;
            self.gone_by.fetch_add(1, Ordering::Relaxed);
            return Poll::Ready(next.map(|frame| frame.map_err(CallerError::Broke)));
        }
        let idle = self.idle;
        let still = self
            .still
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(idle)));
        let over = still.as_mut().poll(cx);
        over.map(|()| Some(Err(CallerError::Still(idle))))
    }
}

impl Outgoing {
    /// The body of a request, remembered up to `most` bytes; `idle` bounds how long it may stand
    /// still.
    pub(crate) fn of(body: Incoming, most: u64, idle: Duration) -> Self {
        if body.is_end_stream() {
            return Self::Empty;
        }
        let body = Timed {
            body,
            idle,
            still: None,
            gone_by: Arc::default(),
        };
        if body.body.size_hint().lower() > most {
            return Self::Once(body);
        }
        let kept = Kept {
            rest: body,
            pieces: Vec::new(),
            trailers: None,
            size: 0,
            most,
            ended: false,
            lost: false,
            sent: false,
        };
        Self::Kept {
            kept: Arc::new(Mutex::new(kept)),
            next: 0,
        }
    }

    /// Reads it while its request waits, as far as it is kept: poll it beside the exchange. It ends only
    /// where the caller broke off.
    pub(crate) fn ahead(&self) -> impl Future<Output = CallerError> + use<> {
        let kept = match self {
            Self::Kept { kept, .. } => Some(Arc::clone(kept)),
            Self::Empty | Self::Once(_) => None,
        };
        poll_fn(move |cx| match &kept {
            Some(kept) => kept.lock().read_ahead(cx),
            None => Poll::Pending,
        })
    }
}

impl Outgoing {
    /// Whether more of it may come than is kept: it takes as long as its caller does.
    pub(crate) const fn streams(&self) -> bool {
        matches!(self, Self::Once(_))
    }

    /// How much of it went by, where that may take long.
    pub(crate) fn gone_by(&self) -> Option<Arc<AtomicU64>> {
        match self {
            Self::Once(body) => Some(Arc::clone(&body.gone_by)),
            Self::Empty | Self::Kept { .. } => None,
        }
    }
}

impl Kept {
    /// The piece of this number.
    fn poll(&mut self, next: &mut usize, cx: &mut Context<'_>) -> Poll<Option<Next>> {
        if let Some(piece) = self.pieces.get(*next) {
            *next += 1;
            return Poll::Ready(Some(Ok(Frame::data(piece.clone()))));
        }
        if self.ended {
            // Trailers come after every piece, once a copy.
            let trailers = match *next == self.pieces.len() {
                true => self.trailers.clone(),
                false => None,
            };
            *next = usize::MAX;
            return Poll::Ready(trailers.map(|t| Ok(Frame::trailers(t))));
        }
        let Some(frame) = ready!(self.rest.poll(cx)) else {
            self.ended = true;
            return Poll::Ready(None);
        };
        let frame = match frame {
            Ok(frame) => frame,
            Err(e) => {
                self.lost = true;
                return Poll::Ready(Some(Err(e)));
            }
        };
        self.counts(&frame);
        if let Some(piece) = frame.data_ref() {
            if self.lost {
                self.pieces = Vec::new();
                *next = 0;
            } else {
                self.pieces.push(piece.clone());
                *next += 1;
            }
        } else if self.ended {
            *next = usize::MAX;
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn counts(&mut self, frame: &Frame<Bytes>) {
        if let Some(piece) = frame.data_ref() {
            self.size = self.size.saturating_add(piece.len() as u64);
            self.lost |= self.size > self.most;
        } else if let Some(trailers) = frame.trailers_ref() {
            self.trailers = Some(trailers.clone());
            self.ended = true;
        }
    }

    /// Pieces that are there are kept until they are sent, though they may be too many to be sent again.
    fn read_ahead(&mut self, cx: &mut Context<'_>) -> Poll<CallerError> {
        while !(self.sent || self.ended || self.lost) {
            match ready!(Pin::new(&mut self.rest.body).poll_frame(cx)) {
                None => self.ended = true,
                Some(Ok(frame)) => {
                    self.counts(&frame);
                    self.pieces.extend(frame.into_data().ok());
                }
                Some(Err(e)) => {
                    self.lost = true;
                    return Poll::Ready(CallerError::Broke(e));
                }
            }
        }
        Poll::Pending
    }
}

/// What a body gives next.
type Next = Result<Frame<Bytes>, CallerError>;

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = CallerError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Next>> {
        match self.get_mut() {
            Self::Empty => Poll::Ready(None),
            Self::Once(body) => body.poll(cx),
            Self::Kept { next, .. } if *next == usize::MAX => Poll::Ready(None),
            Self::Kept { kept, next } => {
                let mut kept = kept.lock();
                kept.sent = true;
                kept.poll(next, cx)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Once(body) => body.body.is_end_stream(),
            Self::Kept { kept, next } => {
                let kept = kept.lock();
                let over = kept.ended || kept.rest.body.is_end_stream();
                *next == usize::MAX
                    || (over && *next >= kept.pieces.len() && kept.trailers.is_none())
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Once(body) => body.body.size_hint(),
            Self::Kept { kept, next } => {
                let kept = kept.lock();
                let rest = kept.rest.body.size_hint();
                let sent = kept.pieces.iter().skip(*next).map(|p| p.len() as u64);
                let left: u64 = sent.sum();
                match rest.exact() {
                    Some(rest) => SizeHint::with_exact(rest + left),
                    None => SizeHint::default(),
                }
            }
        }
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Once(_) => "Once",
            Self::Kept { .. } => "Kept",
        })
    }
}

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
            Outgoing::Kept { kept, .. } => !kept.lock().lost,
            Outgoing::Empty | Outgoing::Once(_) => true,
        }
    }
}
