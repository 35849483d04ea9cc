//! The meaning of a status where no rule of a profile says otherwise.

use http::{StatusCode, header};

use super::{Answer, ClassifyPolicy, RequestView};
use crate::signal::{Hint, Media};
use crate::verdict::{Scope, Verdict};

/// Verdict and scope by status and headers alone.
///
/// Unknown codes count as the first of their class: an unknown 4xx is our mistake, anything
/// above is the provider's.
pub(super) fn of(
    request: &RequestView<'_>,
    answer: &Answer<'_>,
    policy: &ClassifyPolicy,
) -> (Verdict, Scope) {
    let signal = answer.signal;
    let verdict = match signal.status.as_u16() {
        // Neither has a body, whatever its header calls it.
        204 | 205 => Verdict::Success,
        200..=299 if request.accepts_json && signal.media == Media::Html => Verdict::Unavailable,
        300..=399 if leads_to_ban(answer, policy) => Verdict::Banned,
        0..=399 => Verdict::Success,
        401 | 403 => Verdict::AuthError,
        404 | 410 => Verdict::NotFound,
        // The proxy's credential, not the provider's.
        407 => return (Verdict::AuthError, Scope::Request),
        // The server gave up waiting for us, or feared a replay: this request only.
        408 | 425 => return (Verdict::Unavailable, Scope::Request),
        // Too large is final, unless the server says that it is for now.
        413 if signal.retry_after != Hint::Absent => return (Verdict::Unavailable, Scope::Request),
        429 => Verdict::RateLimited,
        400..=499 => Verdict::ClientError,
        // Something broke over this request; an ask makes it an outage of the whole.
        500 if signal.retry_after == Hint::Absent => return (Verdict::Unavailable, Scope::Route),
        // What is not implemented, or not spoken, will not be after a wait.
        501 => return (Verdict::ClientError, Scope::Route),
        505 => return (Verdict::ClientError, Scope::Provider),
        _ => Verdict::Unavailable,
    };
    (verdict, scope_of(verdict))
}

/// What a verdict covers when nobody says: the widest it can mean, since a hold too small is a
/// ban and a hold too wide a pause.
pub(super) const fn scope_of(verdict: Verdict) -> Scope {
    match verdict {
        Verdict::AuthError | Verdict::QuotaExhausted | Verdict::RateLimited => Scope::Account,
        Verdict::Banned | Verdict::Offline | Verdict::Unavailable => Scope::Provider,
        Verdict::ClientError | Verdict::NotFound | Verdict::Success => Scope::Request,
    }
}

/// Whether a hint on this answer binds only what follows it (poll no sooner, follow no sooner).
pub(super) fn hint_is_for_the_next_step(status: StatusCode) -> bool {
    status == StatusCode::ACCEPTED || status.is_redirection() && status != StatusCode::NOT_MODIFIED
}

/// The answer sends us to a page that only a person can pass.
fn leads_to_ban(answer: &Answer<'_>, policy: &ClassifyPolicy) -> bool {
    let Some(location) = answer.headers.get(header::LOCATION) else {
        return false;
    };
    policy
        .ban_redirects
        .iter()
        .any(|place| is_at(location.as_bytes(), place.as_bytes()))
}

/// Whether the absolute reference `url` is at `place` (`host/path`, subdomains included).
fn is_at(url: &[u8], place: &[u8]) -> bool {
    let Some(start) = url.windows(2).position(|w| w == b"//") else {
        return false;
    };
    let (scheme, rest) = (&url[..start], &url[start + 2..]);
    if !(scheme.is_empty() || scheme.ends_with(b":")) {
        return false;
    }
    let split = |v: &[u8]| v.iter().position(|b| matches!(b, b'/' | b'?' | b'#'));
    let (host, path) = rest.split_at(split(rest).unwrap_or(rest.len()));
    let (wanted_host, wanted_path) = place.split_at(split(place).unwrap_or(place.len()));
    let Some(at) = host.len().checked_sub(wanted_host.len()) else {
        return false;
    };
    let (before, host) = host.split_at(at);
    host.eq_ignore_ascii_case(wanted_host)
        && (before.is_empty() || before.ends_with(b"."))
        && path.strip_prefix(wanted_path).is_some_and(|rest| {
            wanted_path.is_empty() || matches!(rest.first(), None | Some(b'/' | b'?' | b'#'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_match_whole_names_only() {
        let at = |url: &str| is_at(url.as_bytes(), b"google.com/sorry");
        assert!(at("https://www.google.com/sorry/index?continue=x"));
        assert!(at("//GOOGLE.com/sorry"));
        assert!(at("https://google.com/sorry?x"));
        assert!(!at("https://notgoogle.com/sorry"));
        assert!(!at("https://google.com/sorryful"));
        assert!(!at("https://example.org/?u=https://google.com/sorry"));
        assert!(!at("/sorry//google.com/sorry"));
        assert!(!at(""));
        assert!(is_at(b"https://captcha.example/x", b"captcha.example"));
    }
}
