//! A quick look at whether JSON may have been cut off.

/// Bytes that are looked at together. Most of them hold no bracket.
const BLOCK: usize = 32;

/// Whether all brackets outside of strings are closed and no string is open: a text that ends
/// before its JSON does is never so, unless it is a bare scalar. The text need not be JSON.
pub(super) fn is_balanced(text: &[u8]) -> bool {
    if !matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return false;
    }
    let (mut depth, mut within, mut escaped) = (0_isize, false, false);
    for block in text.chunks(BLOCK) {
        let (mut quotes, mut special) = (0_u8, 0_u8);
        for b in block {
            quotes += u8::from(*b == b'"');
            // Brackets differ from braces by one bit.
            let bracket = (*b | 0x20) == b'{' || (*b | 0x20) == b'}';
            special |= u8::from(bracket || *b == b'\\');
        }
        if special == 0 && !escaped {
            within ^= quotes % 2 == 1;
            continue;
        }
        for b in block {
            let quote = *b == b'"' && !escaped;
            escaped = within && *b == b'\\' && !escaped;
            within ^= quote;
            let opens = isize::from((*b | 0x20) == b'{');
            let closes = isize::from((*b | 0x20) == b'}');
            depth += isize::from(!within) * (opens - closes);
        }
    }
    depth == 0 && !within
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
        fn nothing_that_is_cut_anywhere_is_balanced(
            names in prop::collection::vec(r#"[a-z{}\[\]"\\é]{0,12}"#, 1..6), end in 0_usize..400,
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
