//! One request on its way: asked for, waited for, sent, looked at, perhaps sent again.
//!
//! A request that is let through at once goes straight to the service, in one poll, under one lock
//! and without allocating. Everything else is written for its order: a service that was polled
//! ready is let go before a wait, leave is given back before another, and a pass is settled before
//! the next is asked for.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use abide_core::Finding;
use abide_core::classify::Transport;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tokio::time::Sleep;

use super::answer::{Answer, Looking};
use super::body::Body;
use super::error::Error;
use super::failures::Failures;
use super::repeat::Repeat;
use super::talk::Talk;
use super::{Options, Told};
use crate::permit::{Permit, Step, Waiting};

pin_project! {
    /// The answer of a [`Service`](super::Service), once it comes. Dropping it frees its place in
    /// line or on the wire.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, B, RB, R, F>
    where
        S: tower_service::Service<Request<B>>,
        RB: http_body::Body,
    {
        pub(super) told: Arc<Told<R, F>>,
        pub(super) service: S,
        // It was polled ready and not used since.
        pub(super) readied: bool,
        // Absent once it was sent without a copy.
        pub(super) request: Option<Request<B>>,
        // Where they do not stand in its extensions.
        pub(super) options: Option<Options>,
        pub(super) talk: Option<Talk>,
        pub(super) last: Option<Last<RB, S::Error>>,
        #[pin]
        pub(super) deadline: Option<Sleep>,
        #[pin]
        pub(super) state: State<S::Future, RB>,
    }
}

pin_project! {
    #[project = StateProj]
    pub(super) enum State<Fut, RB: http_body::Body> {
        // For leave to send.
        Asking,
        // In line at a gate.
        Waiting { waiting: Waiting },
        // For the service to be ready; without leave.
        Readying,
        Calling { #[pin] future: Fut, permit: Option<Permit> },
        // Into the body, before anything is decided.
        Looking { looking: Option<Box<(Looking<RB>, Permit)>> },
        Done,
    }
}

/// What the last attempt came to, while another is being made.
pub(super) enum Last<RB: http_body::Body, E> {
    Answer(Box<Answer<RB>>, Finding),
    Failed(E, Option<Transport>),
}

/// What a call comes to.
pub(super) type Outcome<RB, E> = Result<Response<Body<RB>>, Error<E>>;

impl<S, B, RB, R, F> ResponseFuture<S, B, RB, R, F>
where
    S: tower_service::Service<Request<B>>,
    RB: http_body::Body,
{
    pub(super) const fn new(
        readied: S,
        request: Request<B>,
        options: Option<Options>,
        told: Arc<Told<R, F>>,
    ) -> Self {
        Self {
            told,
            service: readied,
            readied: true,
            request: Some(request),
            options,
            talk: None,
            last: None,
            deadline: None,
            state: State::Asking,
        }
    }
}

impl<S, B, RB, R, F> Future for ResponseFuture<S, B, RB, R, F>
where
    S: tower_service::Service<Request<B>, Response = Response<RB>> + Clone,
    RB: http_body::Body,
    R: Repeat<B>,
    F: Failures<S::Error>,
{
    type Output = Outcome<RB, S::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let mut this = self.as_mut().project();
            let over = match this.state.as_mut().project() {
                StateProj::Asking => self.as_mut().ask(cx),
                StateProj::Waiting { waiting } => {
                    if let Some(Last::Answer(answer, _)) = this.last {
                        answer.drain(cx);
                    }
                    let step = match ready!(Pin::new(waiting).poll(cx)) {
                        Ok(unsent) => Step::Granted(unsent),
                        Err(r) => match this.talk {
                            Some(talk) => Step::Refused(Box::new(talk.turned_away(*r))),
                            None => Step::Refused(r),
                        },
                    };
                    self.as_mut().step(step, cx)
                }
                StateProj::Readying => match this.service.poll_ready(cx) {
                    Poll::Ready(Ok(())) => {
                        *this.readied = true;
                        this.state.set(State::Asking);
                        None
                    }
                    Poll::Ready(Err(e)) => Some(Err(Error::Inner(e))),
                    Poll::Pending => return self.poll_late(cx),
                },
                StateProj::Calling { future, permit } => {
                    let Poll::Ready(result) = future.poll(cx) else {
                        return self.poll_late(cx);
                    };
                    match (permit.take(), result) {
                        (Some(permit), Ok(response)) => self.as_mut().came(response, permit),
                        (Some(permit), Err(e)) => self.as_mut().failed(e, permit),
                        (None, _) => return Poll::Pending,
                    }
                }
                StateProj::Looking { looking } => {
                    let seen = looking.as_mut().map(|l| l.0.poll_seen(cx));
                    if seen.is_some_and(|seen| seen.is_pending()) {
                        return self.poll_late(cx);
                    }
                    match looking.take() {
                        Some(looking) => {
                            let (looking, permit) = *looking;
                            self.as_mut().answered(looking.seen(), permit)
                        }
                        None => return Poll::Pending,
                    }
                }
                StateProj::Done => return Poll::Pending,
            };
            if let Some(over) = over {
                self.as_mut().project().state.set(State::Done);
                return Poll::Ready(over);
            }
        }
    }
}

impl<S, B, RB, R, F> fmt::Debug for ResponseFuture<S, B, RB, R, F>
where
    S: tower_service::Service<Request<B>>,
    RB: http_body::Body,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseFuture").finish_non_exhaustive()
    }
}
