//! Each wrapper against what it is put around.

mod common;

use std::time::Duration;

use abide_core::Instant;
use abide_sim::policy::{
    Bodies, Concurrency, Failure, FixedWindow, Graphql, Hint, MALFORMED, Malformed, Outage, Plain,
    Route, Routes, Service, Timed, TokenBucket, WrongClock,
};
use abide_sim::{Announced, Answer, Drip, Fate, Gate, Policy, Provider, Request, RequestId, What};
use common::{EPOCH, at, fates, header, ms, replay};
use fastrand::Rng;
use http::StatusCode;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_outage_fails_in_each_of_its_ways_between_its_instants_only() {
    let (from, until) = (Instant::from_millis(100), Instant::from_millis(200));
    let ways = [
        Failure::Close,
        Failure::Silence,
        Failure::Status(StatusCode::BAD_GATEWAY),
        Failure::Status(StatusCode::SERVICE_UNAVAILABLE),
    ];
    let outage = || Outage::over(Plain::new(), from, until, Rng::with_seed(3)).failing(ways);
    assert_eq!(fates(outage(), &[99, 100, 199, 200]), "+!!+");
    let (_, replies) = replay(&mut outage(), &[150; 64]);
    let seen = |f: fn(&What) -> bool| replies.iter().any(|r| f(&r.what));
    assert!(seen(|w| matches!(w, What::Close)) && seen(|w| matches!(w, What::Silence)));
    assert!(seen(
        |w| matches!(w, What::Answer(a) if a.status == StatusCode::BAD_GATEWAY)
    ));
    assert!(replies.iter().all(|r| !r.acted && r.announced.is_none()));
    let (_, again) = replay(&mut outage(), &[150; 64]);
    let shape = |r: &abide_sim::Reply| format!("{:?}", r.what);
    assert!(
        replies.iter().map(shape).eq(again.iter().map(shape)),
        "the seed decides"
    );
}

#[test]
fn an_outage_with_no_way_to_fail_closes_connections() {
    let outage = Outage::over(
        Plain::new(),
        Instant::ORIGIN,
        Instant::FAR,
        Rng::with_seed(1),
    );
    let (_, replies) = replay(&mut outage.failing([]), &[1]);
    assert!(matches!(replies[0].what, What::Close));
}

#[test]
fn graphql_hides_the_refusal_in_a_200() {
    let mut graphql = Graphql::over(TokenBucket::new(1, SECOND, 1).hinting(Hint::True));
    let (fates, replies) = replay(&mut graphql, &[0, 1]);
    assert_eq!(fates, "+-");
    for (reply, text) in replies
        .iter()
        .zip([r#"{"data":{"#, r#""code":"RATE_LIMITED""#])
    {
        let answer = reply.answer().unwrap();
        assert_eq!(answer.status, StatusCode::OK);
        assert!(String::from_utf8_lossy(&answer.body).contains(text));
    }
    assert_eq!(header(&replies[1], "retry-after"), Some(&b"1"[..]));
}

#[test]
fn a_wrong_clock_moves_dates_resets_and_boundaries_together() {
    let window = || FixedWindow::new(1, 10 * SECOND).announced();
    let mut ahead = WrongClock::ahead(window(), 3_607 * SECOND);
    let (fates, replies) = replay(&mut ahead, &[0, 2_999, 3_000]);
    assert_eq!(fates, "+-+");
    let reset = (EPOCH + 3_610).to_string();
    assert_eq!(
        header(&replies[0], "x-ratelimit-reset"),
        Some(reset.as_bytes())
    );
    assert_eq!(
        header(&replies[0], "date"),
        Some(&b"Tue, 10 Mar 2026 13:00:07 GMT"[..])
    );
    assert_eq!(
        replies[0].announced,
        Some(Announced::Until(Instant::from_secs(3)))
    );
    let mut behind = WrongClock::behind(window(), 4 * SECOND);
    assert_eq!(replay(&mut behind, &[0, 3_999, 4_000]).0, "+-+");
}

#[test]
fn the_provider_dates_what_the_policy_does_not() {
    let mut provider = Provider::new(Timed::over(Plain::new(), Service::constant(ms(1_500))));
    let id = provider.send(Instant::ORIGIN, Request::item("1"));
    let reply = provider.arrive(at(0), id);
    assert_eq!(
        header(&reply, "date"),
        Some(&b"Tue, 10 Mar 2026 12:00:01 GMT"[..])
    );
    let mut provider = Provider::new(WrongClock::ahead(Plain::new(), 60 * SECOND));
    let id = provider.send(Instant::ORIGIN, Request::item("1"));
    let reply = provider.arrive(at(0), id);
    assert_eq!(
        header(&reply, "date"),
        Some(&b"Tue, 10 Mar 2026 12:01:00 GMT"[..])
    );
}

#[test]
fn malformed_hints_announce_nothing_and_huge_ones_for_ever() {
    let bucket = TokenBucket::new(1, SECOND, 1).hinting(Hint::True);
    let mut lying = Malformed::over(bucket.clone(), Rng::with_seed(9));
    let (_, replies) = replay(&mut lying, &[0; 300]);
    let told: Vec<_> = replies[1..]
        .iter()
        .map(|r| header(r, "retry-after").unwrap())
        .collect();
    assert!(MALFORMED.iter().all(|text| told.contains(text)));
    assert!(replies.iter().all(|r| r.announced.is_none()));
    let mut huge = Malformed::over(bucket, Rng::with_seed(9)).and_huge();
    let (_, replies) = replay(&mut huge, &[0; 300]);
    let for_ever = Some(Announced::For(Duration::MAX));
    assert!(replies.iter().any(|r| r.announced == for_ever));
    assert_eq!(
        Announced::For(Duration::MAX).end(Instant::from_secs(1)),
        Instant::FAR
    );
}

#[test]
fn a_cut_body_is_no_answer_though_the_deed_is_done() {
    let drip = Drip {
        piece: 7,
        gap: ms(1),
    };
    let mut bodies = Bodies::over(Plain::sized(100), Rng::with_seed(2))
        .cutting(0.5)
        .dripping(0.5, drip);
    let (_, replies) = replay(&mut bodies, &[0; 200]);
    let cut = replies
        .iter()
        .filter(|r| r.answer().unwrap().cut_after.is_some());
    assert!(cut.clone().all(|r| r.fate == Fate::Failed && r.acted));
    assert!(
        cut.clone()
            .all(|r| r.answer().unwrap().cut_after < Some(100))
    );
    assert!((60..140).contains(&cut.count()));
    let slow = replies
        .iter()
        .filter(|r| r.answer().unwrap().drip == Some(drip))
        .count();
    assert!((60..140).contains(&slow));
    let mut empty = Bodies::over(Plain::sized(0), Rng::with_seed(2)).cutting(1.0);
    assert_eq!(replay(&mut empty, &[0]).0, "+");
}

#[test]
fn only_what_is_let_in_takes_its_time() {
    let bucket = TokenBucket::new(1, SECOND, 1);
    let (_, replies) = replay(&mut Timed::over(bucket, Service::constant(ms(40))), &[0, 1]);
    assert_eq!((replies[0].after, replies[1].after), (ms(40), ms(0)));
}

#[test]
fn routes_keep_limits_and_gates_apart() {
    let tight = || TokenBucket::new(1, SECOND, 1);
    let mut routes = Routes::new()
        .with(Route::path("/a/"), tight())
        .with(
            Route::host("b.test").below("/x"),
            Concurrency::new(1, Service::constant(ms(5))),
        )
        .with(Route::host("b.test"), tight());
    let requests = [
        (Request::get("/a/1"), Fate::Accepted),
        (Request::get("/a/2"), Fate::Refused),
        (Request::get("/x").to_host("b.test:8080"), Fate::Accepted),
        (Request::get("/x").to_host("b.test"), Fate::Refused),
        (Request::get("/y").to_host("b.test"), Fate::Accepted),
    ];
    for (n, (request, fate)) in requests.iter().enumerate() {
        assert_eq!(
            routes.arrive(at(0), RequestId::new(n as u64), request).fate,
            *fate,
            "{n}"
        );
    }
    routes.depart(at(5), RequestId::new(2));
    let again = routes.arrive(at(5), RequestId::new(9), &requests[2].0);
    assert_eq!(again.fate, Fate::Accepted);
    let gates: Vec<_> = requests
        .iter()
        .map(|(request, _)| routes.gate(request))
        .collect();
    assert!(gates[0] == gates[1] && gates[2] == gates[3]);
    assert!(gates[0] != gates[2] && gates[2] != gates[4] && gates[0] != gates[4]);
    let nowhere = Request::get("/nowhere");
    assert_eq!(routes.gate(&nowhere), Gate::ONLY);
    let reply = routes.arrive(at(0), RequestId::new(10), &nowhere);
    assert_eq!(reply.answer().unwrap().status, StatusCode::NOT_FOUND);
}

#[test]
fn plain_says_what_it_was_told_to_say() {
    let mut moved = Plain::answering(Answer::new(StatusCode::FOUND, ""));
    assert_eq!(
        replay(&mut moved, &[0]).1[0].answer().unwrap().status,
        StatusCode::FOUND
    );
    assert_eq!(
        replay(&mut Plain::sized(1_024), &[0]).1[0]
            .answer()
            .unwrap()
            .body
            .len(),
        1_024
    );
}
