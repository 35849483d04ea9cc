//! Bodies made to cost as much as they can, as large as they are looked at.

use http::StatusCode;

/// As much of a body as is looked at.
pub const SIZE: usize = 64 * 1024;

/// Statuses that rules tell apart.
pub const STATUSES: [StatusCode; 7] = [
    StatusCode::OK,
    StatusCode::BAD_REQUEST,
    StatusCode::FORBIDDEN,
    StatusCode::NOT_FOUND,
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::INTERNAL_SERVER_ERROR,
    StatusCode::SERVICE_UNAVAILABLE,
];

/// Kinds of bodies that rules tell apart.
pub const KINDS: [&str; 3] = ["application/json", "text/html", "text/plain"];

const NAMES: &str = r#"{"details":[],"violations":[],"quotaId":0,"metadata":0,"quota_limit":0,"message":0,
    "retryDelay":0,"reason":0,"subdomain":0,"code":0,"errors":[],"extensions":{},"retryAfter":0},"#;

/// What is parsed for comparison: a list of small objects.
pub fn yardstick() -> Vec<u8> {
    list(
        "[",
        r#"{"id":12345,"name":"an item","tags":["a","b"]}"#,
        "]",
    )
}

/// Hostile bodies, by name.
pub fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let nested = |open: &str, close: &str| {
        // As deep as a parser goes, again and again.
        let depth = 120 / open.matches(['{', '[']).count();
        let one = [&open.repeat(depth), "1", &close.repeat(depth)].concat();
        list("[", &one, "]")
    };
    // With every name in it that rules about errors look for.
    let named = |open: &str, close: &str| {
        let mut all = nested(open, close);
        all.splice(1..1, NAMES.bytes());
        all.truncate(SIZE);
        let whole = all.iter().rposition(|b| *b == b',').unwrap_or(0);
        all.truncate(whole);
        all.push(b']');
        all
    };
    let every = r#"{"errors":[{"extensions":{"code":"x","retryAfter":"soon"},"message":"#;
    vec![
        ("plain", yardstick()),
        ("deep lists", fill("", "[")),
        ("deep errors", fill("", r#"{"errors":["#)),
        ("nested lists", nested("[", "]")),
        ("nested errors", nested(r#"{"error":"#, "}")),
        ("nested error lists", nested(r#"{"error":["#, "]}")),
        ("nested details", nested(r#"{"error":{"details":["#, "]}}")),
        ("named nested errors", named(r#"{"error":"#, "}")),
        ("named nested error lists", named(r#"{"error":["#, "]}")),
        (
            "named nested details",
            named(r#"{"error":{"details":["#, "]}}"),
        ),
        ("named nested lists", named("[", "]")),
        (
            "many errors",
            list(
                r#"{"errors":["#,
                r#"{"code":1,"extensions":{"retryAfter":"x"}}"#,
                "]}",
            ),
        ),
        ("many empty errors", list(r#"{"errors":["#, "{}", "]}")),
        (
            "many details",
            list(
                r#"{"error":{"code":429,"message":"x","details":["#,
                r#"{"violations":[{"quotaId":"x"}],"metadata":{},"retryDelay":"x"}"#,
                "]}}",
            ),
        ),
        (
            "many error members",
            list("[", r#"{"error":{"details":[{"violations":[{}]}]}}"#, "]"),
        ),
        ("one name", list("{", r#""errors":[]"#, "}")),
        ("one short name", list("{", r#""a":1"#, "}")),
        ("many names", many_names()),
        ("many numbers", list(r#"{"errors":["#, "1", "]}")),
        (
            "long message",
            text(r#"{"error":{"message":""#, "try again in 1", r#""}}"#),
        ),
        (
            "long errors",
            text(
                &[every, "\""].concat(),
                "per day per minute (RP ",
                r#""}]}"#,
            ),
        ),
        ("escapes", text(r#"{"message":""#, r"\u0061", r#""}"#)),
        ("spaces", fill("", " ")),
        ("spaces in errors", fill("error", " ")),
        ("error codes", fill("", "error code: ")),
        ("tags", fill("error", "<b> ")),
        ("denied", fill("<h1>access denied</h1>", "reference # ")),
        ("inputs", fill("", "<input a=b ")),
        (
            "streams",
            fill("", r#"data: {"error": {"code": "rate_limit_exceede "#),
        ),
        ("waits", fill("", "try again in 1h1m1.")),
        ("letters", fill("", "a")),
        ("digits", fill("", "1")),
        ("no text", vec![0xff; SIZE]),
        ("a cut list", fill(r#"{"errors":["#, r#"{"code":88},"#)),
    ]
}

/// `piece` again and again, cut at the end.
fn fill(begin: &str, piece: &str) -> Vec<u8> {
    let mut all = begin.as_bytes().to_vec();
    while all.len() < SIZE {
        all.extend_from_slice(piece.as_bytes());
    }
    all.truncate(SIZE);
    all
}

/// As many items as fit.
fn list(begin: &str, item: &str, end: &str) -> Vec<u8> {
    let count = (SIZE - begin.len() - end.len() + 1) / (item.len() + 1);
    [begin, &vec![item; count].join(","), end]
        .concat()
        .into_bytes()
}

fn text(begin: &str, piece: &str, end: &str) -> Vec<u8> {
    let count = (SIZE - begin.len() - end.len()) / piece.len();
    [begin, &piece.repeat(count), end].concat().into_bytes()
}

fn many_names() -> Vec<u8> {
    let names: Vec<String> = (0..5000).map(|n| format!("\"k{n}\":{n}")).collect();
    format!("{{{}}}", names.join(",")).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_bodies_are_as_large_as_may_be_and_most_are_json() {
        let mut json = 0;
        for (name, body) in bodies() {
            assert!(
                (SIZE - 4096..=SIZE).contains(&body.len()),
                "{name}: {}",
                body.len()
            );
            json += usize::from(serde_json::from_slice::<serde_json::Value>(&body).is_ok());
        }
        assert!(json >= 20, "{json}");
    }
}
