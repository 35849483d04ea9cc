//! The ledger: what it counts, and what it does not hold against a client.

mod common;

use std::time::Duration;

use abide_core::Instant;
use abide_sim::policy::{Bodies, FixedWindow, Hint, PenaltyBox, Plain, Route, Routes, TokenBucket};
use abide_sim::{Fate, Provider, Request, RequestId, What};
use common::{at, moment, ms};
use http::Method;

const SECOND: Duration = Duration::from_secs(1);

fn tight() -> Provider {
    Provider::new(TokenBucket::new(1, SECOND, 1).hinting(Hint::True))
}

/// Sends at `sent`; arrives, departs and is received 10 ms later each way.
fn exchange(provider: &mut Provider, sent: u64, request: Request) -> Fate {
    let id = provider.send(at(sent).now, request);
    let reply = provider.arrive(at(sent + 10), id);
    provider.depart(at(sent + 10), id);
    provider.receive(at(sent + 20).now, id);
    reply.fate
}

#[test]
fn counts_what_became_of_requests_and_items() {
    let mut provider = tight();
    assert_eq!(
        exchange(&mut provider, 0, Request::item("x")),
        Fate::Accepted
    );
    assert_eq!(
        exchange(&mut provider, 30, Request::item("y")),
        Fate::Refused
    );
    let truth = provider.truth();
    assert_eq!(
        (truth.requests, truth.accepted, truth.refused, truth.failed),
        (2, 1, 1, 0)
    );
    assert_eq!((truth.item("x").accepted, truth.item("y").refused), (1, 1));
    assert_eq!(truth.never_accepted(["x", "y", "z"]), ["y", "z"]);
    assert_eq!(truth.elapsed(), ms(50));
}

#[test]
fn sees_a_send_inside_a_hold() {
    let mut provider = tight();
    exchange(&mut provider, 0, Request::item("1"));
    exchange(&mut provider, 0, Request::item("2"));
    assert_eq!(provider.truth().sent_inside_hold, 0);
    // Received at 20 ms with Retry-After 1: the hold ends at 1,020 ms.
    exchange(&mut provider, 1_019, Request::item("2"));
    assert_eq!(provider.truth().sent_inside_hold, 1);
    exchange(&mut provider, 2_100, Request::item("3"));
    assert_eq!(provider.truth().sent_inside_hold, 1);
}

#[test]
fn does_not_blame_for_what_crossed_on_the_wire() {
    let mut provider = tight();
    let ids: Vec<_> = (0..3)
        .map(|n| provider.send(at(0).now, Request::item(n.to_string())))
        .collect();
    for id in &ids[..2] {
        let _ = provider.arrive(at(10), *id);
        provider.depart(at(10), *id);
    }
    let late = provider.send(at(20).now, Request::item("late"));
    // The refusal is read at the same instant, but after that one was sent.
    provider.receive(at(20).now, ids[1]);
    assert_eq!(provider.truth().sent_inside_hold, 0);
    assert_eq!(provider.arrive(at(30), late).fate, Fate::Refused);
    // Now it is known, in the same instant.
    provider.send(at(20).now, Request::item("inside"));
    assert_eq!(provider.truth().sent_inside_hold, 1);
}

#[test]
fn a_hold_binds_those_who_know_of_it() {
    let mut provider = Provider::new(
        Routes::new()
            .with(
                Route::path("/a"),
                TokenBucket::new(1, SECOND, 1).hinting(Hint::True),
            )
            .with(Route::path("/b"), Plain::new()),
    );
    exchange(&mut provider, 0, Request::get("/a"));
    exchange(&mut provider, 0, Request::get("/a"));
    exchange(&mut provider, 500, Request::get("/b"));
    exchange(&mut provider, 500, Request::get("/a").by(1));
    assert_eq!(provider.truth().sent_inside_hold, 0);
    exchange(&mut provider, 600, Request::get("/a"));
    assert_eq!(provider.truth().sent_inside_hold, 1);
}

#[test]
fn an_announced_empty_window_is_a_hold_too() {
    let mut provider = Provider::new(FixedWindow::new(1, 2 * SECOND).announced());
    exchange(&mut provider, 0, Request::item("1"));
    assert_eq!(
        exchange(&mut provider, 1_980, Request::item("2")),
        Fate::Refused
    );
    assert_eq!(provider.truth().sent_inside_hold, 1);
    assert_eq!(
        exchange(&mut provider, 2_000, Request::item("2")),
        Fate::Accepted
    );
    assert_eq!(provider.truth().sent_inside_hold, 1);
}

#[test]
fn over_a_wire_one_round_trip_is_allowed() {
    let mut provider = tight();
    let _ = provider.arrive_unseen(at(0), Request::item("1"));
    let (id, _) = provider.arrive_unseen(at(0), Request::item("2"));
    provider.wrote(at(0).now, id, ms(250));
    provider.depart(at(0), id);
    let _ = provider.arrive_unseen(at(249), Request::item("2"));
    assert_eq!(provider.truth().sent_inside_hold, 0);
    let _ = provider.arrive_unseen(at(250), Request::item("2"));
    let _ = provider.arrive_unseen(at(999), Request::item("2"));
    assert_eq!(provider.truth().sent_inside_hold, 2);
    let _ = provider.arrive_unseen(at(1_000), Request::item("2"));
    assert_eq!(provider.truth().sent_inside_hold, 2);
}

#[test]
fn counts_bans_and_the_burst_after_a_hold() {
    let bucket = TokenBucket::new(100, SECOND, 1);
    let mut provider = Provider::new(PenaltyBox::around(bucket));
    for _ in 0..4 {
        exchange(&mut provider, 0, Request::item("1"));
    }
    assert_eq!(provider.truth().bans, 1);
    // The ban is received at 20 ms and over at 10,020 ms.
    for sent in [10_020, 10_050, 10_119, 10_200] {
        exchange(&mut provider, sent, Request::item("1"));
    }
    let truth = provider.truth();
    assert_eq!(
        (truth.peak_burst_after_hold, truth.sent_inside_hold),
        (3, 0)
    );
}

#[test]
fn counts_effects_of_writes_even_those_nobody_heard_of() {
    let mut provider =
        Provider::new(Bodies::over(Plain::new(), fastrand::Rng::with_seed(1)).cutting(1.0));
    let write = || Request::item("w").with_method(Method::POST);
    assert_eq!(exchange(&mut provider, 0, write()), Fate::Failed);
    assert!(provider.truth().written_twice().is_empty());
    exchange(&mut provider, 0, write());
    exchange(&mut provider, 0, Request::item("r"));
    let truth = provider.truth();
    assert_eq!(
        (
            truth.effects,
            truth.item("w").effects,
            truth.item("r").effects
        ),
        (2, 2, 0)
    );
    assert_eq!(truth.written_twice(), ["w"]);
}

#[test]
fn an_unknown_request_finds_its_connection_closed() {
    let mut provider = Provider::new(Plain::new());
    let ghost = RequestId::new(7);
    assert!(matches!(
        provider.arrive(moment(Instant::ORIGIN), ghost).what,
        What::Close
    ));
    provider.depart(moment(Instant::ORIGIN), ghost);
    provider.receive(Instant::ORIGIN, ghost);
    assert_eq!(provider.truth().requests, 0);
}
