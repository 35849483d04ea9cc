//! Whose word a place in an answer is.

use abide::core::AskSource;

/// The source that a place belongs to.
pub(super) fn source_of(name: &str) -> AskSource {
    if name.starts_with('$') || name == "the text of the body" {
        AskSource::Body
    } else if name.contains("retry-after") {
        AskSource::RetryAfter
    } else {
        AskSource::RateLimitReset
    }
}
