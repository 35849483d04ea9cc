//! Bodies: decoded, scanned, read as GraphQL.

use abide_profile::Scanner;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value;

use crate::input::{catalogue, split};

/// Which coding, a line break, the coded body. No more than the bound comes out, and a smaller
/// bound gives the beginning of what a larger one gives.
pub fn decode(data: &[u8]) {
    let (coding, body) = split(data, b"\n");
    let Ok(coding) = HeaderValue::from_bytes(coding.trim_ascii()) else {
        return;
    };
    let headers = HeaderMap::from_iter([(CONTENT_ENCODING, coding)]);
    let all = abide_profile::decode(&headers, body, 64 * 1024);
    let some = abide_profile::decode(&headers, body, 100);
    if let Some(all) = &all {
        assert!(all.bytes.len() <= 64 * 1024);
    }
    if let Some(some) = &some {
        assert!(some.bytes.len() <= 100);
    }
    // Within a chain a bound also cuts what lies between, so only what a single one gives is
    // compared.
    if let (Some(all), Some(some)) = (all, some)
        && headers[CONTENT_ENCODING]
            .as_bytes()
            .iter()
            .all(u8::is_ascii_lowercase)
    {
        assert!(all.bytes.starts_with(&some.bytes), "another beginning");
        assert!(!some.whole || all.whole && all.bytes == some.bytes);
    }
}

/// How large the pieces are, in the first byte; then the body.
pub fn scanner(data: &[u8]) {
    const WANTED: [&str; 4] = ["errors", "extensions", "a", ""];
    let Some((piece, body)) = data.split_first() else {
        return;
    };
    let found = |piece: usize| {
        let mut s = Scanner::new(WANTED.map(str::to_owned).to_vec());
        body.chunks(piece).for_each(|piece| s.feed(piece));
        s.found()
    };
    let whole = found(body.len().max(1));
    assert_eq!(found(usize::from(*piece).max(1)), whole, "cut otherwise");
    // Larger members are left out, so there the views differ with good reason.
    if body.len() > 60 * 1024 {
        return;
    }
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    let Value::Object(mut all) = value else {
        assert_eq!(whole, None, "found within what is no object");
        return;
    };
    all.retain(|name, _| WANTED.contains(&name.as_str()));
    let told = whole.map(|f| serde_json::from_slice::<Value>(&f).ok());
    let wanted = (!all.is_empty()).then_some(Some(Value::Object(all)));
    assert_eq!(told, wanted);
}

/// A GraphQL document. A document with a mutation in it is never taken for one that only reads,
/// unless it says that something else of it is to be done.
pub fn graphql(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Some(profile) = catalogue().get("github") else {
        return;
    };
    let reads = |body: &[u8]| profile.only_reads(&Method::POST, "/graphql", Some(body));
    let _ = reads(data);
    let asked = |document: &str, name: Option<&str>| {
        let body = serde_json::json!({ "query": document, "operationName": name });
        reads(body.to_string().as_bytes())
    };
    let alone = asked(&text, None);
    let before = format!("mutation M {{ m }} {text}");
    let after = format!("{text}\nmutation M {{ m }}");
    for document in [before, after] {
        assert!(!asked(&document, None), "{document:?}");
        assert!(!asked(&document, Some("M")), "{document:?}");
    }
    if alone {
        let more = format!("{text}\nquery {{ q }}");
        assert!(asked(&more, None), "{more:?}");
    }
}
