//! Providers at hand: they answer by a script, keep what came, and stand behind a service as a
//! real one would, without sockets.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use abide::Service;
use abide::TurnedAway;
use abide::core::call::Safety;
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::{Instant, Moment};
use abide::layer::{By, Copies, Error, Options};
use abide::testing::Sim;
use abide_sim::{Announced, Answer, Job, Policy, Reply, RequestId, What};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};

use crate::Program;

/// What came to a provider.
#[derive(Clone, Debug)]
pub struct Seen {
    /// When.
    pub at: Instant,
    /// By which method.
    pub method: Method,
    /// For what: path and query.
    pub path: String,
    /// With what in it.
    pub body: Bytes,
}

/// What came to a provider so far, in order.
#[derive(Clone, Debug, Default)]
pub struct Ledger(Arc<Mutex<Vec<Seen>>>);

impl Ledger {
    /// Everything.
    pub fn all(&self) -> Vec<Seen> {
        self.lock().clone()
    }

    /// How much.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// The time between each request and the next.
    pub fn gaps(&self) -> Vec<Duration> {
        let seen = self.lock();
        seen.windows(2)
            .map(|two| two[1].at.since(two[0].at))
            .collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a script says to a request.
type Say = Box<dyn FnMut(usize, Moment, &Seen) -> Reply + Send>;

/// A provider's policy that is a script: the n-th request, counted from 0, gets the n-th answer.
pub struct Script {
    say: Say,
    ledger: Ledger,
}

impl Script {
    /// Answers as told.
    pub fn new(say: impl FnMut(usize, Moment, &Seen) -> Reply + Send + 'static) -> Self {
        Self {
            say: Box::new(say),
            ledger: Ledger::default(),
        }
    }

    /// These answers in order, the last one for ever.
    pub fn of(replies: impl Into<Vec<Reply>>) -> Self {
        let replies = replies.into();
        Self::new(move |n, _, _| {
            let last = replies.len().saturating_sub(1);
            let reply = replies.get(n.min(last));
            reply.cloned().unwrap_or_else(|| Reply::failed(What::Close))
        })
    }

    /// What comes, to be looked at later.
    pub fn ledger(&self) -> Ledger {
        self.ledger.clone()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl Policy for Script {
    fn arrive(&mut self, at: Moment, _: RequestId, request: &abide_sim::Request) -> Reply {
        let seen = Seen {
            at: at.now,
            method: request.method.clone(),
            path: request.path.to_string(),
            body: request.body.clone(),
        };
        let n = self.ledger.count();
        self.ledger.lock().push(seen.clone());
        (self.say)(n, at, &seen)
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

/// An answer of this status with JSON in it.
pub fn json(status: u16, body: &str) -> Reply {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let mut answer = Answer::new(status, body.to_owned());
    let media = http::HeaderValue::from_static("application/json");
    answer.headers.insert("content-type", media);
    match status.is_success() || status == StatusCode::NOT_FOUND {
        true => Reply::accepted(answer),
        false if status.is_server_error() => Reply::failed(What::Answer(answer)),
        false => Reply::refused(answer),
    }
}

/// A good answer.
pub fn good() -> Reply {
    json(200, r#"{"ok":true}"#)
}

/// An answer of this status, without a word on when to come back.
pub fn bare(status: u16) -> Reply {
    json(status, "{}")
}

/// An answer of this status that asks for so many seconds.
pub fn asking(status: u16, secs: u64) -> Reply {
    with(bare(status), "retry-after", &secs.to_string())
        .announcing(Announced::For(Duration::from_secs(secs)))
}

/// The connection closes instead of an answer.
pub fn cut() -> Reply {
    Reply::failed(What::Close)
}

/// The same with a header.
///
/// # Panics
/// When it is none.
pub fn with(mut reply: Reply, name: &'static str, value: &str) -> Reply {
    if let What::Answer(answer) = &mut reply.what {
        match http::HeaderValue::from_str(value) {
            Ok(value) => drop(answer.headers.insert(name, value)),
            Err(e) => panic!("{value:?} is no header: {e}"),
        }
    }
    reply
}

/// The exchange broke off before an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("connection reset by peer")
    }
}

impl std::error::Error for Cut {}

/// What a [`Cut`] means.
fn meaning(_: &Cut) -> Option<Transport> {
    Some(Transport {
        phase: Phase::Head,
        kind: TransportKind::Reset,
    })
}

/// The way to providers that are told apart by host.
#[derive(Clone, Debug)]
pub struct Wire {
    hosts: Arc<Vec<(&'static str, Sim)>>,
}

impl tower::Service<Request<Full<Bytes>>> for Wire {
    type Response = Response<Full<Bytes>>;
    type Error = Cut;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Cut>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Cut>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let host = request.uri().host().unwrap_or_default();
        let found = self.hosts.iter().find(|(name, _)| *name == host);
        let sim = found.map(|(_, sim)| sim.clone());
        let path = request.uri().path_and_query().map_or("/", |p| p.as_str());
        let mut asked = abide_sim::Request::get(path).with_method(request.method().clone());
        Box::pin(async move {
            let body = request.into_body().collect().await;
            asked.body = body
                .map(http_body_util::Collected::to_bytes)
                .unwrap_or_default();
            let answer = sim.ok_or(Cut)?.exchange(asked).await.ok_or(Cut)?;
            let mut response = Response::new(Full::new(answer.body));
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(response)
        })
    }
}

/// What reads the failures of the wire.
type Reads = By<fn(&Cut) -> Option<Transport>>;

/// An answer, as a caller sees it.
#[derive(Debug)]
pub struct Came {
    /// Its status.
    pub status: StatusCode,
    /// Its body.
    pub body: Bytes,
    /// Why it is the last, where it is a refusal or a failure.
    pub turned: Option<TurnedAway>,
}

/// Why nothing came.
pub type Missed = Error<Cut>;

/// A program's HTTP client: its providers, and abide in front of them.
#[derive(Clone, Debug)]
pub struct Http {
    service: Service<Wire, Copies, Reads>,
}

impl Program {
    /// An HTTP client that reaches these hosts.
    pub fn http(&self, hosts: &[(&'static str, &Sim)]) -> Http {
        let hosts = hosts.iter().map(|(host, sim)| (*host, Sim::clone(sim)));
        let wire = Wire {
            hosts: Arc::new(hosts.collect()),
        };
        let read: fn(&Cut) -> Option<Transport> = meaning;
        let layer = abide::Layer::new(self.governor.clone())
            .repeating()
            .failures(read);
        Http {
            service: tower::Layer::layer(&layer, wire),
        }
    }

    /// A provider by this script, and what comes to it.
    pub fn provider(&self, script: Script) -> (Sim, Ledger) {
        let ledger = script.ledger();
        (Sim::new(script, &self.clock), ledger)
    }
}

impl Http {
    /// A GET.
    ///
    /// # Errors
    /// When it was turned away or its exchange broke.
    pub async fn get(&self, url: &str) -> Result<Came, Missed> {
        self.send(Method::GET, url, "", |_| {}).await
    }

    /// A GraphQL request that only reads.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn query(&self, url: &str) -> Result<Came, Missed> {
        let read = |o: &mut Options| o.safety = Some(Safety::Read);
        self.send(Method::POST, url, r#"{"query":"{ me { id } }"}"#, read)
            .await
    }

    /// Any request.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// # Panics
    /// When it is none.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        body: &'static str,
        tell: impl FnOnce(&mut Options),
    ) -> Result<Came, Missed> {
        self.request(method, url, body, None, tell).await
    }

    /// Any request with a credential.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    ///
    /// # Panics
    /// When it is none.
    pub async fn request(
        &self,
        method: Method,
        url: &str,
        body: &'static str,
        token: Option<&str>,
        tell: impl FnOnce(&mut Options),
    ) -> Result<Came, Missed> {
        let mut options = Options::default();
        tell(&mut options);
        let mut request = Request::builder().method(method).uri(url);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let mut request = match request.body(Full::new(Bytes::from_static(body.as_bytes()))) {
            Ok(request) => request,
            Err(e) => panic!("{url}: {e}"),
        };
        request.extensions_mut().insert(options);
        let response = tower::ServiceExt::oneshot(self.service.clone(), request).await?;
        let (parts, body) = response.into_parts();
        let body = body
            .collect()
            .await
            .map(http_body_util::Collected::to_bytes);
        Ok(Came {
            status: parts.status,
            body: body.unwrap_or_default(),
            turned: parts.extensions.get::<TurnedAway>().cloned(),
        })
    }
}

impl Came {
    /// Why it is the last.
    ///
    /// # Panics
    /// When it is what was asked for.
    pub fn turned(&self) -> &TurnedAway {
        match &self.turned {
            Some(turned) => turned,
            None => panic!("{} is an answer like any other", self.status),
        }
    }
}
