//! A row of the table: medians of what varies, the worst of what must never happen.

use abide_sim::world::Report;
use serde::Serialize;

/// One scenario under one controller.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) scenario: String,
    pub(crate) controller: String,
    pub(crate) items: u32,
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    pub(crate) lost: u64,
    pub(crate) requests: u64,
    pub(crate) refused: u64,
    pub(crate) sent_inside_hold: u64,
    pub(crate) bans: u64,
    pub(crate) seconds: f64,
    pub(crate) oracle_seconds: f64,
    pub(crate) peak_burst_after_hold: u64,
    /// `seconds / oracle_seconds`, the median of the runs' own ratios.
    pub(crate) ratio: f64,
    /// Items reported done that the provider never accepted.
    pub(crate) never_accepted: u64,
}

impl Row {
    /// Sums the runs up.
    pub(crate) fn of(scenario: &str, controller: &str, items: u32, runs: &[Report]) -> Self {
        let middle = |f: &dyn Fn(&Report) -> u64| median(runs.iter().map(|r| f(r) as f64)) as u64;
        let worst = |f: &dyn Fn(&Report) -> u64| runs.iter().map(f).max().unwrap_or(0);
        let seconds = |f: &dyn Fn(&Report) -> f64| median(runs.iter().map(f));
        Self {
            scenario: scenario.to_owned(),
            controller: controller.to_owned(),
            items,
            done: middle(&|r| r.done),
            failed: middle(&|r| r.failed),
            skipped: middle(&|r| r.skipped),
            lost: worst(&|r| r.lost),
            requests: middle(&|r| r.requests),
            refused: middle(&|r| r.refused),
            sent_inside_hold: worst(&|r| r.sent_inside_hold),
            bans: worst(&|r| r.bans),
            seconds: seconds(&|r| r.elapsed.as_secs_f64()),
            oracle_seconds: seconds(&|r| r.oracle.as_secs_f64()),
            peak_burst_after_hold: middle(&|r| {
                r.sites.iter().map(|s| s.peak_burst).max().unwrap_or(0)
            }),
            ratio: seconds(&Report::times_oracle),
            never_accepted: worst(&|r| r.sites.iter().map(|s| s.never_accepted).sum()),
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    match all.len() {
        0 => 0.0,
        n if n % 2 == 1 => all[n / 2],
        n => f64::midpoint(all[n / 2 - 1], all[n / 2]),
    }
}
