//! What users of other clients suffered, by report, and what profiles make of the same answers:
//! rows P of the scenario list, sections A and B of the bug reports, and the book importer's
//! GraphQL provider.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use abide_core::{AskSource, Health, Scope, Verdict, WallTime};
use abide_profile::Catalogue;
use abide_profile::judge::{Judged, Recorded, judge};
use http::{HeaderMap, HeaderName, Method, StatusCode};

/// Noon of 10 March 2026.
const NOON: i64 = 1_773_144_000;

struct Answer {
    provider: &'static str,
    recorded: Recorded,
}

fn answer(provider: &'static str, status: u16, lines: &[(&str, &str)]) -> Answer {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    Answer {
        provider,
        recorded: Recorded {
            method: Method::GET,
            path: "/v1/items".to_owned(),
            wall: WallTime::from_unix_secs(NOON),
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body: Some(Vec::new()),
            json: false,
        },
    }
}

impl Answer {
    fn json(mut self, body: &str) -> Self {
        self.recorded
            .headers
            .insert("content-type", "application/json".parse().unwrap());
        self.recorded.body = Some(body.as_bytes().to_vec());
        self
    }

    fn body(mut self, kind: &str, body: &str) -> Self {
        let headers = &mut self.recorded.headers;
        headers.insert("content-type", kind.parse().unwrap());
        self.recorded.body = Some(body.as_bytes().to_vec());
        self
    }

    fn post(mut self, path: &str) -> Self {
        self.recorded.method = Method::POST;
        self.recorded.path = path.to_owned();
        self
    }

    /// Our clock is this much ahead of the truth.
    fn with_our_clock_ahead(mut self, secs: i64) -> Self {
        self.recorded.wall = WallTime::from_unix_secs(NOON + secs);
        self
    }

    fn judged(&self) -> Judged {
        let all = Catalogue::built_in();
        judge(&all.get(self.provider).unwrap(), &self.recorded)
    }

    fn means(&self) -> (Verdict, Option<u64>) {
        let j = self.judged();
        (j.finding.verdict, j.wait.map(|d| d.as_secs()))
    }
}

#[test]
fn report_1_2_3_a_malformed_wait_is_ignored_and_the_back_off_stays() {
    for value in ["-1", "-5", "120junk"] {
        let a = answer("generic", 429, &[("retry-after", value)]);
        assert_eq!(a.means(), (Verdict::RateLimited, Some(60)), "{value}");
        let j = a.judged();
        assert!(j.finding.holds && j.finding.asks.is_empty(), "{value}");
    }
}

#[test]
fn report_15_a_reset_is_measured_by_the_providers_own_clock() {
    // Its clock is five minutes ahead: by ours, the reset would be five minutes later.
    let reset = (NOON + 300 + 60).to_string();
    let a = answer(
        "github",
        403,
        &[
            ("date", "Tue, 10 Mar 2026 12:05:00 GMT"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", &reset),
        ],
    );
    let (verdict, wait) = a.json(r#"{"message":"API rate limit exceeded"}"#).means();
    assert_eq!(verdict, Verdict::RateLimited);
    assert!((60..=61).contains(&wait.unwrap()), "{wait:?}");
}

#[test]
fn report_16_a_reset_is_a_positive_wait() {
    let reset = (NOON + 60).to_string();
    let lines = [
        ("x-rate-limit-remaining", "0"),
        ("x-rate-limit-reset", reset.as_str()),
    ];
    assert_eq!(
        answer("okta", 429, &lines).means(),
        (Verdict::RateLimited, Some(60))
    );
}

#[test]
fn report_17_a_reset_that_has_passed_is_no_negative_wait() {
    let reset = (NOON - 5).to_string();
    let lines = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", reset.as_str()),
    ];
    assert_eq!(
        answer("github", 429, &lines).means(),
        (Verdict::RateLimited, Some(60))
    );
}

#[test]
fn report_18_our_clock_ahead_makes_no_negative_wait() {
    let reset = (NOON + 60).to_string();
    let lines = [
        ("date", "Tue, 10 Mar 2026 12:00:00 GMT"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", reset.as_str()),
    ];
    let (verdict, wait) = answer("generic", 429, &lines)
        .with_our_clock_ahead(3600)
        .means();
    assert_eq!(verdict, Verdict::RateLimited);
    assert!((60..=61).contains(&wait.unwrap()), "{wait:?}");
}

#[test]
fn report_19_a_span_is_believed_before_a_point_on_a_wrong_clock() {
    let lines = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1773100000.5"),
        ("x-ratelimit-reset-after", "3.5"),
        ("x-ratelimit-bucket", "abcd"),
    ];
    let j = answer("discord", 429, &lines).judged();
    assert_eq!(j.wait, Some(Duration::from_millis(3500)));
}

#[test]
fn report_20_a_point_in_a_json_header_is_read() {
    let json = r#"{"name":"AUTHED","period":300,"limit":1000,"remaining":0,"until":"2026-03-10T12:02:00Z"}"#;
    let a = answer(
        "trakt",
        429,
        &[
            ("date", "Tue, 10 Mar 2026 12:00:00 GMT"),
            ("x-ratelimit", json),
        ],
    );
    let (verdict, wait) = a.means();
    assert_eq!(verdict, Verdict::RateLimited);
    assert!((120..=121).contains(&wait.unwrap()), "{wait:?}");
}

#[test]
fn report_21_22_23_an_epoch_is_told_by_its_size() {
    for reset in ["1773144060", "1773144060000", "1773144060000000000", "60"] {
        let lines = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset)];
        assert_eq!(
            answer("generic", 429, &lines).means().1,
            Some(60),
            "{reset}"
        );
    }
}

#[test]
fn report_30_a_days_wait_is_a_quota() {
    let a = answer("spotify", 429, &[("retry-after", "86400")]);
    assert_eq!(a.means(), (Verdict::QuotaExhausted, Some(86_400)));
}

#[test]
fn report_36_a_quota_by_name_that_is_a_rate() {
    let a = answer("amazon-sp-api", 429, &[("x-amzn-ratelimit-limit", "0.5")]);
    let a = a.json(r#"{"errors":[{"code":"QuotaExceeded"}]}"#);
    assert_eq!(a.means(), (Verdict::RateLimited, Some(2)));
}

#[test]
fn report_37_a_missing_permission_holds_nobody() {
    let lines = [
        ("x-ratelimit-remaining", "4000"),
        ("x-ratelimit-reset", "1773145500"),
    ];
    let j = answer("github", 403, &lines)
        .json(r#"{"message":"Resource not accessible"}"#)
        .judged();
    assert_eq!(j.finding.verdict, Verdict::AuthError);
    assert!(!j.finding.holds && j.wait.is_none());
}

#[test]
fn report_39_only_an_absent_album_is_absent() {
    let deezer = |code: u32| {
        let body = format!("{{\"error\":{{\"type\":\"Exception\",\"code\":{code}}}}}");
        answer("deezer", 200, &[]).json(&body).means().0
    };
    assert_eq!(deezer(4), Verdict::RateLimited);
    assert_eq!(deezer(700), Verdict::Unavailable);
    assert_eq!(deezer(800), Verdict::NotFound);
}

#[test]
fn sc_p08_a_delay_told_in_the_body_is_read() {
    let body = r#"{"error":{"code":429,"details":[
        {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"53.2s"}]}}"#;
    let j = answer("gemini", 429, &[]).json(body).judged();
    assert_eq!(j.wait, Some(Duration::from_millis(53_200)));
    assert_eq!(j.source, AskSource::Body);
}

#[test]
fn sc_p15_every_spelling_of_a_graphql_throttle_counts() {
    for kind in ["RATE_LIMITED", "RATE_LIMIT"] {
        let body = format!("{{\"data\":{{\"a\":null}},\"errors\":[{{\"type\":\"{kind}\"}}]}}");
        let a = answer("github", 200, &[("x-ratelimit-remaining", "4000")]);
        let j = a.post("/graphql").json(&body).judged();
        assert_eq!(j.finding.verdict, Verdict::RateLimited, "{kind}");
        assert!(j.again && j.finding.holds);
    }
}

#[test]
fn sc_p16_a_users_words_are_no_code() {
    let body = r#"{"data":null,"errors":[{"message":"Throttled","extensions":{"code":"USER"}}]}"#;
    let a = answer("shopify", 200, &[])
        .post("/admin/api/graphql.json")
        .json(body);
    assert_eq!(a.means().0, Verdict::ClientError);
    let body = r#"{"errors":[{"message":"x","extensions":{"code":"THROTTLED"}}]}"#;
    let a = answer("shopify", 200, &[])
        .post("/admin/api/graphql.json")
        .json(body);
    assert_eq!(a.means().0, Verdict::RateLimited);
}

#[test]
fn sc_p18_the_wait_is_what_is_missing_by_the_rate_it_comes_back() {
    let body = r#"{"errors":[{"extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{
        "requestedQueryCost":500,"throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":100,"restoreRate":50}}}}"#;
    let a = answer("shopify", 200, &[])
        .post("/admin/api/graphql.json")
        .json(body);
    assert_eq!(a.means(), (Verdict::RateLimited, Some(8)));
    // An unknown cost is not zero: without numbers the wait is not nothing.
    let body = r#"{"errors":[{"extensions":{"code":"THROTTLED"}}]}"#;
    let a = answer("shopify", 200, &[])
        .post("/admin/api/graphql.json")
        .json(body);
    assert_eq!(a.means(), (Verdict::RateLimited, Some(60)));
}

#[test]
fn sc_p19_one_code_with_three_meanings() {
    let gemini = |body: &str| answer("gemini", 429, &[]).json(body).means().0;
    let violation = |id: &str| {
        format!(
            "{{\"error\":{{\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{{\"@type\":\
             \"type.googleapis.com/google.rpc.QuotaFailure\",\"violations\":[{{\"quotaId\":\"{id}\"}}]}}]}}}}"
        )
    };
    assert_eq!(
        gemini(&violation("RequestsPerMinutePerModel")),
        Verdict::RateLimited
    );
    assert_eq!(
        gemini(&violation("RequestsPerDayPerModel")),
        Verdict::QuotaExhausted
    );
}

#[test]
fn a10_a_daily_limit_by_reason_is_final_and_one_by_the_minute_is_not() {
    let google = |status, reason: &str, message: &str| {
        let body = format!(
            "{{\"error\":{{\"code\":{status},\"message\":\"{message}\",\"errors\":[{{\"reason\":\"{reason}\"}}]}}}}"
        );
        answer("google-books", status, &[]).json(&body).means().0
    };
    for status in [403, 429] {
        assert_eq!(
            google(status, "dailyLimitExceeded", "m"),
            Verdict::QuotaExhausted
        );
        assert_eq!(
            google(status, "quotaExceeded", "m"),
            Verdict::QuotaExhausted
        );
        assert_eq!(
            google(status, "rateLimitExceeded", "m"),
            Verdict::RateLimited
        );
    }
    assert_eq!(
        google(429, "rateLimitExceeded", "limit 'Queries per day'"),
        Verdict::QuotaExhausted
    );
}

#[test]
fn a13_a_graphql_providers_tiers_are_plans() {
    let all = Catalogue::built_in();
    let profile = all.get("hardcover").unwrap();
    let account = profile
        .told()
        .gates
        .iter()
        .find(|g| g.name == "account")
        .unwrap();
    let plans: Vec<_> = account
        .limits
        .iter()
        .filter_map(|l| l.plan.as_deref())
        .collect();
    assert_eq!(plans, ["free", "supporter"]);
}

#[test]
fn a14_errors_in_a_200_tell_neither_health_nor_a_limit_unless_they_are_one() {
    let hardcover = |errors: &str| {
        let body = format!("{{\"errors\":[{errors}]}}");
        answer("hardcover", 200, &[])
            .post("/v1/graphql")
            .json(&body)
            .judged()
    };
    let limited = hardcover(r#"{"message":"x","extensions":{"code":"rate-limited"}}"#);
    assert_eq!(limited.finding.verdict, Verdict::RateLimited);
    assert_eq!(limited.scope, Scope::Account);
    let other =
        hardcover(r#"{"message":"field not found","extensions":{"code":"validation-failed"}}"#);
    assert!(!other.finding.verdict.is_refusal());
    assert_eq!(other.finding.health, Health::Neutral);
    let clean = answer("hardcover", 200, &[])
        .post("/v1/graphql")
        .json(r#"{"data":{}}"#)
        .judged();
    assert_eq!(clean.finding.health, Health::Success);
}

#[test]
fn a_large_body_is_judged_by_its_members_as_a_client_does() {
    let long = "x".repeat(70_000);
    let body = format!(r#"{{"m":"{long}","retry_after":7}}"#);
    let told = answer("discord", 429, &[]).json(&body);
    assert_eq!(told.means(), (Verdict::RateLimited, Some(7)));
    let body = format!(r#"{{"data":{{"a":"{long}"}},"errors":[{{"type":"RATE_LIMITED"}}]}}"#);
    let told = answer("github", 200, &[]).json(&body).post("/graphql");
    assert_eq!(told.judged().finding.verdict, Verdict::RateLimited);
}

#[test]
fn a_byte_order_mark_hides_nothing() {
    let told = answer("discord", 429, &[]).json("\u{feff}{\"retry_after\":7}");
    assert_eq!(told.means(), (Verdict::RateLimited, Some(7)));
}

#[test]
fn waiting_heals_neither_a_credential_nor_a_mistake_whatever_is_left() {
    let told = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "9")];
    for status in [400, 401, 422] {
        assert_eq!(answer("generic", status, &told).means().1, None, "{status}");
    }
    assert_eq!(answer("generic", 404, &told).means().1, Some(9));
}

#[test]
fn report_42_plain_words_under_a_429_are_a_limit() {
    let a = answer("gitlab", 429, &[("retry-after", "30")]).body("text/plain", "Retry later\n");
    assert_eq!(a.means(), (Verdict::RateLimited, Some(30)));
    assert!(a.judged().finding.holds);
}

#[test]
fn report_44_a_limit_is_one_as_a_page_and_in_json() {
    let html = answer("generic", 429, &[]).body("text/html", "<html>Slow down</html>");
    assert_eq!(html.means(), (Verdict::RateLimited, Some(60)));
    let told = answer("generic", 429, &[]).json(r#"{"error_type":"rate_limit","retry_after":12}"#);
    assert_eq!(told.means(), (Verdict::RateLimited, Some(12)));
}

#[test]
fn report_46_a_page_on_a_graphql_path_is_judged_by_its_status() {
    for (provider, path) in [("github", "/graphql"), ("gitlab", "/api/graphql")] {
        let busy = answer(provider, 429, &[]).post(path);
        let busy = busy.body("text/html", "<html>Too many requests</html>");
        assert_eq!(busy.means().0, Verdict::RateLimited, "{provider}");
        let wall = answer(provider, 403, &[("server", "cloudflare")]).post(path);
        let wall = wall.body("text/html", "<html><h1>Error 1020</h1></html>");
        assert_eq!(wall.means().0, Verdict::Banned, "{provider}");
    }
}

#[test]
fn report_47_errors_in_a_200_are_looked_into() {
    let github = |body: &str| {
        let a = answer("github", 200, &[]).post("/graphql").json(body);
        let finding = a.judged().finding;
        (finding.verdict, finding.health)
    };
    let alone = github(r#"{"errors":[{"message":"no such field"}]}"#);
    assert_eq!(alone, (Verdict::ClientError, Health::Neutral));
    let none = github(r#"{"data":null,"errors":[{"message":"no such field"}]}"#);
    assert_eq!(none, (Verdict::ClientError, Health::Neutral));
    let clean = github(r#"{"data":{"viewer":{}}}"#);
    assert_eq!(clean, (Verdict::Success, Health::Success));
}

#[test]
fn report_48_a_limit_under_either_name_and_in_new_words_is_no_data() {
    for name in ["Note", "Information"] {
        for words in [
            "5 calls per minute",
            "Please slow down.",
            "words of tomorrow",
        ] {
            let body = format!("{{\"{name}\":\"{words}\"}}");
            let a = answer("alpha-vantage", 200, &[]).json(&body);
            assert_eq!(a.means().0, Verdict::RateLimited, "{body}");
        }
    }
    let data = answer("alpha-vantage", 200, &[]).json(r#"{"Time Series (Daily)":{}}"#);
    assert_eq!(data.means().0, Verdict::Success);
}

#[test]
fn report_50_maintenance_is_no_empty_list() {
    let closed = "<html><h1>Civitai is down for maintenance</h1></html>";
    for status in [200, 503] {
        let a = answer("civitai", status, &[]).body("text/html", closed);
        assert_eq!(a.means().0, Verdict::Unavailable, "{status}");
    }
    let empty = answer("civitai", 200, &[]).json(r#"{"items":[],"metadata":{}}"#);
    assert_eq!(empty.means().0, Verdict::Success);
}

#[test]
fn report_68_a_ban_in_a_200_is_a_ban() {
    for body in [
        r#"<error code="500">banned</error>"#,
        "<error>Banned</error>",
    ] {
        let j = answer("anidb", 200, &[]).body("text/xml", body).judged();
        assert_eq!(j.finding.verdict, Verdict::Banned);
        assert!(j.finding.holds && !j.again);
        assert_eq!(j.scope, Scope::Provider);
    }
}
