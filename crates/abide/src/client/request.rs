//! A request on its way out: what goes on the wire, what its caller takes, how long is waited.

use std::time::Duration;

use abide_core::call::Call;
use http::header::ACCEPT;

/// What goes on the wire, and whether it could go again: a body that is a stream or too large to
/// be kept goes with the first send, and is never refused for that.
pub(super) fn outgoing(request: &mut reqwest::Request, call: &Call) -> (reqwest::Request, bool) {
    let body = request.body();
    let kept = match body.map(reqwest::Body::as_bytes) {
        None => true,
        Some(Some(bytes)) => call.keeps(bytes.len() as u64),
        Some(None) => false,
    };
    if kept && let Some(copy) = request.try_clone() {
        return (copy, true);
    }
    // The head stays, for a redirect that goes on without the body.
    let mut head = reqwest::Request::new(request.method().clone(), request.url().clone());
    head.headers_mut().clone_from(request.headers());
    *head.timeout_mut() = request.timeout().copied();
    (std::mem::replace(request, head), false)
}

/// What a future comes to within so much time, where there is a bound.
pub(crate) async fn within<F: Future>(left: Option<Duration>, future: F) -> Option<F::Output> {
    match left {
        None => Some(future.await),
        Some(left) => tokio::time::timeout(left, future).await.ok(),
    }
}

/// Whether the caller takes nothing but JSON, whatever line of its Accept says so.
pub(super) fn accepts_json(request: &reqwest::Request) -> bool {
    let json = |part: &str| {
        let media = part.split(';').next().unwrap_or_default().trim();
        media.eq_ignore_ascii_case("application/json")
            || (media.starts_with("application/") && media.ends_with("+json"))
    };
    let lines = request.headers().get_all(ACCEPT);
    lines.iter().next().is_some()
        && lines.iter().all(|line| {
            line.to_str()
                .is_ok_and(|accept| accept.split(',').all(json))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_an_accept_counts() {
        let takes = |lines: &[&str]| {
            let url = "https://a.example/".parse().unwrap();
            let mut request = reqwest::Request::new(http::Method::GET, url);
            for line in lines {
                request.headers_mut().append(ACCEPT, line.parse().unwrap());
            }
            accepts_json(&request)
        };
        assert!(!takes(&[]));
        assert!(takes(&[
            "application/json",
            "application/problem+json;q=0.5"
        ]));
        assert!(!takes(&["application/json", "text/html"]));
        assert!(!takes(&["application/json, */*"]));
    }
}
