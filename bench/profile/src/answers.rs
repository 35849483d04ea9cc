//! Answers as they usually come: a plain success, a refusal.

use std::hint::black_box;

use abide_core::classify::{Answer, ClassifyPolicy, RequestView, classify};
use abide_core::signal::read;
use abide_core::{Instant, Moment, Skew, WallTime};
use abide_profile::{Asking, Catalogue, Profile, Wants};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::{Map, Value};

use crate::put;
use crate::stopwatch::median;

/// What nearly every answer has.
const COMMON: &str = "\
date: Tue, 10 Mar 2026 12:00:00 GMT
content-type: application/json; charset=utf-8
content-length: 1024
connection: keep-alive
cache-control: private, max-age=60
vary: Accept, Authorization, Accept-Encoding
etag: \"4f5a0c7e9b1d\"
strict-transport-security: max-age=31536000
x-content-type-options: nosniff
x-request-id: 6f9619ff-8b86-d011-b42d-00cf4fc964ff";

const PROVIDERS: [(&str, &str, &str, &str); 4] = [
    ("generic", "GET", "/v1/items", "server: nginx"),
    (
        "github",
        "GET",
        "/repos/rust-lang/rust/issues",
        "server: github.com\nx-ratelimit-limit: 5000\nx-ratelimit-remaining: 4987\nx-ratelimit-reset: 1773147600\nx-ratelimit-used: 13\nx-ratelimit-resource: core\nx-github-media-type: github.v3",
    ),
    (
        "openai",
        "POST",
        "/v1/chat/completions",
        "server: cloudflare\ncf-ray: 8f1c2d3e4f5a-FRA\nopenai-processing-ms: 412\nx-ratelimit-limit-requests: 5000\nx-ratelimit-limit-tokens: 800000\nx-ratelimit-remaining-requests: 4999\nx-ratelimit-remaining-tokens: 799000\nx-ratelimit-reset-requests: 12ms\nx-ratelimit-reset-tokens: 75ms",
    ),
    (
        "discord",
        "GET",
        "/api/v10/channels/1/messages",
        "server: cloudflare\ncf-ray: 8f1c2d3e4f5a-FRA\nx-ratelimit-bucket: abcd1234\nx-ratelimit-limit: 5\nx-ratelimit-remaining: 4\nx-ratelimit-reset: 1773144005.25\nx-ratelimit-reset-after: 5.000",
    ),
];

/// About 1 KiB as an API writes it.
fn items() -> Vec<u8> {
    let mut items = Vec::new();
    for n in 0.. {
        items.push(serde_json::json!({
            "id": 3_000_000 + n,
            "title": format!("Item {n} of the list"),
            "state": "open",
            "user": { "login": "octo", "id": 583_231 + n, "admin": false },
            "labels": [{ "name": "bug" }, { "name": "help wanted" }],
            "created_at": "2026-03-09T11:02:03Z",
            "comments": n * 7,
        }));
        let text = serde_json::json!({ "total": 2, "items": items }).to_string();
        if text.len() >= 1024 {
            return text.into_bytes();
        }
    }
    Vec::new()
}

/// About 1 KiB as a refusal reads.
fn refusal() -> Vec<u8> {
    let why =
        "Rate limit reached for requests in organization org-1 on requests per min. Limit: 3. "
            .repeat(10);
    serde_json::json!({
        "error": { "message": format!("{why}Please try again in 20s."), "type": "requests", "code": "rate_limit" },
        "documentation_url": "https://docs.example.org/rate-limits",
    })
    .to_string()
    .into_bytes()
}

/// One answer, as often as it is judged.
struct Bench<'a> {
    profile: &'a Profile,
    method: Method,
    path: &'a str,
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Bench<'_> {
    fn repeat(&self, times: u32) {
        let at = Moment::new(
            Instant::from_secs(1000),
            WallTime::from_unix_secs(1_773_144_000),
        );
        let signal = read(self.status, &self.headers, at, &mut Skew::new());
        let request = RequestView {
            method: &self.method,
            path: self.path,
            accepts_json: self.profile.expects_json(),
        };
        let answer = Answer {
            signal: &signal,
            headers: &self.headers,
            sample: Some(&self.body),
            complete: true,
            trailers: None,
        };
        let policy = ClassifyPolicy::default();
        let rules = &**self.profile.rules();
        for _ in 0..times {
            black_box(classify(black_box(&request), &answer, Some(rules), &policy));
        }
    }

    fn measure(&self, name: &str, batches: usize, figures: &mut Map<String, Value>) {
        let at = Moment::new(
            Instant::from_secs(1000),
            WallTime::from_unix_secs(1_773_144_000),
        );
        let mut skew = Skew::new();
        let signal = read(self.status, &self.headers, at, &mut skew);
        let request = RequestView {
            method: &self.method,
            path: self.path,
            accepts_json: self.profile.expects_json(),
        };
        let answer = Answer {
            signal: &signal,
            headers: &self.headers,
            sample: Some(&self.body),
            complete: true,
            trailers: None,
        };
        let policy = ClassifyPolicy::default();
        let rules = &**self.profile.rules();
        let alone = median(batches, 500, || {
            black_box(classify(black_box(&request), &answer, Some(rules), &policy));
        });
        put(figures, format!("{name}.classify_ns"), alone);
        let head = median(batches, 500, || {
            black_box(rules.wants(black_box(&request), &answer));
        });
        put(figures, format!("{name}.wants_ns"), head);
        let both = median(batches, 500, || {
            let signal = read(self.status, black_box(&self.headers), at, &mut skew);
            let answer = Answer {
                signal: &signal,
                ..answer
            };
            black_box(classify(&request, &answer, Some(rules), &policy));
        });
        put(figures, format!("{name}.read_and_classify_ns"), both);
        let parse = median(batches, 500, || {
            black_box(serde_json::from_slice::<Value>(black_box(&self.body)).is_ok());
        });
        put(figures, format!("{name}.parse_ns"), parse);
        figures.insert(
            format!("{name}.classify_to_parse"),
            Value::from((1000.0 * alone / parse).round() / 1000.0),
        );
    }
}

/// Judges plain successes of one provider, as often as told.
pub(crate) fn repeat(provider: &str, times: u32) {
    let all = Catalogue::built_in();
    for (name, method, path, own) in PROVIDERS {
        let Some(profile) = all.get(name).filter(|_| name == provider) else {
            continue;
        };
        let bench = Bench {
            profile: &profile,
            method: method.parse().unwrap_or_default(),
            path,
            status: StatusCode::OK,
            headers: headers(&[COMMON, own]),
            body: items(),
        };
        bench.repeat(times);
    }
}

pub(crate) fn measure(batches: usize, figures: &mut Map<String, Value>) {
    let all = Catalogue::built_in();
    for (name, method, path, own) in PROVIDERS {
        let Some(profile) = all.get(name) else {
            continue;
        };
        let mut bench = Bench {
            profile: &profile,
            method: method.parse().unwrap_or_default(),
            path,
            status: StatusCode::OK,
            headers: headers(&[COMMON, own]),
            body: items(),
        };
        bench.measure(&format!("plain.{name}"), batches, figures);
        bench.status = StatusCode::TOO_MANY_REQUESTS;
        bench.body = refusal();
        bench.measure(&format!("refusal.{name}"), batches, figures);
        let asking = Asking {
            method: &bench.method,
            host: "api.example.org",
            path,
            query: None,
            headers: &bench.headers,
            credential: Some(b"0123456789abcdef"),
        };
        let passed = median(batches, 500, || {
            profile
                .gates()
                .passed(black_box(&asking))
                .for_each(|p| drop(black_box(p)));
        });
        put(figures, format!("gates.{name}.passed_ns"), passed);
    }
}

/// A plain success of every provider there is: the usual headers, 1 KiB of JSON, no quota told.
/// The rules are shown the body where they ask for it, as a client does.
pub(crate) fn every(batches: usize, figures: &mut Map<String, Value>) {
    let all = Catalogue::built_in();
    let at = Moment::new(
        Instant::from_secs(1000),
        WallTime::from_unix_secs(1_773_144_000),
    );
    let headers = headers(&[COMMON]);
    let signal = read(StatusCode::OK, &headers, at, &mut Skew::new());
    let (policy, body) = (ClassifyPolicy::default(), items());
    let mut told: Vec<(f64, String)> = Vec::new();
    for name in all.names() {
        let Some(profile) = all.get(name) else {
            continue;
        };
        let rules = &**profile.rules();
        let request = RequestView {
            method: &Method::GET,
            path: "/v1/items",
            accepts_json: profile.expects_json(),
        };
        let mut answer = Answer {
            signal: &signal,
            headers: &headers,
            sample: None,
            complete: false,
            trailers: None,
        };
        if rules.wants(&request, &answer) != Wants::Nothing {
            answer.sample = Some(&body);
            answer.complete = true;
        }
        let took = median(batches, 500, || {
            black_box(classify(black_box(&request), &answer, Some(rules), &policy));
        });
        told.push((took, name.to_owned()));
    }
    told.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |part: usize| told.get((told.len() - 1) * part / 100);
    for (name, part) in [("median", 50), ("p90", 90), ("worst", 100)] {
        if let Some((took, _)) = at(part) {
            put(figures, format!("every.{name}_ns"), *took);
        }
    }
    let last = at(100).map(|(_, name)| name.as_str());
    figures.insert("every.worst".to_owned(), Value::from(last));
    let within = told.iter().filter(|(took, _)| *took <= 300.0).count();
    let told = format!("{within} of {}", told.len());
    figures.insert("every.within_300_ns".to_owned(), Value::from(told));
}

fn headers(parts: &[&str]) -> HeaderMap {
    let lines = parts.iter().flat_map(|p| p.lines());
    let pairs = lines.filter_map(|line| {
        let (name, value) = line.split_once(": ")?;
        Some((
            name.parse::<HeaderName>().ok()?,
            value.parse::<HeaderValue>().ok()?,
        ))
    });
    pairs.collect()
}
