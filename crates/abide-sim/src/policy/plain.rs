//! No limit at all: every request gets the same answer at once.

use std::time::Duration;

use abide_core::Moment;
use bytes::Bytes;

use super::{Job, Policy};
use crate::reply::{Answer, Reply};
use crate::request::{Request, RequestId};

/// Answers everything alike; the yardstick for what a client costs where nothing limits it.
#[derive(Clone, Debug)]
pub struct Plain {
    answer: Answer,
}

impl Plain {
    /// 200 with a few bytes of JSON.
    pub fn new() -> Self {
        Self::answering(Answer::ok())
    }

    /// 200 with a body of `len` bytes, made once and shared by all answers.
    pub fn sized(len: usize) -> Self {
        Self::answering(Answer {
            body: Bytes::from(vec![b'x'; len]),
            ..Answer::ok()
        })
    }

    /// This answer, whatever it is: a 404, a redirect, a login page.
    pub const fn answering(answer: Answer) -> Self {
        Self { answer }
    }
}

impl Default for Plain {
    fn default() -> Self {
        Self::new()
    }
}

impl Policy for Plain {
    fn arrive(&mut self, _at: Moment, _id: RequestId, _request: &Request) -> Reply {
        Reply::accepted(self.answer.clone())
    }

    /// The client's own width is the only bound.
    fn oracle(&self, job: Job) -> Duration {
        job.rounds(job.workers)
    }

    fn name(&self) -> &'static str {
        "plain"
    }

    fn describe(&self) -> String {
        format!("no limit, always {}", self.answer.status.as_u16())
    }
}
