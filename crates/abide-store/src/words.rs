//! Words in stores for what is an enum in the program: an operator reads them with any shell of
//! the store's, and a new variant moves no number.

use abide_core::{AskSource, Scope, Verdict};

pub(crate) fn scope(word: &str) -> Option<Scope> {
    let all = [
        Scope::Request,
        Scope::Route,
        Scope::Account,
        Scope::Provider,
    ];
    all.into_iter().find(|v| v.as_str() == word)
}

pub(crate) fn verdict(word: &str) -> Option<Verdict> {
    let all = [
        Verdict::AuthError,
        Verdict::Banned,
        Verdict::ClientError,
        Verdict::NotFound,
        Verdict::Offline,
        Verdict::QuotaExhausted,
        Verdict::RateLimited,
        Verdict::Success,
        Verdict::Unavailable,
    ];
    all.into_iter().find(|v| v.as_str() == word)
}

pub(crate) fn source(word: &str) -> Option<AskSource> {
    let all = [
        AskSource::RetryAfter,
        AskSource::RateLimitReset,
        AskSource::Body,
        AskSource::Learned,
        AskSource::Policy,
        AskSource::Operator,
    ];
    all.into_iter().find(|v| v.as_str() == word)
}
