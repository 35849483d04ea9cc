//! The headers that readings look at, found in one walk: a lookup hashes a name, and a
//! dozen of them cost more than all else about a good answer.

use abide_core::signal::NameSet;
use http::{HeaderMap, HeaderName, HeaderValue};
use smallvec::SmallVec;

/// How many names have a place; further ones are looked up.
const PLACES: usize = 32;
/// How many looks are told apart.
const LOOKS: usize = 64;

/// Which headers are looked at.
#[derive(Debug, Default)]
pub(super) struct Heads {
    names: Vec<HeaderName>,
    /// Which of them have a look, a bit each; most others have none of these.
    looks: Vec<u32>,
}

/// Where they are in one answer: few are in it.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    lines: SmallVec<[(u32, &'a HeaderValue); 8]>,
    several: u32,
    any: u32,
}

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
        self.looks.resize(LOOKS, 0);
        self.looks[look(name)] |= 1 << self.names.len();
        self.names.push(name.clone());
        Some(self.names.len() - 1)
    }

    /// Looks for all of them.
    pub(super) fn find<'a>(&self, headers: &'a HeaderMap) -> Found<'a> {
        let mut found = Found::default();
        for (name, value) in headers {
            let mut like = self.looks.get(look(name)).copied().unwrap_or(0);
            if like == 0 {
                continue;
            }
            let at = loop {
                let at = like.trailing_zeros();
                if self.names.get(at as usize).is_none_or(|n| n == name) {
                    break at;
                }
                like &= like - 1;
            };
            if at == u32::BITS {
                continue;
            }
            let bit = 1 << at;
            if found.any & bit == 0 {
                found.any |= bit;
                found.lines.push((bit, value));
            } else {
                found.several |= bit;
            }
        }
        found
    }
}

impl<'a> Found<'a> {
    pub(super) fn at(&self, place: usize) -> Lines<'a> {
        let bit = match place {
            0..PLACES => 1 << place,
            _ => return Lines::Several,
        };
        if self.several & bit != 0 {
            return Lines::Several;
        }
        if self.any & bit == 0 {
            return Lines::None;
        }
        let mut lines = self.lines.iter();
        let line = lines.find(|(at, _)| *at == bit);
        line.map_or(Lines::None, |(_, line)| Lines::One(line))
    }
}

/// By its length and the last byte but one: `limit` and `reset` are as long, and end alike.
fn look(name: &HeaderName) -> usize {
    let name = name.as_str().as_bytes();
    match name {
        [.., b, _] => (name.len() + 7 * usize::from(*b)) % LOOKS,
        _ => name.len(),
    }
}

/// A name as a set.
pub(super) fn set(name: &HeaderName) -> NameSet {
    NameSet::of(name.as_str().as_bytes())
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
        let places: Vec<_> = (1..=40).map(|n| heads.place(&name(n))).collect();
        assert_eq!(heads.place(&name(3)), Some(2));
        assert!(places[..PLACES].iter().all(Option::is_some));
        assert!(places[PLACES..].iter().all(Option::is_none));
        let mut headers = HeaderMap::new();
        for (n, value) in [(3, "a"), (2, "b"), (3, "c"), (9, "d"), (20, "e")] {
            headers.append(name(n), HeaderValue::from_static(value));
        }
        headers.append("x-zzz", HeaderValue::from_static("f"));
        let found = heads.find(&headers);
        for (n, place) in (1..=40).zip(places) {
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
