//! How bytes are read as answers: much like HTTP on the wire, so that a corpus can be read and
//! mutations stay near to what servers send. Every input is read as something.

use std::sync::OnceLock;

use abide_core::{Instant, Moment, WallTime};
use abide_profile::{Catalogue, Profile};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

/// Our clock, far from both its ends.
pub(crate) const NOW: Instant = Instant::from_secs(1_000_000);

/// Wall clocks that answers come at: the usual one, and what a broken one shows.
pub(crate) const WALLS: [WallTime; 5] = [
    WallTime::from_unix_secs(1_773_144_000),
    WallTime::from_unix_secs(0),
    WallTime::from_unix_nanos(-1),
    WallTime::from_unix_nanos(i64::MIN),
    WallTime::MAX,
];

pub(crate) const fn moment(wall: WallTime) -> Moment {
    Moment::new(NOW, wall)
}

/// Splits at the first `at`; without one all is before it.
pub(crate) fn split<'a>(data: &'a [u8], at: &[u8]) -> (&'a [u8], &'a [u8]) {
    match data.windows(at.len()).position(|w| w == at) {
        Some(n) => (&data[..n], &data[n + at.len()..]),
        None => (data, &[]),
    }
}

/// `name: value` lines. A line without a name of those `known` gets one of them by its length, so
/// that no input is wasted.
pub(crate) fn headers(lines: &[u8], known: &[&'static str]) -> HeaderMap {
    let mut all = HeaderMap::new();
    for line in lines.split(|b| *b == b'\n').take(64) {
        let (name, value) = match line.iter().position(|b| *b == b':') {
            Some(n) => (&line[..n], &line[n + 1..]),
            None => (&line[..0], line),
        };
        let value = value.trim_ascii();
        let name = HeaderName::from_bytes(name.trim_ascii())
            .ok()
            .or_else(|| known.get(line.len() % known.len().max(1))?.parse().ok());
        if let (Some(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
            all.append(name, value);
        }
    }
    all
}

/// The first line: `PROFILE STATUS METHOD /path`.
pub(crate) struct First {
    pub(crate) profile: std::sync::Arc<Profile>,
    pub(crate) status: StatusCode,
    pub(crate) method: Method,
    pub(crate) path: String,
}

impl First {
    pub(crate) fn parse(line: &[u8]) -> Self {
        let mut words = line.split(|b| *b == b' ');
        let mut word = || words.next().unwrap_or_default();
        let (profile, status, method, path) = (word(), word(), word(), word());
        let number = |w: &[u8]| {
            w.iter()
                .fold(0_usize, |n, b| n.wrapping_mul(31) + usize::from(*b))
        };
        let all = catalogue();
        let names = all.names();
        let named = std::str::from_utf8(profile).ok().and_then(|n| all.get(n));
        let status = StatusCode::from_bytes(status)
            .ok()
            .filter(|s| s.as_u16() < 600);
        Self {
            profile: named
                .or_else(|| all.get(names.get(number(profile) % names.len().max(1))?))
                .unwrap_or_else(|| all.generic()),
            status: status.unwrap_or(StatusCode::TOO_MANY_REQUESTS),
            method: Method::from_bytes(method).unwrap_or(Method::GET),
            path: String::from_utf8_lossy(path).into_owned(),
        }
    }
}

/// The built-in profiles, made once.
pub(crate) fn catalogue() -> &'static Catalogue {
    static ALL: OnceLock<Catalogue> = OnceLock::new();
    ALL.get_or_init(Catalogue::built_in)
}
