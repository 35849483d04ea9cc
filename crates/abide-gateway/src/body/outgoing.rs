//! What a caller sends, on its way to a provider.
//!
//! It streams: nothing is read before the provider can take it. What may be sent again is
//! remembered piece by piece while it goes by, up to a bound; beyond that it can be sent once only,
//! and what was remembered is let go.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use abide::layer::Repeat;
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use parking_lot::Mutex;

/// The body of a request.
pub(crate) enum Outgoing {
    /// There is none.
    Empty,
    /// It goes by once.
    Once(Incoming),
    /// It is remembered as it goes by; `next` is the piece this copy sends next.
    Kept { kept: Arc<Mutex<Kept>>, next: usize },
}

/// What is remembered of a body.
pub(crate) struct Kept {
    rest: Incoming,
    pieces: Vec<Bytes>,
    trailers: Option<HeaderMap>,
    size: u64,
    most: u64,
    ended: bool,
    /// Too large, or broken: it cannot be sent again.
    lost: bool,
}

impl Outgoing {
    /// The body of a request, remembered up to `most` bytes.
    pub(crate) fn of(body: Incoming, most: u64) -> Self {
        if body.is_end_stream() {
            return Self::Empty;
        }
        if body.size_hint().lower() > most {
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
        };
        Self::Kept {
            kept: Arc::new(Mutex::new(kept)),
            next: 0,
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
        let Some(frame) = ready!(Pin::new(&mut self.rest).poll_frame(cx)) else {
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
        if let Some(piece) = frame.data_ref() {
            self.size = self.size.saturating_add(piece.len() as u64);
            self.lost |= self.size > self.most;
            if self.lost {
                self.pieces = Vec::new();
                *next = 0;
            } else {
                self.pieces.push(piece.clone());
                *next += 1;
            }
        } else if let Some(trailers) = frame.trailers_ref() {
            self.trailers = Some(trailers.clone());
            self.ended = true;
            *next = usize::MAX;
        }
        Poll::Ready(Some(Ok(frame)))
    }
}

/// What a body gives next.
type Next = Result<Frame<Bytes>, hyper::Error>;

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Next>> {
        match self.get_mut() {
            Self::Empty => Poll::Ready(None),
            Self::Once(body) => Pin::new(body).poll_frame(cx),
            Self::Kept { next, .. } if *next == usize::MAX => Poll::Ready(None),
            Self::Kept { kept, next } => kept.lock().poll(next, cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Once(body) => body.is_end_stream(),
            Self::Kept { kept, next } => {
                let kept = kept.lock();
                let over = kept.ended || kept.rest.is_end_stream();
                *next == usize::MAX
                    || (over && *next >= kept.pieces.len() && kept.trailers.is_none())
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Once(body) => body.size_hint(),
            Self::Kept { kept, next } => {
                let kept = kept.lock();
                let rest = kept.rest.size_hint();
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

/// Copies requests whose body is remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copies;

impl Repeat<Outgoing> for Copies {
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
        *copy.extensions_mut() = request.extensions().clone();
        Some(copy)
    }

    fn holds(&self, copy: &Request<Outgoing>) -> bool {
        match copy.body() {
            Outgoing::Kept { kept, .. } => !kept.lock().lost,
            Outgoing::Empty | Outgoing::Once(_) => true,
        }
    }
}
