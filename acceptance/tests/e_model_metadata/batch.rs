//! Items 1 (rule 4), 7 and 12, over real sockets: a batch import.

use std::sync::Mutex;

use abide::Client;
use abide::core::Verdict;
use abide::core::provider::Event;
use abide::run::{Bulk, Outcome, Report, Sink, Source, Totals, Wanted};
use abide_acceptance::script::{asking, ok};
use abide_config::{Setup, Use};
use abide_sim::Provider;
use abide_sim::http::{Server, ServerOptions};
use tokio_util::sync::CancellationToken;

use crate::*;

struct World {
    setup: Setup,
    client: Client,
    civitai: Server,
    other: Server,
}

fn server(script: Script) -> Server {
    Server::start(Provider::new(script), ServerOptions::default()).unwrap()
}

/// Five on the wire, as that program's batch has.
fn world(civitai: Script) -> World {
    let (civitai, other) = (server(civitai), server(Script::new(|_| ok())));
    let hosts = |s: &Server| format!("hosts = [\"{}\"]\n", s.address());
    let text = POLICY
        .replace(
            "[providers.civitai]\nrate = \"1/750ms\"\n",
            &format!("[providers.civitai]\n{}", hosts(&civitai)),
        )
        .replace("[defaults]", "[fetch]\nconcurrency = 5\n\n[defaults]")
        + "\n[providers.other]\n"
        + &hosts(&other);
    let setup = Setup::from_text("abide.toml", &text, Use::Fetch).unwrap();
    let client = setup.client(setup.governor().build().unwrap()).unwrap();
    World {
        setup,
        client,
        civitai,
        other,
    }
}

struct Items(Vec<Wanted>);

impl Source for Items {
    fn load(&self, item: u32) -> Result<Wanted, String> {
        Ok(self.0[item as usize].clone())
    }
}

#[derive(Default)]
struct Kept(Mutex<Vec<Report>>);

impl Sink for Kept {
    async fn intend(&self, _: u32) -> Result<(), String> {
        Ok(())
    }

    async fn take(&self, report: Report) {
        self.0.lock().unwrap().push(report);
    }
}

/// The reports in the order in which items ended.
async fn import(w: &World, urls: &[String]) -> (Vec<Report>, Totals) {
    let mut bulk = Bulk::new(&w.client, w.setup.bulk());
    let all: Vec<Wanted> = urls
        .iter()
        .map(|u| Wanted::get(u.parse().unwrap()))
        .collect();
    for (item, wanted) in (0..).zip(&all) {
        let target = bulk.target(&wanted.method, &wanted.url, &wanted.headers);
        bulk.add(&target.unwrap(), item, 3, None);
    }
    let kept = Arc::new(Kept::default());
    let source = Arc::new(Items(all));
    let stop = CancellationToken::new();
    let totals = bulk.work(source, Arc::clone(&kept), stop).await;
    let reports = kept.0.lock().unwrap().clone();
    assert_eq!(reports.len(), urls.len(), "each item ends once");
    (reports, totals)
}

fn urls(server: &Server, count: usize) -> impl Iterator<Item = String> {
    let url = server.url();
    (0..count).map(move |n| format!("{url}/api/v1/models/{n}"))
}

#[tokio::test]
async fn e01_r4_a_refused_item_waits_and_is_done() {
    let w = world(Script::new(|n| if n == 3 { asking(429, 1) } else { ok() }));
    let all: Vec<String> = urls(&w.civitai, 30).collect();
    let (reports, _) = import(&w, &all).await;
    assert!(reports.iter().all(|r| r.outcome == Outcome::Done));
    assert_eq!(w.civitai.truth().refused, 1);
}

/// What cannot be waited for is skipped with its reason, to be imported again; it is never failed,
/// and never taken for a model that does not exist.
#[tokio::test]
async fn e07_what_is_still_refused_is_skipped_with_its_reason() {
    let script = Script::new(|n| if n < 10 { ok() } else { asking(429, 1_500) });
    let w = world(script);
    let mut events = w.client.governor().changes();
    let all: Vec<String> = urls(&w.civitai, 100).collect();
    let (reports, totals) = import(&w, &all).await;
    let done = reports.iter().filter(|r| r.outcome == Outcome::Done);
    assert_eq!(done.count(), 10);
    let skipped: Vec<_> = reports
        .iter()
        .filter(|r| r.outcome == Outcome::Skipped)
        .collect();
    assert_eq!(skipped.len(), 90);
    let now = w.client.governor().clock().wall();
    for r in &skipped {
        assert_eq!(r.cause, Some(Verdict::RateLimited));
        let reason = r.reason.as_deref().unwrap();
        assert!(
            reason.contains("civitai") && reason.contains("rate limited"),
            "{reason}"
        );
        assert!(
            reason.contains("next possible at") || reason.contains("try again at"),
            "{reason}"
        );
        let left = r.retry_at.unwrap().since(now);
        assert!(left > secs(1_400) && left <= secs(1_500), "{left:?}");
    }
    assert!(w.civitai.truth().requests <= 15, "nobody goes on asking");
    // What the progress shows: one hold, known when it begins.
    let mut holds = 0;
    while let Ok((provider, event)) = events.try_recv() {
        if let Event::HoldOpened { hold, .. } = event {
            assert_eq!((&*provider, hold.cause), (CIVITAI, Verdict::RateLimited));
            holds += 1;
        }
    }
    assert_eq!(holds, 1);
    assert!(totals.refusals >= 1);
    let left: Vec<String> = skipped
        .iter()
        .map(|r| all[r.item as usize].clone())
        .collect();
    let (again, _) = import(&w, &left).await;
    assert!(
        again.iter().all(|r| r.outcome == Outcome::Skipped),
        "too early"
    );
}

/// There, all five slots parked at one gate and nothing else moved.
#[tokio::test]
async fn e12_a_held_vendor_does_not_freeze_the_batch() {
    let w = world(Script::new(|n| if n < 2 { asking(429, 2) } else { ok() }));
    let mut all: Vec<String> = urls(&w.civitai, 20).collect();
    all.extend(urls(&w.other, 40));
    let began = w.client.governor().clock().now();
    let (reports, _) = import(&w, &all).await;
    assert!(reports.iter().all(|r| r.outcome == Outcome::Done));
    let first = reports
        .iter()
        .position(|r| &*r.provider.clone().unwrap() == CIVITAI);
    assert_eq!(
        first,
        Some(40),
        "all others ended before the first of the held"
    );
    assert!(w.client.governor().clock().now().since(began) >= secs(2));
    assert_eq!(w.other.truth().requests, 40);
}
