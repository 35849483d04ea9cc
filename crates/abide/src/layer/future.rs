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
use abide_core::call::Plan;
use abide_core::classify::Transport;
use abide_core::refusal::Refusal;
use abide_profile::Wants;
use http::{Request, Response};
use pin_project_lite::pin_project;
use tokio::time::Sleep;

use super::Told;
use super::answer::{Answer, Looking};
use super::body::Body;
use super::error::Error;
use super::failures::Failures;
use super::repeat::Repeat;
use super::talk::{Shown, Talk};
use crate::permit::{Permit, Step, Unsent, Waiting};

pin_project! {
    /// The answer of a [`Service`](super::Service), once it comes. Dropping it frees its place in
    /// line or on the wire.
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, B, RB, R, F>
    where
        S: tower_service::Service<Request<B>>,
        RB: http_body::Body,
    {
        told: Arc<Told<R, F>>,
        service: S,
        // It was polled ready and not used since.
        readied: bool,
        // Absent once it was sent without a copy.
        request: Option<Request<B>>,
        talk: Option<Talk>,
        last: Option<Last<RB, S::Error>>,
        #[pin]
        deadline: Option<Sleep>,
        #[pin]
        state: State<S::Future, RB>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<Fut, RB: http_body::Body> {
        // For leave to send.
        Asking,
        // In line at a gate.
        Waiting { waiting: Waiting },
        // For the service to be ready; without leave.
        Readying,
        Calling { #[pin] future: Fut, permit: Option<Permit> },
        // Into the body, before anything is decided.
        Looking { looking: Option<(Looking<RB>, Permit)> },
        Done,
    }
}

/// What the last attempt came to, while another is being made.
enum Last<RB: http_body::Body, E> {
    Answer(Box<Answer<RB>>, Finding),
    Failed(E, Option<Transport>),
}

/// What a call comes to.
type Outcome<RB, E> = Result<Response<Body<RB>>, Error<E>>;

impl<S, B, RB, R, F> ResponseFuture<S, B, RB, R, F>
where
    S: tower_service::Service<Request<B>>,
    RB: http_body::Body,
{
    pub(super) const fn new(readied: S, request: Request<B>, told: Arc<Told<R, F>>) -> Self {
        Self {
            told,
            service: readied,
            readied: true,
            request: Some(request),
            talk: None,
            last: None,
            deadline: None,
            state: State::Asking,
        }
    }
}

impl<S, B, RB, R, F> ResponseFuture<S, B, RB, R, F>
where
    S: tower_service::Service<Request<B>, Response = Response<RB>> + Clone,
    RB: http_body::Body,
    R: Repeat<B>,
    F: Failures<S::Error>,
{
    /// Asks for leave, the first time as well as the next.
    fn ask(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Option<Outcome<RB, S::Error>> {
        let mut this = self.as_mut().project();
        if this.talk.is_none() {
            let talk = this.request.as_ref().and_then(|request| {
                let shown = Shown {
                    method: request.method(),
                    uri: request.uri(),
                    headers: request.headers(),
                    extensions: request.extensions(),
                };
                Talk::begin(this.told, &shown)
            });
            let Some(talk) = talk else {
                return Some(Err(Error::NoHost));
            };
            if let Some(left) = talk.time_left() {
                this.deadline.set(Some(tokio::time::sleep(left)));
            }
            *this.talk = Some(talk);
        }
        let step = this.talk.as_mut()?.ask(*this.readied);
        match step {
            // What came last is told at once, as it is: nothing of it was read away yet.
            Step::Refused(r) => Some(self.refused(*r, false)),
            step => self.step(step, cx),
        }
    }

    fn step(
        mut self: Pin<&mut Self>,
        step: Step,
        cx: &mut Context<'_>,
    ) -> Option<Outcome<RB, S::Error>> {
        let step = match step {
            Step::Granted(unsent) => match self.as_mut().granted(unsent, cx) {
                Ok(step) => step?,
                Err(e) => return Some(Err(Error::Inner(e))),
            },
            step => step,
        };
        let mut this = self.as_mut().project();
        match step {
            Step::Sent(permit) => {
                *this.last = None;
                let Some(request) = this.request.take() else {
                    this.state.set(State::Done);
                    return None;
                };
                *this.request = this.told.repeat.copy(&request);
                *this.readied = false;
                let future = this.service.call(request);
                this.state.set(State::Calling {
                    future,
                    permit: Some(permit),
                });
            }
            Step::Wait(waiting) => {
                if std::mem::take(this.readied) {
                    let fresh = this.service.clone();
                    *this.service = fresh;
                }
                this.state.set(State::Waiting { waiting });
            }
            Step::Refused(r) => return Some(self.refused(*r, true)),
            // Leave was given back: nothing is kept while the service makes itself ready.
            Step::Granted(_) | Step::Wire => this.state.set(State::Readying),
        }
        None
    }

    /// Leave to send, and a service that may not be ready.
    fn granted(
        self: Pin<&mut Self>,
        unsent: Unsent,
        cx: &mut Context<'_>,
    ) -> Result<Option<Step>, S::Error> {
        let mut this = self.project();
        if let Some(Last::Answer(answer, _)) = this.last {
            answer.drain(cx);
        }
        match this.service.poll_ready(cx) {
            Poll::Ready(Ok(())) => {
                *this.readied = true;
                Ok(this.talk.as_mut().map(|talk| unsent.start(talk.call())))
            }
            Poll::Ready(Err(e)) => Err(e),
            Poll::Pending => {
                drop(unsent);
                this.state.set(State::Readying);
                Ok(None)
            }
        }
    }

    /// Turned away by us. What the last attempt came to stands, as long as it can be handed on.
    fn refused(self: Pin<&mut Self>, refusal: Refusal, waited: bool) -> Outcome<RB, S::Error> {
        let this = self.project();
        let Some(talk) = this.talk.as_mut() else {
            return Err(Error::NoHost);
        };
        match this.last.take() {
            None => Err(Error::Turned(talk.turned(refusal, None, None))),
            Some(Last::Failed(e, _)) if !waited => Err(Error::Inner(e)),
            Some(Last::Failed(_, t)) => Err(Error::Turned(talk.turned(refusal, None, t))),
            Some(Last::Answer(answer, finding)) if !waited => {
                let turned = talk.turned(refusal, None, None);
                Ok(answer.respond(talk, None, finding, Some(turned)))
            }
            Some(Last::Answer(answer, _)) => {
                let last = answer.last(talk);
                Err(Error::Turned(talk.turned(refusal, Some(last), None)))
            }
        }
    }

    /// An answer, as far as it was looked at.
    fn answered(
        self: Pin<&mut Self>,
        answer: Answer<RB>,
        mut permit: Permit,
    ) -> Option<Outcome<RB, S::Error>> {
        let mut this = self.project();
        let talk = this.talk.as_mut()?;
        let read = answer.read(talk);
        let turned = match talk.answered(&read, this.request.is_some(), &mut permit) {
            Plan::Again => {
                permit.settle(&read.outcome());
                let answer = Box::new(answer.put_by());
                *this.last = Some(Last::Answer(answer, read.finding));
                this.state.set(State::Asking);
                return None;
            }
            Plan::Return => None,
            Plan::Fail(refusal) => Some(talk.turned(*refusal, None, None)),
        };
        Some(Ok(answer.respond(talk, Some(permit), read.finding, turned)))
    }

    fn failed(
        self: Pin<&mut Self>,
        error: S::Error,
        permit: Permit,
    ) -> Option<Outcome<RB, S::Error>> {
        let mut this = self.project();
        let failure = this.told.failures.read(&error);
        let kept = this.request.is_some();
        let plan = this.talk.as_mut()?.failed(failure.as_ref(), kept, permit);
        if !matches!(plan, Plan::Again) {
            return Some(Err(Error::Inner(error)));
        }
        *this.last = Some(Last::Failed(error, failure));
        this.state.set(State::Asking);
        None
    }

    /// Whether the deadline has passed. Only where we wait for others: gates know it themselves.
    fn poll_late(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome<RB, S::Error>> {
        let mut this = self.project();
        match this.deadline.as_mut().as_pin_mut() {
            Some(deadline) => ready!(deadline.poll(cx)),
            None => return Poll::Pending,
        }
        // Its place is freed, and the provider is blamed for nothing.
        this.state.set(State::Done);
        let talk = this.talk.as_mut();
        Poll::Ready(Err(match talk {
            Some(talk) => {
                let refusal = talk.call().out_of_time();
                Error::Turned(talk.turned(refusal, None, None))
            }
            None => Error::NoHost,
        }))
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
                    let seen = looking.as_mut().map(|(l, _)| l.poll_seen(cx));
                    if seen.is_some_and(|seen| seen.is_pending()) {
                        return self.poll_late(cx);
                    }
                    match looking.take() {
                        Some((looking, permit)) => self.as_mut().answered(looking.seen(), permit),
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

impl<S, B, RB, R, F> ResponseFuture<S, B, RB, R, F>
where
    S: tower_service::Service<Request<B>, Response = Response<RB>> + Clone,
    RB: http_body::Body,
    R: Repeat<B>,
    F: Failures<S::Error>,
{
    /// The head of an answer.
    fn came(
        self: Pin<&mut Self>,
        response: Response<RB>,
        mut permit: Permit,
    ) -> Option<Outcome<RB, S::Error>> {
        let mut that = self;
        let mut this = that.as_mut().project();
        let talk = this.talk.as_mut()?;
        let (parts, body) = response.into_parts();
        let head = talk.head(parts.status, &parts.headers, &mut permit);
        if head.wants == Wants::Before {
            let looking = Looking::new(parts, body, head, talk);
            this.state.set(State::Looking {
                looking: Some((looking, permit)),
            });
            return None;
        }
        that.answered(Answer::new(parts, body, head), permit)
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
