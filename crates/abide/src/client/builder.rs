//! A request being made: what is asked, and how long its caller is willing to wait for it.

use std::fmt;
use std::time::Duration;

use abide_core::WallTime;
use abide_core::call::Safety;
use abide_core::queue::Urgency;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;

use super::{CallOptions, Check, Client, chain};
use crate::error::Error;
use crate::patience::Patience;
use crate::response::Response;

/// A request being made.
#[must_use]
pub struct RequestBuilder {
    client: Client,
    http: reqwest::RequestBuilder,
    options: CallOptions,
    key: Option<String>,
}

impl fmt::Debug for RequestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl RequestBuilder {
    pub(super) fn new(client: Client, http: reqwest::RequestBuilder) -> Self {
        Self {
            client,
            http,
            options: CallOptions::default(),
            key: None,
        }
    }

    /// Adds a header.
    pub fn header<K, V>(mut self, name: K, value: V) -> Self
    where
        HeaderName: TryFrom<K>,
        <HeaderName as TryFrom<K>>::Error: Into<http::Error>,
        HeaderValue: TryFrom<V>,
        <HeaderValue as TryFrom<V>>::Error: Into<http::Error>,
    {
        self.http = self.http.header(name, value);
        self
    }

    /// Adds headers.
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        self.http = self.http.headers(headers);
        self
    }

    /// Adds `Authorization: Bearer …`.
    pub fn bearer_auth(mut self, token: impl fmt::Display) -> Self {
        self.http = self.http.bearer_auth(token);
        self
    }

    /// Adds `Authorization: Basic …`.
    pub fn basic_auth(
        mut self,
        user: impl fmt::Display,
        password: Option<impl fmt::Display>,
    ) -> Self {
        self.http = self.http.basic_auth(user, password);
        self
    }

    /// Adds to the query: a map, or pairs.
    pub fn query<T: Serialize + ?Sized>(mut self, query: &T) -> Self {
        self.http = self.http.query(query);
        self
    }

    /// Sets the body. One that is a stream, or above [`CallPolicy::body_replay`](abide_core::call::CallPolicy::body_replay), is sent once.
    pub fn body(mut self, body: impl Into<reqwest::Body>) -> Self {
        self.http = self.http.body(body);
        self
    }

    /// Sets the body to JSON.
    pub fn json<T: Serialize + ?Sized>(mut self, body: &T) -> Self {
        self.http = self.http.json(body);
        self
    }

    /// Sets the body to a form.
    pub fn form<T: Serialize + ?Sized>(mut self, body: &T) -> Self {
        self.http = self.http.form(body);
        self
    }

    /// Bounds all waiting of this call.
    pub fn up_to(self, patience: Duration) -> Self {
        self.patience(Patience::UpTo(patience))
    }

    /// Waits until an instant, and no longer.
    pub fn until(self, at: WallTime) -> Self {
        self.patience(Patience::Until(at))
    }

    /// Waits for nothing: what cannot go now is turned away, saying when it could.
    pub fn fail_fast(self) -> Self {
        self.patience(Patience::FailFast)
    }

    /// Waits for nothing, since the work will be put off: a refusal says that it should be.
    pub fn defer(self) -> Self {
        self.patience(Patience::Defer)
    }

    /// Says how long its caller is willing to wait.
    pub fn patience(mut self, patience: impl Into<Patience>) -> Self {
        self.options.patience = Some(patience.into());
        self
    }

    /// Bounds one wait, within the patience.
    pub const fn wait_max(mut self, longest: Duration) -> Self {
        self.options.wait_max = Some(longest);
        self
    }

    /// Bounds everything up to the final head.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// Bounds one attempt, head and body together.
    pub const fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.options.attempt_timeout = Some(timeout);
        self
    }

    /// How often it is sent at most, the first time included.
    pub const fn attempts(mut self, most: u32) -> Self {
        self.options.attempts = Some(most);
        self
    }

    /// Says whether it may be repeated.
    pub const fn safety(mut self, safety: Safety) -> Self {
        self.options.safety = Some(safety);
        self
    }

    /// It changes nothing, whatever its method: may be repeated.
    pub const fn read(self) -> Self {
        self.safety(Safety::Read)
    }

    /// It changes something: sent once.
    pub const fn write(self) -> Self {
        self.safety(Safety::Write)
    }

    /// It carries a key by which the provider knows a repeat: may be repeated. The header is the
    /// one that the provider's profile names, else `Idempotency-Key`.
    pub fn idempotent(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self.safety(Safety::Idempotent)
    }

    /// It changes something, and there is a way to ask whether it did: may be repeated after
    /// asking. The answer that `check` finds is returned in place of its own.
    pub fn check_then_write<F, A>(mut self, check: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<Option<Response>, Error>> + Send + 'static,
    {
        self.options.check = Some(Check::new(check));
        self.safety(Safety::Checked)
    }

    /// Says how urgent it is, as RFC 9218 counts.
    pub const fn priority(mut self, urgency: Urgency) -> Self {
        self.options.urgency = urgency;
        self
    }

    /// Says how many units it costs.
    pub const fn cost(mut self, units: u32) -> Self {
        self.options.cost = units;
        self
    }

    /// Names the account it acts for, where its credential does not tell: one that is renewed is
    /// still the same account's.
    pub fn account(mut self, name: impl Into<String>) -> Self {
        self.options.account = Some(name.into());
        self
    }

    /// Exempts it from the pace of its gates: a token to be renewed, a question that costs
    /// nothing. Holds are for all.
    pub const fn unpaced(mut self) -> Self {
        self.options.paced = false;
        self
    }

    /// All the knobs of this call.
    pub const fn options(&mut self) -> &mut CallOptions {
        &mut self.options
    }

    /// Makes the call.
    ///
    /// # Errors
    /// When it was turned away or its attempts are spent.
    pub async fn send(self) -> Result<Response, Error> {
        let mut request = self
            .http
            .build()
            .map_err(|e| Error::Request(chain(&e.without_url())))?;
        if let Some(key) = self.key {
            self.client.name_repeats(&mut request, &key)?;
        }
        self.client.execute(request, self.options).await
    }
}

impl Client {
    /// Puts the key of a write where its provider looks for it.
    fn name_repeats(&self, request: &mut reqwest::Request, key: &str) -> Result<(), Error> {
        let target = self
            .governor()
            .target(request.method(), request.url(), request.headers());
        let profile = target.as_ref().map(crate::Target::profile);
        let told = profile.and_then(|p| p.told().policy.idempotency.as_ref());
        let name = told.map_or("idempotency-key", |told| told.header.as_str());
        let name = HeaderName::try_from(name)
            .map_err(|_| Error::Request(format!("{name:?} is no header's name")))?;
        let value = match told.is_some_and(|told| told.quoted) {
            true => format!("\"{key}\""),
            false => key.to_owned(),
        };
        let value = HeaderValue::try_from(value)
            .map_err(|_| Error::Request("its key has characters no header may have".to_owned()))?;
        request.headers_mut().insert(name, value);
        Ok(())
    }
}
