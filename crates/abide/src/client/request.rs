//! A request on its way out: what goes on the wire, how long is waited.

use abide_core::call::Call;

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
