//! Bugs that other clients had in reading answers, each as a test.
//!
//! The rows of the scenario list that wait for other parts:
//!
//! * P08 (retry delay in a JSON body), P15 (error codes of GraphQL), P18 (costs told by a body),
//!   P19 (one code for three meanings): rules about the body, with the profiles.
//! * P16 and P20 have a half that needs no body; the other half comes with the profiles.
//! * P11 (cookies kept across a retry): the client.
//! * P12 (a remaining that vanishes at zero): here only that absence is not read as a number;
//!   keeping the last known value is the gate's part.

use std::time::Duration;

use abide_core::classify::{Answer, ClassifyPolicy, RequestView, classify};
use abide_core::{
    AskSource, Finding, Hint, Instant, Moment, Signal, Skew, Verdict, WallTime, signal,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

const NOW: Instant = Instant::from_secs(1000);
/// 2026-03-10T12:00:00Z
const WALL: i64 = 1_773_144_000;

type Lines<'a> = &'a [(&'static str, &'a str)];

fn headers(lines: Lines<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
        headers.append(HeaderName::from_static(name), value);
    }
    headers
}

fn heard(status: u16, lines: Lines<'_>, skew: &mut Skew) -> Signal {
    let at = Moment::new(NOW, WallTime::from_unix_secs(WALL));
    signal::read(
        StatusCode::from_u16(status).expect("a status"),
        &headers(lines),
        at,
        skew,
    )
}

fn found_with(status: u16, lines: Lines<'_>, sample: Option<&[u8]>) -> Finding {
    let signal = heard(status, lines, &mut Skew::new());
    let headers = headers(lines);
    let answer = Answer {
        signal: &signal,
        headers: &headers,
        sample,
        complete: true,
        trailers: None,
    };
    let request = RequestView {
        method: &Method::GET,
        path: "/",
        accepts_json: true,
    };
    classify(&request, &answer, None, &ClassifyPolicy::default())
}

fn found(status: u16, lines: Lines<'_>) -> Finding {
    found_with(status, lines, None)
}

fn wait(finding: &Finding) -> Option<Duration> {
    finding.ask().map(|ask| ask.until.since(NOW))
}

#[test]
fn sc_p01_zero_is_an_instruction_with_a_floor() {
    let zero = [("retry-after", "0")];
    assert_eq!(heard(429, &zero, &mut Skew::new()).retry_after, Hint::Zero);
    assert_eq!(heard(429, &[], &mut Skew::new()).retry_after, Hint::Absent);
    let finding = found(429, &zero);
    assert_eq!(
        finding.verdict,
        Verdict::RateLimited,
        "it counts as a refusal"
    );
    assert_eq!(wait(&finding), Some(Duration::from_secs(1)));
}

#[test]
fn sc_p03_dates_in_three_forms_and_never_a_negative_wait() {
    for date in [
        "Tue, 10 Mar 2026 12:05:00 GMT",
        "Tuesday, 10-Mar-26 12:05:00 GMT",
        "Tue Mar 10 12:05:00 2026",
    ] {
        let finding = found(429, &[("retry-after", date)]);
        assert_eq!(wait(&finding), Some(Duration::from_secs(300)), "{date}");
    }
    for nonsense in [
        "-5",
        "Tue, 10 Mar 2026 11:00:00 GMT",
        "Tue, 99 Mar 2026",
        "\u{fc}",
        ",,",
    ] {
        assert_eq!(
            wait(&found(429, &[("retry-after", nonsense)])),
            None,
            "{nonsense}"
        );
    }
}

#[test]
fn sc_p04_an_epoch_in_a_field_for_spans() {
    let finding = found(429, &[("retry-after", "1773144045")]);
    assert_eq!(wait(&finding), Some(Duration::from_secs(45)));
    let elapsed = found(429, &[("retry-after", "1773143955")]);
    assert_eq!(wait(&elapsed), None);
}

#[test]
fn sc_p05_decimals_round_up() {
    assert_eq!(
        wait(&found(429, &[("retry-after", "1.5")])),
        Some(Duration::from_millis(1500))
    );
    let fine = found(429, &[("retry-after", "0.0000000001")]);
    assert_eq!(wait(&fine), Some(Duration::from_nanos(1)));
}

#[test]
fn sc_p06_durations_with_units_and_the_longest_of_several() {
    for (reset, millis) in [("6m0s", 360_000), ("7.66s", 7_660), ("76ms", 76)] {
        let finding = found(429, &[("x-ratelimit-reset-tokens", reset)]);
        assert_eq!(
            wait(&finding),
            Some(Duration::from_millis(millis)),
            "{reset}"
        );
    }
    let finding = found(
        429,
        &[
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ],
    );
    assert_eq!(wait(&finding), Some(Duration::from_secs(360)));
}

#[test]
fn sc_p07_retry_after_comes_before_any_reset() {
    for (retry_after, reset) in [("30", "1800"), ("1800", "30")] {
        let finding = found(
            429,
            &[
                ("ratelimit-remaining", "0"),
                ("ratelimit-reset", reset),
                ("retry-after", retry_after),
            ],
        );
        let ask = finding.ask().unwrap();
        assert_eq!(ask.source, AskSource::RetryAfter);
        assert_eq!(
            wait(&finding).map(|d| d.as_secs().to_string()).as_deref(),
            Some(retry_after)
        );
    }
}

#[test]
fn sc_p09_a_wrong_clock_never_makes_a_wait_early() {
    let lines = |reset| [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset)];
    // The provider's clock is five minutes ahead.
    let mut skew = Skew::new();
    heard(200, &[("date", "Tue, 10 Mar 2026 12:05:00 GMT")], &mut skew);
    let signal = heard(429, &lines("1773144320"), &mut skew);
    assert_eq!(signal.readings[0].reset, Some(Instant::from_secs(1020)));
    // Five minutes behind: by our clock the reset would have passed already.
    let mut skew = Skew::new();
    heard(200, &[("date", "Tue, 10 Mar 2026 11:55:00 GMT")], &mut skew);
    let signal = heard(429, &lines("1773143720"), &mut skew);
    assert_eq!(signal.readings[0].reset, Some(Instant::from_secs(1020)));
    // A span needs no clock and is preferred.
    let mut both = lines("1773149999").to_vec();
    both.push(("x-ratelimit-reset-after", "2.5"));
    let signal = heard(429, &both, &mut skew);
    assert_eq!(
        signal.readings[0].reset,
        Some(Instant::from_millis(1_002_500))
    );
}

#[test]
fn sc_p10_every_dialect_of_the_same_word() {
    for (name, value) in [
        ("retry-after-ms", "5000"),
        ("x-ms-retry-after-ms", "5000"),
        ("x-amz-retry-after", "5000"),
        ("x-ratelimit-retry-after", "5"),
        ("x-ratelimit-reset", "5"),
        ("x-rate-limit-reset", "5"),
        ("x-ratelimit-reset-after", "5.0"),
        ("ratelimit-reset", "5"),
        ("x-ratelimit-reset-requests", "5s"),
        ("ratelimit", "\"x\";r=0;t=5"),
        ("ratelimit", "limit=1, remaining=0, reset=5"),
    ] {
        let finding = found(429, &[(name, value)]);
        assert_eq!(
            wait(&finding),
            Some(Duration::from_secs(5)),
            "{name}: {value}"
        );
    }
}

#[test]
fn sc_p12_a_vanished_remaining_is_not_a_number() {
    let signal = heard(200, &[("ratelimit-limit", "100")], &mut Skew::new());
    assert_eq!(signal.readings[0].remaining, None);
    assert!(
        !found(
            200,
            &[("ratelimit-limit", "100"), ("ratelimit-reset", "60")]
        )
        .holds
    );
}

#[test]
fn sc_p13_a_failed_login_is_never_a_rate_limit() {
    for status in [401, 403] {
        let finding = found(
            status,
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1773147600"),
                ("retry-after", "3600"),
            ],
        );
        assert_eq!(finding.verdict, Verdict::AuthError, "{status}");
        assert!(!finding.holds && finding.asks.is_empty(), "{status}");
    }
}

#[test]
fn sc_p14_a_quota_with_something_left_holds_nothing() {
    let left = [
        ("x-ratelimit-remaining", "12"),
        ("x-ratelimit-reset", "1773147600"),
    ];
    let good = found(200, &left);
    assert!(!good.holds && good.asks.is_empty());
    // Refused all the same: then that quota is not the reason, and its reset not the ask.
    let refused = found(429, &left);
    assert!(refused.holds && refused.asks.is_empty());
}

#[test]
fn sc_p16_words_in_a_body_mean_nothing_by_themselves() {
    let body = br#"{"data":{"title":"Throttled: rate limit exceeded, captcha, 429"}}"#;
    let lines = [("content-type", "application/json")];
    assert_eq!(found_with(200, &lines, Some(body)), Finding::success());
}

#[test]
fn sc_p20_a_limit_of_sixteen_days_is_a_quota() {
    let finding = found(429, &[("retry-after", "1382400")]);
    assert_eq!(finding.verdict, Verdict::QuotaExhausted);
    assert_eq!(wait(&finding), Some(Duration::from_secs(1_382_400)));
    let policy = ClassifyPolicy::default();
    assert!(
        !policy
            .retry_on
            .covers(StatusCode::TOO_MANY_REQUESTS, &finding)
    );
}
