//! Over real sockets: the client against a source that asks for more than a call may wait, and
//! the art build as a bulk run.

use std::sync::{Arc, Mutex};

use abide::run::{Bulk, Outcome, Report, Sink, Source, Wanted};
use abide::{Client, core::refusal::RefusalKind};
use abide_acceptance::script::{asking, bare, ok};
use abide_config::{Setup, Use};
use abide_sim::Provider;
use abide_sim::http::{Server, ServerOptions};
use tokio_util::sync::CancellationToken;

use crate::*;

struct At {
    setup: Setup,
    client: Client,
    server: Server,
}

fn at(script: Script, more: &str, of: Use) -> At {
    let server = Server::start(Provider::new(script), ServerOptions::default()).unwrap();
    let hosts = format!(
        "[providers.scryfall-images]\nhosts = [\"{}\"]\n",
        server.address()
    );
    let text = POLICY.replace("[providers.scryfall-images]\n", &hosts) + more;
    let setup = Setup::from_text("abide.toml", &text, of).unwrap();
    let client = setup.client(setup.governor().build().unwrap()).unwrap();
    At {
        setup,
        client,
        server,
    }
}

#[tokio::test]
async fn d02_over_the_wire_a_longer_ask_ends_the_call_at_once() {
    let script = listed(vec![asking(429, 31), ok()]);
    let at = at(script, "", Use::Call);
    let url = format!("{}/normal/front/0.jpg", at.server.url());
    let error = at.client.get(&url).send().await.unwrap_err();
    let turned = error.turned().unwrap();
    assert!(turned.is_rate_limited());
    assert_eq!(
        (turned.refusal.attempts, turned.refusal.waited),
        (1, Duration::ZERO)
    );
    assert!(turned.retry_at().unwrap().since(turned.at.wall) > secs(30));
    let second = at.client.get(&url).send().await.unwrap_err();
    assert_eq!(second.turned().unwrap().refusal.kind, RefusalKind::Held);
    assert_eq!(at.server.truth().requests, 1);
}

struct Images(Vec<Wanted>);

impl Source for Images {
    fn load(&self, item: u32) -> Result<Wanted, String> {
        Ok(self.0[item as usize].clone())
    }
}

#[derive(Default)]
struct Cache(Mutex<Vec<Report>>);

impl Sink for Cache {
    async fn intend(&self, _: u32) -> Result<(), String> {
        Ok(())
    }

    async fn take(&self, report: Report) {
        self.0.lock().unwrap().push(report);
    }
}

async fn build(at: &At, images: &[u32]) -> Vec<Report> {
    let mut bulk = Bulk::new(&at.client, at.setup.bulk());
    let wanted = |n: &u32| {
        let url = format!("{}/normal/front/{n}.jpg", at.server.url());
        Wanted::get(url.parse().unwrap())
    };
    let all: Vec<Wanted> = images.iter().map(wanted).collect();
    for (item, wanted) in (0..).zip(&all) {
        let target = bulk.target(&wanted.method, &wanted.url, &wanted.headers);
        bulk.add(&target.unwrap(), item, 3, None);
    }
    let cache = Arc::new(Cache::default());
    let source = Arc::new(Images(all));
    bulk.work(source, Arc::clone(&cache), CancellationToken::new())
        .await;
    let mut reports = cache.0.lock().unwrap().clone();
    reports.sort_by_key(|r| r.item);
    reports
}

fn count(reports: &[Report], outcome: Outcome) -> usize {
    reports.iter().filter(|r| r.outcome == outcome).count()
}

#[tokio::test]
async fn d07_over_the_wire_a_build_keeps_what_it_has_and_sends_no_more() {
    let script = Script::new(|n| match n {
        40 => bare(404),
        200.. => asking(429, 3_600),
        _ => ok(),
    });
    let run = "\n[fetch]\nattempts = 3\npatience = \"60s\"\nconcurrency = 4\n";
    let at = at(script, run, Use::Fetch);
    let images: Vec<u32> = (0..1_000).collect();
    let reports = build(&at, &images).await;
    assert_eq!(reports.len(), 1_000, "each image ends once");
    assert_eq!(count(&reports, Outcome::Done), 199);
    assert_eq!(count(&reports, Outcome::NotFound), 1);
    assert_eq!(count(&reports, Outcome::Failed), 0);
    let skipped = reports.iter().filter(|r| r.outcome == Outcome::Skipped);
    let mut reasons = 0;
    for report in skipped {
        reasons += usize::from(report.reason.is_some());
        assert!(report.retry_at.is_some(), "each says when");
    }
    assert_eq!(reasons, 800);
    // Those on the wire with the first refusal, and nobody after it.
    let requests = at.server.truth().requests;
    assert!(requests <= 204, "{requests}");
    // The next build too early: nothing is sent at all.
    let left: Vec<u32> = (200..1_000).collect();
    let again = build(&at, &left).await;
    assert_eq!(count(&again, Outcome::Skipped), 800);
    assert_eq!(at.server.truth().requests, requests);
}
