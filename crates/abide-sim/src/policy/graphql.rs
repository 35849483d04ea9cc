//! GraphQL: the status is always 200, and a refusal hides in the body.

use std::time::Duration;

use abide_core::Moment;
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};

use super::{Job, Policy};
use crate::reply::{Answer, Fate, Reply};
use crate::request::{Gate, Request, RequestId};

const DATA: &[u8] = br#"{"data":{"ok":true}}"#;
const RATE_LIMITED: &[u8] =
    br#"{"data":null,"errors":[{"message":"too many","extensions":{"code":"RATE_LIMITED"}}]}"#;

/// Another policy that answers as a GraphQL endpoint does. What the inner policy says in headers
/// (a hint, or none) stays.
#[derive(Clone, Debug)]
pub struct Graphql<P> {
    inner: P,
}

impl<P: Policy> Graphql<P> {
    /// `inner`, speaking GraphQL.
    pub const fn over(inner: P) -> Self {
        Self { inner }
    }
}

impl<P: Policy> Policy for Graphql<P> {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        let mut reply = self.inner.arrive(at, id, request);
        let body = match reply.fate {
            Fate::Accepted => DATA,
            Fate::Refused => RATE_LIMITED,
            Fate::Failed => return reply,
        };
        if let Some(answer) = reply.answer_mut() {
            let headers = std::mem::take(&mut answer.headers);
            *answer = Answer {
                headers,
                ..Answer::new(StatusCode::OK, Bytes::from_static(body))
            };
            answer
                .headers
                .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        reply
    }

    fn depart(&mut self, at: Moment, id: RequestId) {
        self.inner.depart(at, id);
    }

    fn gate(&self, request: &Request) -> Gate {
        self.inner.gate(request)
    }

    fn oracle(&self, job: Job) -> Duration {
        self.inner.oracle(job)
    }

    fn service(&self) -> Duration {
        self.inner.service()
    }

    fn name(&self) -> &'static str {
        "graphql"
    }

    fn describe(&self) -> String {
        format!("GraphQL, always 200: {}", self.inner.describe())
    }
}
