//! The headers that readings look at, found in one walk: a lookup hashes a name, and a dozen of
//! them cost more than all else about a good answer.

use http::{HeaderMap, HeaderName, HeaderValue};

/// How many names have a place; further ones are looked up.
const PLACES: usize = 16;

/// Which headers are looked at.
#[derive(Debug, Default)]
pub(super) struct Heads {
    names: Vec<HeaderName>,
    /// The lengths of their names, of which most others have none.
    lengths: u64,
}

/// Where they are in one answer.
#[derive(Debug, Default)]
pub(super) struct Found<'a>([Lines<'a>; PLACES]);

/// The lines of one name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Lines<'a> {
    #[default]
    None,
    One(&'a HeaderValue),
    /// They have to be looked up.
    Several,
}

impl Heads {
    /// The place of a name; `None` when there are no more.
    pub(super) fn place(&mut self, name: &HeaderName) -> Option<usize> {
        let known = self.names.iter().position(|n| n == name);
        if known.is_some() || self.names.len() == PLACES {
            return known;
        }
        self.lengths |= length(name);
        self.names.push(name.clone());
        Some(self.names.len() - 1)
    }

    /// Looks for all of them.
    pub(super) fn find<'a>(&self, headers: &'a HeaderMap) -> Found<'a> {
        let mut found = Found::default();
        for (name, value) in headers {
            if self.lengths & length(name) == 0 {
                continue;
            }
            if let Some(at) = self.names.iter().position(|n| n == name) {
                found.0[at] = match found.0[at] {
                    Lines::None => Lines::One(value),
                    Lines::One(_) | Lines::Several => Lines::Several,
                };
            }
        }
        found
    }
}

impl<'a> Found<'a> {
    pub(super) fn at(&self, place: usize) -> Lines<'a> {
        self.0.get(place).copied().unwrap_or(Lines::Several)
    }
}

fn length(name: &HeaderName) -> u64 {
    1 << (name.as_str().len() % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_holds_what_a_lookup_gives() {
        let name = |n: usize| {
            format!("x-{}", "y".repeat(n))
                .parse::<HeaderName>()
                .unwrap()
        };
        let mut heads = Heads::default();
        let places: Vec<_> = (1..=20).map(|n| heads.place(&name(n))).collect();
        assert_eq!(heads.place(&name(3)), Some(2));
        assert!(places[..PLACES].iter().all(Option::is_some));
        assert!(places[PLACES..].iter().all(Option::is_none));
        let mut headers = HeaderMap::new();
        for (n, value) in [(3, "a"), (2, "b"), (3, "c"), (9, "d"), (20, "e")] {
            headers.append(name(n), HeaderValue::from_static(value));
        }
        headers.append("x-zzz", HeaderValue::from_static("f"));
        let found = heads.find(&headers);
        for (n, place) in (1..=20).zip(places) {
            let Some(place) = place else {
                continue;
            };
            let lines: Vec<_> = headers.get_all(name(n)).iter().collect();
            match found.at(place) {
                Lines::None => assert!(lines.is_empty(), "{n}"),
                Lines::One(line) => assert_eq!(lines, [line], "{n}"),
                Lines::Several => assert!(lines.len() > 1, "{n}"),
            }
        }
    }
}
