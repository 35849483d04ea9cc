//! What a caller may say of one call, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide::core::policy::Mode;
use abide::core::refusal::RefusalKind;
use abide::events::{Heard, What};
use abide::{Client, Error};
use common::{Peer, Reply, client, hasty, ms, reply, turned};

#[tokio::test]
async fn whoever_waits_for_nothing_is_told_when_to_come_back() {
    let peer = Peer::saying([reply(429).header("Retry-After", "30"), reply(200)]);
    let client = client();
    turned(client.get(&peer.url("/")).fail_fast().send().await);
    for deferred in [false, true] {
        let call = client.get(&peer.url("/"));
        let call = if deferred {
            call.defer()
        } else {
            call.fail_fast()
        };
        let t = turned(call.send().await);
        assert_eq!((t.refusal.kind, t.refusal.attempts), (RefusalKind::Held, 0));
        assert_eq!(t.should_defer(), deferred);
        let left = t.retry_at().unwrap().since(t.at.wall);
        assert!(left > Duration::from_secs(25), "{left:?}");
    }
    let soon = client.governor().clock().wall().after(ms(10));
    turned(client.get(&peer.url("/")).until(soon).send().await);
    assert_eq!(peer.requests(), 1);
}

#[tokio::test]
async fn a_checked_write_is_asked_for_before_it_is_sent_again() {
    // The answer never comes; whether it was done only the provider knows.
    let peer = Peer::start(|seen| match (seen.method.as_str(), seen.n) {
        ("POST", 0) => Reply::Close,
        ("POST", _) => reply(201),
        _ => reply(404),
    });
    let client = hasty();
    let check = {
        let (client, url) = (client.clone(), peer.url("/thing"));
        move || {
            let (client, url) = (client.clone(), url.clone());
            async move {
                let found = client.get(&url).send().await?;
                Ok(found.status().is_success().then_some(found))
            }
        }
    };
    let call = client.post(&peer.url("/things")).body("b");
    let answer = call.check_then_write(check).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    let seen: Vec<String> = peer.seen().iter().map(|s| s.method.clone()).collect();
    assert_eq!(seen, ["POST", "GET", "POST"]);
}

#[tokio::test]
async fn a_checked_write_that_happened_is_not_sent_again() {
    let peer = Peer::start(|seen| match seen.method.as_str() {
        "POST" => reply(502),
        _ => reply(200).saying("the thing"),
    });
    let client = hasty();
    let (inner, url) = (client.clone(), peer.url("/thing"));
    let call = client.post(&peer.url("/things")).body("b");
    let call = call.check_then_write(move || {
        let call = inner.get(&url);
        async move { call.send().await.map(Some) }
    });
    let answer = call.send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "the thing");
    assert_eq!(peer.requests(), 2);
}

#[tokio::test]
async fn inv05_a_question_about_a_write_takes_no_longer_than_the_call() {
    let peer = Peer::saying([Reply::Close, reply(200)]);
    let call = hasty().request(http::Method::POST, &peer.url("/"));
    let call = call
        .deadline(ms(300))
        .check_then_write(std::future::pending);
    let ended = tokio::time::timeout(Duration::from_secs(20), call.send()).await;
    let t = turned(ended.expect("it waits for ever"));
    assert_eq!((t.refusal.attempts, peer.requests()), (1, 1));
}

#[tokio::test]
async fn a_checked_write_of_which_nobody_can_tell_is_not_sent_again() {
    let peer = Peer::saying([Reply::Close]);
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let call = hasty().post(&peer.url("/things")).body("b");
    let call = call.check_then_write(move || {
        count.fetch_add(1, Ordering::Relaxed);
        async { Err(Error::Left) }
    });
    let t = turned(call.send().await);
    assert_eq!(t.refusal.kind, RefusalKind::AttemptsSpent);
    assert_eq!((peer.requests(), asked.load(Ordering::Relaxed)), (1, 1));
}

#[tokio::test]
async fn a_key_makes_a_write_repeatable_and_goes_with_every_attempt() {
    let peer = Peer::saying([reply(503).header("Retry-After", "0"), reply(201)]);
    let call = hasty().post(&peer.url("/")).body("b").idempotent("k-1");
    assert_eq!(call.send().await.unwrap().attempts(), 2);
    for seen in peer.seen() {
        assert_eq!(seen.headers["idempotency-key"], "k-1");
        assert_eq!(seen.body, b"b");
    }
}

#[tokio::test]
async fn a_named_account_is_one_whatever_its_credential() {
    let peer = Peer::saying([reply(429).header("Retry-After", "30"), reply(200)]);
    let client = client();
    let call = |token: &str| {
        let call = client.get(&peer.url("/")).bearer_auth(token).fail_fast();
        call.account("me")
    };
    turned(call("one").send().await);
    turned(call("renewed").send().await);
    assert_eq!(peer.requests(), 1);
}

#[tokio::test]
async fn inv11_neither_refusal_nor_any_source_shows_a_secret() {
    let echo = Peer::start(|seen| {
        let auth = seen.headers["authorization"].clone();
        reply(403).saying(format!("no such key: {auth} at {}", seen.path))
    });
    let address = echo
        .url("/x?api_key=s3cr3t-q&q=1")
        .replace("http://", "http://me:s3cr3t-u@");
    let nobody = Peer::nobody().replace("http://", "http://me:s3cr3t-u@");
    let with_header = |url: &str| {
        let call = hasty().get(url).header("authorization", "Bearer s3cr3t-h");
        call.header("x-api-key", "s3cr3t-k").attempts(1)
    };
    let refused = Peer::start(|seen| {
        let auth = seen.headers["authorization"].clone();
        reply(429).header("Retry-After", "9").saying(auth)
    });
    let limited = refused.url("/?token=s3cr3t-t");
    let mut shown = Vec::new();
    for url in [nobody + "/?key=s3cr3t-q", limited] {
        let error = with_header(&url).send().await.unwrap_err();
        shown.push(format!("{error} {error:?}"));
        let t = error.turned().unwrap().clone();
        shown.push(serde_json::to_string(&t).unwrap());
        shown.push(format!("{t:?} {:?}", t.last.as_ref().map(|l| &l.sample)));
        let mut next = t.source();
        while let Some(e) = next {
            shown.push(format!("{e} {e:?}"));
            next = e.source();
        }
    }
    let answer = with_header(&address).send().await.unwrap();
    shown.push(format!("{answer:?} {}", answer.url()));
    for text in shown {
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}

#[tokio::test]
async fn inv11_what_basic_credentials_are_made_of_is_struck_out() {
    let refusal = reply(429).header("Retry-After", "9");
    let echo = Peer::saying([refusal.saying("no: me and pass%word-1, pass word")]);
    let url = echo.url("/").replace("http://", "http://me:pass%25word-1@");
    let t = turned(
        hasty()
            .get(&url)
            .basic_auth("me", Some("pass word"))
            .attempts(1)
            .send()
            .await,
    );
    let sample = t.last.map(|last| last.sample).unwrap_or_default();
    let sample = String::from_utf8_lossy(&sample).into_owned();
    assert!(
        sample.starts_with("no: ") && !sample.contains("pass"),
        "{sample}"
    );
}

#[tokio::test]
async fn inv11_default_headers_do_not_cross_an_origin() {
    let there = Peer::saying([reply(200)]);
    let here = {
        let to = there.url("/");
        Peer::start(move |_| reply(302).header("Location", &to))
    };
    let mut headers = http::HeaderMap::new();
    headers.insert("authorization", "Bearer s3cr3t".parse().unwrap());
    let client = Client::builder().headers(headers).build().unwrap();
    drop(client.get(&here.url("/")).send().await.unwrap());
    assert_eq!(here.seen()[0].headers["authorization"], "Bearer s3cr3t");
    assert!(!there.seen()[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn the_failures_behind_a_refusal_are_kept() {
    let error = hasty().get(&Peer::nobody()).attempts(1).send().await;
    let t = turned(error);
    let cause = t.cause.unwrap();
    assert_eq!(cause.io_kind(), Some(std::io::ErrorKind::ConnectionRefused));
    assert!(cause.source().is_some());
}

#[tokio::test]
async fn in_a_rehearsal_the_caller_sees_every_answer_at_once() {
    let peer = Peer::saying([reply(429).header("Retry-After", "30"), reply(200)]);
    let client = client();
    let shop = client.provider(&peer.name());
    shop.set_mode(Mode::Shadow);
    let mut events = client.governor().events();
    let first = client.get(&peer.url("/")).send().await.unwrap();
    assert_eq!((first.status().as_u16(), first.attempts()), (429, 1));
    drop(first);
    let second = client.get(&peer.url("/")).send().await.unwrap();
    assert_eq!(second.status(), 200);
    let mut told = Vec::new();
    while let Some(Heard::Event(event)) = events.try_next() {
        told.push(event.what.as_str());
    }
    assert_eq!(told, ["hold_opened", "let_by"]);
    shop.set_mode(Mode::Enforce);
    turned(client.get(&peer.url("/")).fail_fast().send().await);
    assert_eq!(peer.requests(), 2);
}

#[tokio::test]
async fn every_step_of_a_call_is_an_event() {
    let peer = Peer::saying([
        reply(503),
        reply(429).header("Retry-After", "30"),
        reply(200),
    ]);
    let client = hasty();
    let mut events = client.governor().events();
    turned(client.get(&peer.url("/")).up_to(ms(500)).send().await);
    turned(client.get(&peer.url("/")).defer().send().await);
    let mut told = Vec::new();
    while let Some(Heard::Event(event)) = events.try_next() {
        assert_eq!(*event.provider, peer.name());
        told.push(event.what);
    }
    assert!(matches!(told[0], What::Retried { attempts: 2, .. }));
    assert!(matches!(told[1], What::HoldOpened { .. }));
    assert!(matches!(told[2], What::TurnedAway { .. }));
    assert!(matches!(told[3], What::Deferred { .. }));
    assert_eq!(told.len(), 4);
}

#[tokio::test]
async fn how_a_provider_is_can_be_asked() {
    let peer = Peer::saying([reply(200), reply(429).header("Retry-After", "30")]);
    let client = client();
    let shop = client.provider(&peer.name());
    drop(client.get(&peer.url("/")).send().await.unwrap());
    let state = shop.state();
    assert!(state.healthy && state.available && state.last_success.is_some());
    turned(client.get(&peer.url("/")).fail_fast().send().await);
    let described = client.governor().describe().to_string();
    assert!(described.contains(&peer.name()), "{described}");
    assert!(described.contains("at most 8 on the wire"), "{described}");
    assert!(shop.state().held_gates + usize::from(!shop.is_available()) > 0);
}

#[tokio::test]
async fn json_that_is_none_says_where() {
    let peer = Peer::saying([reply(200).json("{\"a\":\n oops}")]);
    let answer = client().get(&peer.url("/")).send().await.unwrap();
    let e = answer.json::<serde_json::Value>().await.unwrap_err();
    assert_eq!(e.to_string(), "the answer is no JSON (line 2, column 2)");
}

#[cfg(feature = "blocking")]
#[test]
fn a_plain_program_waits_and_sends_too() {
    let peer = Peer::saying([reply(429).header("Retry-After", "0"), reply(200)]);
    let client = abide::blocking::Client::over(hasty()).unwrap();
    let answer = client.send(client.get(&peer.url("/"))).unwrap();
    assert_eq!((answer.status().as_u16(), answer.attempts()), (200, 2));
    assert_eq!(answer.text().unwrap(), "body\n");
    let _: Client = hasty();
}
