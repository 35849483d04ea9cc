//! Waiting no longer than somebody has.

use std::time::Duration;

/// What a future comes to within so much time, where there is a bound.
pub(crate) async fn within<F: Future>(left: Option<Duration>, future: F) -> Option<F::Output> {
    match left {
        None => Some(future.await),
        Some(left) => tokio::time::timeout(left, future).await.ok(),
    }
}
