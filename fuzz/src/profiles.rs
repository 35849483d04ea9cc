//! Whole answers against whole profiles, and profiles that anyone may write.

use abide_profile::judge::{CEILING, Recorded, judge};
use abide_profile::{Asking, Profile};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::input::{First, NOW, WALLS, catalogue, headers, split};

/// Kinds of bodies that rules tell apart.
const KINDS: [&str; 3] = ["application/json", "text/html", "text/plain"];

/// An answer: `PROFILE STATUS METHOD /path`, header lines, an empty line, the body.
pub fn classify(data: &[u8]) {
    let (head, body) = split(data, b"\n\n");
    let (first, lines) = split(head, b"\n");
    let first = First::parse(first);
    let headers = headers(
        lines,
        &["retry-after", "content-type", "x-ratelimit-remaining"],
    );
    for wall in WALLS {
        for body in [Some(body), None] {
            let recorded = Recorded {
                method: first.method.clone(),
                path: first.path.clone(),
                wall,
                status: first.status,
                headers: headers.clone(),
                body: body.map(<[u8]>::to_vec),
                json: first.path.len().is_multiple_of(2),
            };
            check(&first.profile, &recorded);
        }
    }
}

/// A body: `PROFILE`, a line break, the body, which comes with every status and kind that rules
/// about text and waits in bodies look at.
pub fn prose(data: &[u8]) {
    let (first, body) = split(data, b"\n");
    let first = First::parse(first);
    for status in [200, 400, 403, 404, 429, 500, 503] {
        for kind in KINDS {
            let recorded = Recorded {
                method: first.method.clone(),
                path: first.path.clone(),
                wall: WALLS[0],
                status: StatusCode::from_u16(status).unwrap_or_default(),
                headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]),
                body: Some(body.to_vec()),
                json: false,
            };
            check(&first.profile, &recorded);
        }
    }
}

/// The text of a profile. What is wrong lies within it; what can be used can be used on anything.
pub fn profile_toml(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.split('\n').count();
    let faults = catalogue().faults(&text);
    for fault in &faults {
        assert!(fault.line <= lines, "{fault:?} is beyond the end");
        assert!(!fault.what.is_empty());
    }
    let Ok(profile) = catalogue().preview(&text) else {
        assert!(!faults.is_empty(), "refused, and nothing is wrong with it");
        return;
    };
    let body = br#"{"error":{"message":"x","retry_after":3},"errors":[{"code":88}]}"#;
    for status in [200, 403, 429] {
        let recorded = Recorded {
            method: Method::POST,
            path: "/graphql".to_owned(),
            wall: WALLS[0],
            status: StatusCode::from_u16(status).unwrap_or_default(),
            headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(KINDS[0]))]),
            body: Some(body.to_vec()),
            json: true,
        };
        check(&profile, &recorded);
        let asking = Asking {
            method: &recorded.method,
            host: "api.example.org",
            path: &recorded.path,
            query: Some("a=b&c"),
            headers: &recorded.headers,
            credential: None,
        };
        let passed = profile.gates().passed(&asking);
        assert!(passed.count() <= abide_core::gate::MAX_GATES);
        let _ = profile.only_reads(&Method::POST, "/graphql", Some(body));
    }
}

/// What must hold for any answer judged by any profile.
fn check(profile: &Profile, recorded: &Recorded) {
    let judged = judge(profile, recorded);
    let finding = &judged.finding;
    for ask in &finding.asks {
        assert!(ask.until >= NOW, "asks to come back before now: {ask:?}");
    }
    for r in &finding.readings {
        assert!(
            r.reset.is_none_or(|t| t >= NOW),
            "a reset before now: {r:?}"
        );
    }
    assert!(
        judged.wait.is_none_or(|w| w <= CEILING),
        "waits without end"
    );
    assert!(
        judged.wait.is_some() || judged.asked.is_none(),
        "an ask is a wait"
    );
}
