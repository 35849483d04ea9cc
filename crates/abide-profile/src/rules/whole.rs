//! A quick look at whether JSON may have been cut off: it is asked of every good answer of a
//! provider that speaks JSON alone, and parsing would cost ten times as much as all else.

/// Bytes that are looked at together.
const BLOCK: usize = 64;
/// One in each byte of a word.
const ONES: u64 = u64::MAX / 255;

/// Whether all brackets outside of strings are closed and no string is open: a text that ends
/// before its JSON does is never so, unless it is a bare scalar. The text need not be JSON.
pub(super) fn is_balanced(text: &[u8]) -> bool {
    if !matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return false;
    }
    let mut scan = Scan::default();
    let (blocks, rest) = text.as_chunks::<BLOCK>();
    blocks.iter().for_each(|b| scan.block(b));
    // White space changes nothing.
    let mut last = [b' '; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    scan.block(&last);
    scan.depth == 0 && !scan.within
}

#[derive(Default)]
struct Scan {
    depth: i64,
    /// Within a string.
    within: bool,
    /// After a backslash in one.
    escaped: bool,
}

impl Scan {
    /// Many bytes at once. Each step is one that compilers turn into instructions for many bytes.
    fn block(&mut self, block: &[u8; BLOCK]) {
        let escapes = block.iter().fold(false, |found, b| found | (*b == b'\\'));
        if escapes || self.escaped {
            self.bytes(block);
            return;
        }
        let quotes = flags(block, |b| u8::from(b == b'"'));
        // Those that open in the lower half of a byte, those that close in the upper.
        let brackets = flags(block, |b| u8::from(opens(b)) | (u8::from(closes(b)) << 4));
        let mut counted = 0_u64;
        let mut before = if self.within { u64::MAX } else { 0 };
        for (quotes, brackets) in quotes.into_iter().zip(brackets) {
            // The product counts in each byte the quotes up to it; an odd count is within.
            let count = quotes.wrapping_mul(ONES);
            let within = (count ^ before) & ONES;
            counted += brackets & !(within | (within << 4));
            before ^= 0_u64.wrapping_sub((count >> 56) & 1);
        }
        self.within = before != 0;
        // At most eight in each half, so the sum of all fits into the highest byte.
        let sum = |halves: u64| ((halves & (15 * ONES)).wrapping_mul(ONES) >> 56) as i64;
        self.depth += sum(counted) - sum(counted >> 4);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for b in bytes {
            let quote = *b == b'"' && !self.escaped;
            self.escaped = self.within && *b == b'\\' && !self.escaped;
            self.within ^= quote;
            self.depth += i64::from(!self.within) * (i64::from(opens(*b)) - i64::from(closes(*b)));
        }
    }
}

/// Brackets differ from braces by one bit.
const fn opens(b: u8) -> bool {
    b | 0x20 == b'{'
}

const fn closes(b: u8) -> bool {
    b | 0x20 == b'}'
}

/// What each byte is told to be, as words whose lowest byte comes first.
fn flags(block: &[u8; BLOCK], of: impl Fn(u8) -> u8) -> [u64; BLOCK / 8] {
    let mut bytes = [0; BLOCK];
    for (to, from) in bytes.iter_mut().zip(block) {
        *to = of(*from);
    }
    let (words, _) = bytes.as_chunks();
    let mut all = [0; BLOCK / 8];
    for (to, word) in all.iter_mut().zip(words) {
        *to = u64::from_le_bytes(*word);
    }
    all
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
        fn blocks_and_bytes_agree(text in r#"([\[\]{}"\\a-z ]|[a-z ]{20}){0,300}"#) {
            let mut slow = Scan::default();
            slow.bytes(text.as_bytes());
            let wanted = slow.depth == 0 && !slow.within && text.trim_start().starts_with(['{', '[']);
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
