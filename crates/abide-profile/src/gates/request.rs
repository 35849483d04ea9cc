//! What a request shows of itself, and the parts of it that gates are keyed by.

use abide_core::{GateClass, Scope};
use http::{HeaderMap, Method};
use smallvec::SmallVec;

/// What a request shows of itself.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// Its method.
    pub method: &'a Method,
    /// The host it goes to.
    pub host: &'a str,
    /// Its path, without the query.
    pub path: &'a str,
    /// Its query, if any.
    pub query: Option<&'a str>,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its credential, hashed; `None` without one.
    pub credential: Option<&'a [u8]>,
}

/// What a gate is keyed by: a hash, nothing, or a route of the usual length, since a plain request
/// must not allocate.
pub type Key = SmallVec<[u8; 112]>;

/// A gate that a request passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// How wide it is.
    pub scope: Scope,
    /// Which of the provider's own gates it is.
    pub class: GateClass,
    /// What it is keyed by, beside provider and scope.
    pub key: Key,
    /// Where the server will name the bucket it belongs to: how much of the key comes before the
    /// bucket.
    pub family: Option<usize>,
    /// What the request costs there, in units of the gate's limits.
    pub cost: u32,
}

/// Bytes of the length before each part.
const LENGTH: usize = 4;

/// Adds a part to a key: with its length, so that parts do not run together.
pub(super) fn append(key: &mut Key, part: &[u8]) {
    key.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    key.extend_from_slice(part);
}

/// Adds the path with whatever looks like an id left out.
pub(super) fn append_route(key: &mut Key, path: &str) {
    let at = key.len();
    append(key, &[]);
    for (n, segment) in path.as_bytes().split(|b| *b == b'/').enumerate() {
        if n > 0 {
            key.push(b'/');
        }
        let shown = if is_id(segment) { &b"*"[..] } else { segment };
        key.extend_from_slice(shown);
    }
    let (_, after) = key.split_at_mut(at);
    let len = u32::try_from(after.len() - LENGTH).unwrap_or(u32::MAX);
    after[..LENGTH].copy_from_slice(&len.to_be_bytes());
}

fn is_id(segment: &[u8]) -> bool {
    let (mut digits, mut hex) = (0, true);
    for b in segment {
        digits += usize::from(b.is_ascii_digit());
        hex &= b.is_ascii_hexdigit() || *b == b'-';
    }
    let len = segment.len();
    digits > 0 && (digits == len || len >= 8 && hex) || len >= 16 && digits > 2
}

/// The path's segment of this number, counted from 1; empty where there is none.
pub(super) fn segment(path: &str, n: usize) -> &str {
    path.split('/').nth(n).unwrap_or_default()
}

pub(super) fn parameter<'a>(query: Option<&'a str>, name: &str) -> &'a str {
    let pairs = query.unwrap_or_default().split('&');
    pairs
        .filter_map(|p| p.split_once('='))
        .find(|(n, _)| *n == name)
        .map_or("", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_make_no_routes_of_their_own() {
        let route = |path: &str| {
            let (mut whole, mut parts) = (Key::new(), Key::new());
            append_route(&mut whole, path);
            let text = String::from_utf8(whole[LENGTH..].to_vec()).unwrap();
            append(&mut parts, text.as_bytes());
            assert_eq!(whole, parts);
            text
        };
        assert_eq!(route("/users/123/posts"), "/users/*/posts");
        assert_eq!(route("/v1/items"), "/v1/items");
        assert_eq!(route("/o/3fa85f64-5717-4562-b3fc-2c963f66afa6"), "/o/*");
        assert_eq!(route("/works/OL45883W.json"), "/works/OL45883W.json");
        assert_eq!(route("/"), "/");
    }
}
