//! A service that watches how it is used: whether it was ready when it was called, how often it
//! was cloned and polled, how many calls were under way at once, and how many were left.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::Frame;
use tower::Service;

/// An error that cannot be cloned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) &'static str);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Failure {}

/// What a call comes to.
#[derive(Debug)]
pub(crate) enum Reply {
    Answer(Response<Script>),
    Fail(&'static str),
    /// Nothing comes.
    Silence,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) clones: usize,
    pub(crate) readiness_polls: usize,
    /// Calls of an instance that was not polled ready.
    pub(crate) violations: usize,
    /// Instances that were polled ready and neither called nor let go.
    pub(crate) readied: usize,
    pub(crate) calls: Vec<Request<&'static str>>,
    /// The instance that took each call.
    pub(crate) by: Vec<usize>,
    pub(crate) in_flight: usize,
    pub(crate) peak: usize,
    pub(crate) cancelled: usize,
    instances: usize,
    blocked: bool,
    broken: bool,
    wakers: Vec<Waker>,
    replies: VecDeque<Reply>,
}

/// What the test holds of a probe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handle(Arc<Mutex<Seen>>);

impl Handle {
    pub(crate) fn see(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn probe(&self) -> Probe {
        let mut seen = self.see();
        seen.instances += 1;
        Probe {
            handle: self.clone(),
            id: seen.instances,
            readied: false,
        }
    }

    /// What comes next; a plain 200 after that.
    pub(crate) fn says(&self, replies: impl IntoIterator<Item = Reply>) {
        self.see().replies.extend(replies);
    }

    pub(crate) fn block(&self) {
        self.see().blocked = true;
    }

    pub(crate) fn unblock(&self) {
        let wakers = {
            let mut seen = self.see();
            seen.blocked = false;
            std::mem::take(&mut seen.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Fails when it is asked whether it is ready.
    pub(crate) fn break_down(&self) {
        self.see().broken = true;
    }

    pub(crate) fn calls(&self) -> usize {
        self.see().calls.len()
    }
}

/// The service.
#[derive(Debug)]
pub(crate) struct Probe {
    handle: Handle,
    pub(crate) id: usize,
    readied: bool,
}

impl Clone for Probe {
    /// Whoever was polled ready, a clone was not.
    fn clone(&self) -> Self {
        self.handle.see().clones += 1;
        self.handle.probe()
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.handle.see().readied -= usize::from(self.readied);
    }
}

impl Service<Request<&'static str>> for Probe {
    type Response = Response<Script>;
    type Error = Failure;
    type Future = Call;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let mut seen = self.handle.see();
        seen.readiness_polls += 1;
        if seen.broken {
            return Poll::Ready(Err(Failure("broken")));
        }
        if seen.blocked && !self.readied {
            seen.wakers.push(cx.waker().clone());
            return Poll::Pending;
        }
        seen.readied += usize::from(!self.readied);
        self.readied = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<&'static str>) -> Call {
        let mut seen = self.handle.see();
        seen.violations += usize::from(!self.readied);
        seen.readied -= usize::from(self.readied);
        self.readied = false;
        seen.calls.push(request);
        seen.by.push(self.id);
        seen.in_flight += 1;
        seen.peak = seen.peak.max(seen.in_flight);
        let plain = || Reply::Answer(answer(200));
        let reply = seen.replies.pop_front().unwrap_or_else(plain);
        drop(seen);
        Call {
            handle: self.handle.clone(),
            reply: Some(reply),
        }
    }
}

/// A call under way.
#[derive(Debug)]
pub(crate) struct Call {
    handle: Handle,
    reply: Option<Reply>,
}

impl Future for Call {
    type Output = Result<Response<Script>, Failure>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match self.reply.take() {
            Some(Reply::Answer(answer)) => Poll::Ready(Ok(answer)),
            Some(Reply::Fail(why)) => Poll::Ready(Err(Failure(why))),
            Some(Reply::Silence) | None => {
                self.reply = Some(Reply::Silence);
                Poll::Pending
            }
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut seen = self.handle.see();
        seen.in_flight -= 1;
        seen.cancelled += usize::from(self.reply.is_some());
    }
}

/// A body that comes as told, and stands still for ever at a `None`.
#[derive(Debug, Default)]
pub(crate) struct Script(VecDeque<Option<Result<Frame<Bytes>, Failure>>>);

impl Script {
    pub(crate) fn data(mut self, text: &'static str) -> Self {
        let frame = Frame::data(Bytes::from_static(text.as_bytes()));
        self.0.push_back(Some(Ok(frame)));
        self
    }

    pub(crate) fn trailers(mut self, name: &'static str, value: &'static str) -> Self {
        let mut trailers = HeaderMap::new();
        trailers.insert(name, value.parse().unwrap());
        self.0.push_back(Some(Ok(Frame::trailers(trailers))));
        self
    }

    pub(crate) fn broken(mut self) -> Self {
        self.0.push_back(Some(Err(Failure("broke off"))));
        self
    }

    pub(crate) fn stuck(mut self) -> Self {
        self.0.push_back(None);
        self
    }
}

impl http_body::Body for Script {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        match self.0.pop_front() {
            Some(Some(next)) => Poll::Ready(Some(next)),
            Some(None) => {
                self.0.push_front(None);
                Poll::Pending
            }
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

pub(crate) fn answer(status: u16) -> Response<Script> {
    saying(status, Script::default())
}

pub(crate) fn saying(status: u16, body: Script) -> Response<Script> {
    Response::builder().status(status).body(body).unwrap()
}

pub(crate) fn refusal(after: &'static str) -> Reply {
    let mut answer = answer(429);
    let headers = answer.headers_mut();
    headers.insert("retry-after", after.parse().unwrap());
    Reply::Answer(answer)
}
