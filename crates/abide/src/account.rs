//! Whose credential a request carries, as a hash.
//!
//! What it is made of is only looked at where it lies: nothing secret is copied about.

use std::borrow::Cow;

use abide_profile::Profile;
use http::HeaderMap;
use smallvec::SmallVec;

use crate::place::Place;
use crate::secrets::{is_known_secret, is_own_header, is_own_parameter, is_secret_header};

/// A part of a credential and what it is called.
type Part<'a> = (&'a [u8], Cow<'a, [u8]>);

/// What the account of a request is told by, made into a name of it; `None` where it carries no
/// credential.
pub(crate) fn account<T>(
    profile: &Profile,
    place: &Place<'_>,
    headers: &HeaderMap,
    name: impl FnOnce(&[&[u8]]) -> T,
) -> Option<T> {
    let mut parts: SmallVec<[Part<'_>; 4]> = SmallVec::new();
    let secrets = headers.iter().filter(|(name, _)| {
        // Cookies change from answer to answer; they name no account that lasts.
        is_secret_header(name) && !name.as_str().contains("cookie") || is_own_header(profile, name)
    });
    for (name, value) in secrets {
        parts.push((name.as_str().as_bytes(), Cow::Borrowed(value.as_bytes())));
    }
    if !place.user.is_empty() || place.password.is_some() {
        let password = place.password.unwrap_or_default();
        parts.push((place.user.as_bytes(), Cow::Borrowed(password.as_bytes())));
    }
    if let Some(query) = place.query {
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            // A word that only sounds like a secret may be that of a page: it makes no account.
            if is_known_secret(&name) || is_own_parameter(profile, &name) {
                let value = match value {
                    Cow::Borrowed(v) => Cow::Borrowed(v.as_bytes()),
                    Cow::Owned(v) => Cow::Owned(v.into_bytes()),
                };
                parts.push((&[], value));
            }
        }
    }
    if let Some(n) = profile.told().credential.segment
        && let Some(segment) = place.path.split('/').nth(n)
    {
        parts.push((&[], Cow::Borrowed(segment.as_bytes())));
    }
    if parts.is_empty() {
        return None;
    }
    if let [(told, value)] = &parts[..] {
        return Some(name(&[told, value]));
    }
    // In whatever order they were put in, they are the same account's.
    parts.sort_unstable();
    let parts = parts.iter().flat_map(|(told, value)| [*told, &**value]);
    Some(name(&parts.collect::<SmallVec<[&[u8]; 8]>>()))
}
