//! The cases of `cases/generic.jsonl`: one answer of an unprofiled provider each, and what it
//! means.
//!
//! The cases state the first wait as a caller would see it, so this runner adds what the core
//! leaves to the gates and the call: defaults where nobody said (60 s for a refusal, 30 s for an
//! outage), and the ceiling of 31 days. A wait may be longer than stated by 10 % and 2 s, never
//! shorter.

use std::time::Duration;

use abide_core::classify::{Answer, ClassifyPolicy, RequestView, classify};
use abide_core::{AskSource, Finding, Instant, Moment, Scope, Skew, Verdict, WallTime, signal};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;

const CASES: &str = include_str!("cases/generic.jsonl");
const CEILING: Duration = Duration::from_secs(31 * 86_400);

/// Cases that only rules about the body can decide. One that passes must leave this list.
const LEFT_OUT: [(&str, &str); 7] = [
    (
        "dis-body-only",
        "needs body rules: step of profiles (retry_after in JSON)",
    ),
    (
        "dis-body-string",
        "needs body rules: step of profiles (number in a JSON string)",
    ),
    (
        "dis-body-camel",
        "needs body rules: step of profiles (nested retryAfterSeconds)",
    ),
    (
        "html-200-captcha",
        "needs body rules: step of profiles (captcha in the page)",
    ),
    (
        "html-200-login",
        "needs body rules: step of profiles (login form in the page)",
    ),
    (
        "json-200-empty-body",
        "needs body rules: step of profiles (empty where JSON is promised)",
    ),
    (
        "json-200-truncated",
        "needs body rules: step of profiles (JSON that ends early)",
    ),
];

#[test]
fn generic_cases() {
    let cases: Vec<Value> = CASES
        .lines()
        .map(|line| serde_json::from_str(line).expect("one case a line"))
        .collect();
    let mut wrong = Vec::new();
    let mut claimed = 0;
    for case in &cases {
        let id = case["id"].as_str().expect("an id");
        let left_out = LEFT_OUT.iter().find(|(left, _)| *left == id);
        match (check(case), left_out) {
            (Ok(()), None) => claimed += 1,
            (Err(_), Some((_, reason))) => println!("left out: {id}: {reason}"),
            (Ok(()), Some(_)) => wrong.push(format!("{id}: passes, so claim it")),
            (Err(why), None) => wrong.push(format!("{id}: {why} ({})", case["why"])),
        }
    }
    println!("{claimed} claimed of {}", cases.len());
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(
        claimed + LEFT_OUT.len(),
        cases.len(),
        "a left-out case is missing"
    );
}

/// What a caller sees of one finding.
struct Seen {
    wait: Option<Duration>,
    source: AskSource,
    scope: Scope,
    retryable: bool,
}

fn check(case: &Value) -> Result<(), String> {
    let method: Method = text(&case["request"]["method"])
        .parse()
        .map_err(|e| format!("{e}"))?;
    let now: jiff::Timestamp = text(&case["now"]).parse().map_err(|e| format!("{e}"))?;
    let at = Moment::new(
        Instant::from_secs(1000),
        WallTime::from_unix_secs(now.as_second()),
    );
    let status = case["response"]["status"]
        .as_u64()
        .and_then(|s| u16::try_from(s).ok());
    let status = status
        .and_then(|s| StatusCode::from_u16(s).ok())
        .ok_or("no status")?;
    let headers = headers(&case["response"]["headers"]);
    let body = case["response"]["body"].as_str();

    let signal = signal::read(status, &headers, at, &mut Skew::new());
    let request = RequestView {
        method: &method,
        path: "/",
        accepts_json: true,
    };
    let answer = Answer {
        signal: &signal,
        headers: &headers,
        sample: body.map(str::as_bytes),
        complete: true,
        trailers: None,
    };
    let policy = ClassifyPolicy::default();
    let finding = classify(&request, &answer, None, &policy);
    let seen = seen(&method, status, &finding, at, &policy);

    let expect = &case["expect"];
    same(
        "verdict",
        text(&expect["verdict"]),
        finding.verdict.as_str(),
    )?;
    same("scope", text(&expect["scope"]), seen.scope.as_str())?;
    same("source", text(&expect["source"]), seen.source.as_str())?;
    same(
        "retryable",
        expect["retryable_after_wait"].as_bool(),
        Some(seen.retryable),
    )?;
    let wait = seen.wait.map(|d| d.as_secs_f64());
    match (expect["wait_s"].as_f64(), wait) {
        (None, None) => Ok(()),
        (Some(least), Some(wait)) if wait >= least && wait <= least * 1.1 + 2.0 => Ok(()),
        (least, wait) => Err(format!("wait: expected {least:?}, found {wait:?}")),
    }
}

fn seen(
    method: &Method,
    status: StatusCode,
    finding: &Finding,
    at: Moment,
    policy: &ClassifyPolicy,
) -> Seen {
    let ask = finding.ask();
    let nobody_said = match finding.verdict {
        Verdict::RateLimited => Some(Duration::from_secs(60)),
        Verdict::Unavailable => Some(Duration::from_secs(30)),
        _ => None,
    };
    let wait = ask.map(|a| a.until.since(at.now)).or(nobody_said);
    let beyond = wait.is_some_and(|d| d > CEILING);
    // A write may go again only when it was surely not done, or the server itself invites it.
    let again = method.is_safe() || finding.verdict.is_refusal() || ask.is_some();
    Seen {
        wait: wait.map(|d| d.min(CEILING)),
        source: ask.map_or(AskSource::Policy, |a| a.source),
        scope: ask.map_or(finding.scope, |a| a.scope),
        // A quota that names its end within the ceiling is worth coming back for, though not in
        // the same call.
        retryable: !beyond
            && again
            && (policy.retry_on.covers(status, finding)
                || finding.verdict == Verdict::QuotaExhausted),
    }
}

fn headers(value: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        let name: HeaderName = name.parse().expect("a header name");
        let lines = value
            .as_array()
            .map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
        for line in lines {
            headers.append(
                &name,
                HeaderValue::from_str(text(line)).expect("a header value"),
            );
        }
    }
    headers
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, found: T) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}: expected {expected:?}, found {found:?}"))
}
