//! Whether a GraphQL request only reads.

use serde::Deserialize;

/// The parts of a GraphQL request that tell what it does.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    query: std::borrow::Cow<'a, str>,
    #[serde(rename = "operationName", default, borrow)]
    operation: Option<std::borrow::Cow<'a, str>>,
}

/// Whether the body is a GraphQL request whose operation is a query. Whatever cannot be told is
/// a write.
pub(crate) fn is_query(body: &[u8]) -> bool {
    let Ok(request) = serde_json::from_slice::<Request<'_>>(body) else {
        return false;
    };
    let operations = operations(&request.query);
    match (operations.as_slice(), request.operation.as_deref()) {
        ([], _) => false,
        ([one], None) => one.reads,
        // Servers differ in what they do with a name that is not there.
        ([one], Some(name)) => one.reads && one.name == name,
        (many, Some(name)) => {
            let named = many.iter().filter(|o| o.name == name);
            let named: Vec<_> = named.collect();
            matches!(named.as_slice(), [one] if one.reads)
        }
        (many, None) => many.iter().all(|o| o.reads),
    }
}

struct Operation<'a> {
    reads: bool,
    name: &'a str,
}

/// The operations at the top of a document; none when it does not read as one.
fn operations(text: &str) -> Vec<Operation<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = skip(rest);
        if rest.is_empty() {
            return found;
        }
        let (kind, after) = word(rest);
        let (name, after) = word(skip(after));
        let (reads, next) = match kind {
            // The short form of a query.
            "" => (Some(true), rest.starts_with('{').then(|| selection(rest))),
            "query" => (Some(true), Some(selection(after))),
            "mutation" | "subscription" => (Some(false), Some(selection(after))),
            "fragment" => (None, condition(after).map(selection)),
            _ => (None, None),
        };
        let Some(Some(next)) = next else {
            return Vec::new();
        };
        found.extend(reads.map(|reads| Operation { reads, name }));
        rest = next;
    }
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    text.split_at(end.unwrap_or(text.len()))
}

/// What follows white space, commas and comments.
fn skip(mut text: &str) -> &str {
    loop {
        text =
            text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | '\u{feff}'));
        if !text.starts_with('#') {
            return text;
        }
        text = text.find(['\n', '\r']).map_or("", |end| &text[end..]);
    }
}

/// What follows the type that a fragment is on.
fn condition(text: &str) -> Option<&str> {
    let (on, after) = word(skip(text));
    (on == "on").then(|| word(skip(after)).1)
}

/// What follows the next block in braces, before which only variables and directives may stand:
/// anything else might be the beginning of another operation.
fn selection(mut text: &str) -> Option<&str> {
    loop {
        text = skip(text);
        text = match text.chars().next()? {
            '(' => enclosed(text)?,
            '@' => word(skip(&text[1..])).1,
            '{' => return enclosed(text),
            _ => return None,
        };
    }
}

/// What follows the pair of brackets that the text begins with; `None` when it does not end, or
/// when pairs within it cross.
fn enclosed(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let (mut open, mut i) = (Vec::new(), 0);
    while i < bytes.len() {
        match bytes[i] {
            b'#' => i += bytes[i..].iter().position(|b| matches!(b, b'\n' | b'\r'))?,
            b'"' if bytes[i..].starts_with(b"\"\"\"") => {
                let rest = &text[i + 3..];
                let mut from = 0;
                loop {
                    let end = from + rest.get(from..)?.find("\"\"\"")?;
                    if !rest[..end].ends_with('\\') {
                        i += 3 + end + 2;
                        break;
                    }
                    from = end + 3;
                }
            }
            b'"' => {
                i += 1;
                while *bytes.get(i)? != b'"' {
                    i += if bytes[i] == b'\\' { 2 } else { 1 };
                }
            }
            b'(' => open.push(b')'),
            b'[' => open.push(b']'),
            b'{' => open.push(b'}'),
            b @ (b')' | b']' | b'}') => {
                if open.pop()? != b {
                    return None;
                }
                if open.is_empty() {
                    return Some(&text[i + 1..]);
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(query: &str, operation: Option<&str>) -> bool {
        let body = serde_json::json!({ "query": query, "operationName": operation });
        is_query(body.to_string().as_bytes())
    }

    #[test]
    fn a_query_reads_and_a_mutation_writes() {
        assert!(reads("{ viewer { login } }", None));
        assert!(reads(
            "query A($a: In = {x: 1}) { a(q: \"}\") { b } }",
            None
        ));
        assert!(reads("# mutation\nquery { a }", None));
        assert!(reads("fragment F on T { a } query { ...F }", None));
        assert!(reads(
            "fragment F on T @d(x: [1]) { a } query A @e(y: {z: \"{\"}) { ...F }",
            None
        ));
        assert!(!reads("mutation { a }", None));
        assert!(!reads("subscription { a }", None));
        assert!(!reads("query A { a } mutation B { b }", None));
        assert!(reads("query A { a } mutation B { b }", Some("A")));
        assert!(!reads("query A { a } mutation B { b }", Some("B")));
        assert!(!reads("query A { a } mutation A { b }", Some("A")));
        assert!(reads("query { a(t: \"\"\" { \\\"\"\" \"\"\") }", None));
    }

    #[test]
    fn no_mutation_hides_behind_a_query() {
        assert!(!reads("query A { a } #\rmutation B { b }", Some("B")));
        assert!(!reads("query A\nmutation M { m }", Some("M")));
        assert!(!reads("fragment F mutation M { m } query { a }", None));
        assert!(!reads("query A { a ( } mutation M { m } ) }", Some("M")));
    }

    #[test]
    fn a_carriage_return_ends_a_comment_too() {
        assert!(!reads("query A { a }\n# x\rmutation B { b }", Some("B")));
        assert!(!reads("{ a }\n# x\rmutation B { b }", None));
        assert!(!reads("query A { a # }\r}\nmutation B { b }", Some("B")));
        assert!(reads("# mutation\rquery { a }", None));
    }

    #[test]
    fn the_name_asked_for_must_be_there() {
        assert!(reads("query A { a }", Some("A")));
        assert!(reads("{ a }", Some("")));
        assert!(!reads("query A { a }", Some("B")));
        assert!(!reads("{ a }", Some("A")));
    }

    #[test]
    fn whatever_cannot_be_told_is_a_write() {
        assert!(!is_query(b""));
        assert!(!is_query(b"[]"));
        assert!(!is_query(br#"{"query":""}"#));
        assert!(!is_query(br#"{"query":"query { a"}"#));
        assert!(!is_query(br#"{"query":"query { \"a"}"#));
        assert!(!is_query(br#"{"query":"nonsense { a }"}"#));
        assert!(!is_query(br#"{"extensions":{"persistedQuery":{}}}"#));
    }
}
