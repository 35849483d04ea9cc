//! The importer's bulk rules (items 15 to 19) over a real socket, with short holds: the client's
//! own driver must do what the one in virtual time does.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::time::Duration;

use abide::core::Verdict;
use abide::run::{BulkPolicy, Outcome};
use common::bulk::run;
use common::{Peer, client, hasty, reply};

const SECOND: Duration = Duration::from_secs(1);

/// Many rows in hand, one provider, all its rows.
fn rows(peer: &Peer, count: usize) -> Vec<String> {
    (0..count)
        .map(|n| peer.url(&format!("/isbn/{n}")))
        .collect()
}

fn refusal(after: &str) -> common::Reply {
    reply(429).header("Retry-After", after)
}

#[tokio::test]
async fn a15_one_refusal_fails_no_row_over_the_wire() {
    let peer = Peer::saying([reply(200), refusal("1"), reply(200)]);
    let ran = run(&hasty(), BulkPolicy::default(), &rows(&peer, 40)).await;
    assert_eq!(ran.count(Outcome::Done), 40);
    assert_eq!((ran.totals.refusals, ran.totals.requests), (1, 41));
    let seen = peer.seen();
    let opens = seen[1].answered.unwrap().after(SECOND);
    // What was on the wire with the refused one is at most the gentle start's few.
    let inside = seen[2..].iter().filter(|s| s.at < opens).count();
    assert!(inside <= 4, "{inside}");
}

#[tokio::test]
async fn a16_a_row_waits_out_the_hold_over_the_wire() {
    let peer = Peer::saying([refusal("1"), refusal("1"), reply(200)]);
    let ran = run(&client(), BulkPolicy::default(), &rows(&peer, 1)).await;
    let row = &ran.reports[0];
    assert_eq!((row.outcome, row.attempts), (Outcome::Done, 3));
    assert!(row.waited >= 2 * SECOND);
    let seen = peer.seen();
    for pair in seen.windows(2) {
        assert!(pair[1].at >= pair[0].answered.unwrap().after(SECOND));
    }
}

#[tokio::test]
async fn a18_the_rest_fails_at_once_saying_why_over_the_wire() {
    let peer = Peer::saying([refusal("3600")]);
    let ran = run(&client(), BulkPolicy::default(), &rows(&peer, 500)).await;
    assert_eq!(ran.count(Outcome::Skipped), 500);
    // The gentle start had two on the wire at most.
    assert!(peer.requests() <= 2, "{}", peer.requests());
    for row in &ran.reports {
        assert!(row.retry_at.is_some() && row.cause == Some(Verdict::RateLimited));
    }
    let reason = ran.reports[499].reason.as_deref().unwrap();
    assert!(
        reason.contains(&peer.name()) && reason.contains("try again at"),
        "{reason}"
    );
    assert_eq!(ran.totals.stopped.len(), 1);
}

/// An outage that ends is waited out; one whose end nobody knows fails its own rows.
#[tokio::test]
async fn a17_an_outage_with_an_end_is_waited_out_over_the_wire() {
    let peer = Peer::saying([reply(503).header("Retry-After", "1"), reply(200)]);
    let ran = run(&client(), BulkPolicy::default(), &rows(&peer, 20)).await;
    assert_eq!(ran.count(Outcome::Done), 20);
    let seen = peer.seen();
    let opens = seen[0].answered.unwrap().after(SECOND);
    assert!(seen.last().unwrap().at >= opens);
}

#[tokio::test]
async fn a19_the_wait_budget_ends_the_waiting_over_the_wire() {
    let peer = Peer::start(|seen| match seen.n % 2 {
        0 => refusal("1"),
        _ => reply(200),
    });
    let mut policy = BulkPolicy::default();
    policy.run.wait_budget = 3 * SECOND;
    policy.run.concurrency = 1;
    let ran = run(&hasty(), policy, &rows(&peer, 60)).await;
    let held: Duration = ran.totals.held.iter().map(|(_, d)| *d).sum();
    // Three were waited out; the fourth only counts until everybody has been turned away.
    assert!(held <= 4 * SECOND, "{:?}", ran.totals);
    assert_eq!(ran.count(Outcome::Failed), 0);
    assert!(ran.count(Outcome::Skipped) > 0, "{:?}", ran.totals);
    assert!(peer.requests() < 20, "{}", peer.requests());
}
