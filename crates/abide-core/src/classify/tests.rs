//! What answers mean, end to end from their heads.

use http::{HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;

use super::*;
use crate::finding::{Ask, AskSource, Reading};
use crate::signal::{Hint, read};
use crate::verdict::GateClass;
use crate::{Instant, Moment, Skew, WallTime};

fn at() -> Moment {
    Moment::new(
        Instant::from_secs(1000),
        WallTime::from_unix_secs(1_773_144_000),
    )
}

fn judge(
    status: u16,
    lines: &[(&'static str, &str)],
    body: Option<&dyn BodyMatch>,
    policy: &ClassifyPolicy,
) -> Finding {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(
            HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let status = StatusCode::from_u16(status).unwrap();
    let signal = read(status, &headers, at(), &mut Skew::new());
    let answer = Answer {
        signal: &signal,
        headers: &headers,
        sample: Some(b"{}"),
        complete: true,
        trailers: None,
    };
    let request = RequestView {
        method: &Method::GET,
        path: "/",
        accepts_json: false,
    };
    classify(&request, &answer, body, policy)
}

fn plain(status: u16, lines: &[(&'static str, &str)]) -> Finding {
    judge(status, lines, None, &ClassifyPolicy::default())
}

fn ask(secs: u64, source: AskSource, scope: Scope) -> Ask {
    Ask {
        until: Instant::from_secs(1000 + secs),
        source,
        scope,
        class: GateClass::PLAIN,
    }
}

/// Rules that find these parts in every answer.
struct Always(Parts);

impl BodyMatch for Always {
    fn find(&self, _: &RequestView<'_>, answer: &Answer<'_>) -> Option<Parts> {
        assert_eq!(answer.sample, Some(&b"{}"[..]));
        Some(self.0.clone())
    }
}

fn parts(change: impl FnOnce(&mut Parts)) -> Always {
    let mut parts = Parts::default();
    change(&mut parts);
    Always(parts)
}

#[test]
fn every_status_has_a_meaning() {
    use {Scope as S, Verdict as V};
    for (status, verdict, scope, health) in [
        (101, V::Success, S::Request, Health::Success),
        (200, V::Success, S::Request, Health::Success),
        (302, V::Success, S::Request, Health::Success),
        (304, V::Success, S::Request, Health::Success),
        (400, V::ClientError, S::Request, Health::Neutral),
        (401, V::AuthError, S::Account, Health::Neutral),
        (403, V::AuthError, S::Account, Health::Neutral),
        (404, V::NotFound, S::Request, Health::Neutral),
        (407, V::AuthError, S::Request, Health::Neutral),
        (408, V::Unavailable, S::Request, Health::Neutral),
        (410, V::NotFound, S::Request, Health::Neutral),
        (413, V::ClientError, S::Request, Health::Neutral),
        (425, V::Unavailable, S::Request, Health::Neutral),
        (429, V::RateLimited, S::Account, Health::Neutral),
        (500, V::Unavailable, S::Route, Health::Failure),
        (502, V::Unavailable, S::Provider, Health::Failure),
        (501, V::ClientError, S::Route, Health::Neutral),
        (503, V::Unavailable, S::Provider, Health::Failure),
        (505, V::ClientError, S::Provider, Health::Neutral),
        (999, V::Unavailable, S::Provider, Health::Failure),
    ] {
        let found = plain(status, &[]);
        assert_eq!(
            (found.verdict, found.scope, found.health),
            (verdict, scope, health),
            "{status}"
        );
        assert_eq!(found.holds, verdict.is_refusal(), "{status}");
        assert_eq!(found.asks, [], "{status}");
    }
}

#[test]
fn an_outage_holds_when_it_asks_or_where_the_policy_says() {
    for status in [500, 502, 503, 529] {
        let found = plain(status, &[("retry-after", "9")]);
        assert!(found.holds, "{status}");
        assert_eq!(found.asks, [ask(9, AskSource::RetryAfter, Scope::Provider)]);
    }
    let statuses = vec![
        StatusCode::INTERNAL_SERVER_ERROR,
        StatusCode::SERVICE_UNAVAILABLE,
    ];
    let policy = ClassifyPolicy {
        hold_on: HoldOn::statuses(statuses),
        ..ClassifyPolicy::default()
    };
    assert!(judge(503, &[], None, &policy).holds);
    assert!(!judge(502, &[], None, &policy).holds);
    assert!(
        !judge(500, &[], None, &policy).holds,
        "a bare 500 never holds"
    );
}

#[test]
fn what_covers_one_request_never_holds() {
    for status in [202, 301, 408, 413, 425] {
        let found = plain(status, &[("retry-after", "9")]);
        assert!(!found.holds, "{status}");
        assert_eq!(
            found.asks,
            [ask(9, AskSource::RetryAfter, Scope::Request)],
            "{status}"
        );
    }
}

#[test]
fn a_zero_means_what_the_policy_says_and_yields() {
    let mut policy = ClassifyPolicy::default();
    let zero = [("retry-after", "0")];
    let ask_of = |policy: &_, lines: &[_]| judge(429, lines, None, policy).ask();
    assert_eq!(
        ask_of(&policy, &zero),
        Some(ask(1, AskSource::RetryAfter, Scope::Account))
    );
    let with_reset = [("retry-after", "0"), ("x-ratelimit-reset", "7")];
    let reset = Some(ask(7, AskSource::RateLimitReset, Scope::Account));
    assert_eq!(ask_of(&policy, &with_reset), reset);
    policy.hint_zero = HintZero::Immediate;
    assert_eq!(
        ask_of(&policy, &zero),
        Some(ask(0, AskSource::RetryAfter, Scope::Account))
    );
    policy.hint_zero = HintZero::Ignore;
    assert_eq!(ask_of(&policy, &zero), None);
    let on_outage = [
        ("retry-after", "0"),
        ("ratelimit-remaining", "0"),
        ("ratelimit-reset", "7"),
    ];
    assert_eq!(
        plain(503, &on_outage).asks,
        [ask(7, AskSource::RateLimitReset, Scope::Account)]
    );
}

#[test]
fn an_answer_that_uses_up_the_quota_holds_the_account() {
    let empty = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "33")];
    for status in [200, 302, 404, 500] {
        let found = plain(status, &empty);
        assert!(found.holds, "{status}");
        assert!(!found.verdict.is_refusal(), "{status}");
        assert_eq!(
            found.asks,
            [ask(33, AskSource::RateLimitReset, Scope::Account)],
            "{status}"
        );
    }
    for status in [400, 401, 403] {
        let found = plain(status, &empty);
        assert!(!found.holds && found.asks.is_empty(), "{status}");
        assert_eq!(found.readings.len(), 1, "what is told is kept all the same");
    }
    assert!(
        !plain(200, &[("x-ratelimit-remaining", "0")]).holds,
        "nobody said until when"
    );
    let windowed = [("ratelimit-remaining", "0;w=60")];
    assert_eq!(
        plain(200, &windowed).ask(),
        Some(ask(60, AskSource::RateLimitReset, Scope::Account))
    );
}

#[test]
fn a_stored_answer_tells_an_old_balance() {
    let lines = [
        ("age", "30"),
        ("ratelimit", r#""x";r=0;t=50"#),
        ("x-ratelimit-remaining", "0"),
    ];
    let found = plain(200, &lines);
    assert_eq!(found, Finding::success());
    assert_eq!(
        plain(429, &lines).asks,
        [ask(50, AskSource::RateLimitReset, Scope::Account)]
    );
    assert_eq!(
        plain(429, &lines).readings.len(),
        2,
        "a refusal is never stored"
    );
}

#[test]
fn a_quota_is_told_by_its_length() {
    let verdict = |secs: u64| plain(429, &[("retry-after", &secs.to_string())]).verdict;
    assert_eq!(verdict(21_599), Verdict::RateLimited);
    assert_eq!(verdict(21_600), Verdict::QuotaExhausted);
    assert_eq!(verdict(31 * 86_400), Verdict::QuotaExhausted);
    assert_eq!(verdict(31 * 86_400 + 1), Verdict::RateLimited);
    assert_eq!(
        plain(503, &[("retry-after", "21600")]).verdict,
        Verdict::Unavailable
    );
}

#[test]
fn a_page_is_a_failure_only_where_json_is_expected() {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("text/html"));
    let signal = read(StatusCode::OK, &headers, at(), &mut Skew::new());
    let answer = Answer {
        signal: &signal,
        headers: &headers,
        sample: None,
        complete: true,
        trailers: None,
    };
    for (accepts_json, verdict) in [(true, Verdict::Unavailable), (false, Verdict::Success)] {
        let request = RequestView {
            method: &Method::GET,
            path: "/",
            accepts_json,
        };
        let found = classify(&request, &answer, None, &ClassifyPolicy::default());
        assert_eq!(found.verdict, verdict);
        assert!(!found.holds);
    }
}

#[test]
fn rules_about_the_body_come_before_the_status() {
    let policy = ClassifyPolicy::default();
    let throttled = parts(|p| p.verdict = Some(Verdict::RateLimited));
    let found = judge(200, &[("retry-after", "5")], Some(&throttled), &policy);
    assert_eq!(
        (found.verdict, found.scope, found.holds),
        (Verdict::RateLimited, Scope::Account, true)
    );
    assert_eq!(found.asks, [ask(5, AskSource::RetryAfter, Scope::Account)]);

    let daily = parts(|p| {
        p.verdict = Some(Verdict::QuotaExhausted);
        p.gate = Some((Scope::Route, GateClass::PLAIN));
    });
    let found = judge(429, &[("retry-after", "26")], Some(&daily), &policy);
    assert_eq!(
        (found.verdict, found.scope),
        (Verdict::QuotaExhausted, Scope::Route)
    );

    let ordinary_errors = parts(|p| p.health = Some(Health::Neutral));
    let found = judge(200, &[], Some(&ordinary_errors), &policy);
    assert_eq!(
        (found.verdict, found.health),
        (Verdict::Success, Health::Neutral)
    );
}

#[test]
fn a_refusal_of_one_request_holds_nothing() {
    let one = parts(|p| {
        p.verdict = Some(Verdict::RateLimited);
        p.gate = Some((Scope::Request, GateClass::PLAIN));
    });
    let found = judge(200, &[], Some(&one), &ClassifyPolicy::default());
    assert!(!found.holds);
}

#[test]
fn a_reset_of_this_very_moment_instructs_nothing() {
    let found = plain(429, &[("ratelimit", r#""x";r=0;t=0"#)]);
    assert!(found.holds && found.asks.is_empty());
}

#[test]
fn the_body_is_believed_after_every_header() {
    let policy = ClassifyPolicy::default();
    let told = Hint::Until(Instant::from_secs(1090));
    let body = parts(|p| {
        p.ask = told;
        p.readings.push(Reading {
            remaining: Some(3),
            ..Reading::default()
        });
    });
    let ask_of = |lines: &[_]| judge(429, lines, Some(&body), &policy).ask();
    let from_body = Some(ask(90, AskSource::Body, Scope::Account));
    assert_eq!(ask_of(&[]), from_body);
    assert_eq!(ask_of(&[("retry-after", "0")]), from_body);
    let reset = Some(ask(20, AskSource::RateLimitReset, Scope::Account));
    assert_eq!(ask_of(&[("x-ratelimit-reset", "20")]), reset);
    let header = Some(ask(2, AskSource::RetryAfter, Scope::Account));
    assert_eq!(ask_of(&[("retry-after", "2")]), header);
    assert_eq!(judge(200, &[], Some(&body), &policy).readings.len(), 1);
}

#[test]
fn what_is_tried_again() {
    let again = |policy: &ClassifyPolicy, status: u16, lines: &[(&'static str, &str)]| {
        let found = judge(status, lines, None, policy);
        policy
            .retry_on
            .covers(StatusCode::from_u16(status).unwrap(), &found)
    };
    let mut policy = ClassifyPolicy::default();
    for status in [408, 425, 429, 502, 503, 504, 529] {
        assert!(again(&policy, status, &[]), "{status}");
    }
    for status in [200, 302, 400, 401, 403, 404, 413, 500, 501, 505] {
        assert!(!again(&policy, status, &[]), "{status}");
    }
    assert!(again(&policy, 500, &[("retry-after", "1")]));
    assert!(again(&policy, 413, &[("retry-after", "1")]));
    assert!(
        !again(&policy, 429, &[("retry-after", "86400")]),
        "a quota is never waited for"
    );
    let cut = Transport {
        phase: Phase::Body,
        kind: TransportKind::Reset,
    };
    let refused = Transport {
        phase: Phase::Connect,
        kind: TransportKind::Refused,
    };
    assert!(policy.retry_on.covers_transport(&refused));
    assert!(!policy.retry_on.covers_transport(&cut));
    policy.retry_on = RetryOn::nothing();
    assert!(!again(&policy, 429, &[]) && !policy.retry_on.covers_transport(&refused));
}

#[test]
fn a_failed_exchange_is_an_outage_that_never_holds() {
    let refused = of_transport(&Transport {
        phase: Phase::Connect,
        kind: TransportKind::Refused,
    });
    assert_eq!(
        (refused.verdict, refused.health),
        (Verdict::Unavailable, Health::Failure)
    );
    assert_eq!(refused.scope, Scope::Provider);
    assert!(!refused.holds && refused.asks.is_empty());
    let cut = of_transport(&Transport {
        phase: Phase::Body,
        kind: TransportKind::Reset,
    });
    assert_eq!((cut.scope, cut.health), (Scope::Request, Health::Neutral));
}

proptest! {
    /// Whatever an answer says: no ask lies in the past, credentials and mistakes ask nothing,
    /// refusals hold, and a plain success never turns into anything else.
    #[test]
    fn asks_are_never_early_and_only_where_waiting_helps(
        status in 100u16..1000,
        retry_after in prop::option::of("-?[0-9]{0,12}(\\.[0-9]{1,3})?"),
        remaining in prop::option::of("-?[0-9]{1,2}"),
        reset in prop::option::of("[0-9]{1,13}(s|ms)?"),
        age in prop::option::of("[0-9]{1,3}"),
    ) {
        let told = [
            ("retry-after", retry_after),
            ("x-ratelimit-remaining", remaining),
            ("x-ratelimit-reset", reset),
            ("age", age),
        ];
        let lines: Vec<_> =
            told.iter().filter_map(|(name, v)| Some((*name, v.as_deref()?))).collect();
        let found = plain(status, &lines);
        prop_assert!(found.asks.iter().all(|a| a.until > at().now));
        match found.verdict {
            Verdict::AuthError | Verdict::ClientError => {
                prop_assert!(found.asks.is_empty() && !found.holds);
            }
            verdict if verdict.is_refusal() => prop_assert!(found.holds),
            _ => {}
        }
        prop_assert_eq!(found.verdict == Verdict::Success, status < 400);
    }
}

#[test]
fn sc_b01_an_outage_with_an_ask_is_a_hold_and_no_failure() {
    let asked = plain(503, &[("retry-after", "30")]);
    assert!(asked.holds);
    assert_eq!(asked.health, Health::Neutral);
    assert_eq!(plain(503, &[]).health, Health::Failure);
    assert_eq!(plain(429, &[]).health, Health::Neutral);
}

#[test]
fn ra_40_a_handshake_that_failed_is_not_tried_again() {
    let failed = |kind| Transport {
        phase: Phase::Connect,
        kind,
    };
    let on = RetryOn::default();
    assert!(!on.covers_transport(&failed(TransportKind::Tls)));
    assert!(on.covers_transport(&failed(TransportKind::Refused)));
}
