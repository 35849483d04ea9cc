//! Over real sockets: connections, a whole import, a key in an address.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use abide::Client;
use abide::core::Verdict;
use abide::run::{Bulk, Outcome, Report, Sink, Source, Totals, Wanted};
use abide_acceptance::Program;
use abide_acceptance::wire::{Ledger, Script, asking, bare, good, json, with};
use abide_config::Use;
use abide_sim::http::{Server, ServerOptions};
use abide_sim::{Provider, What};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::common::{LOOP, ms, secs};
use crate::import::IMPORT;

/// Open Library, listening here.
fn listening(script: Script) -> (Server, Ledger) {
    let ledger = script.ledger();
    let server = Server::start(Provider::new(script), ServerOptions::default()).unwrap();
    (server, ledger)
}

/// The program's client, to whom that address is Open Library.
fn client(text: &str, address: &str, of: Use) -> (Program, Client) {
    let text = format!(
        "{text}
[providers.openlibrary]
hosts = [\"{address}\"]
override = true
limits = [\"100000/s\"]
"
    );
    let program = Program::with(&text, of, |governor| governor);
    let client = program.setup.client(program.governor.clone()).unwrap();
    (program, client)
}

/// What is left of half-read bodies are connections that cannot be used again.
#[tokio::test]
async fn a04_bodies_of_refusals_are_read_away_so_that_connections_live() {
    for status in [429, 502, 503, 504] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            let mut served = 0;
            while let Ok((mut stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let mut seen = Vec::new();
                while stream.read_buf(&mut seen).await.is_ok_and(|n| n > 0) {
                    if !seen.ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    seen.clear();
                    served += 1;
                    let (status, body) = match served {
                        1..=3 => (status, "x".repeat(900 * 1024)),
                        _ => (200, "{}".to_owned()),
                    };
                    let head = format!(
                        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                        body.len()
                    );
                    let whole = head + &body;
                    if stream.write_all(whole.as_bytes()).await.is_err() {
                        break;
                    }
                }
            }
        });
        let text = LOOP.replace("ladder.base = \"500ms\"", "ladder.base = \"5ms\"");
        let (_, client) = client(&text, &address, Use::Call);
        let answer = client.get(&format!("http://{address}/isbn/1")).send().await;
        let answer = answer.unwrap();
        assert_eq!((answer.status().as_u16(), answer.attempts()), (200, 4));
        drop(answer);
        assert_eq!(connections.load(Ordering::Relaxed), 1, "{status}");
    }
}

/// The loop over a wire: two seconds are two seconds, and a broken exchange is tried again.
#[tokio::test]
async fn a03_an_ask_is_kept_over_the_wire() {
    let (server, came) = listening(Script::of([asking(429, 1), good()]));
    let (_, client) = client(LOOP, &server.address().to_string(), Use::Call);
    let answer = client.get(&format!("{}/search.json?q=dune", server.url()));
    let answer = answer.send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.attempts()), (200, 2));
    assert_eq!(answer.provider(), Some("openlibrary"));
    assert!(came.gaps()[0] >= secs(1), "{:?}", came.gaps());
    drop(answer);
    assert_eq!(server.shutdown().sent_inside_hold, 0);
}

/// An address with a key in it, whatever becomes of the call.
#[tokio::test]
async fn a06_no_key_is_shown_over_the_wire() {
    let key = with(json(503, r#"{"key":"s3cr3t"}"#), "x-key", "s3cr3t");
    let (server, _) = listening(Script::of([key]));
    let text = LOOP.replace("ladder.base = \"500ms\"", "ladder.base = \"5ms\"");
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = nobody.local_addr().unwrap().to_string();
    drop(nobody);
    for address in [server.address().to_string(), gone] {
        let (_, client) = client(&text, &address, Use::Call);
        let url = format!("http://{address}/books/v1/volumes?q=isbn:1&key=s3cr3t");
        let error = client.get(&url).send().await.unwrap_err();
        let mut told = format!("{error} {error:?}");
        let mut below = std::error::Error::source(&error);
        while let Some(e) = below {
            told += &format!(" {e} {e:?}");
            below = e.source();
        }
        assert!(!told.contains("s3cr3t"), "{told}");
        let cause = error.turned().unwrap().refusal.cause;
        assert_eq!(cause, Some(Verdict::Unavailable));
    }
}

struct Rows {
    url: String,
}

impl Source for Rows {
    fn load(&self, item: u32) -> Result<Wanted, String> {
        let url = format!("{}/isbn/{item}.json", self.url);
        Ok(Wanted::get(url.parse().map_err(|e| format!("{e}"))?))
    }
}

#[derive(Default)]
struct Shelf(Mutex<Vec<Report>>);

impl Sink for Shelf {
    async fn intend(&self, _: u32) -> Result<(), String> {
        Ok(())
    }

    async fn take(&self, report: Report) {
        self.0.lock().unwrap().push(report);
    }
}

/// One import, as the program makes it.
async fn import(program: &Program, client: &Client, url: &str, rows: u32) -> (Vec<Report>, Totals) {
    let mut bulk = Bulk::new(client, program.setup.bulk());
    let source = Rows {
        url: url.to_owned(),
    };
    for item in 0..rows {
        let wanted = source.load(item).unwrap();
        let target = bulk.target(&wanted.method, &wanted.url, &wanted.headers);
        bulk.add(&target.unwrap(), item, 3, None);
    }
    let shelf = Arc::new(Shelf::default());
    let stop = CancellationToken::new();
    let totals = bulk.work(Arc::new(source), Arc::clone(&shelf), stop).await;
    let mut reports = shelf.0.lock().unwrap().clone();
    reports.sort_by_key(|r| r.item);
    assert_eq!(reports.len(), rows as usize, "no row is lost");
    (reports, totals)
}

fn quick() -> String {
    format!("{LOOP}{}", IMPORT.replace("[\"2s\"]", "[\"20ms\"]"))
}

/// Twelve calls, and then all the others at once, saying why and when. A second import begins
/// anew, and by then the provider is well.
#[tokio::test]
async fn a18_an_import_over_the_wire_is_asked_twelve_times_and_a_second_one_serves() {
    let script = Script::new(|n, _, _| if n < 12 { bare(429) } else { good() });
    let (server, came) = listening(script);
    let address = server.address().to_string();
    let (program, client) = client(&quick(), &address, Use::Fetch);
    let (rows, totals) = import(&program, &client, &server.url(), 1_000).await;
    assert_eq!(came.count(), 12);
    assert_eq!(totals.stopped.len(), 1);
    for row in &rows {
        assert_eq!(row.outcome, Outcome::Skipped);
        assert_eq!(row.cause, Some(Verdict::RateLimited));
        assert!(row.retry_at.is_some());
    }
    let reason = rows[999].reason.as_deref().unwrap();
    let told = reason.contains("openlibrary") && reason.contains("try again");
    assert!(told, "{reason}");
    // A streak is one import's own.
    let (rows, _) = import(&program, &client, &server.url(), 200).await;
    assert!(rows.iter().all(|r| r.outcome == Outcome::Done));
    assert_eq!(came.count(), 212);
}

/// Longer than is believed, waited for as long as that: the import goes on.
#[tokio::test]
async fn a16_an_import_over_the_wire_believes_a_hold_for_so_long_and_no_longer() {
    let text = quick().replace("hold.max = \"30s\"", "hold.max = \"1s\"");
    let hour = with(bare(429), "retry-after", "3600");
    let (server, came) = listening(Script::of([hour, good()]));
    let (program, client) = client(&text, &server.address().to_string(), Use::Fetch);
    let (rows, _) = import(&program, &client, &server.url(), 5).await;
    assert!(rows.iter().all(|r| r.outcome == Outcome::Done), "{rows:?}");
    assert_eq!((rows[0].attempts, came.count()), (2, 6));
    let gap = came.gaps()[0];
    assert!(gap >= secs(1) && gap < secs(30), "{gap:?}");
}

/// A provider that says nothing costs one timeout an attempt, and is tried again.
#[tokio::test]
async fn a2_a_timeout_is_each_attempts_own() {
    let script = Script::new(|n, _, _| match n {
        0..=2 => abide_sim::Reply::failed(What::Silence),
        _ => good(),
    });
    let (server, came) = listening(script);
    let text = LOOP.replace("backoff.base = \"500ms\"", "backoff.base = \"5ms\"");
    let (_, client) = client(&text, &server.address().to_string(), Use::Call);
    let call = client.get(&format!("{}/isbn/1", server.url()));
    let answer = call.attempt_timeout(ms(300)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.attempts()), (200, 4));
    for gap in came.gaps() {
        assert!(gap >= ms(250), "{gap:?}");
    }
}

/// A body larger than the program takes fails its call, and says so.
#[tokio::test]
async fn a13_a_body_is_taken_up_to_a_cap() {
    let (server, _) = listening(Script::of([json(200, &"x".repeat(20_000))]));
    let (_, client) = client(LOOP, &server.address().to_string(), Use::Call);
    for (cap, fits) in [(20_000, true), (19_999, false)] {
        let answer = client.get(&format!("{}/isbn/1", server.url())).send().await;
        let body = answer.unwrap().bytes(cap).await;
        assert_eq!(body.is_ok(), fits, "{body:?}");
    }
}
