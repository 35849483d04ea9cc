//! What a regular expression cannot do without: asked of every good answer, and a search for a few
//! bytes costs a fraction of one by an expression.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// How many pieces are worth looking for in place of the expression.
const MAX_PIECES: usize = 4;

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bytes([u64; 4]);

impl Bytes {
    fn put(&mut self, from: u8, to: u8) {
        for b in from..=to {
            self.0[usize::from(b / 64)] |= 1 << (b % 64);
        }
    }

    fn join(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
    }

    pub(super) const fn has(&self, b: u8) -> bool {
        self.0[(b / 64) as usize] & (1 << (b % 64)) != 0
    }
}

/// Reads an expression as one over bytes; `None` for one that is none.
pub(super) fn parse(text: &str) -> Option<Hir> {
    ParserBuilder::new().utf8(false).build().parse(text).ok()
}

/// The bytes one of which a text that matches must begin with, where the expression matches at
/// the beginning alone and matches something.
pub(super) fn beginnings(hir: &Hir) -> Option<Bytes> {
    let anchored = hir.properties().look_set_prefix().contains(Look::Start);
    let mut bytes = Bytes::default();
    (anchored && !begin(hir, &mut bytes)).then_some(bytes)
}

/// Adds what `hir` may begin with; whether it may match nothing.
fn begin(hir: &Hir, bytes: &mut Bytes) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(text) => text.0.first().is_none_or(|b| {
            bytes.put(*b, *b);
            false
        }),
        HirKind::Class(Class::Bytes(class)) => {
            class.iter().for_each(|r| bytes.put(r.start(), r.end()));
            false
        }
        HirKind::Class(Class::Unicode(class)) => {
            for range in class.iter() {
                let ascii = |c: char| u8::try_from(c).ok().filter(u8::is_ascii);
                if let Some(from) = ascii(range.start()) {
                    bytes.put(from, ascii(range.end()).unwrap_or(0x7F));
                }
                if !range.end().is_ascii() {
                    bytes.put(0x80, 0xFF);
                }
            }
            false
        }
        HirKind::Repetition(repetition) => {
            let nothing = begin(&repetition.sub, bytes);
            nothing || repetition.min == 0
        }
        HirKind::Capture(capture) => begin(&capture.sub, bytes),
        HirKind::Concat(parts) => parts.iter().all(|part| begin(part, bytes)),
        HirKind::Alternation(ways) => {
            let mut nothing = false;
            for way in ways {
                let mut own = Bytes::default();
                nothing |= begin(way, &mut own);
                bytes.join(own);
            }
            nothing
        }
    }
}

/// Pieces of which a text that matches must have one, the longest there are; `None` where it may
/// do without any.
pub(super) fn pieces(hir: &Hir) -> Option<Vec<&[u8]>> {
    match hir.kind() {
        HirKind::Literal(text) => Some(vec![&text.0]),
        HirKind::Repetition(repetition) if repetition.min > 0 => pieces(&repetition.sub),
        HirKind::Capture(capture) => pieces(&capture.sub),
        HirKind::Concat(parts) => {
            let shortest = |all: &Vec<&[u8]>| all.iter().map(|p| p.len()).min();
            // The first of the longest.
            parts.iter().rev().filter_map(pieces).max_by_key(shortest)
        }
        HirKind::Alternation(ways) => {
            let mut all = Vec::new();
            for way in ways {
                all.extend(pieces(way)?);
            }
            (all.len() <= MAX_PIECES).then_some(all)
        }
        _ => None,
    }
}

/// Whether a text that matches must have a byte.
pub(super) fn needs_byte(hir: &Hir, byte: u8) -> bool {
    match hir.kind() {
        HirKind::Literal(text) => text.0.contains(&byte),
        HirKind::Repetition(repetition) => repetition.min > 0 && needs_byte(&repetition.sub, byte),
        HirKind::Capture(capture) => needs_byte(&capture.sub, byte),
        HirKind::Concat(parts) => parts.iter().any(|part| needs_byte(part, byte)),
        HirKind::Alternation(ways) => ways.iter().all(|way| needs_byte(way, byte)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Option<Vec<String>> {
        let hir = parse(text).unwrap();
        let text = |p: &[u8]| String::from_utf8_lossy(p).into_owned();
        pieces(&hir).map(|all| all.into_iter().map(text).collect())
    }

    #[test]
    fn the_longest_piece_that_must_be_there_is_found() {
        let some = |all: &[&str]| Some(all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        assert_eq!(of("<error code=\"1[16]\""), some(&["<error code=\"1"]));
        assert_eq!(of(r"(?i)<error(?:\s+code)?\s*>\s*banned"), some(&["<"]));
        assert_eq!(of("(?:abc|de)+x"), some(&["abc", "de"]));
        assert_eq!(of("(?:abc|d*)"), None);
        assert_eq!(of("(?:abc)?"), None);
        assert_eq!(of("a|b|c[de]f|g"), some(&["a", "b", "c", "g"]));
    }

    #[test]
    fn what_may_begin_anywhere_has_no_beginnings() {
        let begins = |text: &str| beginnings(&parse(text).unwrap());
        assert_eq!(begins("abc"), None);
        assert_eq!(begins("(?m)^abc"), None);
        assert_eq!(begins("^a|b"), None);
        assert_eq!(begins("^a*"), None);
        let page = begins(r"(?i)^\s*<(?:!doctype\s+html|html)[\s>]").unwrap();
        assert!(page.has(b'<') && page.has(b'\n') && page.has(b' ') && page.has(0xC2));
        assert!(!page.has(b'{') && !page.has(b'h'));
        let kelvin = begins("(?i)^k").unwrap();
        assert!(kelvin.has(b'k') && kelvin.has(b'K') && kelvin.has(0xE2) && !kelvin.has(b'a'));
    }

    proptest! {
        /// Whatever matches begins as told and has one of the pieces.
        #[test]
        fn nothing_that_matches_is_missed(
            pattern in r"(\(\?i\))?\^?([ab]|\[ab\]|\(a\|b\)|\(\?:ab\|b\*\|é\)|a\?|b\*|\(ab\)\+|\\s\*|\||k){1,6}\$?",
            texts in prop::collection::vec("[abAB kéK]{0,6}", 20),
        ) {
            let made = regex::bytes::Regex::new(&pattern).unwrap();
            let hir = parse(&pattern).unwrap();
            let (begins, pieces) = (beginnings(&hir), pieces(&hir));
            let needs_b = needs_byte(&hir, b'b');
            for text in texts.iter().map(String::as_bytes).filter(|t| made.is_match(t)) {
                if let Some(begins) = begins {
                    prop_assert!(text.first().is_some_and(|b| begins.has(*b)), "{}", pattern);
                }
                prop_assert!(!needs_b || text.contains(&b'b'), "{}", pattern);
                if let Some(pieces) = &pieces {
                    let found = pieces.iter().any(|p| memchr::memmem::find(text, p).is_some());
                    prop_assert!(found, "{}", pattern);
                }
            }
        }
    }
}
