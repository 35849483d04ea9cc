//! A bulk run and closings it does not bring about alone: at other providers, at several gates of
//! one lane, and for items of more patience than the run's.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::time::Duration;

use abide::core::Verdict;
use abide::core::hold::SetBy;
use abide::core::policy::ProviderPolicy;
use abide::run::{BulkPolicy, Outcome, Wanted};
use common::bulk::{run, run_wanted};
use common::{Peer, client, hasty, hasty_with, now, reply, until};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// Rows that lead to another provider, and five plain ones after them.
fn rows(here: &Peer, away: usize) -> Vec<String> {
    let plain = (0..5).map(|n| here.url(&format!("/{n}")));
    let away = (0..away).map(|_| here.url("/away"));
    away.chain(plain).collect()
}

fn leading_to(there: &Peer) -> Peer {
    let to = there.url("/arrived");
    Peer::start(move |seen| match seen.path.as_str() {
        "/away" => reply(302).header("Location", &to),
        _ => reply(200),
    })
}

/// The rows are put off with the other provider's end, however many; those of the one that
/// redirected go on, since it refused nothing.
#[tokio::test]
async fn a_redirect_to_a_held_provider_puts_off_its_rows_only() {
    let there = Peer::saying([reply(200)]);
    let here = leading_to(&there);
    let client = hasty();
    client.governor().hold(&there.name(), HOUR);
    let ran = run(&client, BulkPolicy::default(), &rows(&here, 5)).await;
    for row in &ran.reports[..5] {
        assert_eq!(row.outcome, Outcome::Skipped);
        assert!(row.retry_at.is_some());
        let reason = row.reason.as_deref().unwrap();
        assert!(reason.contains(&there.name()), "{reason}");
    }
    assert_eq!(ran.count(Outcome::Done), 5);
    assert_eq!((there.requests(), here.requests()), (0, 10));
    assert!(ran.totals.stopped.is_empty(), "{:?}", ran.totals);
}

/// One that ends within patience is waited out there.
#[tokio::test]
async fn a_redirect_waits_out_a_short_hold_of_the_other_provider() {
    let there = Peer::saying([reply(200)]);
    let here = leading_to(&there);
    let client = hasty();
    client.governor().hold(&there.name(), SECOND);
    let end = client.governor().held()[0].hold.until;
    let ran = run(&client, BulkPolicy::default(), &rows(&here, 2)).await;
    assert_eq!(ran.count(Outcome::Done), 7);
    assert_eq!(there.requests(), 2);
    assert!(there.seen().iter().all(|s| s.at >= end));
}

/// The account's refusal ends first; the provider's hold, placed by a person, still stands.
#[tokio::test]
async fn of_two_closings_of_one_lane_the_longer_counts_and_no_time_counts_twice() {
    let peer = Peer::saying([reply(429).header("Retry-After", "1"), reply(200)]);
    let client = hasty();
    let mut policy = BulkPolicy::default();
    policy.run.concurrency = 1;
    let began = now();
    let hold = async {
        until(|| !client.governor().held().is_empty()).await;
        client.governor().hold(&peer.name(), 2 * SECOND);
        let held = client.governor().held();
        held.iter().map(|h| h.hold.until).max().unwrap()
    };
    let urls: Vec<String> = (0..20).map(|n| peer.url(&format!("/{n}"))).collect();
    let (ran, end) = tokio::join!(run(&client, policy, &urls), hold);
    let took = now().since(began);
    assert_eq!(ran.count(Outcome::Done), 20);
    for seen in &peer.seen()[1..] {
        assert!(seen.at >= end, "sent inside the longer closing");
    }
    let held: Duration = ran.totals.held.iter().map(|(_, d)| *d).sum();
    assert!(held >= 2 * SECOND && held <= took, "{held:?} of {took:?}");
}

/// A closing that nobody can wait for turns everybody away, whatever the other gate says after.
#[tokio::test]
async fn of_two_closings_of_one_lane_the_unaffordable_one_turns_away() {
    let peer = Peer::saying([reply(429).header("Retry-After", "1"), reply(200)]);
    let client = hasty();
    let mut policy = BulkPolicy::default();
    policy.run.concurrency = 1;
    let hold = async {
        until(|| !client.governor().held().is_empty()).await;
        client.governor().hold(&peer.name(), HOUR);
    };
    let urls: Vec<String> = (0..20).map(|n| peer.url(&format!("/{n}"))).collect();
    let (ran, ()) = tokio::join!(run(&client, policy, &urls), hold);
    assert_eq!(peer.requests(), 1);
    assert_eq!(ran.count(Outcome::Skipped), 20);
    let soonest = ran.reports.iter().map(|r| r.retry_at).min().unwrap();
    let wall = client.governor().clock().wall();
    assert!(soonest.unwrap() > wall, "each is told when to come back");
}

/// The run's patience is a default: an item that brings more waits on when the others are put off.
#[tokio::test]
async fn an_item_of_more_patience_than_the_run_waits_on() {
    let peer = Peer::saying([reply(200)]);
    let client = client();
    client.governor().hold(&peer.name(), 2 * SECOND);
    let end = client.governor().held()[0].hold.until;
    let mut policy = BulkPolicy::default();
    policy.run.patience = SECOND / 2;
    let items = (0..10).map(|n| {
        let mut wanted = Wanted::get(peer.url(&format!("/{n}")).parse().unwrap());
        wanted.patience = (n == 5).then_some(HOUR);
        wanted
    });
    let ran = run_wanted(&client, policy, items.collect()).await;
    let patient = &ran.reports[5];
    assert_eq!(patient.outcome, Outcome::Done, "{:?}", patient.reason);
    assert_eq!(ran.count(Outcome::Skipped), 9);
    assert_eq!(peer.requests(), 1);
    assert!(peer.seen()[0].at >= end);
    for row in ran.reports.iter().filter(|r| r.outcome == Outcome::Skipped) {
        assert_ne!(row.cause, Some(Verdict::Success));
        assert!(row.retry_at.is_some());
    }
}

/// Taken in hand together, items ask one after another: where one is let through at a time, the
/// provider sees them in the input's order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn items_taken_in_hand_together_ask_in_the_inputs_order() {
    for _ in 0..5 {
        let peer = Peer::saying([reply(200)]);
        let mut gates = ProviderPolicy::default();
        gates.provider.concurrency = 1;
        let client = hasty_with(gates);
        let urls: Vec<String> = (0..8).map(|n| peer.url(&format!("/{n}"))).collect();
        let ran = run(&client, BulkPolicy::default(), &urls).await;
        assert_eq!(ran.count(Outcome::Done), 8);
        let order: Vec<String> = peer.seen().into_iter().map(|s| s.path).collect();
        assert_eq!(order, ["/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7"]);
    }
}

/// What a person holds waits in the run, is shown with its reason, and slows nobody else.
#[tokio::test]
async fn sc_h14_a_hold_by_a_person_gates_its_rows_and_is_shown() {
    let (held, free) = (Peer::saying([reply(200)]), Peer::saying([reply(200)]));
    let client = client();
    client.governor().hold(&held.name(), SECOND);
    let shown = client.governor().held();
    assert_eq!(shown.len(), 1);
    assert_eq!(*shown[0].provider, held.name());
    let hold = shown[0].hold;
    assert_eq!(hold.set_by, SetBy::Operator);
    let urls = (0..10).flat_map(|n| [&held, &free].map(|peer| peer.url(&format!("/{n}"))));
    let urls: Vec<String> = urls.collect();
    let ran = run(&client, BulkPolicy::default(), &urls).await;
    assert_eq!(ran.count(Outcome::Done), 20);
    assert!(held.seen().iter().all(|s| s.at >= hold.until));
    assert!(free.seen().iter().all(|s| s.at < hold.until));
}
