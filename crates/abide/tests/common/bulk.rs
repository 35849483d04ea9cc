//! A bulk run of plain addresses, its reports kept in memory.

use std::sync::{Arc, Mutex};

use abide::Client;
use abide::run::{Bulk, BulkPolicy, Outcome, Report, Sink, Source, Totals, Wanted};
use tokio_util::sync::CancellationToken;

struct List(Vec<Wanted>);

impl Source for List {
    fn load(&self, item: u32) -> Result<Wanted, String> {
        Ok(self.0[item as usize].clone())
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
    let wanted = |url: &String| Wanted::get(url.parse().unwrap());
    run_wanted(client, policy, urls.iter().map(wanted).collect()).await
}

pub(crate) async fn run_wanted(client: &Client, policy: BulkPolicy, items: Vec<Wanted>) -> Ran {
    let mut bulk = Bulk::new(client, policy);
    for (item, wanted) in (0..).zip(&items) {
        let target = bulk
            .target(&wanted.method, &wanted.url, &wanted.headers)
            .unwrap();
        bulk.add(&target, item, 3, wanted.patience);
    }
    let kept = Arc::new(Kept::default());
    let stop = CancellationToken::new();
    let count = items.len();
    let source = Arc::new(List(items));
    let totals = bulk.work(source, Arc::clone(&kept), stop).await;
    let mut reports = kept.0.lock().unwrap().clone();
    reports.sort_by_key(|r| r.item);
    let items = reports.iter().map(|r| r.item);
    assert!(items.eq((0..).take(count)), "each item ends once");
    Ran { reports, totals }
}
