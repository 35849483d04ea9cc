//! The steps of a request on its way, from leave to what its answer means.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use abide_core::call::Plan;
use abide_core::refusal::Refusal;
use abide_profile::Wants;
use http::{Request, Response};

use super::Options;
use super::answer::{Answer, Looking};
use super::error::Error;
use super::failures::Failures;
use super::future::{Last, Outcome, ResponseFuture, State};
use super::repeat::Repeat;
use super::talk::{Shown, Talk};
use crate::permit::{Permit, Step, Unsent};

impl<S, B, RB, R, F> ResponseFuture<S, B, RB, R, F>
where
    S: tower_service::Service<Request<B>, Response = Response<RB>> + Clone,
    RB: http_body::Body,
    R: Repeat<B>,
    F: Failures<S::Error>,
{
    /// Asks for leave, the first time as well as the next.
    pub(super) fn ask(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Option<Outcome<RB, S::Error>> {
        let mut this = self.as_mut().project();
        if this.talk.is_none() {
            let talk = this.request.as_ref().and_then(|request| {
                let shown = Shown {
                    method: request.method(),
                    uri: request.uri(),
                    headers: request.headers(),
                    options: this.options.take().or_else(|| {
                        let told = request.extensions().get::<Options>();
                        told.copied()
                    }),
                };
                Talk::begin(this.told, &shown, this.talk)
            });
            if talk.is_none() {
                return Some(Err(Error::NoHost));
            }
        }
        let talk = this.talk.as_mut()?;
        let step = talk.ask(*this.readied);
        if this.deadline.is_none()
            && let Some(left) = talk.time_left()
        {
            this.deadline.set(Some(tokio::time::sleep(left)));
        }
        match step {
            // What came last is told at once, as it is: nothing of it was read away yet.
            Step::Refused(r) => Some(self.refused(*r, false)),
            step => self.step(step, cx),
        }
    }

    pub(super) fn step(
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
                if let Some(talk) = this.talk.as_ref() {
                    talk.goes();
                }
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
                if let Some(request) = this.request {
                    this.told.repeat.waits(request);
                }
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
            Some(Last::Failed(e, _)) if !waited => {
                talk.tell_turned(&refusal);
                Err(Error::Inner(e))
            }
            Some(Last::Failed(_, t)) => Err(Error::Turned(talk.turned(refusal, None, t))),
            Some(Last::Answer(answer, finding)) if !waited && answer.is_untouched() => {
                let turned = talk.turned(refusal, None, None);
                Ok(answer.respond(talk, None, finding, Some(turned)))
            }
            Some(Last::Answer(answer, _)) => {
                let last = answer.last();
                Err(Error::Turned(talk.turned(refusal, Some(last), None)))
            }
        }
    }

    /// An answer, as far as it was looked at.
    pub(super) fn answered(
        self: Pin<&mut Self>,
        answer: Answer<RB>,
        mut permit: Permit,
    ) -> Option<Outcome<RB, S::Error>> {
        let mut this = self.project();
        let talk = this.talk.as_mut()?;
        let read = answer.read(talk);
        let kept = this.request.as_ref();
        let kept = kept.is_some_and(|r| this.told.repeat.holds(r));
        let turned = match talk.answered(&read, kept, &mut permit) {
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

    pub(super) fn failed(
        self: Pin<&mut Self>,
        error: S::Error,
        permit: Permit,
    ) -> Option<Outcome<RB, S::Error>> {
        let mut this = self.project();
        let failure = this.told.failures.read(&error);
        let kept = this.request.as_ref();
        let kept = kept.is_some_and(|r| this.told.repeat.holds(r));
        let plan = this.talk.as_mut()?.failed(failure.as_ref(), kept, permit);
        match plan {
            Plan::Again => {}
            Plan::Return => return Some(Err(Error::Inner(error))),
            Plan::Fail(refusal) => {
                // Its error goes on as it is; that it is the last one is news all the same.
                this.talk.as_ref()?.tell_turned(&refusal);
                return Some(Err(Error::Inner(error)));
            }
        }
        *this.last = Some(Last::Failed(error, failure));
        this.state.set(State::Asking);
        None
    }

    /// Whether the deadline has passed. Only where we wait for others: gates know it themselves.
    pub(super) fn poll_late(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Outcome<RB, S::Error>> {
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

    /// The head of an answer.
    pub(super) fn came(
        self: Pin<&mut Self>,
        response: Response<RB>,
        mut permit: Permit,
    ) -> Option<Outcome<RB, S::Error>> {
        let mut that = self;
        let mut this = that.as_mut().project();
        let talk = this.talk.as_mut()?;
        let (parts, body) = response.into_parts();
        let head = talk.head(parts.status, &parts.headers, &mut permit);
        // A body that ended with its head is seen already.
        if head.wants == Wants::Before && !body.is_end_stream() {
            let looking = Looking::new(parts, body, head, talk);
            this.state.set(State::Looking {
                looking: Some(Box::new((looking, permit))),
            });
            return None;
        }
        that.answered(Answer::new(parts, body, head), permit)
    }
}
