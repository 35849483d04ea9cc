//! What a request to the API says, and what is answered where it makes no sense.

use std::time::Duration;

use abide::core::WallTime;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::answer::Problem;

/// Why a request is not done.
#[derive(Debug)]
pub(super) struct Wrong(Box<Problem>);

/// Something is wrong with it.
pub(super) fn wrong(status: StatusCode, detail: &str) -> Problem {
    let title = "The request cannot be done";
    Problem::new(status, title, "http_request_error", detail)
}

impl Wrong {
    pub(super) fn new(status: StatusCode, detail: &str) -> Self {
        Self(Box::new(wrong(status, detail)))
    }

    /// It can be read, and asks for what cannot be.
    pub(super) fn senseless(detail: &str) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// There is no such thing.
    pub(super) fn missing(detail: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }
}

/// The problem goes along as it is: what it becomes depends on the gateway's name.
impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        let kind = http::HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response.extensions_mut().insert(*self.0);
        response
    }
}

/// A body of JSON, which says that it is; errors say what is wrong with it and where.
#[derive(Debug)]
pub(super) struct Told<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Told<T> {
    type Rejection = Wrong;

    async fn from_request(request: Request, state: &S) -> Result<Self, Wrong> {
        if !is_json(request.headers()) {
            return Err(Wrong::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send JSON: Content-Type: application/json, and {} where there is nothing to say",
            ));
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|e: BytesRejection| Wrong::new(e.status(), &e.body_text()))?;
        let read = serde_json::from_slice(&body);
        read.map(Self).map_err(|e| {
            let status = match e.is_data() {
                true => StatusCode::UNPROCESSABLE_ENTITY,
                false => StatusCode::BAD_REQUEST,
            };
            Wrong::new(status, &format!("the body: {e}"))
        })
    }
}

/// A page of another origin may send a form, but not this, without asking first.
fn is_json(headers: &HeaderMap) -> bool {
    let told = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
    let kind = told.and_then(|told| told.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// What stands behind the question mark.
#[derive(Debug)]
pub(super) struct Asked<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Wrong;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Wrong> {
        let read = axum::extract::Query::try_from_uri(&parts.uri);
        read.map(|axum::extract::Query(asked)| Self(asked))
            .map_err(|e: QueryRejection| Wrong::new(e.status(), &e.body_text()))
    }
}

/// A part of the path, as it is meant.
#[derive(Debug)]
pub(super) struct Named(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Wrong;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Wrong> {
        let named = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        named
            .map(|axum::extract::Path(name)| Self(name))
            .map_err(|e| Wrong::new(StatusCode::BAD_REQUEST, &e.body_text()))
    }
}

/// The longest hold a person may place: a gate that nobody remembers closing is a fault, and
/// `hold.max` allows no more anyway.
const LONGEST: Duration = Duration::from_secs(31 * 86_400);

/// How long from now: a length (`10m`) or an instant (RFC 3339), one of the two.
pub(super) fn length(
    length: Option<&str>,
    until: Option<&str>,
    now: WallTime,
) -> Result<Duration, Wrong> {
    let length = match (length, until) {
        (Some(text), None) => abide_config::duration(text).map_err(|e| Wrong::senseless(&e))?,
        (None, Some(text)) => instant(text)?.since(now),
        _ => {
            return Err(Wrong::senseless(
                "say how long: either `for` (as 10m) or `until` (as 2026-03-10T12:05:00Z)",
            ));
        }
    };
    match length {
        Duration::ZERO => Err(Wrong::senseless("that is over already")),
        length if length > LONGEST => Err(Wrong::senseless("31 days are the most")),
        length => Ok(length),
    }
}

/// An instant in RFC 3339.
pub(super) fn instant(text: &str) -> Result<WallTime, Wrong> {
    let parsed: Result<jiff::Timestamp, _> = text.parse();
    let nanos = parsed
        .ok()
        .and_then(|t| i64::try_from(t.as_nanosecond()).ok());
    let wrong = || Wrong::senseless(&format!("{text:?} is no time as 2026-03-10T12:05:00Z"));
    nanos.map(WallTime::from_unix_nanos).ok_or_else(wrong)
}

/// The longest reason, in characters: a line of a table, twice.
pub(super) const LONGEST_REASON: usize = 200;

/// A reason, without what could move a cursor.
pub(super) fn reason(text: Option<String>) -> Result<Option<String>, Wrong> {
    let Some(text) = text else { return Ok(None) };
    let text = text.trim();
    if text.chars().count() > LONGEST_REASON {
        return Err(Wrong::senseless("a reason has 200 characters at the most"));
    }
    if text.chars().any(char::is_control) {
        return Err(Wrong::senseless(
            "a reason is one line, without control characters",
        ));
    }
    Ok(Some(text.to_owned()).filter(|t| !t.is_empty()))
}
