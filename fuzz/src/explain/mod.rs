//! The files of the command's own crate that read recordings.

#![allow(dead_code, unreachable_pub, reason = "the command uses the rest")]

#[path = "../../../crates/abide-cli/src/explain/har.rs"]
mod har;
#[path = "../../../crates/abide-cli/src/explain/http.rs"]
mod http;
#[path = "../../../crates/abide-cli/src/explain/input.rs"]
mod input;

/// A status, headers, and a body where one was recorded.
type Said = (::http::StatusCode, ::http::HeaderMap, Option<Vec<u8>>);

/// Every answer that is found in a text, read either way.
pub(crate) fn answers(text: &[u8]) -> Vec<Said> {
    let har = har::parse(text).unwrap_or_default();
    let all = har.into_iter().flatten().chain(http::parse(text).ok());
    all.map(|g| (g.status, g.headers, g.body)).collect()
}
