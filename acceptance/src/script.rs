//! A provider that answers by a script, and the answers it gives.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abide_core::{Instant, Moment};
use abide_sim::{Announced, Answer, Job, Policy, Reply, Request, RequestId, What};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};

type Say = Box<dyn FnMut(usize, Moment, &Request) -> Reply + Send>;

/// Answers the n-th request, counted from 0, as its script says.
pub struct Script {
    say: Say,
    arrivals: Arrivals,
}

/// When requests arrived, in order.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(Arc<Mutex<Vec<Instant>>>);

impl Arrivals {
    /// How many have arrived.
    pub fn count(&self) -> usize {
        self.all().len()
    }

    /// When they did.
    pub fn all(&self) -> Vec<Instant> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone()
    }

    /// The time between each and the next.
    pub fn gaps(&self) -> Vec<Duration> {
        let all = self.all();
        all.windows(2).map(|w| w[1].since(w[0])).collect()
    }
}

impl Script {
    /// Answers by what number a request has.
    pub fn new(mut say: impl FnMut(usize) -> Reply + Send + 'static) -> Self {
        Self::by(move |n, _, _| say(n))
    }

    /// Answers by number, time and request.
    pub fn by(say: impl FnMut(usize, Moment, &Request) -> Reply + Send + 'static) -> Self {
        Self {
            say: Box::new(say),
            arrivals: Arrivals::default(),
        }
    }

    /// When requests arrived.
    pub fn arrivals(&self) -> Arrivals {
        self.arrivals.clone()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl Policy for Script {
    fn arrive(&mut self, at: Moment, _: RequestId, request: &Request) -> Reply {
        let n = {
            let mut all = self.arrivals.0.lock();
            let all = all.as_mut().map(|all| {
                all.push(at.now);
                all.len() - 1
            });
            all.unwrap_or_default()
        };
        (self.say)(n, at, request)
    }

    fn oracle(&self, _: Job) -> Duration {
        Duration::ZERO
    }

    fn name(&self) -> &'static str {
        "script"
    }

    fn describe(&self) -> String {
        "a script".to_owned()
    }
}

fn json(status: u16, body: &'static str) -> Answer {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let mut answer = Answer::new(status, body);
    let media = HeaderValue::from_static("application/json");
    answer.headers.insert(CONTENT_TYPE, media);
    answer
}

/// A good answer in JSON.
pub fn ok() -> Reply {
    Reply::accepted(json(200, "{\"ok\":true}"))
}

/// This status and nothing that says when to come back.
pub fn bare(status: u16) -> Reply {
    match status {
        404 => Reply::accepted(json(status, "{}")),
        500.. => Reply::failed(What::Answer(json(status, "{}"))),
        _ => Reply::refused(json(status, "{}")),
    }
}

/// This status and this body.
pub fn saying(status: u16, body: &'static str) -> Reply {
    Reply::refused(json(status, body))
}

/// This status, asking to stay away for so many seconds.
pub fn asking(status: u16, secs: u64) -> Reply {
    hinting(status, &secs.to_string()).announcing(Announced::For(Duration::from_secs(secs)))
}

/// This status with any text in `Retry-After`.
pub fn hinting(status: u16, hint: &str) -> Reply {
    let mut answer = json(status, "{}");
    if let Ok(hint) = HeaderValue::from_str(hint) {
        answer.headers.insert(RETRY_AFTER, hint);
    }
    Reply::refused(answer)
}

/// No answer: the connection is cut.
pub fn cut() -> Reply {
    Reply::failed(What::Close)
}
