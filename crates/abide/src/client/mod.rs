//! The client: an HTTP client whose every send passes its provider's gates.
//!
//! Its hidden retries are switched off and redirects are followed here, so that each hop is
//! admitted like any other request: a call holds at most one pass, and a hop is settled before
//! the next one asks.

mod attempt;
mod builder;
mod check;
mod hooks;
mod redirect;
mod request;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_core::Moment;
use abide_core::call::{CallPolicy, Safety};
use abide_core::queue::Urgency;
use http::{HeaderMap, Method};
use rustls::pki_types::CertificateDer;
use tokio::sync::Semaphore;

pub use builder::RequestBuilder;
pub use check::Check;
pub(crate) use hooks::{Hooks, Refused};

use crate::admission::BeforeStart;
use crate::error::Error;
use crate::governor::Governor;
use crate::patience::Patience;
use crate::response::Response;
use crate::shard::Handle;
use crate::target::Target;
use crate::tls;

/// How many redirects are followed. Default 10: browsers stop at 20, and ten hops have never led
/// anywhere in practice.
const MAX_REDIRECTS: u32 = 10;

/// How long a connection may take, and a head or a body stand still, where the caller brings no
/// HTTP client of its own: longer than any provider thinks, short enough to notice.
const IDLE: Duration = Duration::from_secs(60);

/// An HTTP client that behaves. Clones share everything.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    http: reqwest::Client,
    governor: Governor,
    call: CallPolicy,
    max_redirects: u32,
    /// Of every request that has none of that name.
    headers: HeaderMap,
    sent: AtomicU64,
    refused: AtomicU64,
}

/// The HTTP client is left out: it would show its default headers.
impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("governor", &self.governor)
            .field("call", &self.call)
            .field("max_redirects", &self.max_redirects)
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}

/// How one call is to be made.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallOptions {
    /// The knobs of the call; the provider's or the client's own when absent.
    pub call: Option<CallPolicy>,
    /// How long is waited, in place of what those knobs say.
    pub patience: Option<Patience>,
    /// The longest single wait, in place of what those knobs say.
    pub wait_max: Option<Duration>,
    /// Everything up to the final head, in place of what those knobs say.
    pub deadline: Option<Duration>,
    /// Sends, the first one included, in place of what those knobs say.
    pub attempts: Option<u32>,
    /// Whether it may be repeated; the method decides when absent.
    pub safety: Option<Safety>,
    /// How urgent it is.
    pub urgency: Urgency,
    /// Whom to be fair to; 0 for everybody else.
    pub fair: u64,
    /// How many units it costs; 0 reads as 1.
    pub cost: u32,
    /// One attempt, head and body; no bound when absent.
    pub attempt_timeout: Option<Duration>,
    /// Places on the wire shared beyond one provider.
    pub wire: Option<Arc<Semaphore>>,
    /// To be done after leave to send was given and before the send.
    pub before_start: Option<BeforeStart>,
    /// Where it goes, when that is known already.
    pub target: Option<Target>,
    /// Asks whether a write whose effect is unknown happened, before it is sent again.
    pub check: Option<Check>,
    /// The name of the account it acts for, where its credential does not tell: one that is
    /// renewed is still the same account's.
    pub account: Option<String>,
    /// Whether it keeps to the pace of its gates; holds are for all.
    pub paced: bool,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            call: None,
            patience: None,
            wait_max: None,
            deadline: None,
            attempts: None,
            safety: None,
            urgency: Urgency::default(),
            fair: 0,
            cost: 1,
            attempt_timeout: None,
            wire: None,
            before_start: None,
            target: None,
            check: None,
            account: None,
            paced: true,
        }
    }
}

impl CallOptions {
    /// The knobs of a call, on top of those of its provider.
    pub(crate) fn policy(&self, base: &CallPolicy, at: impl FnOnce() -> Moment) -> CallPolicy {
        let mut call = self.call.as_ref().unwrap_or(base).clone();
        if let Some(patience) = self.patience {
            patience.apply(&mut call, at);
        }
        call.wait_max = self.wait_max.or(call.wait_max);
        call.deadline = self.deadline.or(call.deadline);
        call.attempts = self.attempts.unwrap_or(call.attempts);
        call
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("safety", &self.safety)
            .field("urgency", &self.urgency)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}

/// An HTTP client's builder, and whose TLS it is to have.
enum Http {
    Ours(reqwest::ClientBuilder),
    Theirs(reqwest::ClientBuilder),
}

/// Builds a [`Client`].
pub struct ClientBuilder {
    http: Option<Http>,
    roots: Vec<CertificateDer<'static>>,
    governor: Option<Governor>,
    call: CallPolicy,
    max_redirects: u32,
    headers: HeaderMap,
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("governor", &self.governor)
            .field("call", &self.call)
            .field("max_redirects", &self.max_redirects)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client with the defaults and a store that ends with the process.
    ///
    /// # Errors
    /// When the HTTP client cannot be set up.
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Starts building one.
    pub fn builder() -> ClientBuilder {
        ClientBuilder {
            http: None,
            roots: Vec::new(),
            governor: None,
            call: CallPolicy::default(),
            max_redirects: MAX_REDIRECTS,
            headers: HeaderMap::new(),
        }
    }

    /// A client on top of an HTTP client of your own making; its hidden retries and redirects
    /// are switched off. Its TLS needs a provider: where the process has none yet, ring becomes
    /// it, since the HTTP client would panic without one.
    ///
    /// # Errors
    /// When the HTTP client cannot be set up.
    pub fn from_builder(http: reqwest::ClientBuilder) -> Result<Self, Error> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Losing the race to another installer is as good as winning it.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let mut builder = Self::builder();
        builder.http = Some(Http::Theirs(http));
        builder.build()
    }

    /// The governor behind it.
    pub fn governor(&self) -> &Governor {
        &self.inner.governor
    }

    /// Starts a GET.
    pub fn get(&self, url: &str) -> RequestBuilder {
        self.request(Method::GET, url)
    }

    /// Starts a HEAD.
    pub fn head(&self, url: &str) -> RequestBuilder {
        self.request(Method::HEAD, url)
    }

    /// Starts a POST.
    pub fn post(&self, url: &str) -> RequestBuilder {
        self.request(Method::POST, url)
    }

    /// Starts a PUT.
    pub fn put(&self, url: &str) -> RequestBuilder {
        self.request(Method::PUT, url)
    }

    /// Starts a PATCH.
    pub fn patch(&self, url: &str) -> RequestBuilder {
        self.request(Method::PATCH, url)
    }

    /// Starts a DELETE.
    pub fn delete(&self, url: &str) -> RequestBuilder {
        self.request(Method::DELETE, url)
    }

    /// Starts a request.
    pub fn request(&self, method: Method, url: &str) -> RequestBuilder {
        RequestBuilder::new(self.clone(), self.inner.http.request(method, url))
    }

    /// The handle to a provider, by name: how it is, and what it is known to allow.
    pub fn provider(&self, name: &str) -> Handle {
        self.governor().provider(name)
    }

    /// Makes one call: waits, sends, repeats what is safe to repeat.
    ///
    /// # Errors
    /// When it was turned away or its attempts are spent.
    pub async fn execute(
        &self,
        request: reqwest::Request,
        options: CallOptions,
    ) -> Result<Response, Error> {
        self.run(request, &options, &mut hooks::Plain).await
    }

    /// Requests put on the wire by this client and its clones.
    pub fn sent(&self) -> u64 {
        self.inner.sent.load(Ordering::Relaxed)
    }

    /// Refusals this client and its clones have met.
    pub fn refused(&self) -> u64 {
        self.inner.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.inner.http
    }
}

impl ClientBuilder {
    /// Headers of every request that has none of that name. Give credentials here rather than to
    /// the HTTP client's builder, whose default headers nobody sees: they go along to wherever a
    /// redirect leads, and tell no account.
    #[must_use]
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// Starts from an HTTP client's builder; TLS is set up here all the same.
    #[must_use]
    pub fn http(mut self, http: reqwest::ClientBuilder) -> Self {
        self.http = Some(Http::Ours(http));
        self
    }

    /// Trusts these certificate authorities in addition to the platform's.
    #[must_use]
    pub fn roots(mut self, roots: Vec<CertificateDer<'static>>) -> Self {
        self.roots.extend(roots);
        self
    }

    /// Shares a governor with others.
    #[must_use]
    pub fn governor(mut self, governor: Governor) -> Self {
        self.governor = Some(governor);
        self
    }

    /// The knobs of every call that brings none of its own.
    #[must_use]
    pub fn call(mut self, call: CallPolicy) -> Self {
        self.call = call;
        self
    }

    /// How many redirects are followed; 0 hands the first one to the caller.
    #[must_use]
    pub const fn max_redirects(mut self, most: u32) -> Self {
        self.max_redirects = most;
        self
    }

    /// The client.
    ///
    /// # Errors
    /// When the HTTP client cannot be set up.
    pub fn build(self) -> Result<Client, Error> {
        let own = |http: reqwest::ClientBuilder| {
            let tls = tls::config(self.roots).map_err(|e| Error::Build(e.to_string()))?;
            Ok::<_, Error>(http.tls_backend_preconfigured(tls))
        };
        let http = match self.http {
            Some(Http::Theirs(http)) => http,
            Some(Http::Ours(http)) => own(http)?,
            None => own(reqwest::Client::builder()
                .connect_timeout(IDLE)
                .read_timeout(IDLE))?,
        };
        let http = http
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .build()
            .map_err(|e| Error::Build(chain(&e)))?;
        let governor = match self.governor {
            Some(governor) => governor,
            None => Governor::builder().build()?,
        };
        Ok(Client {
            inner: Arc::new(Inner {
                http,
                governor,
                call: self.call,
                max_redirects: self.max_redirects,
                headers: self.headers,
                sent: AtomicU64::new(0),
                refused: AtomicU64::new(0),
            }),
        })
    }
}

/// An error and everything below it, in one line.
fn chain(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut next = e.source();
    while let Some(e) = next {
        text = format!("{text}: {e}");
        next = e.source();
    }
    text
}
