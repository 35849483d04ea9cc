//! Words in the file for what is an enum in the program: an operator reads them with any SQLite
//! shell, and a new variant moves no number.

use abide_core::{AskSource, Scope, Verdict};

use super::fault::Fault;

pub(super) fn scope(word: &str) -> Result<Scope, Fault> {
    let all = [
        Scope::Request,
        Scope::Route,
        Scope::Account,
        Scope::Provider,
    ];
    find(all, Scope::as_str, word, "scope")
}

pub(super) fn verdict(word: &str) -> Result<Verdict, Fault> {
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
    find(all, Verdict::as_str, word, "cause")
}

pub(super) fn source(word: &str) -> Result<AskSource, Fault> {
    let all = [
        AskSource::RetryAfter,
        AskSource::RateLimitReset,
        AskSource::Body,
        AskSource::Learned,
        AskSource::Policy,
        AskSource::Operator,
    ];
    find(all, AskSource::as_str, word, "source of an ask")
}

fn find<T: Copy, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
    word: &str,
    what: &str,
) -> Result<T, Fault> {
    all.into_iter()
        .find(|v| name(*v) == word)
        .ok_or_else(|| Fault::corrupt(format!("{word:?} is no {what}")))
}
