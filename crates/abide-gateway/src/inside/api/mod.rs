//! The admin API: what the gateway knows, for people and programs, and what a person may change.
//!
//! Its words are those of the rest of abide; times are RFC 3339, lengths are seconds, whatever is
//! wrong is answered as RFC 9457 has it. It decides nothing: holds are the governor's, and what was
//! met elsewhere is judged as any answer. The document that describes it is made of the same
//! declarations as its routes (`docs/gateway-api.json`).

mod asked;
mod holds;
mod process;
#[expect(
    unused_qualifications,
    reason = "what utoipa derives names types in full"
)]
mod providers;
#[expect(
    unused_qualifications,
    reason = "what utoipa derives names types in full"
)]
mod shapes;
mod words;

use std::convert::Infallible;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use tower_service::Service as _;
use utoipa::OpenApi as _;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::nothing;
use crate::answer::Problem;
use crate::gateway::Gateway;

/// In front of every path of the API.
pub(super) const PREFIX: &str = "/-/api/";
/// Where its description is.
const DOCUMENT: &str = "/-/api/v1/openapi.json";
/// The most a body may have: no answer's sample is larger.
const LARGEST: usize = 64 * 1024;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "abide: the gateway's admin API",
        description = "What `abide serve` knows of providers, and what a person may change. Times are \
                   RFC 3339, lengths are seconds. Reading is open on the machine itself; every \
                   change needs the admin token.",
        license(name = "MIT OR Apache-2.0")
    ),
    components(schemas(providers::View))
)]
struct Described;

static ROUTES: LazyLock<(Router, utoipa::openapi::OpenApi)> = LazyLock::new(|| {
    let (router, mut document) = OpenApiRouter::with_openapi(Described::openapi())
        .routes(routes!(providers::list))
        .routes(routes!(providers::one))
        .routes(routes!(providers::lift))
        .routes(routes!(providers::outcome))
        .routes(routes!(providers::gates))
        .routes(routes!(providers::learned))
        .routes(routes!(holds::list, holds::place))
        .routes(routes!(holds::change, holds::lift))
        .routes(routes!(holds::extend))
        .routes(routes!(process::config))
        .routes(routes!(process::version))
        .routes(routes!(process::drain))
        .split_for_parts();
    describe(&mut document);
    (router, document)
});

/// What every operation has in common.
fn describe(document: &mut utoipa::openapi::OpenApi) {
    let parts = document.components.get_or_insert_default();
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    parts.add_security_scheme("admin", SecurityScheme::Http(scheme));
    let (name, schema) = shapes::problem();
    parts.schemas.insert(name.clone(), schema);
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(name)))
        .build();
    let refused = ResponseBuilder::new()
        .description("It was not done, and why")
        .content("application/problem+json", content)
        .build();
    for path in document.paths.paths.values_mut() {
        let all = [
            &mut path.get,
            &mut path.post,
            &mut path.patch,
            &mut path.delete,
        ];
        for operation in all.into_iter().flatten() {
            let responses = &mut operation.responses.responses;
            responses.insert("default".to_owned(), RefOr::T(refused.clone()));
        }
    }
}

/// The API's description, as it is written to `docs/gateway-api.json`.
pub(crate) fn document() -> String {
    let mut text = serde_json::to_string_pretty(&ROUTES.1).unwrap_or_default();
    text.push('\n');
    text
}

/// Answers what was let in.
pub(super) async fn answer(gateway: &Arc<Gateway>, request: Request<Incoming>) -> Response<Bytes> {
    let name = &gateway.settings().name;
    if request.uri().path() == DOCUMENT {
        let mut response = Response::new(Bytes::from(document()));
        sign(&mut response);
        return response;
    }
    let (mut parts, body) = request.into_parts();
    let body = Limited::new(body, LARGEST).collect();
    let within = gateway.settings().limits.body_idle;
    let body = match tokio::time::timeout(within, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(e)) if e.is::<LengthLimitError>() => {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            return asked::wrong(status, "the body is larger than 64 KiB").answer(name);
        }
        Ok(Err(_)) => {
            return asked::wrong(StatusCode::BAD_REQUEST, "the body broke off").answer(name);
        }
        Err(_) => {
            let status = StatusCode::REQUEST_TIMEOUT;
            return asked::wrong(status, "the body takes too long").answer(name);
        }
    };
    parts.extensions.insert(Arc::clone(gateway));
    let mut router = ROUTES.0.clone();
    let answered: Result<_, Infallible> = router
        .call(Request::from_parts(parts, Body::from(body)))
        .await;
    let Ok(response) = answered;
    let (mut parts, body) = response.into_parts();
    let text = body.collect().await.map(|b| b.to_bytes());
    match parts.status {
        // What is not routed is answered as everything else is.
        StatusCode::NOT_FOUND if !parts.headers.contains_key(CONTENT_TYPE) => {
            return nothing(gateway, &format!("{DOCUMENT} describes what there is"));
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            let detail = format!("{DOCUMENT} describes what there is");
            let problem = asked::wrong(parts.status, &detail).answer(name);
            let allow = parts.headers.remove(http::header::ALLOW);
            let mut problem = problem;
            if let Some(allow) = allow {
                problem.headers_mut().insert(http::header::ALLOW, allow);
            }
            return problem;
        }
        _ => {}
    }
    let mut response = Response::from_parts(parts, text.unwrap_or_default());
    match response.extensions_mut().remove::<Problem>() {
        Some(problem) => problem.answer(name),
        None => {
            sign(&mut response);
            response
        }
    }
}

/// Says what an answer is.
fn sign(response: &mut Response<Bytes>) {
    let headers = response.headers_mut();
    headers
        .entry(CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, super::NO_STORE);
    headers.insert(
        http::header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
}
