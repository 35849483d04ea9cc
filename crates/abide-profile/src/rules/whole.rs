//! A quick look at whether JSON may have been cut off: it is asked of every good answer of a
//! provider that speaks JSON alone, and parsing would cost ten times as much as all else.

/// Bytes that are looked at together.
const BLOCK: usize = 64;
const WORDS: usize = BLOCK / 8;

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
        let quotes = words(block, |b| mask(b == b'"'));
        // An odd count of quotes up to a byte is within a string: the sum without carry of all
        // bytes before it, first of each word, then over the words.
        let counts = quotes.map(|q| {
            let q = q ^ (q << 8);
            let q = q ^ (q << 16);
            q ^ (q << 32)
        });
        let mut before = mask64(self.within);
        let mut within = [0; WORDS];
        for (within, count) in within.iter_mut().zip(counts) {
            *within = count ^ before;
            before ^= mask64(count >> 63 != 0);
        }
        self.within = before != 0;
        let within = bytes(within);
        let mut change = [0_i8; BLOCK];
        for ((change, b), within) in change.iter_mut().zip(block).zip(within) {
            let step = mask(closes(*b)).wrapping_sub(mask(opens(*b))) & !within;
            *change = step.cast_signed();
        }
        // Of 64 bytes that count one each, no sum overflows.
        let change = change.iter().fold(0_i8, |sum, c| sum.wrapping_add(*c));
        self.depth += i64::from(change);
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

/// All bits or none.
const fn mask(set: bool) -> u8 {
    0_u8.wrapping_sub(set as u8)
}

const fn mask64(set: bool) -> u64 {
    0_u64.wrapping_sub(set as u64)
}

/// What each byte is told to be, as words whose lowest byte comes first.
fn words(block: &[u8; BLOCK], of: impl Fn(u8) -> u8) -> [u64; WORDS] {
    let mut told = [0; BLOCK];
    for (to, from) in told.iter_mut().zip(block) {
        *to = of(*from);
    }
    let (chunks, _) = told.as_chunks();
    let mut all = [0; WORDS];
    for (to, word) in all.iter_mut().zip(chunks) {
        *to = u64::from_le_bytes(*word);
    }
    all
}

/// The bytes of words, lowest first.
fn bytes(words: [u64; WORDS]) -> [u8; BLOCK] {
    let mut all = [0; BLOCK];
    for (to, word) in all.as_chunks_mut().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
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
