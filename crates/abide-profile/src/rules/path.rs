//! JSONPaths of the plain kind, walked in place.
//!
//! Nearly every path of a profile is a chain of names with a `[*]` here and there, perhaps to be
//! looked for at any depth. Walking it by itself makes no list at every step, stops at the first
//! node that will do, and never does more than look at every node once, which the general
//! evaluator does not promise for `..`. Whatever is not plain is left to that one.

use serde_json::Value;

/// A plain path: `$`, `..` perhaps, then names, `[*]`, lists of names and positions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    /// It begins at every node rather than at the top.
    deep: bool,
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Names(Vec<Box<str>>),
    Every,
    At(usize),
}

impl Plain {
    /// Reads a path; `None` for one that is not plain, or no path.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut rest = text.strip_prefix('$')?;
        let deep = rest.starts_with("..");
        if deep {
            // As if it began with a dot or a bracket.
            rest = &rest[1..];
            if rest.starts_with(".[") {
                rest = &rest[1..];
            }
        }
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = Step::parse(rest)?;
            steps.push(step);
            rest = after;
        }
        (!steps.is_empty()).then_some(Self { deep, steps })
    }

    /// Shows the nodes one after the other, until one will do.
    pub(super) fn any<'v>(
        &self,
        top: &'v Value,
        will_do: &mut dyn FnMut(&'v Value) -> bool,
    ) -> bool {
        match self.deep {
            false => walk(&self.steps, top, will_do),
            true => walk_all(&self.steps, top, will_do),
        }
    }

    /// The names that every node of it lies below, one of each list, as they are written in the
    /// text of a body without escapes. One that may be spelled otherwise is not among them.
    pub(super) fn needed(&self) -> impl Iterator<Item = &[Box<str>]> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' ');
        self.steps.iter().filter_map(move |step| match step {
            Step::Names(names) if names.iter().all(|n| n.bytes().all(plain)) => Some(&**names),
            _ => None,
        })
    }
}

impl Step {
    fn parse(text: &str) -> Option<(Self, &str)> {
        if let Some(rest) = text.strip_prefix(".*") {
            return Some((Self::Every, rest));
        }
        if let Some(rest) = text.strip_prefix('.') {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
            let first = name.bytes().next()?;
            // A letter beyond ASCII belongs to the name, so it is not plain.
            let ends = rest.is_empty() || rest.starts_with(['.', '[']);
            return (!first.is_ascii_digit() && ends)
                .then(|| (Self::Names(vec![name.into()]), rest));
        }
        let (inner, rest) = text.strip_prefix('[')?.split_once(']')?;
        if inner == "*" {
            return Some((Self::Every, rest));
        }
        if inner.bytes().all(|b| b.is_ascii_digit()) {
            // No more than four digits, and none too many before them.
            let fits = inner == "0" || !inner.starts_with('0') && (1..=4).contains(&inner.len());
            return fits.then(|| Some((Self::At(inner.parse().ok()?), rest)))?;
        }
        let mut names = Vec::new();
        for quoted in inner.split(',') {
            let name = quoted.strip_prefix('\'')?.strip_suffix('\'')?;
            let fit = |b: u8| matches!(b, b' '..=b'~') && !matches!(b, b'\'' | b'\\');
            if !name.bytes().all(fit) {
                return None;
            }
            names.push(name.into());
        }
        Some((Self::Names(names), rest))
    }
}

fn walk<'v>(steps: &[Step], at: &'v Value, will_do: &mut dyn FnMut(&'v Value) -> bool) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return will_do(at);
    };
    match (step, at) {
        (Step::Names(names), Value::Object(all)) => {
            let mut members = names.iter().filter_map(|n| all.get(&**n));
            members.any(|v| walk(rest, v, will_do))
        }
        (Step::Every, Value::Array(all)) => all.iter().any(|v| walk(rest, v, will_do)),
        (Step::Every, Value::Object(all)) => all.values().any(|v| walk(rest, v, will_do)),
        (Step::At(n), Value::Array(all)) => all.get(*n).is_some_and(|v| walk(rest, v, will_do)),
        _ => false,
    }
}

/// From every node, the outer before the inner. Bodies are no deeper than their parser goes.
fn walk_all<'v>(steps: &[Step], at: &'v Value, will_do: &mut dyn FnMut(&'v Value) -> bool) -> bool {
    walk(steps, at, will_do)
        || match at {
            Value::Array(all) => all.iter().any(|v| walk_all(steps, v, will_do)),
            Value::Object(all) => all.values().any(|v| walk_all(steps, v, will_do)),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json_path::JsonPath;

    use super::*;

    fn is_absent(path: &Plain, text: &str) -> bool {
        let mut needed = path.needed();
        needed.any(|names| names.iter().all(|n| !text.contains(&**n)))
    }

    /// Small trees of few names, so that paths meet something.
    fn trees() -> impl Strategy<Value = Value> {
        let leaf = (0..3_u8).prop_map(Value::from);
        let name = prop::sample::select(vec!["a", "b", "c"]);
        leaf.prop_recursive(5, 40, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec((name.clone(), inner), 0..4).prop_map(|all| {
                    Value::Object(all.into_iter().map(|(n, v)| (n.to_owned(), v)).collect())
                }),
            ]
        })
    }

    fn paths() -> impl Strategy<Value = String> {
        let step = prop::sample::select(vec![
            ".a",
            ".b",
            ".*",
            "[*]",
            "['a','c']",
            "['b']",
            "[0]",
            "[1]",
        ]);
        let steps = prop::collection::vec(step, 1..4).prop_map(|all| all.concat());
        (any::<bool>(), steps).prop_map(|(deep, steps)| match (deep, steps.strip_prefix('.')) {
            (true, Some(rest)) => format!("$..{rest}"),
            (true, None) => format!("$..{steps}"),
            (false, _) => format!("${steps}"),
        })
    }

    proptest! {
        #[test]
        fn plain_paths_find_what_the_general_evaluator_finds(tree in trees(), path in paths()) {
            let general = JsonPath::parse(&path).unwrap();
            let plain = Plain::parse(&path).unwrap();
            let mut found = Vec::new();
            plain.any(&tree, &mut |node| {
                found.push(node);
                false
            });
            prop_assert_eq!(&found, &general.query(&tree).all());
            let text = tree.to_string();
            prop_assert!(found.is_empty() || !is_absent(&plain, &text));
        }

        #[test]
        fn whatever_is_read_as_plain_is_a_path(text in r"\$(\.|\.\.|\[|\]|'|,|\*|[a-c0-9é_ -]){0,12}") {
            prop_assert!(Plain::parse(&text).is_none() || JsonPath::parse(&text).is_ok(), "{}", text);
        }
    }

    #[test]
    fn paths_that_are_not_plain_are_left_alone() {
        for text in [
            "",
            "$",
            "a",
            "$.",
            "$..",
            "$[?@.a]",
            "$[-1]",
            "$[1:2]",
            "$[01]",
            "$['a\\'b']",
            "$[\"a\"]",
            "$.a..b",
            "$.é",
            "$.aé",
            "$. a",
            "$[ * ]",
            "$[]",
            "$...a",
            "$.['a']",
        ] {
            assert_eq!(Plain::parse(text), None, "{text}");
        }
        assert!(Plain::parse("$..error[*].code").is_some_and(|p| p.deep));
        assert!(Plain::parse("$..['error'].code").is_some_and(|p| p.deep));
        assert!(Plain::parse("$['Fault','fault'][*].code").is_some_and(|p| !p.deep));
    }

    #[test]
    fn names_that_may_be_spelled_otherwise_are_not_missed() {
        let absent = |path: &str, text: &str| is_absent(&Plain::parse(path).unwrap(), text);
        assert!(absent("$.error.code", r#"{"error":1}"#));
        assert!(!absent("$.error.code", r#"{"code":1,"error":2}"#));
        assert!(absent("$['a','b'].c", r#"{"c":1}"#));
        assert!(!absent("$['a','b'].c", r#"{"b":{"c":1}}"#));
        assert!(!absent("$['a/b']", r#"{"a\/b":1}"#));
        assert!(!absent("$[*][0]", "[]"));
    }
}
