//! What holds for any answer and any profile of the catalogue.

use std::sync::OnceLock;

use abide_core::{Instant, WallTime};
use abide_fuzz::hostile;
use abide_profile::judge::{CEILING, Judged, Recorded, judge};
use abide_profile::{Catalogue, Profile};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use proptest::prelude::*;

fn catalogue() -> &'static Catalogue {
    static ALL: OnceLock<Catalogue> = OnceLock::new();
    ALL.get_or_init(Catalogue::built_in)
}

/// Any profile that is built in.
fn profiles() -> impl Strategy<Value = String> {
    let names = catalogue().names();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    prop::sample::select(names)
}

/// Names that rules and readings of the catalogue look at, and any others.
fn names() -> impl Strategy<Value = HeaderName> {
    let known = [
        "retry-after",
        "retry-after-ms",
        "date",
        "age",
        "content-type",
        "server",
        "location",
        "ratelimit",
        "ratelimit-policy",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "x-ratelimit-reset-after",
        "x-ratelimit-reset-tokens",
        "x-ratelimit-scope",
        "x-should-retry",
        "cf-mitigated",
        "x-shopify-shop-api-call-limit",
        "x-business-use-case-usage",
        "x-mbx-used-weight-1m",
    ];
    prop_oneof![
        4 => prop::sample::select(known.to_vec()).prop_map(HeaderName::from_static),
        1 => "[a-z][a-z0-9-]{0,20}".prop_filter_map("a name", |n| n.parse().ok()),
    ]
}

/// Any value that can be on the wire, of which many look like times.
fn values() -> impl Strategy<Value = HeaderValue> {
    let bytes = prop::collection::vec(prop_oneof![Just(9_u8), 32..=126_u8, 128..=255_u8], 0..60);
    let text = prop_oneof![
        "-?[0-9]{1,25}(\\.[0-9]{1,12})?",
        "[0-9]{1,4}(ms|s|m|h|d)([0-9.]{1,4}s)?",
        "(Mon|Tue|Wed), [0-9]{2} (Mar|Apr|Xyz) [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT",
        "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})",
        "\"[a-z]\";[rqtw]=-?[0-9]{1,16}(;[rqtw]=[0-9]{1,16})?(, \"[a-z]\";r=0)?",
        "(application/json|text/html|text/plain|true|false|0|shared|global|cloudflare)",
        "\\{\"[a-z]\":\\[?\\{\"call_count\":[0-9]{1,3}",
    ];
    prop_oneof![
        bytes.prop_filter_map("a value", |b| HeaderValue::from_bytes(&b).ok()),
        text.prop_filter_map("a value", |t| HeaderValue::from_str(&t).ok()),
    ]
}

/// Any bytes, and JSON of the words that rules look for.
fn bodies() -> impl Strategy<Value = Option<Vec<u8>>> {
    let word = prop::sample::select(vec![
        "error",
        "errors",
        "code",
        "message",
        "details",
        "status",
        "retry_after",
        "retryDelay",
        "violations",
        "quotaId",
        "metadata",
        "extensions",
        "type",
        "reason",
        "subdomain",
        "parameters",
        "throttleStatus",
        "currentlyAvailable",
        "requestedQueryCost",
        "restoreRate",
        "cost",
    ]);
    let leaf = prop_oneof![
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        ".{0,30}".prop_map(serde_json::Value::from),
        "(rate_limit_exceeded|THROTTLED|429|88|Try again in [0-9]{1,20}s|PT[0-9]{1,9}S|[0-9.]{1,9}s)"
            .prop_map(serde_json::Value::from),
    ];
    let json = leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            prop::collection::vec((word.clone(), inner), 0..6)
                .prop_map(|all| { all.into_iter().map(|(n, v)| (n.to_owned(), v)).collect() }),
        ]
    });
    prop_oneof![
        1 => Just(None),
        2 => prop::collection::vec(any::<u8>(), 0..500).prop_map(Some),
        4 => json.prop_map(|v| Some(v.to_string().into_bytes())),
        1 => (".{0,200}").prop_map(|t| Some(t.into_bytes())),
    ]
}

fn walls() -> impl Strategy<Value = WallTime> {
    prop_oneof![
        4 => Just(WallTime::from_unix_secs(1_773_144_000)),
        1 => any::<i64>().prop_map(WallTime::from_unix_nanos),
    ]
}

fn sound(judged: &Judged) -> Result<(), TestCaseError> {
    let now: Instant = judged.at.now;
    for ask in &judged.finding.asks {
        prop_assert!(ask.until >= now, "asks to come back before now: {ask:?}");
    }
    for r in &judged.finding.readings {
        prop_assert!(
            r.reset.is_none_or(|t| t >= now),
            "a reset before now: {r:?}"
        );
    }
    prop_assert!(
        judged.wait.is_none_or(|w| w <= CEILING),
        "{:?}",
        judged.wait
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_answer_is_judged_and_asks_nothing_in_the_past(
        name in profiles(),
        status in 100..600_u16,
        method in prop::sample::select(vec![Method::GET, Method::POST, Method::DELETE]),
        path in "(/[a-z0-9*.%é]{0,8}){0,5}",
        lines in prop::collection::vec((names(), values()), 0..12),
        body in bodies(),
        wall in walls(),
        json: bool,
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, value);
        }
        let recorded = Recorded {
            method,
            path,
            wall,
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            body,
            json,
        };
        let profile = catalogue().get(&name).unwrap();
        sound(&judge(&profile, &recorded))?;
    }
}

/// Nanoseconds of the quickest of a few runs.
#[expect(
    clippy::disallowed_methods,
    reason = "two times of one machine are compared"
)]
fn quickest(runs: usize, mut run: impl FnMut()) -> u128 {
    let time = |_| {
        let began = std::time::Instant::now();
        run();
        began.elapsed().as_nanos()
    };
    (0..runs).map(time).min().unwrap_or(0)
}

fn judged(profile: &Profile, body: &[u8], status: StatusCode, kind: &'static str) -> Judged {
    let recorded = Recorded {
        method: Method::GET,
        path: "/".to_owned(),
        wall: WallTime::from_unix_secs(1_773_144_000),
        status,
        headers: HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]),
        body: Some(body.to_vec()),
        json: true,
    };
    judge(profile, &recorded)
}

/// The bound in time is the bench's; here only that no body makes rules do many times the work
/// of parsing as much. Both are the quickest of a few runs, and the ratio has much room: what is
/// to be found is work that grows with the square.
#[test]
fn hostile_bodies_cost_a_bounded_multiple_of_parsing() {
    const MOST: u128 = 100;
    let yardstick = hostile::yardstick();
    let parse = quickest(5, || {
        assert!(serde_json::from_slice::<serde_json::Value>(&yardstick).is_ok());
    });
    let bodies = hostile::bodies();
    for name in catalogue().names() {
        let profile = catalogue().get(name).unwrap();
        for (body, bytes) in &bodies {
            for (status, kind) in [(429, 0), (403, 1), (200, 0)] {
                let status = StatusCode::from_u16(status).unwrap();
                let kind = hostile::KINDS[kind];
                let run = || drop(judged(&profile, bytes, status, kind));
                let mut spent = quickest(1, run);
                if spent > MOST * parse {
                    spent = quickest(5, run);
                }
                let ratio = spent / parse.max(1);
                assert!(
                    ratio <= MOST,
                    "{name}, {body}, {status} {kind}: {ratio} times"
                );
            }
        }
    }
}

#[test]
fn hostile_bodies_are_judged_soundly() {
    for name in ["generic", "gemini", "openai", "ebay"] {
        let profile = catalogue().get(name).unwrap();
        for (body, bytes) in hostile::bodies() {
            for (status, kind) in hostile::STATUSES
                .into_iter()
                .flat_map(|s| hostile::KINDS.map(|k| (s, k)))
            {
                let all = judged(&profile, &bytes, status, kind);
                assert!(sound(&all).is_ok(), "{name}, {body}, {status} {kind}");
            }
        }
    }
}
