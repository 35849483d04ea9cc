//! Response bodies: whole, trickling, or broken off.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::shared::Departure;
use crate::reply::{Answer, Drip};

/// The body of one answer. While it lives, its request is in service.
pub(super) struct SimBody {
    rest: Bytes,
    manner: Option<Box<Manner>>,
    _departure: Departure,
}

/// What is unusual about a body; most have nothing.
struct Manner {
    drip: Option<Drip>,
    pause: Option<Pin<Box<Sleep>>>,
    cut: bool,
    flushed: bool,
}

impl SimBody {
    pub(super) fn new(answer: Answer, departure: Departure) -> Self {
        let Answer {
            body,
            cut_after,
            drip,
            ..
        } = answer;
        let rest = match cut_after {
            Some(len) => body.slice(..len.min(body.len())),
            None => body,
        };
        let manner = (cut_after.is_some() || drip.is_some()).then(|| {
            Box::new(Manner {
                drip,
                pause: None,
                cut: cut_after.is_some(),
                flushed: false,
            })
        });
        Self {
            rest,
            manner,
            _departure: departure,
        }
    }
}

impl Body for SimBody {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        let this = self.get_mut();
        let Some(manner) = &mut this.manner else {
            let whole = std::mem::take(&mut this.rest);
            return Poll::Ready((!whole.is_empty()).then(|| Ok(Frame::data(whole))));
        };
        if let Some(pause) = &mut manner.pause {
            ready!(pause.as_mut().poll(cx));
            manner.pause = None;
        }
        if !this.rest.is_empty() {
            let piece = manner.next_piece(&mut this.rest);
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        if !manner.cut {
            return Poll::Ready(None);
        }
        if !manner.flushed {
            // An error now would throw away what is buffered; one turn lets it reach the wire.
            manner.flushed = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(CutOff)))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.manner.as_ref().is_none_or(|manner| !manner.cut)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.manner {
            None => SizeHint::with_exact(self.rest.len() as u64),
            Some(_) => SizeHint::default(),
        }
    }
}

impl Manner {
    fn next_piece(&mut self, rest: &mut Bytes) -> Bytes {
        let Some(Drip { piece, gap }) = self.drip else {
            return std::mem::take(rest);
        };
        let piece = rest.split_to(piece.clamp(1, rest.len()));
        if gap > Duration::ZERO && !rest.is_empty() {
            self.pause = Some(Box::pin(sleep(gap)));
        }
        piece
    }
}

/// The body ends here, and with it the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CutOff;

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulated provider broke off")
    }
}

impl Error for CutOff {}
