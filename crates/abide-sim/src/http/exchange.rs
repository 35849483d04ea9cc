//! One request on the wire: read it, ask the provider, and do what it says.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::request::Parts;
use http::{HeaderValue, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Incoming};
use tokio::time::sleep;

use super::body::{CutOff, SimBody};
use super::options::ServerOptions;
use super::shared::{Departure, Shared};
use crate::reply::{Answer, What};
use crate::request::Request;

/// Serves one request. An error closes the connection without another byte.
pub(super) async fn serve(
    shared: Arc<Shared>,
    request: http::Request<Incoming>,
) -> Result<Response<SimBody>, CutOff> {
    let request = read(&shared.options, request).await?;
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

async fn read(
    options: &ServerOptions,
    request: http::Request<Incoming>,
) -> Result<Request, CutOff> {
    let (parts, body) = request.into_parts();
    let body = if body.is_end_stream() {
        Bytes::new()
    } else {
        let body = Limited::new(body, options.max_body).collect().await;
        body.map_err(|_| CutOff)?.to_bytes()
    };
    Ok(name(options, parts, body))
}

fn name(options: &ServerOptions, parts: Parts, body: Bytes) -> Request {
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
    let item = text(&options.item_header).unwrap_or(path);
    let client = text(&options.client_header).and_then(|text| text.parse().ok());
    Request {
        client: client.unwrap_or(0),
        host: host.into(),
        path: path.into(),
        item: Some(item.into()),
        method: parts.method,
        body,
    }
}
