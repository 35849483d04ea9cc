//! A quick look at whether JSON may have been cut off: it is asked of every good answer of a
//! provider that speaks JSON alone, and parsing would cost ten times as much as all else.
//!
//! Strings and brackets of 64 bytes are found at once, as bits of a word, by whatever instructions
//! the machine has.

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, u8x64};

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// Whether all brackets outside of strings are closed and no string is open: a text that ends
/// before its JSON does is never so, unless it is a bare scalar. The text need not be JSON.
pub(super) fn is_balanced(text: &[u8]) -> bool {
    if !matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return false;
    }
    dispatch!(Level::new(), simd => scan(simd, text)).is_balanced()
}

#[inline(always)]
fn scan<S: Simd>(simd: S, text: &[u8]) -> Scan {
    let mut scan = Scan::default();
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    for block in blocks {
        scan.block(u8x64::from_slice(simd, block));
    }
    if !rest.is_empty() {
        // White space changes nothing.
        let mut last = [b' '; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        scan.block(u8x64::from_slice(simd, &last));
    }
    scan
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Scan {
    depth: i64,
    /// Within a string: all bits or none.
    within: u64,
    /// After a backslash that stands for itself: the lowest bit.
    escaped: u64,
}

impl Scan {
    const fn is_balanced(&self) -> bool {
        self.depth == 0 && self.within == 0
    }

    /// Where something is in a block is told by bits, the first byte's the lowest.
    #[inline(always)]
    fn block<S: Simd>(&mut self, bytes: u8x64<S>) {
        let is = |bytes: u8x64<S>, b: u8| bytes.simd_eq(u8x64::splat(bytes.token(), b));
        let mut quotes = is(bytes, b'"').to_bitmask();
        let backslashes = is(bytes, b'\\');
        if backslashes.any_true() || self.escaped != 0 {
            quotes &= !self.escapes(backslashes.to_bitmask());
        }
        // An odd count of quotes up to a byte is within a string.
        let mut within = quotes;
        for by in [1, 2, 4, 8, 16, 32] {
            within ^= within << by;
        }
        within ^= self.within;
        self.within = 0_u64.wrapping_sub(within >> 63);
        // Brackets differ from braces by one bit.
        let folded = bytes | u8x64::splat(bytes.token(), 0x20);
        let opening = (is(folded, b'{').to_bitmask() & !within).count_ones();
        let closing = (is(folded, b'}').to_bitmask() & !within).count_ones();
        self.depth += i64::from(opening) - i64::from(closing);
    }

    /// Which bytes a backslash before them takes the meaning from: in a row of backslashes every
    /// second, and the byte behind one of an odd length. Outside of strings JSON has none.
    fn escapes(&mut self, backslashes: u64) -> u64 {
        const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        let begins = backslashes & !self.escaped;
        // The carry of the difference runs through each row and ends behind it, at a bit that
        // tells by its evenness whether the row is odd.
        let ends = ((begins << 1) | ODD).wrapping_sub(begins) ^ ODD;
        let escapes = ends ^ (backslashes | self.escaped);
        self.escaped = (ends & backslashes) >> 63;
        escapes
    }

    /// The same, byte after byte: what the quick way is held against.
    #[cfg(test)]
    fn bytes(&mut self, bytes: &[u8]) {
        for b in bytes {
            let quote = *b == b'"' && self.escaped == 0;
            self.escaped = u64::from(*b == b'\\' && self.escaped == 0);
            if quote {
                self.within = !self.within;
            }
            if self.within == 0 {
                self.depth += i64::from(matches!(b, b'{' | b'['));
                self.depth -= i64::from(matches!(b, b'}' | b']'));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_cut(text: &[u8]) -> bool {
        serde_json::from_slice::<serde::de::IgnoredAny>(text).is_err_and(|e| e.is_eof())
    }

    const TEXT: &str = r#" {"a":[1,{"b":"}]\\"},"\"{["],"a long name without brackets in it":"and \\\" more",
        "c":{"d":{"e":[[],[]]}}} "#;

    #[test]
    fn what_is_whole_is_balanced_and_what_is_cut_is_not() {
        assert!(is_balanced(TEXT.as_bytes()));
        for end in 0..TEXT.trim_end().len() {
            assert!(!is_balanced(&TEXT.as_bytes()[..end]), "{}", &TEXT[..end]);
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_cut_is_balanced(text in r#"[\[{]([\[\]{}"\\:,1 a]|"[a{}\]\\]{0,9}"|.){0,40}"#) {
            prop_assert!(!(is_cut(text.as_bytes()) && is_balanced(text.as_bytes())), "{}", text);
        }

        #[test]
        fn blocks_and_bytes_agree(
            text in r#"[\[{]([\[\]{}"\\a-z ]|[a-z ]{20}|\\{1,70}"?){0,300}"#,
        ) {
            let mut slow = Scan::default();
            slow.bytes(text.as_bytes());
            let wanted = slow.is_balanced() && text.trim_start().starts_with(['{', '[']);
            prop_assert_eq!(is_balanced(text.as_bytes()), wanted);
        }

        #[test]
        fn nothing_that_is_cut_anywhere_is_balanced(
            names in prop::collection::vec(r#"[a-z{}\[\]"\\é]{0,40}"#, 1..6), end in 0_usize..600,
        ) {
            let mut value = serde_json::Value::Null;
            for name in names {
                value = serde_json::json!({ name: [value, {}, "]"] });
            }
            let text = value.to_string();
            let text = &text.as_bytes()[..end.min(text.len())];
            prop_assert!(!(is_cut(text) && is_balanced(text)));
        }
    }
}
