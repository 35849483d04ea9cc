//! One request on the wire: read it, ask the provider, and do what it says.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use http::header::{CONTENT_LENGTH, HOST};
use http::request::Parts;
use http::{HeaderValue, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Incoming};
use tokio::time::sleep;

use super::body::{CutOff, SimBody};
use super::clock::Clock;
use super::options::ServerOptions;
use crate::policy::Service;
use crate::provider::Provider;
use crate::reply::{Answer, What};
use crate::request::{Request, RequestId};

/// What all connections of a server share.
pub(super) struct Shared {
    pub(super) clock: Clock,
    options: ServerOptions,
    latency: Option<Mutex<Service>>,
    provider: Mutex<Provider>,
}

impl Shared {
    pub(super) fn new(provider: Provider, options: ServerOptions) -> Self {
        let ServerOptions {
            latency,
            latency_jitter,
            seed,
            ..
        } = options;
        let wire = (latency > Duration::ZERO)
            .then(|| Service::jittered(latency, latency_jitter, Rng::with_seed(seed)));
        Self {
            clock: Clock::start(),
            options,
            latency: wire.map(Mutex::new),
            provider: Mutex::new(provider),
        }
    }

    /// The provider. Whoever panicked while looking at it left it as it was.
    pub(super) fn provider(&self) -> MutexGuard<'_, Provider> {
        self.provider.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn travel(&self) {
        let Some(latency) = &self.latency else { return };
        let time = latency
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .draw();
        sleep(time).await;
    }

    async fn read(&self, request: http::Request<Incoming>) -> Result<Request, CutOff> {
        let (parts, body) = request.into_parts();
        let body = if body.is_end_stream() {
            Bytes::new()
        } else {
            let body = Limited::new(body, self.options.max_body).collect().await;
            body.map_err(|_| CutOff)?.to_bytes()
        };
        Ok(self.name(parts, body))
    }

    fn name(&self, parts: Parts, body: Bytes) -> Request {
        let text = |name: &str| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let host = text(HOST.as_str())
            .or_else(|| parts.uri.host())
            .unwrap_or_default();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let item = text(&self.options.item_header).unwrap_or(path);
        let client = text(&self.options.client_header).and_then(|text| text.parse().ok());
        Request {
            client: client.unwrap_or(0),
            host: host.into(),
            path: path.into(),
            item: Some(item.into()),
            method: parts.method,
            body,
        }
    }
}

/// Serves one request. An error closes the connection without another byte.
pub(super) async fn serve(
    shared: Arc<Shared>,
    request: http::Request<Incoming>,
) -> Result<Response<SimBody>, CutOff> {
    let request = shared.read(request).await?;
    shared.travel().await;
    let (id, reply) = {
        let mut provider = shared.provider();
        let at = shared.clock.read();
        provider.arrive_unseen(at, request)
    };
    let departure = Departure { shared, id };
    if reply.after > Duration::ZERO {
        sleep(reply.after).await;
    }
    let answer = match reply.what {
        What::Answer(answer) => answer,
        What::Close => return Err(CutOff),
        // The connection stays until the client leaves; then this future is dropped.
        What::Silence => return pending().await,
    };
    departure.shared.travel().await;
    if reply.announced.is_some() {
        departure.wrote();
    }
    Ok(respond(answer, departure))
}

fn respond(mut answer: Answer, departure: Departure) -> Response<SimBody> {
    let mut headers = std::mem::take(&mut answer.headers);
    if answer.cut_after.is_some() || answer.drip.is_some() {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(answer.body.len()));
    }
    let status = answer.status;
    let mut response = Response::new(SimBody::new(answer, departure));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Tells the provider when a request is over, however it ends: answered, or its client gone.
pub(super) struct Departure {
    shared: Arc<Shared>,
    id: RequestId,
}

impl Departure {
    fn wrote(&self) {
        let mut provider = self.shared.provider();
        let now = self.shared.clock.read().now;
        provider.wrote(now, self.id, self.shared.options.grace);
    }
}

impl Drop for Departure {
    fn drop(&mut self) {
        let mut provider = self.shared.provider();
        let at = self.shared.clock.read();
        provider.depart(at, self.id);
    }
}
