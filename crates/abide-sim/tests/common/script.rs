//! A provider that answers by a script, for worlds.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_core::{Instant, Moment};
use abide_sim::{Announced, Answer, Job, Policy, Reply, Request, RequestId};
use http::StatusCode;

type Say = Box<dyn FnMut(usize, Instant) -> Reply + Send>;

/// Answers the n-th request as its script says, and writes down when it came.
pub(crate) struct Script {
    say: Say,
    arrivals: Arrivals,
}

/// When requests arrived, in order.
pub(crate) type Arrivals = Arc<Mutex<Vec<Instant>>>;

impl Script {
    pub(crate) fn new(say: impl FnMut(usize, Instant) -> Reply + Send + 'static) -> Self {
        Self {
            say: Box::new(say),
            arrivals: Arrivals::default(),
        }
    }

    pub(crate) fn arrivals(&self) -> Arrivals {
        Arc::clone(&self.arrivals)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl Policy for Script {
    fn arrive(&mut self, at: Moment, _: RequestId, _: &Request) -> Reply {
        let mut arrivals = self.arrivals.lock().unwrap();
        arrivals.push(at.now);
        (self.say)(arrivals.len() - 1, at.now)
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

pub(crate) fn ok() -> Reply {
    Reply::accepted(Answer::ok())
}

/// Not now, and not before so many seconds.
pub(crate) fn asking(status: u16, secs: u64) -> Reply {
    let mut answer = Answer::refusal(StatusCode::from_u16(status).unwrap());
    answer.headers.insert("retry-after", secs.into());
    Reply::refused(answer).announcing(Announced::For(Duration::from_secs(secs)))
}

/// Not now, and nothing more.
pub(crate) fn bare(status: u16) -> Reply {
    Reply::refused(Answer::refusal(StatusCode::from_u16(status).unwrap()))
}
