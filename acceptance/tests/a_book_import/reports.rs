//! What users of this program and of its kin complained of.

use std::time::Duration;

use abide::core::queue::Urgency;
use abide::core::refusal::RefusalKind;
use abide::core::{Instant, Verdict};
use abide::layer::Options;
use abide_acceptance::Program;
use abide_acceptance::wire::{Script, asking, bare, good, json, with};
use abide_sim::policy::{Hint, TokenBucket};
use abide_sim::world::World;
use abide_sim::{Answer, Provider, Reply};
use http::{Method, StatusCode};
use tokio::task::JoinSet;

use crate::common::{LOOP, One, SIX, cause, ms, secs};
use crate::import::{IMPORT, plan_of};

fn once(o: &mut Options) {
    o.patience = Some(Duration::ZERO);
}

/// 72 items, 86 refusals, four places in the code: one provider, asked by several at once. And
/// large files that failed where five authors worked.
#[test]
fn a3_a_bulk_import_does_not_overwhelm_its_provider() {
    // By the defaults alone. The provider allows less than anybody knows of.
    for rows in [72, 2_000] {
        let mut plan = plan_of("openlibrary", "[fetch]\nconcurrency = 8\n");
        plan.in_hand = 8;
        let bucket = TokenBucket::new(1, secs(1), 2).hinting(Hint::Fixed(secs(1)));
        let mut world = World::new(plan, 72);
        world.add(Provider::new(bucket), rows);
        let report = world.run();
        assert_eq!(
            (report.done, report.failed, report.skipped),
            (u64::from(rows), 0, 0)
        );
        let most = u64::from(rows) / 10;
        assert!(report.refused <= most, "{} of {rows}", report.refused);
        assert_eq!(report.sent_inside_hold, 0);
        assert!(report.times_oracle() < 1.5, "{}", report.times_oracle());
    }
}

/// Ten at once and sixty a minute, which the provider documents: no refusal at all, no read that
/// times out in a queue, and a row is never lost for one.
#[test]
fn a3_a_documented_limit_is_kept_without_a_refusal() {
    let mut plan = plan_of("hardcover", "[fetch]\nconcurrency = 8\n");
    plan.in_hand = 8;
    let bucket = TokenBucket::new(60, secs(60), 10);
    let mut world = World::new(plan, 10);
    world.add(Provider::new(bucket), 300);
    let report = world.run();
    assert_eq!((report.done, report.refused), (300, 0));
    assert!(report.times_oracle() < 1.1, "{}", report.times_oracle());
}

/// 14,601 books, and a provider that goes away at one of them: everything after was imported
/// without a match, and the run said that all was well.
#[test]
fn a3_an_outage_amid_an_import_is_no_success() {
    const ROWS: u32 = 14_601;
    let text = format!("{LOOP}{IMPORT}");
    let script = Script::new(|n, _, _| match n {
        0..=999 if n % 10 == 9 => json(404, "{}"),
        0..=999 => good(),
        _ => bare(503),
    });
    let mut world = World::new(plan_of("openlibrary", &text), 6);
    world.add(Provider::new(script), ROWS);
    let report = world.run();
    assert_eq!(report.done, 1_000, "a miss is an answer");
    assert_eq!(report.skipped + report.failed, u64::from(ROWS) - 1_000);
    // Three rows of four calls: then it is not asked any more.
    assert_eq!(report.requests, 1_000 + 12);
    // What was done before is done: a partial import, which the next one completes.
    assert_eq!((report.lost, report.sites[0].never_accepted), (0, 0));
}

/// 2,068 requests in 40 hours against an edge that had shut the address out.
#[tokio::test(start_paused = true)]
async fn a3_a_limit_of_the_edge_holds_like_any_other() {
    let mut edge = Answer::new(StatusCode::TOO_MANY_REQUESTS, "error code: 1015");
    for (name, value) in [
        ("server", "cloudflare"),
        ("content-type", "text/plain; charset=UTF-8"),
    ] {
        edge.headers.insert(name, value.parse().unwrap());
    }
    let edge = Script::of([Reply::refused(edge)]);
    let indexer = ("indexer.example", "https://indexer.example/api?t=search");
    let one = One::with("", indexer, edge);
    // Asked for every 70 s for 40 hours.
    for _ in 0..(40 * 3600 / 70) {
        let result = one.http.send(Method::GET, one.url, "", once).await;
        assert_eq!(cause(&result), Some(Verdict::RateLimited));
        tokio::time::sleep(secs(70)).await;
    }
    assert!(one.came.count() <= 400, "{}", one.came.count());
    one.sim.assert_no_send_inside_hold();
    let held = one.program.governor.provider("indexer.example").state();
    assert!(held.retry_at.is_some());
}

/// All installations share one User-Agent, and it is shut out with a 403: no credential's fault,
/// and nothing that another try heals.
#[tokio::test(start_paused = true)]
async fn a3_a_client_that_is_shut_out_is_told_so_and_stays_away() {
    let one = One::with("", SIX[0], Script::of([bare(403)]));
    for sent in [1, 1, 1] {
        let result = one.http.send(Method::GET, one.url, "", once).await;
        assert_eq!(cause(&result), Some(Verdict::Banned));
        assert_eq!(one.came.count(), sent);
    }
    // A person who has a new name for it lifts the hold; one request goes first.
    one.program.governor.lift("openlibrary");
    tokio::time::sleep(secs(1)).await;
    let result = one.http.send(Method::GET, one.url, "", once).await;
    assert_eq!((result.is_ok(), one.came.count()), (true, 2), "{result:?}");
}

/// One sweep spends a whole day's allowance, which other programs need too: a share of it is a
/// limit like any other, kept beforehand.
#[tokio::test(start_paused = true)]
async fn a3_a_share_of_a_days_allowance_is_kept_beforehand() {
    let text = "
[providers.tracker]
hosts = [\"tracker.example\"]
limits = [\"50/1d\"]
";
    let tracker = ("tracker.example", "https://tracker.example/search?q=dune");
    let one = One::with(text, tracker, Script::of([good()]));
    let mut refused = 0;
    for _ in 0..120 {
        match one.http.send(Method::GET, one.url, "", once).await {
            Ok(came) => assert_eq!(came.status, 200),
            Err(missed) => {
                let turned = missed.turned().unwrap();
                assert_eq!(turned.refusal.kind, RefusalKind::QueueTooLong);
                assert!(turned.refusal.retry_at.is_some());
                refused += 1;
            }
        }
    }
    assert_eq!((one.came.count(), refused), (50, 70));
}

/// Background work queues, a person does not: whoever waits at the screen goes next.
#[tokio::test(start_paused = true)]
async fn a3_the_foreground_goes_before_the_background() {
    let text = "
[providers.nb-norway]
patience = \"5m\"
";
    let one = One::with(text, SIX[3], Script::of([good()]));
    let mut sweep = JoinSet::new();
    for n in 0..60 {
        let (http, url) = (one.http.clone(), format!("{}&page={n}", one.url));
        sweep.spawn(async move {
            let bulk = |o: &mut Options| o.urgency = Urgency::BULK;
            http.send(Method::GET, &url, "", bulk).await.unwrap().status
        });
    }
    tokio::time::sleep(secs(5)).await;
    let before = one.elapsed();
    let person = |o: &mut Options| o.urgency = Urgency::INTERACTIVE;
    one.http
        .send(Method::GET, one.url, "", person)
        .await
        .unwrap();
    // One a second is what the provider is given.
    assert!(one.elapsed() - before <= ms(1_100));
    while let Some(status) = sweep.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
}

/// Refused requests count, too, where the provider says so: a 429 is not asked for five times.
#[tokio::test(start_paused = true)]
async fn a3_a_refusal_is_not_paid_for_again_and_again() {
    let one = One::with("", SIX[5], Script::of([asking(429, 3_600)]));
    for _ in 0..10 {
        let result = one.get().await;
        assert_eq!(cause(&result), Some(Verdict::RateLimited));
    }
    assert_eq!(one.came.count(), 1);
}

/// Questions after the health of a provider that is well are not asked.
#[tokio::test(start_paused = true)]
async fn a3_looking_whether_a_provider_is_well_costs_nothing_while_it_is() {
    let program = Program::new(LOOP);
    let (sim, came) = program.provider(Script::new(|_, at, _| {
        match at.now.since(Instant::from_secs(2)).as_secs() {
            0..3_600 => good(),
            3_600..3_700 => bare(503),
            _ => good(),
        }
    }));
    let asked = sim.clone();
    let prober = program.governor.keep_probing("hardcover", move |_| {
        let asked = asked.clone();
        async move { asked.ask("/health").await }
    });
    tokio::time::sleep(secs(3_600)).await;
    assert_eq!(came.count(), 0);
    // Once it failed somebody, it is looked after until it is well again.
    let failed = program
        .governor
        .call("hardcover", abide::core::call::Safety::Write, |_| {
            sim.ask("/v1/graphql")
        });
    failed.await.unwrap_err();
    tokio::time::sleep(secs(3_600)).await;
    let probes = came.count() - 1;
    assert!((1..60).contains(&probes), "{probes}");
    assert!(program.governor.provider("hardcover").is_healthy());
    drop(prober);
}

/// An indexer's own rule: an hour where nobody says, a minute at least, a day at most, the words
/// of its errors, and no cooldown for a wrong key.
#[tokio::test(start_paused = true)]
async fn a2_an_indexers_cooldown() {
    let text = r#"
[providers.indexer]
attempts = 1
hold.floor = "1m"
hold.max = "24h"
quota.from = "31d"
ladder.steps = ["1h"]

[profiles.indexer]
name = "indexer"
title = "An indexer"
hosts = ["indexer.example"]
evidence = "observed"
checked = "2026-11-30"

[[profiles.indexer.rule]]
why = "Wrong key"
status = [200]
text = '<error code="1\d\d"'
verdict = "auth_error"
gate = "account"

[[profiles.indexer.rule]]
why = "Asked too often, told in a 200"
status = [200]
text = '<error code="[45]\d\d" description="[^"]*(?i:limit)'
verdict = "rate_limited"
gate = "provider"
ask = [{ text = '(?i)retry in (\d+) minutes', unit = "minutes" }]
"#;
    const URL: &str = "https://indexer.example/api?t=search";
    for (body, held) in [
        (
            "<error code=\"429\" description=\"Request limit reached. Retry in 485 minutes\"/>",
            Some(485 * 60),
        ),
        (
            "<error code=\"500\" description=\"Request limit reached\"/>",
            Some(3_600),
        ),
        (
            "<error code=\"429\" description=\"limit: retry in 0 minutes\"/>",
            Some(60),
        ),
        (
            "<error code=\"429\" description=\"limit: retry in 9000 minutes\"/>",
            Some(86_400),
        ),
        (
            "<error code=\"100\" description=\"Incorrect user credentials\"/>",
            None,
        ),
        ("<rss/>", None),
    ] {
        let one = One::with(
            text,
            ("indexer.example", URL),
            Script::of([with(json(200, body), "content-type", "text/xml")]),
        );
        one.get().await.unwrap();
        let hold = one
            .program
            .governor
            .held()
            .first()
            .map(|h| h.hold.until.since(h.hold.since));
        // A zero is a second by default, and a minute is the floor.
        assert_eq!(hold, held.map(secs), "{body}");
        if held.is_some() {
            // Whoever edits its settings may ask at once.
            one.program.governor.lift("indexer");
            assert!(one.http.send(Method::GET, URL, "", once).await.is_ok());
        }
    }
}
