//! What may be sent again, and what a repeat looks like on the wire: rows S, and P11.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::time::Duration;

use abide::core::Verdict;
use abide::core::call::{CallPolicy, Safety, WriteRepeat};
use abide::core::classify::{Phase, TransportKind};
use abide::core::refusal::RefusalKind;
use abide::{BodyError, CallOptions, Client};
use common::{Peer, Reply, hasty, hasty_call, hasty_with, ms, reply, turned};
use http::Method;
use reqwest::Request;

fn request(method: Method, url: &str) -> Request {
    Request::new(method, url.parse().unwrap())
}

/// Whatever the answer, every method that may change something is on the wire once.
#[tokio::test]
async fn sc_s01_a_write_is_on_the_wire_once() {
    for method in [Method::POST, Method::PATCH, Method::PUT, Method::DELETE] {
        let replies = [
            reply(429).header("Retry-After", "0"),
            reply(502),
            reply(503).header("Retry-After", "0"),
            Reply::Close,
        ];
        for refusing in replies {
            let peer = Peer::saying([refusing.clone(), reply(200)]);
            let call = hasty().request(method.clone(), &peer.url("/")).body("b");
            let t = turned(call.send().await);
            assert_eq!(
                (peer.requests(), t.refusal.attempts),
                (1, 1),
                "{refusing:?}"
            );
        }
        // Never sent is safe to send: nobody listened.
        let client = hasty();
        turned(
            client
                .request(method, &Peer::nobody())
                .body("b")
                .send()
                .await,
        );
        assert_eq!(client.sent(), 4);
    }
}

/// A timeout bounds one attempt, so that a read that timed out can be asked again.
#[tokio::test]
async fn sc_s02_a_timeout_is_an_attempts_and_a_write_after_it_is_unknown() {
    let peer = Peer::saying([Reply::Silence, reply(200)]);
    let mut options = CallOptions::default();
    options.attempt_timeout = Some(ms(1_000));
    let mut call = hasty_call();
    call.deadline = Some(Duration::from_secs(60));
    options.call = Some(call);
    let get = request(Method::GET, &peer.url("/"));
    let answer = hasty().execute(get, options.clone()).await.unwrap();
    assert!(answer.attempts() >= 2);

    let peer = Peer::saying([Reply::Silence, reply(200)]);
    let post = request(Method::POST, &peer.url("/"));
    let t = turned(hasty().execute(post, options).await);
    assert_eq!((peer.requests(), t.refusal.attempts), (1, 1));
    let transport = t.transport.unwrap();
    assert_eq!(
        (transport.kind, transport.phase),
        (TransportKind::Timeout, Phase::Head)
    );
}

/// The deadline bounds the exchange itself too, and its end is the caller's doing: it counts as
/// no failure of the provider and is not repeated.
#[tokio::test]
async fn sc_s02_the_deadline_bounds_a_provider_that_says_nothing() {
    let silent = Peer::saying([Reply::Silence]);
    let client = hasty();
    for _ in 0..6 {
        let call = client.get(&silent.url("/")).deadline(ms(100));
        let t = turned(call.send().await);
        assert_eq!(t.refusal.kind, RefusalKind::DeadlinePassed);
        assert_eq!((t.refusal.attempts, t.refusal.retry_at), (1, None));
    }
    // Five failures in a row would have opened the breaker for the sixth.
    // A head in time is in time, however long its body takes.
    let slow = Peer::saying([reply(200)]);
    let call = client.get(&slow.url("/")).deadline(Duration::from_secs(20));
    let answer = call.send().await.unwrap();
    assert_eq!(&answer.bytes(99).await.unwrap()[..], b"body\n");
}

/// What is printed for debugging goes to logs as errors do.
#[tokio::test]
async fn inv11_nothing_that_is_printed_for_debugging_has_a_secret() {
    let peer = Peer::saying([reply(200).header("Set-Cookie", "sid=s3cr3t")]);
    let url = format!("{}?key=s3cr3t", peer.url("/"));
    let mut defaults = http::HeaderMap::new();
    defaults.insert("authorization", "Bearer s3cr3t".parse().unwrap());
    let http = reqwest::Client::builder().default_headers(defaults.clone());
    let builder = Client::builder().http(http);
    let mut told = format!("{builder:?}");
    let client = builder.build().unwrap();
    let call = client.get(&url).header("x-api-key", "s3cr3t");
    told += &format!("{client:?} {call:?}");
    let answer = call.send().await.unwrap();
    told += &format!("{answer:?}");
    let mut wanted = abide::run::Wanted::get(url.parse().unwrap());
    wanted.headers = defaults;
    wanted.body = Some("s3cr3t".into());
    told += &format!("{wanted:?}");
    let telegram = "https://api.telegram.org/bot1:s3cr3t/getMe"
        .parse()
        .unwrap();
    told += &format!("{:?}", abide::run::Wanted::get(telegram));
    assert!(!told.contains("s3cr3t"), "{told}");
    assert!(told.contains("key=…"), "{told}");
}

/// Repeats after timeouts are for reads, and the shared budget ends them: a timeout costs two.
#[tokio::test]
async fn sc_s03_timeouts_do_not_multiply() {
    let peer = Peer::saying([Reply::Silence]);
    let mut gates = abide::core::policy::ProviderPolicy::default();
    gates.breaker = None;
    // Ten seconds' worth is saved up: four tokens, two repeats after a timeout.
    gates.budget.per_second = 0.4;
    gates.budget.ratio = 0.0;
    let client = hasty_with(gates);
    let mut options = CallOptions::default();
    options.attempt_timeout = Some(ms(50));
    let mut spent = 0;
    for _ in 0..4 {
        let get = request(Method::GET, &peer.url("/"));
        let t = turned(client.execute(get, options.clone()).await);
        assert_eq!(t.refusal.cause, Some(Verdict::Unavailable));
        spent += u64::from(t.refusal.kind == RefusalKind::BudgetSpent);
    }
    // Twelve repeats were wanted; what the floor refills meanwhile is a repeat at most.
    assert!(
        spent >= 3 && client.sent() <= 4 + 3,
        "{spent}, {}",
        client.sent()
    );
}

/// The layers do not multiply: what a caller is told it took is what was on the wire.
#[tokio::test]
async fn sc_s07_attempts_are_counted_once_and_nobody_below_repeats() {
    for refusing in [reply(503), reply(429), Reply::Close] {
        let peer = Peer::saying([refusing]);
        let t = turned(hasty().get(&peer.url("/")).send().await);
        assert_eq!((t.refusal.attempts, peer.requests()), (4, 4));
    }
    let peer = Peer::saying([reply(503), reply(503), reply(200)]);
    let answer = hasty().get(&peer.url("/")).send().await.unwrap();
    assert_eq!((answer.attempts(), peer.requests()), (3, 3));
}

#[tokio::test]
async fn sc_s12_nothing_is_repeated_once_bytes_have_reached_the_caller() {
    let peer = Peer::saying([reply(200).sized(1_000).cut_after(10), reply(200)]);
    let mut answer = hasty().get(&peer.url("/")).send().await.unwrap();
    let mut read = 0;
    let broken = loop {
        match answer.chunk().await {
            Ok(Some(piece)) => read += piece.len(),
            Ok(None) => panic!("a whole body"),
            Err(e) => break e,
        }
    };
    assert_eq!((read, peer.requests()), (10, 1));
    assert!(matches!(broken, BodyError::Broken(t) if t.phase == Phase::Body));
}

#[tokio::test]
async fn sc_p11_cookies_are_kept_across_a_retry() {
    let peer = Peer::start(|seen| match seen.headers.get("cookie") {
        Some(c) if c == "pass=yes" => reply(200),
        _ => reply(429)
            .header("Retry-After", "0")
            .header("Set-Cookie", "pass=yes; Path=/"),
    });
    let http = reqwest::Client::builder().cookie_store(true);
    let client = Client::from_builder(http).unwrap();
    let answer = client.get(&peer.url("/gallery")).send().await.unwrap();
    assert_eq!((answer.attempts(), peer.requests()), (2, 2));
}

#[tokio::test]
async fn an_attempt_repeats_the_same_bytes() {
    let peer = Peer::saying([reply(429).header("Retry-After", "0"), reply(200)]);
    let mut call: CallPolicy = hasty_call();
    call.write = WriteRepeat::RefusedOnly;
    let mut options = CallOptions::default();
    options.call = Some(call);
    let mut post = request(Method::POST, &peer.url("/orders?a=1"));
    *post.body_mut() = Some("{\"n\":1}".into());
    post.headers_mut()
        .insert("idempotency-key", "k1".parse().unwrap());
    let answer = hasty().execute(post, options).await.unwrap();
    assert_eq!(answer.attempts(), 2);
    let seen = peer.seen();
    let told = |n: usize| {
        let s = &seen[n];
        (
            s.method.clone(),
            s.path.clone(),
            s.headers.clone(),
            s.body.clone(),
        )
    };
    assert_eq!(told(0), told(1));
    assert_eq!(seen[1].body, b"{\"n\":1}");
}

#[tokio::test]
async fn a_stream_is_sent_once() {
    let peer = Peer::saying([reply(503), reply(200)]);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let stream = tokio::fs::File::open(file).await.unwrap();
    let call = hasty().post(&peer.url("/")).safety(Safety::Idempotent);
    let t = turned(call.body(stream).send().await);
    assert_eq!((t.refusal.attempts, peer.requests()), (1, 1));
    assert_eq!(peer.seen()[0].body, std::fs::read(file).unwrap());
}

/// A body above `body.replay` goes out once, whole; the reason names the knob, and a redirect that
/// goes on without the body is followed.
#[tokio::test]
async fn a_body_larger_than_what_is_kept_is_sent_once() {
    let mut options = CallOptions::default();
    let mut call = hasty_call();
    call.body_replay = 10;
    options.call = Some(call);
    options.safety = Some(Safety::Idempotent);
    let post = |url: &str, len: usize| {
        let mut post = request(Method::POST, url);
        *post.body_mut() = Some(vec![b'x'; len].into());
        post
    };
    for (len, sends) in [(10, 2), (11, 1)] {
        let peer = Peer::saying([reply(503), reply(200)]);
        let told = hasty()
            .execute(post(&peer.url("/"), len), options.clone())
            .await;
        assert_eq!(peer.requests(), sends);
        assert!(peer.seen().iter().all(|s| s.body.len() == len));
        assert_eq!(told.is_ok(), sends == 2);
        if sends == 1 {
            let t = turned(told);
            assert_eq!(t.refusal.kind, RefusalKind::BodyNotKept);
            assert!(t.to_string().contains("body.replay"), "{t}");
        }
    }
    for (status, followed) in [(303, true), (307, false)] {
        let peer = Peer::saying([reply(status).header("Location", "/done"), reply(200)]);
        let mut post = post(&peer.url("/"), 11);
        post.headers_mut().insert("x-mark", "kept".parse().unwrap());
        let told = hasty().execute(post, options.clone()).await;
        assert_eq!(told.is_ok(), followed, "{status}");
        assert_eq!(peer.requests(), 1 + usize::from(followed));
        if followed {
            let seen = &peer.seen()[1];
            assert_eq!((seen.method.as_str(), seen.body.len()), ("GET", 0));
            assert_eq!(seen.headers["x-mark"], "kept");
        }
    }
}

/// How much of a last answer is read and handed over is `body.sample`'s to say.
#[tokio::test]
async fn the_sample_of_a_last_answer_is_as_long_as_its_policy_says() {
    let peer = Peer::saying([reply(500).sized(5_000)]);
    let mut classify = abide::core::ClassifyPolicy::default();
    classify.body_sample = 1_234;
    let governor = abide::Governor::builder().seed(7).classify(classify);
    let client = Client::builder().governor(governor.build().unwrap());
    let mut call = hasty_call();
    call.attempts = 1;
    let client = client.call(call).build().unwrap();
    let t = turned(client.get(&peer.url("/")).send().await);
    assert_eq!(t.last.unwrap().sample.len(), 1_234);
}

#[tokio::test]
async fn a_credential_does_not_cross_an_origin() {
    let there = Peer::saying([reply(200)]);
    let to = there.url("/there");
    let here = Peer::start(move |seen| match seen.path.as_str() {
        "/first" => reply(302).header("Location", "/second"),
        _ => reply(307).header("Location", &to),
    });
    let call = hasty().get(&here.url("/first"));
    let call = call
        .header("Authorization", "Bearer s")
        .header("X-Api-Key", "s");
    let call = call.header("Accept", "text/plain");
    assert_eq!(call.send().await.unwrap().status(), 200);
    assert_eq!(here.seen()[1].headers["authorization"], "Bearer s");
    let seen = &there.seen()[0].headers;
    assert!(!seen.contains_key("authorization") && !seen.contains_key("x-api-key"));
    assert_eq!(seen["accept"], "text/plain");
}
