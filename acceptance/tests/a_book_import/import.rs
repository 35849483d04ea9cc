//! The import: a thousand rows, one primary, nobody at the screen. In virtual time, by the text
//! that configures the program.

use std::time::Duration;

use abide::CallOptions;
use abide::core::call::Safety;
use abide::core::{Instant, Moment, Verdict};
use abide::run::{LookedUp, Lookups};
use abide_acceptance::Program;
use abide_acceptance::wire::{Ledger, Script, asking, bare, good, json, with};
use abide_config::{Setup, Use};
use abide_sim::Provider;
use abide_sim::world::{Ending, Plan, Report, World};

use crate::common::{LOOP, TRIP, secs};

/// A row at a time; 2 s for a refusal that names no time.
pub(crate) const IMPORT: &str = r#"
[fetch]
concurrency = 1
run.max_waits = 3
run.streak = 3
run.budget = "10m"
wait.max = "30s"
quota.from = "6h"
ladder.steps = ["2s"]
"#;

/// The run of Open Library that this text asks for.
fn plan(text: &str) -> Plan {
    plan_of("openlibrary", text)
}

pub(crate) fn plan_of(name: &str, text: &str) -> Plan {
    let setup = Setup::from_text("abide.toml", text, Use::Fetch).unwrap();
    let config = setup.config();
    let profile = setup.catalogue().get(name).unwrap();
    let mut plan = Plan::new(1, TRIP);
    plan.run = config.run(Some(name));
    plan.in_hand = plan.run.concurrency;
    plan.call = config.call(Use::Fetch, Some(name));
    let treated = config.treatment(Use::Fetch, name, &profile, Moment::default());
    (plan.gates, plan.classify) = treated;
    plan
}

/// An import of so many rows.
fn import(script: Script, rows: u32) -> (Report, Ledger) {
    import_by(&format!("{LOOP}{IMPORT}"), script, rows)
}

fn import_by(text: &str, script: Script, rows: u32) -> (Report, Ledger) {
    let came = script.ledger();
    let mut world = World::new(plan(text), 15);
    world.add(Provider::new(script), rows);
    let report = world.run();
    assert_eq!((report.lost, report.ended_twice), (0, 0));
    assert_eq!(report.sent_inside_hold, 0);
    assert_eq!(
        report.done + report.failed + report.skipped,
        u64::from(rows)
    );
    (report, came)
}

fn skipped(report: &Report) -> impl Iterator<Item = (Verdict, Option<Instant>)> {
    report.endings.iter().flatten().filter_map(|e| match e {
        Ending::Skipped { cause, retry_at } => Some((*cause, *retry_at)),
        _ => None,
    })
}

fn waits(came: &Ledger) -> Vec<Duration> {
    came.gaps().iter().map(|gap| *gap - TRIP).collect()
}

/// Before, one 429 of Open Library tripped the breaker and failed every row that was left.
#[test]
fn a15_a_refusal_that_is_waited_out_is_no_streak() {
    let script = Script::new(|n, _, _| if n == 1 { bare(429) } else { good() });
    let (report, _) = import(script, 1_000);
    assert_eq!((report.done, report.requests), (1_000, 1_001));
    // Refused row after row, and served after a wait each: no streak either.
    let script = Script::new(|n, _, _| if n % 2 == 0 { bare(429) } else { good() });
    let (report, _) = import(script, 200);
    assert_eq!((report.done, report.requests), (200, 400));
}

#[test]
fn a16_a_row_waits_the_hold_out_and_asks_again() {
    // The hold's own end, 30 s at most.
    let script = Script::new(|n, _, _| match n {
        0 => asking(429, 25),
        1 => asking(429, 3),
        // Believed for less than was asked: the ledger is not told of this one.
        2 => with(bare(503), "retry-after", "3600"),
        _ => good(),
    });
    let (report, came) = import(script, 1);
    assert_eq!((report.done, report.requests), (1, 4));
    assert_eq!(waits(&came), [secs(25), secs(3), secs(30)]);
    // Two seconds for a refusal that names none.
    let script = Script::new(|n, _, _| if n < 3 { bare(429) } else { good() });
    let (report, came) = import(script, 1);
    assert_eq!(report.done, 1);
    assert_eq!(waits(&came), [secs(2), secs(2), secs(2)]);
    // Three waits, not four.
    let script = Script::new(|n, _, _| if n < 4 { bare(429) } else { good() });
    let (report, _) = import(script, 1);
    assert_eq!((report.skipped, report.requests), (1, 4));
}

#[test]
fn a17_an_outage_with_an_end_is_waited_out_and_then_counts() {
    for ending in [asking(503, 20), bare(503), bare(502), bare(504)] {
        let outage = ending.clone();
        let script = Script::new(move |n, _, _| match n {
            5 | 6 => outage.clone(),
            _ => good(),
        });
        let (report, _) = import(script, 100);
        assert_eq!((report.done, report.requests), (100, 102));
        let (report, _) = import(Script::of([ending]), 1_000);
        assert_eq!((report.done, report.requests), (0, 12));
    }
}

#[test]
fn a18_three_rows_in_a_row_trip_it_after_twelve_calls() {
    for refusal in [bare(429), asking(429, 2), asking(429, 30)] {
        let (report, _) = import(Script::of([refusal]), 1_000);
        assert_eq!((report.done, report.skipped), (0, 1_000));
        // Three rows of one call and three more.
        assert_eq!(report.requests, 12);
        // The rest fails at once: what is waited for lies between those twelve.
        assert!(report.elapsed <= secs(11 * 30 + 2), "{:?}", report.elapsed);
        for (cause, retry_at) in skipped(&report) {
            assert_eq!(cause, Verdict::RateLimited);
            assert!(retry_at.is_some());
        }
    }
    // Two in a row and then an answer, a miss too: nothing trips.
    for answer in [good(), json(404, "{}")] {
        let script = Script::new(move |n, _, _| match n % 9 {
            8 => answer.clone(),
            _ => bare(429),
        });
        let (report, _) = import(script, 30);
        assert_eq!((report.done, report.skipped), (10, 20));
    }
}

#[test]
fn a19_a_run_waits_ten_minutes_in_all() {
    // Served often enough that no streak ends it first.
    let script = Script::new(|n, _, _| match n % 2 {
        0 => asking(429, 30),
        _ => good(),
    });
    let (report, _) = import(script, 1_000);
    let held = report.sites[0].held;
    assert_eq!(held, secs(600), "twenty waits of thirty seconds");
    // Once it is spent a refused row counts straight away: three, and that is all.
    assert_eq!((report.done, report.skipped), (20, 980));
    assert_eq!(report.requests, 41);
    // However many rows are in hand.
    let wide = format!(
        "{LOOP}{}",
        IMPORT.replace("concurrency = 1", "concurrency = 8")
    );
    let script = Script::new(|n, _, _| match n % 2 {
        0 => asking(429, 30),
        _ => good(),
    });
    let (report, _) = import_by(&wide, script, 1_000);
    assert!(report.sites[0].held <= secs(600));
    assert!(report.requests < 100, "{}", report.requests);
}

/// It trips the run at once, and nobody waits for it.
#[test]
fn a21_a_used_up_day_ends_the_import_at_the_first_row() {
    let script = Script::new(|n, _, _| match n {
        0..=9 => good(),
        _ => asking(429, 43_200),
    });
    let (report, _) = import(script, 1_000);
    assert_eq!((report.done, report.skipped), (10, 990));
    assert_eq!(report.requests, 11);
    assert!(report.elapsed < secs(10), "{:?}", report.elapsed);
    for (cause, _) in skipped(&report) {
        assert_eq!(cause, Verdict::QuotaExhausted);
    }
}

/// Only the primary counts: the import does not stand still for whoever adds to its rows.
#[test]
fn a2_an_enrichers_hold_never_stalls_the_import() {
    let mut world = World::new(plan(&format!("{LOOP}{IMPORT}")), 15);
    let primary = world.add(Provider::new(Script::of([good()])), 300);
    let enricher = world.add(Provider::new(Script::of([asking(429, 30)])), 300);
    let report = world.run();
    assert_eq!(report.sites[primary].done, 300);
    assert_eq!(report.sites[enricher].done, 0);
    // Three a second is what Open Library has.
    let ended = report.sites[primary].ended;
    assert!(ended <= secs(101), "{ended:?}");
    assert_eq!(report.sites[primary].held, Duration::ZERO);
}

/// Rows that are there already are left out, so a trip costs a second run and nothing more.
#[test]
fn a23_a_false_trip_costs_a_second_run() {
    // An outage of two minutes amid the import.
    let calm = || {
        Script::new(|_, at, _| match at.now.since(Instant::ORIGIN).as_secs() {
            10..130 => bare(503),
            _ => good(),
        })
    };
    let (first, _) = import(calm(), 1_000);
    assert!(first.done > 20 && first.skipped + first.failed > 900);
    let left = u32::try_from(first.skipped + first.failed).unwrap();
    // A streak is a run's own: the next one begins without.
    let (second, _) = import(Script::of([good()]), left);
    assert_eq!(second.done, u64::from(left));
}

/// Rows that are whatever calls the program makes: how they ended, how often the provider was
/// asked, how long it took.
async fn look_up(script: Script, rows: u32) -> (LookedUp, usize, Duration) {
    let text = format!("{LOOP}{IMPORT}");
    let program = Program::with(&text, Use::Fetch, |governor| governor);
    let (sim, came) = program.provider(script);
    let mut policy = program.setup.config().run(Some("openlibrary"));
    policy.concurrency = 1;
    let mut options = CallOptions::default();
    (options.safety, options.attempts) = (Some(Safety::Read), Some(1));
    let governor = program.governor.clone();
    let bulk = Lookups::new(&program.governor, "openlibrary", policy).options(options);
    let ended = bulk
        .run(
            0..rows,
            move |row| {
                let (governor, sim) = (governor.clone(), sim.clone());
                async move {
                    let ask = |_| sim.ask(format!("/isbn/{}.json", row.item));
                    governor.call_with("openlibrary", &row.options(), ask).await
                }
            },
            |_, _| (),
        )
        .await;
    (ended, came.count(), program.clock.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a16_rows_that_are_lookups_of_the_programs_own() {
    let (refused, calls, _) = look_up(Script::of([asking(429, 30)]), 1_000).await;
    assert_eq!(
        (refused.found, refused.failed, refused.skipped),
        (0, 3, 997)
    );
    // The second row and the third find the gate shut, which is one of their waits.
    assert!(calls <= 12, "{calls}");
    let script = Script::new(|n, _, _| if n % 2 == 0 { asking(429, 30) } else { good() });
    let (budget, _, took) = look_up(script, 1_000).await;
    assert_eq!(budget.found + budget.failed + budget.skipped, 1_000);
    assert_eq!(budget.found, 20, "ten minutes of waits of 30 s");
    assert!(took >= secs(600) && took < secs(700), "{took:?}");
    let script = Script::new(|n, _, _| if n == 500 { bare(429) } else { good() });
    let (served, calls, _) = look_up(script, 1_000).await;
    assert_eq!((served.found, calls), (1_000, 1_001));
}
