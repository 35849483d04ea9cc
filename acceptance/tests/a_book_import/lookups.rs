//! Looking a book up: several providers in turn, under one deadline, and what may be kept of it.

use std::sync::Arc;

use abide::core::Verdict;
use abide::core::refusal::RefusalKind;
use abide::testing::Sim;
use abide::{Answer, Chain, ChainError, Failed, Said};
use abide_acceptance::Program;
use abide_acceptance::wire::{Ledger, Script, asking, bare, good, json};
use abide_sim::{Reply, What};
use http::StatusCode;

use crate::common::{LOOP, One, SIX, TRIP, ms, secs};

type Found = Result<Answer<String>, ChainError<StatusCode>>;

/// Providers that are asked in turn.
struct Lookup {
    program: Program,
    chain: Chain<String, String, StatusCode>,
    came: Vec<Ledger>,
}

impl Lookup {
    fn of(names: &[&'static str], scripts: Vec<Script>) -> Self {
        let program = Program::new(LOOP);
        let mut chain = Chain::new(&program.governor).deadline(secs(20));
        let mut came = Vec::new();
        for (name, script) in names.iter().zip(scripts) {
            let (sim, ledger) = program.provider(script);
            came.push(ledger);
            chain = chain.independent(name, ask(name, sim));
        }
        Self {
            program,
            chain,
            came,
        }
    }

    async fn ask(&self) -> Found {
        self.chain.ask("9783161484100".to_owned()).await
    }
}

type Asking = std::pin::Pin<Box<dyn Future<Output = Result<String, Failed<StatusCode>>> + Send>>;

/// How one of them is asked: what it is called is what it answers.
fn ask(
    name: &'static str,
    sim: Sim,
) -> impl Fn(abide::Attempt, Arc<String>) -> Asking + Send + Sync + 'static {
    move |_, isbn| {
        let sim = sim.clone();
        Box::pin(async move {
            let answer = sim.ask(format!("/isbn/{isbn}")).await?;
            Ok(format!("{name}: {}", String::from_utf8_lossy(&answer.body)))
        })
    }
}

fn missing() -> Script {
    Script::of([json(404, "{}")])
}

/// Three of them, each repeating, never take longer than their one deadline.
#[tokio::test(start_paused = true)]
async fn a20_a_lookup_over_several_providers_ends_within_20_s() {
    const NAMES: [&str; 3] = ["openlibrary", "google-books", "dnb-sru"];
    // Refused, waited for, refused again; then the next; then one that says nothing at all.
    let silent = || Script::new(|_, _, _| Reply::failed(What::Silence));
    let slow = Script::new(|n, _, _| match n {
        0 => asking(429, 8),
        _ => json(404, "{}"),
    });
    let lookup = Lookup::of(&NAMES, vec![slow, missing(), silent()]);
    let error = lookup.ask().await.unwrap_err();
    assert_eq!(lookup.program.clock.elapsed(), secs(20));
    assert_eq!(
        lookup.came.iter().map(Ledger::count).collect::<Vec<_>>(),
        [2, 1, 1]
    );
    // Two said that there is none, and nobody knows what the third would have said.
    assert!(!error.turned().is_rate_limited());

    // A hold that ends after the deadline is not slept at: the next is asked at once.
    let refusing = Script::of([asking(429, 25)]);
    let lookup = Lookup::of(&NAMES, vec![refusing, missing(), Script::of([good()])]);
    let answer = lookup.ask().await.unwrap();
    assert_eq!(&*answer.by, "dnb-sru");
    assert_eq!(lookup.program.clock.elapsed(), 3 * TRIP);

    // One alone that says nothing is cut off at the deadline, and it is told why.
    let lookup = Lookup::of(&NAMES[..1], vec![silent()]);
    let error = lookup.ask().await.unwrap_err();
    assert_eq!(error.turned().refusal.kind, RefusalKind::DeadlinePassed);
    assert_eq!(lookup.program.clock.elapsed(), secs(20));
}

/// Asked by ISBN, and where that finds nothing by number; the second question is repeated too.
#[tokio::test(start_paused = true)]
async fn a22_the_second_question_of_a_library_has_its_own_attempts() {
    const HOST: &str = "services.dnb.de";
    const NONE: &str =
        "<searchRetrieveResponse><numberOfRecords>0</numberOfRecords></searchRetrieveResponse>";
    const ONE: &str = "<searchRetrieveResponse><numberOfRecords>1</numberOfRecords><records><record/></records></searchRetrieveResponse>";
    for (failures, requests) in [(0, 2), (1, 3), (3, 5), (9, 5)] {
        let script = Script::new(move |n, _, seen| match seen.path.contains("isbn%3D") {
            true => json(200, NONE),
            false if n <= failures => bare(503),
            false => json(200, ONE),
        });
        let one = One::new((HOST, SIX[2].1), script);
        let mut found = 0;
        for query in ["isbn%3D9783161484100", "num%3D9783161484100"] {
            let url = format!("https://{HOST}/sru/dnb?query={query}");
            let came = one.http.get(&url).await.unwrap();
            found = usize::from(came.body.starts_with(ONE.as_bytes()));
            if found > 0 {
                break;
            }
        }
        assert_eq!((found > 0, one.came.count()), (failures <= 3, requests));
        let last = one.came.all().pop().unwrap();
        assert!(last.path.contains("num%3D"), "{}", last.path);
    }
}

/// Shown, and never bound: a refusal that passes must not become the choice of a provider for good.
#[tokio::test(start_paused = true)]
async fn a2_what_a_stand_in_answers_is_shown_but_not_bound() {
    const NAMES: [&str; 2] = ["hardcover", "openlibrary"];
    let bound = |found: &Found| match found {
        Ok(answer) if !answer.degraded => Some(answer.by.to_string()),
        _ => None,
    };
    // Refused beyond the deadline: somebody else's answer, marked.
    let refused = Script::of([asking(429, 25)]);
    let found = Lookup::of(&NAMES, vec![refused, Script::of([good()])]);
    let found = found.ask().await;
    assert_eq!(&*found.as_ref().unwrap().by, "openlibrary");
    assert!(found.as_ref().unwrap().degraded);
    assert_eq!(bound(&found), None);
    // It has no such book: that is an answer, and the next one's may be kept.
    let found = Lookup::of(&NAMES, vec![missing(), Script::of([good()])]);
    assert_eq!(bound(&found.ask().await).as_deref(), Some("openlibrary"));
    // Where nobody said that they share nothing, the second is not flooded in its turn.
    let program = Program::new(LOOP);
    let (first, _) = program.provider(Script::of([asking(429, 25)]));
    let (second, came) = program.provider(Script::of([good()]));
    let chain = Chain::new(&program.governor)
        .deadline(secs(20))
        .network("hardcover", ask("hardcover", first))
        .network("openlibrary", ask("openlibrary", second));
    let error = chain.ask("1".to_owned()).await.unwrap_err();
    assert!(error.turned().is_rate_limited() && came.count() == 0);
    // And it says when to come back.
    let refusal = &error.turned().refusal;
    assert_eq!(refusal.retry_in(error.turned().at.now), Some(secs(25)));
}

/// Fail at once where a person waits, wait where nobody does: two callers of one gate.
#[tokio::test(start_paused = true)]
async fn a23_a_person_is_told_at_once_and_an_import_waits() {
    let one = One::new(SIX[0], Script::of([asking(429, 25), good()]));
    let page = |o: &mut abide::layer::Options| o.patience = Some(ms(0));
    let get = http::Method::GET;
    let first = one.http.send(get.clone(), one.url, "", page).await.unwrap();
    assert_eq!(first.status, 429);
    let (person, import) = tokio::join!(
        async {
            let missed = one.http.send(get, one.url, "", page).await.unwrap_err();
            (missed.turned().unwrap().refusal.cause, one.elapsed())
        },
        async { (one.get().await.unwrap().status.as_u16(), one.elapsed()) },
    );
    assert_eq!(person, (Some(Verdict::RateLimited), TRIP));
    assert_eq!(import, (200, secs(25) + 2 * TRIP));
}

/// A library's own limit, with words of its own: told, and told as what it is.
#[tokio::test(start_paused = true)]
async fn a22_a_held_lookup_keeps_its_cause() {
    for (said, mark) in [
        (Said::rate_limited(), Verdict::RateLimited),
        (Said::unavailable(), Verdict::Unavailable),
        (Said::quota_exhausted(), Verdict::QuotaExhausted),
    ] {
        let program = Program::new(LOOP);
        program.governor.report("dnb-sru", &said.after(secs(29)));
        let chain: Chain<(), (), StatusCode> = Chain::new(&program.governor)
            .deadline(secs(20))
            .network("dnb-sru", |_, _| async { Ok(()) });
        let error = chain.ask(()).await.unwrap_err();
        assert_eq!(error.error.cause(), Some(mark));
        assert_eq!(program.clock.elapsed(), secs(0));
    }
}
