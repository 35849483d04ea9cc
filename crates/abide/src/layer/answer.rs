//! An answer that is not handed on yet: it is looked into, or read away before another attempt.

use std::pin::Pin;
use std::task::{Context, Poll};

use abide_core::Finding;
use bytes::{Buf, Bytes};
use http::response::Parts;
use http::{HeaderMap, Response};
use http_body::Body as _;
use tokio::time::Sleep;

use super::body::{Body, Kept, Settling, Source};
use super::talk::Talk;
use crate::error::{LastAnswer, TurnedAway};
use crate::exchange::{Head, Read, sample_size};
use crate::inspect::{Sampled, kept_back};
use crate::permit::Permit;

/// What may be read of a body that nobody wants, so that its connection can be used again.
const DRAIN: usize = 1024 * 1024;

/// An answer as far as it was looked at.
pub(super) struct Answer<RB: http_body::Body> {
    parts: Parts,
    body: Source<RB>,
    head: Head,
    kept: Option<Box<Kept<RB>>>,
    drained: usize,
}

impl<RB: http_body::Body> Answer<RB> {
    pub(super) const fn new(parts: Parts, body: RB, head: Head) -> Self {
        Self {
            parts,
            body: Source::Direct { body },
            head,
            kept: None,
            drained: 0,
        }
    }

    /// What was seen of its body: all of it, where it had ended with its head.
    fn nothing(&self) -> Sampled<RB::Data, RB::Error> {
        let mut nothing = Sampled::default();
        if let Source::Direct { body } = &self.body {
            nothing.ended = body.is_end_stream();
        }
        nothing
    }

    /// What it means for the call.
    pub(super) fn read(&self, talk: &Talk) -> Read {
        let nothing = self.nothing();
        let (sampled, trailers) = match &self.kept {
            Some(kept) => (&kept.sampled, kept.trailers.as_ref()),
            None => (&nothing, None),
        };
        let headers = &self.parts.headers;
        let finding = talk
            .with_view(|shard, view| self.head.judge(shard, view, (headers, trailers), sampled));
        Read::of_answer(talk.shard(), self.parts.status, finding)
    }

    /// Hands it on. Without a permit it was settled before.
    pub(super) fn respond(
        mut self,
        talk: &Talk,
        permit: Option<Permit>,
        finding: Finding,
        turned: Option<Box<TurnedAway>>,
    ) -> Response<Body<RB>> {
        let nothing = self.nothing();
        let sampled = self.kept.as_ref().map_or(&nothing, |kept| &kept.sampled);
        let headers = &self.parts.headers;
        let watch = permit.as_ref().and_then(|_| {
            talk.with_view(|shard, view| self.head.watch(shard, view, headers, sampled))
        });
        let watched = watch.map(|watch| Box::new((watch, headers.clone())));
        if let Some(turned) = turned {
            self.parts.extensions.insert(*turned);
        }
        let settling = Settling::new(permit, finding, watched, talk.spent());
        let at = Some(self.head.signal.at.now);
        Response::from_parts(self.parts, Body::new(self.body, self.kept, settling, at))
    }

    /// Its body is not wanted, but may still be.
    pub(super) fn put_by(self) -> Self {
        Self {
            body: self.body.boxed(),
            ..self
        }
    }

    /// Reads away what is there, within reason: then its connection can be used again.
    pub(super) fn drain(&mut self, cx: &mut Context<'_>) {
        while self.drained <= DRAIN
            && let Source::Boxed { body } = &mut self.body
        {
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let read = frame.data_ref().map_or(1, Buf::remaining);
                    self.drained = self.drained.saturating_add(read);
                }
                Poll::Ready(_) => self.drained = usize::MAX,
                Poll::Pending => break,
            }
        }
    }

    /// Whether it can still be handed on.
    pub(super) const fn is_untouched(&self) -> bool {
        self.drained == 0
    }

    /// What is left of it beside a refusal.
    /// Its body is left out: what its request carried of secrets, and a provider may echo, is not
    /// known here.
    pub(super) const fn last(&self) -> LastAnswer {
        LastAnswer {
            status: self.parts.status,
            sample: Bytes::new(),
        }
    }
}

/// An answer that is kept back until the rules of its provider have seen its sample.
pub(super) struct Looking<RB: http_body::Body> {
    parts: Parts,
    body: Pin<Box<RB>>,
    head: Head,
    sampled: Sampled<RB::Data, RB::Error>,
    trailers: Option<HeaderMap>,
    most: usize,
    until: Pin<Box<Sleep>>,
}

impl<RB: http_body::Body> Looking<RB> {
    pub(super) fn new(parts: Parts, body: RB, head: Head, talk: &Talk) -> Self {
        let until = tokio::time::sleep(kept_back(parts.status));
        Self {
            parts,
            body: Box::pin(body),
            head,
            sampled: Sampled::default(),
            trailers: None,
            most: sample_size(talk.shard()),
            until: Box::pin(until),
        }
    }

    /// Ready when enough was seen, or time is up: whatever came by then is judged.
    pub(super) fn poll_seen(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.sampled.goes_on(self.most) {
            let next = match self.body.as_mut().poll_frame(cx) {
                Poll::Ready(next) => next,
                Poll::Pending => return self.until.as_mut().poll(cx),
            };
            let next = match next.map(|frame| frame.map(http_body::Frame::into_data)) {
                Some(Ok(Ok(data))) => Some(Ok(data)),
                Some(Ok(Err(other))) => match other.into_trailers() {
                    Ok(trailers) => {
                        self.trailers = Some(trailers);
                        None
                    }
                    // A kind of frame that is not known yet says nothing to rules.
                    Err(_) => continue,
                },
                Some(Err(e)) => Some(Err(e)),
                None => None,
            };
            self.sampled.take(next);
            if self.body.is_end_stream() && self.sampled.failure.is_none() {
                self.sampled.ended = true;
            }
        }
        Poll::Ready(())
    }

    pub(super) fn seen(self) -> Answer<RB> {
        Answer {
            parts: self.parts,
            body: Source::Boxed { body: self.body },
            head: self.head,
            kept: Some(Box::new(Kept {
                sampled: self.sampled,
                trailers: self.trailers,
            })),
            drained: 0,
        }
    }
}
