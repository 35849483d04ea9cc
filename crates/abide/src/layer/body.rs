//! The body of an answer: whoever reads it to its end, or drops it, settles its pass.
//!
//! What was kept back for the rules comes first, then the rest, which they see on its way where
//! they want to. Nothing is copied of a body that no rule looks at.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use abide_core::classify::{Phase, Transport, TransportKind, of_transport};
use abide_core::provider::Outcome;
use abide_core::{Finding, Instant};
use bytes::Buf;
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::inspect::{Sampled, Watch};
use crate::permit::Permit;

pin_project! {
    /// The body of an answer; its place on the wire is freed when it is read or dropped.
    pub struct Body<RB: http_body::Body> {
        kept: Option<Box<Kept<RB>>>,
        #[pin]
        source: Source<RB>,
        settling: Settling,
    }
}

pin_project! {
    /// Where a body comes from. One that was polled before it was handed on lies in a box.
    #[project = SourceProj]
    pub(super) enum Source<RB> {
        Direct { #[pin] body: RB },
        Boxed { body: Pin<Box<RB>> },
    }
}

/// What a body gives next.
type Next<RB> =
    Option<Result<Frame<<RB as http_body::Body>::Data>, <RB as http_body::Body>::Error>>;

/// What was read of a body before its caller sees it.
pub(super) struct Kept<RB: http_body::Body> {
    pub(super) sampled: Sampled<RB::Data, RB::Error>,
    pub(super) trailers: Option<HeaderMap>,
}

/// What is told when the body is read or dropped.
pub(super) struct Settling {
    permit: Option<Permit>,
    finding: Finding,
    /// When all of it came, where it came with its head.
    at: Option<Instant>,
    /// The rules that look at the body while it is read, and the headers it came with.
    watched: Option<Box<(Watch, HeaderMap)>>,
    attempts: u32,
    waited: Duration,
}

impl<RB> Source<RB> {
    pub(super) fn boxed(self) -> Self {
        match self {
            Self::Direct { body } => Self::Boxed {
                body: Box::pin(body),
            },
            boxed => boxed,
        }
    }
}

impl<RB: http_body::Body> Source<RB> {
    fn is_end_stream(&self) -> bool {
        match self {
            Self::Direct { body } => body.is_end_stream(),
            Self::Boxed { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Direct { body } => body.size_hint(),
            Self::Boxed { body } => body.size_hint(),
        }
    }

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Next<RB>> {
        match self.project() {
            SourceProj::Direct { body } => body.poll_frame(cx),
            SourceProj::Boxed { body } => body.as_mut().poll_frame(cx),
        }
    }
}

impl<RB: http_body::Body> Kept<RB> {
    /// Nothing of it is left, and nothing follows.
    fn is_over(&self) -> bool {
        self.sampled.ended && self.sampled.pieces.is_empty() && self.trailers.is_none()
    }

    fn size(&self) -> u64 {
        let sizes = self.sampled.pieces.iter().map(|p| p.remaining() as u64);
        sizes.sum()
    }
}

impl<RB: http_body::Body> Body<RB> {
    pub(super) fn new(
        source: Source<RB>,
        kept: Option<Box<Kept<RB>>>,
        mut settling: Settling,
        at: Option<Instant>,
    ) -> Self {
        let over = match &kept {
            Some(kept) => kept.is_over(),
            None => source.is_end_stream(),
        };
        if over {
            settling.at = at.filter(|_| kept.is_none());
            settling.read(None);
        }
        Self {
            kept,
            source,
            settling,
        }
    }

    /// What the answer was found to mean; a body that was read to its end may have changed it.
    pub const fn finding(&self) -> &Finding {
        &self.settling.finding
    }

    /// How often its request was sent, the first time included.
    pub const fn attempts(&self) -> u32 {
        self.settling.attempts
    }

    /// All waiting before it: queue, holds, backoff.
    pub const fn waited(&self) -> Duration {
        self.settling.waited
    }
}

impl<RB: http_body::Body> http_body::Body for Body<RB> {
    type Data = RB::Data;
    type Error = RB::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut this = self.project();
        if let Some(kept) = this.kept {
            if let Some(piece) = kept.sampled.pieces.pop_front() {
                if kept.is_over() {
                    this.settling.read(None);
                }
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if let Some(trailers) = kept.trailers.take() {
                this.settling.read(Some(&trailers));
                return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
            }
            if let Some(failure) = kept.sampled.failure.take() {
                this.settling.broke();
                return Poll::Ready(Some(Err(failure)));
            }
            if kept.sampled.ended {
                this.settling.read(None);
                return Poll::Ready(None);
            }
            *this.kept = None;
        }
        let next = ready!(this.source.as_mut().poll_frame(cx));
        match &next {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    this.settling.see(data);
                }
                if let Some(trailers) = frame.trailers_ref() {
                    this.settling.read(Some(trailers));
                } else if this.source.is_end_stream() {
                    this.settling.read(None);
                }
            }
            Some(Err(_)) => this.settling.broke(),
            None => this.settling.read(None),
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        match &self.kept {
            Some(kept) if kept.sampled.ended => kept.is_over(),
            Some(_) => false,
            None => self.source.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let Some(kept) = &self.kept else {
            return self.source.size_hint();
        };
        if kept.sampled.ended {
            return SizeHint::with_exact(kept.size());
        }
        let (rest, size) = (self.source.size_hint(), kept.size());
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(size));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(size));
        }
        hint
    }
}

impl<RB: http_body::Body> fmt::Debug for Body<RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body")
            .field("finding", &self.settling.finding)
            .field("settled", &self.settling.permit.is_none())
            .finish_non_exhaustive()
    }
}

impl Settling {
    pub(super) const fn new(
        permit: Option<Permit>,
        finding: Finding,
        watched: Option<Box<(Watch, HeaderMap)>>,
        (attempts, waited): (u32, Duration),
    ) -> Self {
        Self {
            permit,
            finding,
            at: None,
            watched,
            attempts,
            waited,
        }
    }

    fn see(&mut self, data: &impl Buf) {
        if let Some(watched) = &mut self.watched {
            watched.0.feed(data);
        }
    }

    /// The body was read to its end.
    fn read(&mut self, trailers: Option<&HeaderMap>) {
        self.settle(true, trailers);
    }

    /// The body broke off: the provider is blamed for this answer only.
    fn broke(&mut self) {
        if let Some(permit) = self.permit.take() {
            let outcome = of_transport(&Transport {
                phase: Phase::Body,
                kind: TransportKind::Other,
            });
            permit.settle(&Outcome::Answered(outcome));
        }
    }

    fn settle(&mut self, ended: bool, trailers: Option<&HeaderMap>) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        if let Some(watched) = self.watched.take() {
            let (watch, headers) = *watched;
            if let Some(late) = watch.finding(&headers, trailers, permit.provider(), ended) {
                permit.observe(&late);
                self.finding = late;
            }
        }
        permit.settle_answer(self.at, &self.finding);
    }
}

impl Drop for Settling {
    fn drop(&mut self) {
        // The head was read, so the verdict is known, whatever became of the body.
        self.settle(false, None);
    }
}
