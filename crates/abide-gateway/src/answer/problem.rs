//! A refusal as RFC 9457 has it, with `Proxy-Status` (RFC 9209) telling that it is ours.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::{Response, StatusCode};
use serde_json::{Map, Value};

const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
/// Whatever we say is true now, of this caller.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Types of problems that IANA has registered for refusals.
pub(crate) mod types {
    pub(crate) const QUOTA: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
    pub(crate) const REDUCED: &str =
        "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
    pub(crate) const ABNORMAL: &str =
        "https://iana.org/assignments/http-problem-types#abnormal-usage-detected";
    pub(crate) const NONE: &str = "about:blank";
}

/// A refusal of our own.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// One of [`types`].
    pub(crate) kind: &'static str,
    /// What it is, in the same words each time.
    pub(crate) title: &'static str,
    /// What happened this time, and what to do.
    pub(crate) detail: String,
    /// The token of RFC 9209.
    pub(crate) error: &'static str,
    /// Seconds, rounded up.
    pub(crate) retry_after: Option<u64>,
    /// How the caller may show who it is.
    pub(crate) challenge: Option<HeaderValue>,
    /// Whatever else is known.
    pub(crate) more: Map<String, Value>,
}

impl Problem {
    /// A refusal that nobody but the caller can mend.
    pub(crate) fn new(
        status: StatusCode,
        title: &'static str,
        error: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            status,
            kind: types::NONE,
            title,
            detail: detail.into(),
            error,
            retry_after: None,
            challenge: None,
            more: Map::new(),
        }
    }

    /// As an answer; `name` is the gateway's.
    pub(crate) fn answer(self, name: &str) -> Response<Bytes> {
        let status_line = self.proxy_status(name);
        let mut body = Map::new();
        body.insert("type".to_owned(), self.kind.into());
        body.insert("title".to_owned(), self.title.into());
        body.insert("status".to_owned(), self.status.as_u16().into());
        body.insert("detail".to_owned(), self.detail.into());
        body.extend(self.more);
        let mut text = Value::Object(body).to_string();
        text.push('\n');
        let mut response = Response::new(Bytes::from(text));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, PROBLEM);
        headers.insert(CACHE_CONTROL, NO_STORE);
        if let Ok(value) = HeaderValue::try_from(status_line) {
            headers.insert(PROXY_STATUS, value);
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(challenge) = self.challenge {
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }

    fn proxy_status(&self, name: &str) -> String {
        let mut line = format!("{name}; error={}", self.error);
        // The status stands there where the error does not fix it (RFC 9209 section 2.3).
        if matches!(self.error, "http_request_error") {
            line.push_str(&format!("; status-code={}", self.status.as_u16()));
        }
        let details: String = self
            .detail
            .chars()
            .filter(|c| (' '..='~').contains(c))
            .collect();
        let details = details.replace('\\', "\\\\").replace('"', "\\\"");
        line.push_str(&format!("; details=\"{details}\""));
        line
    }
}
