//! A row of the table: medians of what varies, the worst of what must never happen.

use abide_sim::world::{Ending, Report};
use serde::Serialize;

use crate::measure::Run;

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
    /// Skipped items that were told when to come back.
    pub(crate) told: u64,
    /// Items reported done that the provider never accepted.
    pub(crate) never_accepted: u64,
    /// How long interactive items took, in round trips, at the 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interactive_p99_trips: Option<f64>,
    /// The part that bulk got of what interactive items left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bulk_share: Option<f64>,
}

impl Row {
    /// Sums the runs up.
    pub(crate) fn of(scenario: &str, controller: &str, items: u32, runs: &[Run]) -> Self {
        let mixed = || runs.iter().filter_map(|r| r.mixed.as_ref());
        let trips: Vec<f64> = mixed().flat_map(|m| m.trips.iter().copied()).collect();
        let shares: Vec<f64> = mixed().map(|m| m.share).collect();
        let middle =
            |f: &dyn Fn(&Report) -> u64| median(runs.iter().map(|r| f(&r.report) as f64)) as u64;
        let worst =
            |f: &dyn Fn(&Report) -> u64| runs.iter().map(|r| f(&r.report)).max().unwrap_or(0);
        let seconds = |f: &dyn Fn(&Report) -> f64| median(runs.iter().map(|r| f(&r.report)));
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
            told: middle(&told),
            ratio: seconds(&Report::times_oracle),
            never_accepted: worst(&|r| r.sites.iter().map(|s| s.never_accepted).sum()),
            interactive_p99_trips: percentile(trips, 0.99),
            bulk_share: (!shares.is_empty()).then(|| median(shares.into_iter())),
        }
    }
}

fn told(report: &Report) -> u64 {
    let told = |e: &Ending| matches!(e, Ending::Skipped { retry_at, .. } if retry_at.is_some());
    report.endings.iter().flatten().filter(|e| told(e)).count() as u64
}

/// The least that so large a part of the values does not exceed.
fn percentile(mut values: Vec<f64>, part: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let above = (values.len() as f64 * (1.0 - part)) as usize;
    values.get(values.len().checked_sub(above + 1)?).copied()
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    match all.len() {
        0 => 0.0,
        n if n % 2 == 1 => all[n / 2],
        n => f64::midpoint(all[n / 2 - 1], all[n / 2]),
    }
}
