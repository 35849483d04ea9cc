//! Item 1, rules 3 and 6, item 5, and what users complained of: who is asked in whose stead.

use std::sync::atomic::{AtomicUsize, Ordering};

use abide::{Answer, Chain, ChainError, Failed, Said};
use abide_acceptance::script::{asking, bare, cut, ok};

use crate::*;

/// The archive at hand knows this model.
const KNOWN: u32 = 7;
const UNKNOWN: u32 = 8;

struct World {
    p: Program,
    civitai: Vendor,
    civarchive: Vendor,
    archive: Arc<AtomicUsize>,
}

impl World {
    fn new(civitai: impl Into<Vec<Reply>>, civarchive: impl Into<Vec<Reply>>) -> Self {
        let p = Program::new(POLICY);
        let civitai = saying(&p, civitai);
        let civarchive = saying(&p, civarchive);
        Self {
            p,
            civitai,
            civarchive,
            archive: Arc::default(),
        }
    }

    fn chain(&self) -> Chain<u32, &'static str, StatusCode> {
        let (first, second) = (self.civitai.sim.clone(), self.civarchive.sim.clone());
        let archive = Arc::clone(&self.archive);
        Chain::new(&self.p.governor)
            .network(CIVITAI, move |_, _| {
                let sim = first.clone();
                async move { sim.ask("/").await.map(|_| "civitai") }
            })
            .network(CIVARCHIVE, move |_, _| {
                let sim = second.clone();
                async move { sim.ask("/").await.map(|_| "civarchive") }
            })
            .local("archive", move |_, id: Arc<u32>| {
                archive.fetch_add(1, Ordering::Relaxed);
                async move {
                    match *id {
                        KNOWN => Ok("archive"),
                        _ => Err(Failed::new(StatusCode::NOT_FOUND, Said::not_found())),
                    }
                }
            })
    }

    async fn ask(&self, id: u32) -> Result<Answer<&'static str>, ChainError<StatusCode>> {
        self.chain().ask(id).await
    }
}

#[tokio::test(start_paused = true)]
async fn e01_r3_a_refusal_asks_no_second_vendor() {
    let w = World::new([asking(429, 3_600)], [ok()]);
    for _ in 0..20 {
        let error = w.ask(UNKNOWN).await.unwrap_err();
        assert_eq!(
            (&*error.by, error.turned().is_rate_limited()),
            (CIVITAI, true)
        );
        assert!(!error.is_not_found(), "no confirmed deletion");
    }
    assert_eq!(w.civarchive.arrivals.count(), 0);
    assert_eq!(w.civitai.arrivals.count(), 1);
}

/// Waiting out a refusal is no reason either: the lookup stays with its vendor.
#[tokio::test(start_paused = true)]
async fn e01_r3_a_refusal_that_is_waited_out_stays_with_its_vendor() {
    let w = World::new([asking(429, 75), ok()], [ok()]);
    let answer = w.ask(UNKNOWN).await.unwrap();
    assert_eq!((answer.value, answer.degraded), ("civitai", false));
    assert_eq!(w.civarchive.arrivals.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn e01_r6_what_one_vendor_deleted_the_other_may_have() {
    let w = World::new([bare(404)], [ok()]);
    let answer = w.ask(UNKNOWN).await.unwrap();
    assert_eq!((answer.value, answer.degraded), ("civarchive", false));
    // Neither: the archive at hand.
    let w = World::new([bare(404)], [bare(404)]);
    assert_eq!(w.ask(KNOWN).await.unwrap().value, "archive");
    assert!(w.ask(UNKNOWN).await.unwrap_err().is_not_found());
}

/// A vendor that cannot be reached for long is stood in for; one failure is this lookup's own.
#[tokio::test(start_paused = true)]
async fn e01_r6_a_vendor_that_stays_unreachable_is_stood_in_for() {
    let w = World::new([cut()], [ok()]);
    let first = w.chain().patience(Duration::ZERO).ask(UNKNOWN).await;
    assert_eq!(&*first.unwrap_err().by, CIVITAI);
    assert_eq!(w.civarchive.arrivals.count(), 0);
    let mut answer = None;
    for _ in 0..5 {
        tokio::time::sleep(secs(1)).await;
        answer = w.chain().patience(Duration::ZERO).ask(UNKNOWN).await.ok();
    }
    let answer = answer.unwrap();
    assert_eq!((answer.value, answer.degraded), ("civarchive", true));
}

#[tokio::test(start_paused = true)]
async fn e05_a_final_refusal_leaves_the_archive_at_hand() {
    let w = World::new([asking(429, 3_600)], [ok()]);
    let answer = w.ask(KNOWN).await.unwrap();
    assert_eq!((answer.value, &*answer.by), ("archive", "archive"));
    assert!(answer.degraded, "shown, but never bound as the vendor's");
    assert_eq!(w.civarchive.arrivals.count(), 0);
    // What it lacks is still a refusal, told as one.
    let error = w.ask(UNKNOWN).await.unwrap_err();
    assert_eq!(w.archive.load(Ordering::Relaxed), 2);
    let text = error.to_string();
    assert!(
        text.contains("civitai") && text.contains("rate limited"),
        "{text}"
    );
    let data = serde_json::to_value(error.turned()).unwrap();
    assert_eq!(data["rate_limited"], true);
    assert!(data["retry_at"].is_string(), "{data}");
}

/// A 404 that was confirmed is not overridden by a later vendor's refusal.
#[tokio::test(start_paused = true)]
async fn e3_a_confirmed_miss_beats_a_later_refusal() {
    let w = World::new([bare(404)], [asking(429, 3_600)]);
    let error = w.ask(UNKNOWN).await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(&*error.by, CIVITAI);
}

/// Complaint 983: an hourly cap of 42 minutes at the second vendor holds no task open.
#[tokio::test(start_paused = true)]
async fn e3_983_a_window_of_42_minutes_holds_no_task_open() {
    let w = World::new([bare(404)], [asking(429, 42 * 60), ok()]);
    for _ in 0..10 {
        assert!(w.ask(UNKNOWN).await.unwrap_err().is_not_found());
    }
    assert_eq!(w.civarchive.arrivals.count(), 1);
    assert!(w.p.clock.elapsed() < secs(60), "{:?}", w.p.clock.elapsed());
    tokio::time::sleep(secs(42 * 60)).await;
    assert_eq!(w.ask(UNKNOWN).await.unwrap().value, "civarchive");
}

/// One deadline bounds all vendors together.
#[tokio::test(start_paused = true)]
async fn e01_r5_one_deadline_bounds_the_whole_lookup() {
    let w = World::new([bare(404)], [asking(429, 250), ok()]);
    let asked = w.chain().deadline(secs(20)).ask(KNOWN).await.unwrap();
    assert_eq!(asked.value, "archive");
    assert!(w.p.clock.elapsed() <= secs(20));
}
