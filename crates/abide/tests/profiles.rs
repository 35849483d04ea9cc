//! What profiles change over a real socket: refusals told in bodies, gates of a provider's own,
//! and what may be sent again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::time::Duration;

use abide::Client;
use abide::core::Verdict;
use abide::core::call::Safety;
use abide::core::refusal::RefusalKind;
use abide::run::{BulkPolicy, Outcome, Wanted};
use common::{Peer, known_as as client, ms, now, reply, until};

const THROTTLED: &str = r#"{"errors":[{"extensions":{"code":"THROTTLED","wait":0.3}}]}"#;

#[tokio::test]
async fn inv11_an_answer_shows_no_secret_that_only_its_profile_knows() {
    let peer = Peer::saying([reply(200)]);
    let client = client("[credential]\nsegment = 1\nquery = [\"pass\"]\n");
    let url = peer.url("/bots3cr3t/getMe?pass=s3cr3t");
    let answer = client.get(&url).send().await.unwrap();
    let told = format!("{answer:?}");
    assert!(!told.contains("s3cr3t"), "{told}");
    assert!(told.contains("/…/getMe?pass=…"), "{told}");
}

const GRAPHQL: &str = r#"
[[reads]]
paths = ["/graphql"]
graphql = true

[[rule]]
why = "a throttle hides in a 200"
status = [200]
paths = ["/graphql"]
json = { "$.errors[*].extensions.code" = "THROTTLED" }
verdict = "rate_limited"
gate = "account"
ask = [{ json = "$.errors[*].extensions.wait" }]
"#;

fn post(client: &Client, peer: &Peer, query: &str) -> abide::RequestBuilder {
    let body = format!("{{\"query\":{query:?}}}");
    client
        .request(http::Method::POST, &peer.url("/graphql"))
        .body(body)
}

#[tokio::test]
async fn sc_p15_p16_a_throttle_in_a_200_holds_and_a_query_is_asked_again() {
    let peer = Peer::saying([
        reply(200).json(THROTTLED),
        reply(200).json(r#"{"data":{}}"#),
    ]);
    let client = client(GRAPHQL);
    let answer = post(&client, &peer, "{ viewer { id } }")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.attempts(), 2);
    assert_eq!(answer.bytes(1000).await.unwrap(), r#"{"data":{}}"#);
    let seen = peer.seen();
    let end = seen[0].answered.unwrap().after(ms(300));
    assert!(seen[1].at >= end, "not inside the hold");
}

#[tokio::test]
async fn inv06_a_mutation_is_not_asked_again_and_the_hold_stands() {
    let peer = Peer::saying([reply(200).json(THROTTLED), reply(200).json("{}")]);
    let client = client(GRAPHQL);
    let refused = post(&client, &peer, "mutation { a }").send().await;
    let refused = refused.unwrap_err();
    assert_eq!(
        refused.turned().unwrap().refusal.cause,
        Some(Verdict::RateLimited)
    );
    assert_eq!(peer.requests(), 1);
    assert_eq!(client.governor().held().len(), 1);
}

#[tokio::test]
async fn sc_p08_a_wait_told_only_in_the_body_is_kept() {
    let body = r#"{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"0.4s"}]}}"#;
    let peer = Peer::saying([reply(429).json(body), reply(200)]);
    let client = client("");
    let answer = client.get(&peer.url("/")).send().await.unwrap();
    assert_eq!(answer.attempts(), 2);
    let seen = peer.seen();
    assert!(seen[1].at >= seen[0].answered.unwrap().after(ms(400)));
}

#[tokio::test]
async fn a_body_that_was_looked_at_reaches_the_caller_whole() {
    let text = format!("{{\"data\":\"{}\"}}", "x".repeat(300_000));
    let peer = Peer::saying([reply(200).json(text.clone())]);
    let client = client(GRAPHQL);
    let answer = post(&client, &peer, "{ a }").send().await.unwrap();
    assert_eq!(answer.bytes(1 << 20).await.unwrap(), text);
}

#[tokio::test]
async fn a_throttle_told_behind_the_sample_closes_the_gate_when_it_is_read() {
    let text = format!("{{\"data\":\"{}\",{}", "x".repeat(300_000), &THROTTLED[1..]);
    let peer = Peer::saying([reply(200).json(text)]);
    let client = client(GRAPHQL);
    let answer = post(&client, &peer, "{ a }").send().await.unwrap();
    assert_eq!(answer.finding().verdict, Verdict::Success);
    answer.bytes(1 << 20).await.unwrap();
    assert_eq!(client.governor().held().len(), 1);
}

#[tokio::test]
async fn a_run_asks_again_for_what_was_refused_behind_the_sample() {
    let throttled = format!("{{\"data\":\"{}\",{}", "x".repeat(300_000), &THROTTLED[1..]);
    let peer = Peer::saying([reply(200).json(throttled), reply(200).json(r#"{"data":1}"#)]);
    let client = client(GRAPHQL);
    let mut wanted = Wanted::get(peer.url("/graphql").parse().unwrap());
    wanted.method = http::Method::POST;
    wanted.body = Some(r#"{"query":"{ a }"}"#.into());
    wanted.safety = Some(Safety::Read);
    let ran = common::bulk::run_wanted(&client, BulkPolicy::default(), vec![wanted]).await;
    assert_eq!(ran.count(Outcome::Done), 1);
    assert_eq!(ran.reports[0].body.as_deref(), Some(&br#"{"data":1}"#[..]));
    let seen = peer.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[1].at >= seen[0].answered.unwrap().after(ms(300)));
}

#[tokio::test]
async fn a_stream_of_events_is_handed_on_at_once() {
    let rule = r#"
[[rule]]
status = [200]
text = "overloaded_error"
verdict = "unavailable"
gate = "provider"
wait = "60s"
"#;
    let peer = Peer::saying([reply(200)
        .header("Content-Type", "text/event-stream")
        .saying("data: {\"type\":\"overloaded_error\"}\n\n")]);
    let client = client(rule);
    let answer = client.get(&peer.url("/")).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.attempts()), (200, 1));
    answer.bytes(1000).await.unwrap();
    assert_eq!(peer.requests(), 1);
}

#[tokio::test]
async fn sc_p19_p20_a_billing_quota_is_final() {
    let rule = r#"
[[rule]]
why = "money is used up"
status = [429]
json = { "$.error.code" = "insufficient_quota" }
verdict = "quota_exhausted"
again = false
ignore_ask = true
"#;
    let body = r#"{"error":{"code":"insufficient_quota"}}"#;
    let peer = Peer::saying([reply(429).header("Retry-After", "0").json(body)]);
    let client = client(rule);
    let e = client.get(&peer.url("/")).send().await.unwrap_err();
    assert_eq!(
        e.turned().unwrap().refusal.cause,
        Some(Verdict::QuotaExhausted)
    );
    assert_eq!(peer.requests(), 1);
}

const POOLS: &str = r#"
[[gate]]
name = "search"
scope = "route"
paths = ["/search/**"]

[[rule]]
status = [429]
paths = ["/search/**"]
gate = "search"

[[reading]]
gate = "search"
remaining = { header = "x-search-left" }
reset = { header = "x-search-reset" }
"#;

#[tokio::test]
async fn a_refused_pool_leaves_the_others_open() {
    let peer = Peer::start(|seen| match seen.path.as_str() {
        "/search/x" => reply(429).header("Retry-After", "100"),
        _ => reply(200),
    });
    let client = client(POOLS);
    client.get(&peer.url("/search/x")).send().await.unwrap_err();
    assert!(client.get(&peer.url("/items")).send().await.is_ok());
    let held = client.get(&peer.url("/search/y")).send().await.unwrap_err();
    let held = &held.turned().unwrap().refusal;
    assert_eq!((held.kind, held.attempts), (RefusalKind::Held, 0));
}

#[tokio::test]
async fn an_emptied_pool_closes_without_a_refusal() {
    let peer = Peer::saying([reply(200)
        .header("X-Search-Left", "0")
        .header("X-Search-Reset", "100")]);
    let client = client(POOLS);
    client.get(&peer.url("/search/x")).send().await.unwrap();
    until(|| !client.governor().held().is_empty()).await;
    client.get(&peer.url("/search/x")).send().await.unwrap_err();
    assert!(client.get(&peer.url("/items")).send().await.is_ok());
    assert_eq!(peer.requests(), 2);
}

#[tokio::test]
async fn a_documented_limit_is_kept_to() {
    let limit = r#"
[[gate]]
name = "account"
limits = [{ count = 20, per = "1s" }]
"#;
    let peer = Peer::saying([reply(200)]);
    let client = client(limit);
    let began = now();
    for _ in 0..5 {
        client.get(&peer.url("/")).send().await.unwrap();
    }
    // The first goes at once and the other four 50 ms apart, of which a late wake may catch up.
    assert!(now().since(began) >= Duration::from_millis(4 * 50 - 50));
}

#[tokio::test]
async fn a_run_over_a_thousand_routes_finishes_them_all() {
    let route = r#"
[[gate]]
name = "route"
"#;
    let peer = Peer::start(|seen| match (seen.n, seen.path.as_str()) {
        (100..104, _) => reply(429).header("Retry-After", "0.2"),
        _ => reply(200),
    });
    let client = client(route);
    let urls: Vec<String> = (0..1000)
        .map(|n| peer.url(&format!("/page-{n}-x")))
        .collect();
    let ran = common::bulk::run(&client, BulkPolicy::default(), &urls).await;
    assert_eq!(ran.count(Outcome::Done), 1000);
}

#[tokio::test]
async fn a_buckets_name_joins_routes() {
    let bucket = r#"
[[gate]]
name = "bucket"
scope = "route"
by = ["bucket"]

[[reading]]
gate = "bucket"
bucket = { header = "x-bucket" }

[[rule]]
status = [429]
gate = "bucket"
"#;
    let peer = Peer::start(|seen| match (seen.n, seen.path.as_str()) {
        (0 | 1, _) => reply(200).header("X-Bucket", "abc"),
        (_, "/c") => reply(200).header("X-Bucket", "other"),
        _ => reply(429)
            .header("X-Bucket", "abc")
            .header("Retry-After", "100"),
    });
    let client = client(bucket);
    client.get(&peer.url("/a")).send().await.unwrap();
    client.get(&peer.url("/b")).send().await.unwrap();
    client.get(&peer.url("/a")).send().await.unwrap_err();
    let held = client.get(&peer.url("/b")).send().await.unwrap_err();
    assert_eq!(
        held.turned().unwrap().refusal.attempts,
        0,
        "one bucket, two routes"
    );
    assert!(client.get(&peer.url("/c")).send().await.is_ok());
}

/// A refusal whose body drips: its head says enough to hold everybody.
#[tokio::test]
async fn inv01_a_refusing_head_holds_while_its_body_is_still_coming() {
    let slow = r#"{"retry_after": 100}"#.to_owned() + &" ".repeat(100_000);
    let peer = Peer::saying([
        reply(429)
            .header("Retry-After", "100")
            .json(slow)
            .dripping(ms(20)),
        reply(200),
    ]);
    let client = client("");
    let first = client.get(&peer.url("/")).send();
    let first = tokio::spawn(async move { first.await.is_err() });
    until(|| !client.governor().held().is_empty()).await;
    assert!(!first.is_finished(), "its body is still coming");
    let held = client.get(&peer.url("/")).send().await.unwrap_err();
    assert_eq!(held.turned().unwrap().refusal.attempts, 0);
    assert_eq!(peer.requests(), 1);
    first.abort();
}

/// The same, and the caller leaves before the body is there.
#[tokio::test]
async fn inv01_a_refusal_is_known_though_its_caller_left() {
    let rule = r#"
[[rule]]
status = [429]
json = { "$.code" = "x" }
verdict = "unavailable"
"#;
    let slow = " ".repeat(100_000);
    let peer = Peer::saying([
        reply(429)
            .header("Retry-After", "100")
            .json(slow)
            .dripping(ms(20)),
        reply(200),
    ]);
    let client = client(rule);
    let call = client.get(&peer.url("/")).deadline(ms(300)).send().await;
    call.unwrap_err();
    assert_eq!(client.governor().held().len(), 1);
    let held = client.get(&peer.url("/")).send().await.unwrap_err();
    assert_eq!(held.turned().unwrap().refusal.attempts, 0);
}

#[tokio::test]
async fn a_body_that_nobody_read_to_its_end_is_not_cut() {
    let text = format!("{{\"data\":\"{}\"}}", "x".repeat(300_000));
    let peer = Peer::saying([reply(200).json(text)]);
    let client = client(
        "expects = \"json\"\n[[rule]]\nstatus = [200]\njson = { \"$.errors\" = true }\nverdict = \"unavailable\"\n",
    );
    for _ in 0..3 {
        let answer = client.get(&peer.url("/")).send().await.unwrap();
        assert_eq!(answer.finding().verdict, Verdict::Success);
        drop(answer);
    }
    let view = client.governor().provider("peer").view();
    assert!(view.iter().all(|g| g.healthy), "{view:?}");
}

/// More routes than are told apart, and one of them refused for a day.
#[tokio::test]
async fn inv05_a_run_over_many_routes_does_not_wait_a_day_at_one_of_them() {
    let route = r#"
[[gate]]
name = "route"

[[rule]]
status = [429]
gate = "route"
"#;
    let peer = Peer::start(|seen| match seen.path.as_str() {
        "/page-299-x" => reply(429).header("Retry-After", "20000"),
        _ => reply(200),
    });
    let client = client(route);
    let mut urls: Vec<String> = (0..300)
        .map(|n| peer.url(&format!("/page-{n}-x")))
        .collect();
    urls.extend((0..5).map(|_| peer.url("/page-299-x")));
    urls.extend((300..320).map(|n| peer.url(&format!("/page-{n}-x"))));
    let ran = common::bulk::run(&client, BulkPolicy::default(), &urls).await;
    assert_eq!(ran.count(Outcome::Done), 319);
    assert_eq!(ran.count(Outcome::Skipped), 6);
}

/// Whoever comes first must not decide for the others.
#[tokio::test]
async fn limits_with_and_without_a_credential_are_kept_apart() {
    let limits = r#"
[[gate]]
name = "provider"
limits = [
    { count = 1000, per = "1s", burst = 100, credential = true },
    { count = 2, per = "1h", burst = 2, credential = false },
]
"#;
    let peer = Peer::saying([reply(200)]);
    let client = client(limits);
    for _ in 0..3 {
        let call = client.get(&peer.url("/")).header("Authorization", "x");
        call.send().await.unwrap();
    }
    for _ in 0..2 {
        client.get(&peer.url("/")).send().await.unwrap();
    }
    client.get(&peer.url("/")).send().await.unwrap_err();
    let call = client.get(&peer.url("/")).header("Authorization", "x");
    call.send().await.unwrap();
    assert_eq!(peer.requests(), 6);
}
