//! A job as it is submitted.

use std::time::Duration;

use abide::core::WallTime;
use abide::core::queue::Urgency;
use http::Method;
use serde::Serialize;
use serde_json::Value;

use crate::input::{HttpSpec, Input, Webhook};

/// Where jobs go that name no queue.
pub const DEFAULT_QUEUE: &str = "default";

/// A job to be submitted: an HTTP request, or work for a registered handler.
#[derive(Clone, Debug)]
pub struct JobSpec {
    pub(crate) input: Input,
    pub(crate) queue: String,
    pub(crate) class: String,
    pub(crate) urgency: Urgency,
    pub(crate) provider: Option<String>,
    pub(crate) account: Option<String>,
    pub(crate) fair: Option<String>,
    pub(crate) unique_key: Option<String>,
    pub(crate) one_key: Option<String>,
    pub(crate) at: Option<WallTime>,
    pub(crate) deadline: Option<WallTime>,
    pub(crate) webhook: Option<Webhook>,
    pub(crate) keep: Option<Duration>,
    pub(crate) writes: Option<bool>,
}

impl JobSpec {
    /// A request, through the gates of whoever is asked.
    pub fn http(method: Method, url: impl Into<String>) -> Self {
        Self::new(Input::Http(HttpSpec {
            method: method.as_str().to_owned(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
            credential: None,
            idempotent: None,
            repeat_refused: false,
            reads: false,
        }))
    }

    /// A GET.
    pub fn get(url: impl Into<String>) -> Self {
        Self::http(Method::GET, url)
    }

    /// Work for the handler of that name. A payload that is no JSON is told when it is submitted.
    pub fn handler(name: impl Into<String>, payload: impl Serialize) -> Self {
        // A map whose keys are no texts is the only thing that fails; the handler will say so.
        let payload = serde_json::to_value(payload).unwrap_or(Value::Null);
        Self::new(Input::Handler {
            name: name.into(),
            payload,
        })
    }

    fn new(input: Input) -> Self {
        Self {
            input,
            queue: DEFAULT_QUEUE.to_owned(),
            class: "default".to_owned(),
            // Nobody waits for it at the screen.
            urgency: Urgency::BULK,
            provider: None,
            account: None,
            fair: None,
            unique_key: None,
            one_key: None,
            at: None,
            deadline: None,
            webhook: None,
            keep: None,
            writes: None,
        }
    }

    fn with_http(mut self, change: impl FnOnce(&mut HttpSpec)) -> Self {
        if let Input::Http(http) = &mut self.input {
            change(http);
        }
        self
    }

    /// Adds a header to the request. One that carries a credential is sealed with the rest.
    #[must_use]
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with_http(|http| http.headers.push((name.into(), value.into())))
    }

    /// Sets the body of the request.
    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        self.with_http(|http| http.body = Some(body.into()))
    }

    /// Names the credential of the request: the worker looks it up when it sends, so that one that
    /// was renewed meanwhile is right.
    #[must_use]
    pub fn credential(self, name: impl Into<String>) -> Self {
        self.with_http(|http| http.credential = Some(name.into()))
    }

    /// The provider knows repeats of this request by a key: it may be sent again.
    #[must_use]
    pub fn idempotent(self, key: impl Into<String>) -> Self {
        self.with_http(|http| http.idempotent = Some(key.into()))
    }

    /// A refusal means that nothing was done: the request may be sent again after one.
    #[must_use]
    pub fn repeat_refused(self) -> Self {
        self.with_http(|http| http.repeat_refused = true)
    }

    /// The request changes nothing, whatever its method.
    #[must_use]
    pub fn read(mut self) -> Self {
        self.writes = Some(false);
        self.with_http(|http| http.reads = true)
    }

    /// The handler changes something that must not be changed twice: found under way after a
    /// crash the job ends as failed, its effect unknown. It says when it begins to
    /// ([`Context::intend`](crate::Context::intend)).
    #[must_use]
    pub const fn write(mut self) -> Self {
        self.writes = Some(true);
        self
    }

    /// Puts it into a queue of that name.
    #[must_use]
    pub fn queue(mut self, name: impl Into<String>) -> Self {
        self.queue = name.into();
        self
    }

    /// Treats it as a job of that class.
    #[must_use]
    pub fn class(mut self, name: impl Into<String>) -> Self {
        self.class = name.into();
        self
    }

    /// Says how urgent it is, as RFC 9218 counts. Default bulk.
    #[must_use]
    pub const fn urgency(mut self, urgency: Urgency) -> Self {
        self.urgency = urgency;
        self
    }

    /// Says whom it asks, so that it is not begun while that one is held. Of a request its address
    /// says so.
    #[must_use]
    pub fn provider(mut self, name: impl Into<String>) -> Self {
        self.provider = Some(name.into());
        self
    }

    /// Says as whose account a handler asks, by name.
    #[must_use]
    pub fn account(mut self, name: impl Into<String>) -> Self {
        self.account = Some(name.into());
        self
    }

    /// Says whose it is, where several share a provider and urgency: each has the same share.
    #[must_use]
    pub fn fair(mut self, whose: impl Into<String>) -> Self {
        self.fair = Some(whose.into());
        self
    }

    /// There is no second job of that key, until this one is purged.
    #[must_use]
    pub fn unique(mut self, key: impl Into<String>) -> Self {
        self.unique_key = Some(key.into());
        self
    }

    /// Of the jobs of that key one runs at a time; one that is put off lets others run.
    #[must_use]
    pub fn one_at_a_time(mut self, key: impl Into<String>) -> Self {
        self.one_key = Some(key.into());
        self
    }

    /// Not before then.
    #[must_use]
    pub const fn at(mut self, at: WallTime) -> Self {
        self.at = Some(at);
        self
    }

    /// Of no use after that.
    #[must_use]
    pub const fn deadline(mut self, at: WallTime) -> Self {
        self.deadline = Some(at);
        self
    }

    /// Tells this address when it is over. Signed with the secret, or with the queue's own where
    /// none is given.
    #[must_use]
    pub fn webhook(mut self, url: impl Into<String>, secret: Option<String>) -> Self {
        let url = url.into();
        self.webhook = Some(Webhook { url, secret });
        self
    }

    /// Keeps its result for so long.
    #[must_use]
    pub const fn keep_result(mut self, ttl: Duration) -> Self {
        self.keep = Some(ttl);
        self
    }
}
