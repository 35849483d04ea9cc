//! Bulk runs: many items, several providers, nothing lost.
//!
//! The bookkeeping is [`abide_core::run`]'s; here it is given sockets and timers. A run takes
//! items in hand lane by lane, so that a held provider never slows another; concurrency counts
//! requests on the wire, never waits. Where the items come from and where their answers go is the
//! caller's ([`Source`], [`Sink`]): this module reads and writes no file.

mod driver;
mod item;
mod lanes;
mod lookups;
mod working;

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use abide_core::call::{CallPolicy, Queueing, Safety};
use abide_core::queue::Urgency;
use abide_core::run::{Item, RunPolicy};
use abide_core::{Verdict, WallTime};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

pub use driver::{Bulk, Totals};
pub use lookups::{Ended, LookedUp, Lookup, Lookups, MayBeTurned};

/// How an item is called in the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its id.
    pub id: String,
    /// Its address, as the user gave it.
    pub url: String,
}

/// What is asked for one item.
#[derive(Clone)]
pub struct Wanted {
    /// The method.
    pub method: Method,
    /// The address.
    pub url: Url,
    /// Headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Option<Bytes>,
    /// How urgent it is within the run's providers.
    pub urgency: Urgency,
    /// How many units it costs.
    pub cost: u32,
    /// What it waits at holds at most; the run's when absent.
    pub patience: Option<Duration>,
    /// Whether it may be repeated; the method decides when absent.
    pub safety: Option<Safety>,
    /// Handed back with the report.
    pub name: Option<Name>,
}

/// Of the URL only the origin is shown, since only its provider's profile knows where else it
/// carries secrets; headers and body are left out.
impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wanted")
            .field("method", &self.method)
            .field("origin", &self.url.origin().ascii_serialization())
            .field("urgency", &self.urgency)
            .field("cost", &self.cost)
            .field("patience", &self.patience)
            .field("safety", &self.safety)
            .finish_non_exhaustive()
    }
}

impl Wanted {
    /// A plain GET.
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: None,
            urgency: Urgency::BULK,
            cost: 1,
            patience: None,
            safety: None,
            name: None,
        }
    }
}

/// Where items come from.
pub trait Source: Send + Sync + 'static {
    /// Loads an item, just before it is sent for the first time.
    ///
    /// # Errors
    /// What is wrong with it, for a person: the item fails with that reason.
    fn load(&self, item: Item) -> Result<Wanted, String>;
}

/// Where answers go.
pub trait Sink: Send + Sync + 'static {
    /// Commits that a write is about to be sent.
    ///
    /// # Errors
    /// Why it could not be committed: the write is not sent.
    fn intend(&self, item: Item) -> impl Future<Output = Result<(), String>> + Send;

    /// Takes an item's end. Waits while the output is behind.
    fn take(&self, report: Report) -> impl Future<Output = ()> + Send;
}

/// How an item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The provider gave what was asked.
    Done,
    /// It failed, for a reason that is its own or because the provider kept failing.
    Failed,
    /// It does not exist.
    NotFound,
    /// It was not asked, or refused: to be asked again later.
    Skipped,
}

impl Outcome {
    /// The word used in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::NotFound => "not_found",
            Self::Skipped => "skipped",
        }
    }
}

/// One item's end.
#[derive(Clone, Debug)]
pub struct Report {
    /// The item.
    pub item: Item,
    /// How it ended.
    pub outcome: Outcome,
    /// The verdict behind it, where there was one.
    pub cause: Option<Verdict>,
    /// The status of its last answer.
    pub status: Option<StatusCode>,
    /// Sends it took.
    pub attempts: u32,
    /// All waiting it took.
    pub waited: Duration,
    /// The provider.
    pub provider: Option<std::sync::Arc<str>>,
    /// When it may be asked again, for what was skipped.
    pub retry_at: Option<WallTime>,
    /// Why it was skipped or failed.
    pub reason: Option<String>,
    /// The answer's body.
    pub body: Option<Bytes>,
    /// The answer's media type.
    pub content_type: Option<String>,
    /// It was a write: until its end is recorded, a crash leaves its effect unknown.
    pub write: bool,
    /// What the source called it, where it was loaded.
    pub name: Option<Name>,
}

/// The knobs of a bulk run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BulkPolicy {
    /// The bookkeeping's knobs. Its concurrency is that of one provider's lane.
    pub run: RunPolicy,
    /// The knobs of each item's call. Default: 8 attempts, no patience of its own for queueing,
    /// and waiting for the retry budget, since a run would rather wait than fail.
    pub call: CallPolicy,
    /// Providers that are treated otherwise, by name.
    pub named: HashMap<String, (RunPolicy, CallPolicy)>,
    /// Requests on the wire, all providers together. Default 8.
    pub wire: usize,
    /// One attempt, head and body together; `None` leaves it to the HTTP client's own bounds.
    /// Default 10 min: what drips that long is no answer.
    pub attempt_timeout: Option<Duration>,
    /// The largest body, in bytes; a larger one fails its item, saying so. Default 64 MiB, since
    /// bodies are kept in memory until they are written.
    pub max_body: u64,
    /// Statuses that count as done. Default all 2xx; one that hides something else (a mistake, an
    /// absence, a refusal, by the provider's profile) ends its item as that.
    pub done: Vec<(u16, u16)>,
}

impl Default for BulkPolicy {
    fn default() -> Self {
        let mut call = CallPolicy::default();
        call.attempts = 8;
        call.queueing = Queueing::Free;
        call.wait_for_budget = true;
        // An item is at hand anyway.
        call.body_replay = 64 * 1024 * 1024;
        Self {
            run: RunPolicy::default(),
            call,
            named: HashMap::new(),
            wire: 8,
            attempt_timeout: Some(Duration::from_secs(600)),
            max_body: 64 * 1024 * 1024,
            done: vec![(200, 299)],
        }
    }
}

impl BulkPolicy {
    /// What was said of a provider; of one host of several (`aws@HOST`), what was said of them
    /// all.
    fn of(&self, provider: &str) -> Option<&(RunPolicy, CallPolicy)> {
        let all = || self.named.get(provider.split_once(['@', '+'])?.0);
        self.named.get(provider).or_else(all)
    }

    pub(crate) fn run_of(&self, provider: &str) -> &RunPolicy {
        self.of(provider).map_or(&self.run, |(run, _)| run)
    }

    pub(crate) fn call_of(&self, provider: &str) -> &CallPolicy {
        self.of(provider).map_or(&self.call, |(_, call)| call)
    }

    /// Whether a status is among those that count as done.
    pub(crate) fn is_done(&self, status: StatusCode) -> bool {
        self.done
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&status.as_u16()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_of_a_provider_is_treated_as_the_provider() {
        let mut policy = BulkPolicy::default();
        let (mut run, mut call) = (RunPolicy::default(), CallPolicy::default());
        (run.concurrency, call.attempts) = (1, 2);
        policy.named.insert("aws".to_owned(), (run, call));
        for name in ["aws", "aws@ec2.example"] {
            assert_eq!(policy.run_of(name).concurrency, 1, "{name}");
            assert_eq!(policy.call_of(name).attempts, 2, "{name}");
        }
        assert_ne!(policy.run_of("awsome@x").concurrency, 1);
    }
}
