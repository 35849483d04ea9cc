//! Holds, gates and breakers over a real socket: rows H12 to H26 and B02, B03.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use abide::core::control::Adaptive;
use abide::core::hold::SetBy;
use abide::core::ladder::Ladder;
use abide::core::policy::ProviderPolicy;
use abide::core::provider::Event;
use abide::core::refusal::RefusalKind;
use abide::core::{AskSource, Scope, Verdict};
use abide::profile::Catalogue;
use abide::{Client, Governor};
use common::{Peer, Reply, client, hasty, known_as, ms, now, reply, turned, until, waits};
use url::Url;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// Whose hold it is, what it covers, why, who says so, since when and until when.
#[tokio::test]
async fn sc_h12_every_hold_is_listed_with_its_reason() {
    let busy = Peer::saying([reply(429).header("Retry-After", "3600")]);
    let down = Peer::saying([reply(503).header("Retry-After", "600")]);
    let client = client();
    let began = now();
    for peer in [&busy, &down] {
        turned(client.get(&peer.url("/")).fail_fast().send().await);
    }
    client.governor().hold("c.example", 2 * HOUR);
    let mut held = client.governor().held();
    held.sort_by_key(|h| h.hold.until);
    let told: Vec<_> = held
        .iter()
        .map(|h| (h.provider.to_string(), h.scope, h.hold.cause, h.hold.set_by))
        .collect();
    let (limited, out) = (Verdict::RateLimited, Verdict::Unavailable);
    assert_eq!(
        told,
        [
            (down.name(), Scope::Provider, out, SetBy::Answer),
            (busy.name(), Scope::Account, limited, SetBy::Answer),
            ("c.example".into(), Scope::Provider, out, SetBy::Operator),
        ]
    );
    for h in &held {
        assert!(h.hold.since >= began && h.hold.until > h.hold.since);
    }
    assert!(
        held[..2]
            .iter()
            .all(|h| h.hold.source() == AskSource::RetryAfter)
    );
}

/// Nobody says what was refused: everything of the account waits, by the ladder.
#[tokio::test]
async fn sc_h17_a_refusal_that_names_nothing_holds_every_route_by_the_ladder() {
    let peer = Peer::start(|seen| match seen.n {
        0 | 1 => reply(429),
        _ => reply(200),
    });
    let mut gates = ProviderPolicy::default();
    gates.account.ladder = Ladder::Steps(vec![ms(200), ms(400)]);
    gates.account.adaptive = Adaptive::Off;
    let governor = Governor::builder().seed(7).policy(gates);
    let governor = governor.build().unwrap();
    let client = Client::builder().governor(governor).build().unwrap();
    let ask = |path: &str| client.get(&peer.url(path));
    turned(ask("/a").fail_fast().send().await);
    for path in ["/a", "/b", "/c/d"] {
        let t = turned(ask(path).fail_fast().send().await);
        assert_eq!((t.refusal.kind, t.refusal.attempts), (RefusalKind::Held, 0));
    }
    let answer = ask("/b").send().await.unwrap();
    assert_eq!((answer.attempts(), peer.requests()), (2, 3));
    let seen = peer.seen();
    assert!(seen[1].at >= seen[0].answered.unwrap().after(ms(200)));
    assert!(seen[2].at >= seen[1].answered.unwrap().after(ms(400)));
}

/// Each request says how long it waits; one that says nothing does not wait for minutes.
#[tokio::test]
async fn sc_h19_the_longest_wait_is_each_requests_own_and_bounded_by_default() {
    let peer = Peer::saying([reply(429).header("Retry-After", "300"), reply(200)]);
    let client = client();
    let ask = || client.get(&peer.url("/"));
    turned(ask().fail_fast().send().await);
    let began = now();
    let patient = ask().up_to(2 * HOUR).wait_max(SECOND);
    for call in [ask(), ask().fail_fast(), ask().up_to(SECOND), patient] {
        let t = turned(call.send().await);
        assert_eq!((t.refusal.kind, t.refusal.attempts), (RefusalKind::Held, 0));
        assert!(t.refusal.retry_at.is_some());
    }
    assert!(now().since(began) < SECOND, "somebody slept");
    let mut willing = pin!(ask().up_to(2 * HOUR).send());
    assert!(waits(willing.as_mut()).await);
    assert_eq!(peer.requests(), 1);
}

/// A client that knows its peer by a profile, under two names.
fn with_two_names(peer: &Peer) -> Client {
    let mut all = Catalogue::built_in();
    all.add("peer.toml", MODELS.to_owned()).unwrap();
    let governor = Governor::builder().seed(7).catalogue(Arc::new(all));
    let at = Url::parse(&peer.url("/")).unwrap();
    let at = at.socket_addrs(|| None).unwrap();
    Client::builder()
        .governor(governor.build().unwrap())
        .http(reqwest::Client::builder().resolve("peer.test", at[0]))
        .build()
        .unwrap()
}

const MODELS: &str = r#"
name = "peer"
hosts = ["127.0.0.1", "peer.test"]
each_host = true

[[gate]]
name = "model"
scope = "route"
by = ["credential", { segment = 2 }]
paths = ["/models/*"]

[[rule]]
status = [429]
paths = ["/models/*"]
gate = "model"
"#;

/// A model, an account and a host are held by themselves.
#[tokio::test]
async fn sc_h21_one_bad_model_account_or_host_leaves_the_others_open() {
    let peer = Peer::start(|seen| {
        let token = seen.headers.get("authorization").map(String::as_str);
        match (seen.path.as_str(), token) {
            ("/models/large", _) | ("/items", Some("Bearer one")) => {
                reply(429).header("Retry-After", "100")
            }
            ("/down", _) => reply(503).header("Retry-After", "100"),
            _ => reply(200),
        }
    });
    let client = with_two_names(&peer);
    let ask = |path: &str, token: &str| {
        let call = client.get(&peer.url(path)).bearer_auth(token);
        call.fail_fast().send()
    };
    turned(ask("/models/large", "two").await);
    ask("/models/small", "two").await.unwrap();
    turned(ask("/items", "one").await);
    ask("/items", "two").await.unwrap();
    for (path, token) in [("/models/large", "two"), ("/items", "one")] {
        assert_eq!(turned(ask(path, token).await).refusal.attempts, 0);
    }
    turned(ask("/down", "two").await);
    assert_eq!(turned(ask("/items", "two").await).refusal.attempts, 0);
    assert_eq!(peer.requests(), 5);
    let elsewhere = peer.url("/items").replace("127.0.0.1", "peer.test");
    let call = client.get(&elsewhere).bearer_auth("two").fail_fast();
    assert_eq!(call.send().await.unwrap().attempts(), 1);
}

/// Failed logins and refusals lead to a ban: before that many, nothing is sent any more.
#[tokio::test]
async fn sc_h26_the_asking_ends_before_the_answers_that_lead_to_a_ban() {
    let peer = Peer::saying([reply(401)]);
    let allowance = "{ statuses = [401, 403, 429], count = 40, per = \"10m\" }";
    let client = known_as(&format!("[policy]\nallowance = {allowance}\n"));
    let mut turned_away = 0;
    for _ in 0..60 {
        let ended = client.get(&peer.url("/")).fail_fast().send().await;
        if ended.is_ok() {
            continue;
        }
        let t = turned(ended);
        assert_eq!(t.refusal.attempts, 0);
        let left = t.refusal.retry_in(t.at.now).unwrap();
        assert!(left > 9 * 60 * SECOND, "{left:?}");
        turned_away += 1;
    }
    // A twentieth is kept for what is on the wire.
    assert_eq!((peer.requests(), turned_away), (38, 22));
}

/// The hold stops everybody at once; the breaker has no part in it, however many they are.
#[tokio::test]
async fn sc_b02_a_refusal_stops_the_traffic_and_no_number_of_them_opens_the_breaker() {
    let peer = Peer::start(|seen| match seen.n {
        0..12 => reply(429).header("Retry-After", "0"),
        _ => reply(429).header("Retry-After", "3600"),
    });
    let client = hasty();
    let mut events = client.governor().changes();
    for _ in 0..4 {
        turned(client.get(&peer.url("/")).send().await);
    }
    assert_eq!(peer.requests(), 13);
    for _ in 0..5 {
        let t = turned(client.get(&peer.url("/other")).send().await);
        assert_eq!((t.refusal.kind, t.refusal.attempts), (RefusalKind::Held, 0));
        assert_eq!(t.refusal.cause, Some(Verdict::RateLimited));
    }
    assert_eq!(peer.requests(), 13);
    while let Ok((_, event)) = events.try_recv() {
        let opened = matches!(event, Event::BreakerOpened { .. });
        assert!(!opened, "{event:?}");
    }
}

/// Mistakes of the caller's, errors in a 200 and callers that leave say nothing of its health.
#[tokio::test]
async fn sc_b03_neither_mistakes_nor_errors_in_a_200_nor_leaving_are_failures() {
    let peer = Peer::start(|seen| match seen.path.as_str() {
        "/400" => reply(400),
        "/401" => reply(401),
        "/404" => reply(404),
        "/422" => reply(422),
        "/errors" => reply(200).json(r#"{"errors":[{"message":"no such field"}]}"#),
        "/slow" => Reply::Silence,
        _ => reply(200),
    });
    let client = hasty();
    for path in ["/400", "/401", "/404", "/422", "/errors"] {
        for _ in 0..6 {
            let answer = client.get(&peer.url(path)).fail_fast().send().await;
            let answer = answer.unwrap();
            answer.text().await.unwrap();
        }
    }
    for n in 31..37 {
        let left = tokio::spawn(client.get(&peer.url("/slow")).send());
        until(|| peer.requests() == n).await;
        left.abort();
        assert!(left.await.is_err());
    }
    let state = client.provider(&peer.name()).state();
    assert_eq!((state.failures, state.healthy), (0, true));
    assert!(state.available, "{state:?}");
    let answer = client.get(&peer.url("/")).fail_fast().send().await;
    assert_eq!(answer.unwrap().attempts(), 1);
}
