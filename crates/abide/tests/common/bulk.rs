//! A bulk run of plain addresses, its reports kept in memory.

use std::sync::{Arc, Mutex};

use abide::Client;
use abide::run::{Bulk, BulkPolicy, Outcome, Report, Sink, Source, Totals, Wanted};
use tokio_util::sync::CancellationToken;
use url::Url;

struct List(Vec<Url>);

impl Source for List {
    fn load(&self, item: u32) -> Result<Wanted, String> {
        Ok(Wanted::get(self.0[item as usize].clone()))
    }
}

#[derive(Default)]
struct Kept(Mutex<Vec<Report>>);

impl Sink for Kept {
    async fn intend(&self, _item: u32) -> Result<(), String> {
        Ok(())
    }

    async fn take(&self, report: Report) {
        self.0.lock().unwrap().push(report);
    }
}

/// What came of a run, its reports in the order of their items.
pub(crate) struct Ran {
    pub(crate) reports: Vec<Report>,
    pub(crate) totals: Totals,
}

impl Ran {
    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        self.reports.iter().filter(|r| r.outcome == outcome).count()
    }
}

pub(crate) async fn run(client: &Client, policy: BulkPolicy, urls: &[String]) -> Ran {
    let urls: Vec<Url> = urls.iter().map(|u| u.parse().unwrap()).collect();
    let mut bulk = Bulk::new(client, policy);
    for (item, url) in (0..).zip(&urls) {
        let target = bulk.target(url, &http::HeaderMap::new()).unwrap();
        bulk.add(&target, item, 3);
    }
    let kept = Arc::new(Kept::default());
    let stop = CancellationToken::new();
    let count = urls.len();
    let source = Arc::new(List(urls));
    let totals = bulk.work(source, Arc::clone(&kept), stop).await;
    let mut reports = kept.0.lock().unwrap().clone();
    reports.sort_by_key(|r| r.item);
    let items = reports.iter().map(|r| r.item);
    assert!(items.eq((0..).take(count)), "each item ends once");
    Ran { reports, totals }
}
