//! What came of a run, told by both sides.

use std::time::Duration;

use abide_core::Instant;
use abide_core::provider::GateRecord;

use super::driver::Driver;
use super::ending::Ending;
use super::timeline::{Mark, Seen};
use crate::provider::Provider;

/// What came of one client's items for one provider. The truth is the provider's, whoever else
/// was its client.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SiteReport {
    /// Items for it.
    pub items: u64,
    /// Of those, done or not found.
    pub done: u64,
    /// When its last item ended.
    pub ended: Duration,
    /// The fastest schedule it permits.
    pub oracle: Duration,
    /// Time that holds blocked the run.
    pub held: Duration,
    /// The truth: requests that arrived.
    pub requests: u64,
    /// The truth: requests refused.
    pub refused: u64,
    /// The truth: requests started inside a hold.
    pub sent_inside_hold: u64,
    /// The truth: bans.
    pub bans: u64,
    /// The truth: the most requests within 100 ms after a hold's end.
    pub peak_burst: u64,
    /// The truth: items reported done that were never accepted.
    pub never_accepted: u64,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// All items.
    pub items: u64,
    /// Done or not found.
    pub done: u64,
    /// Skipped, with the time to come back where anyone knows it.
    pub skipped: u64,
    /// Failed.
    pub failed: u64,
    /// Items that never ended.
    pub lost: u64,
    /// Items that ended more than once.
    pub ended_twice: u64,
    /// Requests that arrived.
    pub requests: u64,
    /// Requests refused.
    pub refused: u64,
    /// Requests started inside a hold its client knew of.
    pub sent_inside_hold: u64,
    /// Bans.
    pub bans: u64,
    /// Until the last item ended.
    pub elapsed: Duration,
    /// The slowest provider's fastest schedule.
    pub oracle: Duration,
    /// Timers that fired.
    pub wakeups: u64,
    /// Waiters let through.
    pub grants: u64,
    /// Places taken and never given back.
    pub left_over: usize,
    /// How each item ended, in order.
    pub endings: Vec<Option<Ending>>,
    /// How long each item took from when it was there, in order.
    pub took: Vec<Option<Duration>>,
    /// What each site wants remembered.
    pub records: Vec<Vec<GateRecord>>,
    /// What happened when, if the [`Plan`](super::Plan) has it watched.
    pub timeline: Vec<Mark>,
    /// Provider by provider.
    pub sites: Vec<SiteReport>,
}

impl Report {
    /// The time taken as a multiple of the fastest schedule's.
    pub fn times_oracle(&self) -> f64 {
        self.elapsed.as_secs_f64() / self.oracle.as_secs_f64().max(1e-9)
    }

    /// From when to when some gate was closed, up to the end, if it was watched.
    pub fn holds(&self) -> Vec<(Instant, Instant)> {
        let end = Instant::ORIGIN.after(self.elapsed);
        let mut spans: Vec<(Instant, Instant)> = Vec::new();
        for mark in &self.timeline {
            let at = mark.at;
            match (mark.seen, spans.last_mut()) {
                (Seen::Held { until }, Some(last)) if at <= last.1 => {
                    last.1 = last.1.max(until).min(end);
                }
                (Seen::Held { until }, _) => spans.push((at, until.min(end))),
                // A hold may be lifted before its time.
                (Seen::Open, Some(last)) => last.1 = last.1.min(at),
                _ => {}
            }
        }
        spans
    }
}

pub(super) fn sum_up(
    mut driver: Driver,
    providers: &[Provider],
    oracle: &[Duration],
    now: Instant,
) -> Report {
    let mut report = Report {
        wakeups: driver.wakeups,
        grants: driver.grants,
        records: driver.records(now),
        timeline: std::mem::take(&mut driver.marks),
        ..Report::default()
    };
    report.timeline.sort_by_key(|m| m.at);
    let since = |at: Instant| at.since(Instant::ORIGIN);
    for (site, ended) in driver.ended_at.iter().enumerate() {
        let provider = driver.sites[site].provider;
        let truth = providers[provider].truth();
        report.sites.push(SiteReport {
            ended: since(*ended),
            oracle: oracle.get(provider).copied().unwrap_or_default(),
            held: driver.held(*ended, site),
            requests: truth.requests,
            refused: truth.refused,
            sent_inside_hold: truth.sent_inside_hold,
            bans: truth.bans,
            peak_burst: truth.peak_burst_after_hold,
            ..SiteReport::default()
        });
        report.left_over = driver.left_over(*ended);
    }
    for (n, (item, endings)) in (0..).zip(driver.items.iter().zip(&driver.endings)) {
        let truth = providers[driver.sites[item.site].provider].truth();
        let mine = &mut report.sites[item.site];
        mine.items += 1;
        report.items += 1;
        report.ended_twice += u64::from(endings.len() > 1);
        match endings.first() {
            None => report.lost += 1,
            Some(Ending::Done | Ending::NotFound) => {
                report.done += 1;
                mine.done += 1;
                let accepted = truth.item(&n.to_string()).accepted;
                mine.never_accepted += u64::from(accepted == 0);
            }
            Some(Ending::Failed) => report.failed += 1,
            Some(Ending::Skipped { .. }) => report.skipped += 1,
        }
        report.endings.push(endings.first().copied());
        let ended = driver.ended.get(&n);
        report.took.push(ended.map(|at| at.since(item.came)));
    }
    for provider in providers {
        let truth = provider.truth();
        report.requests += truth.requests;
        report.refused += truth.refused;
        report.sent_inside_hold += truth.sent_inside_hold;
        report.bans += truth.bans;
    }
    for site in &report.sites {
        report.elapsed = report.elapsed.max(site.ended);
        report.oracle = report.oracle.max(site.oracle);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_that_touch_are_one_and_end_with_the_run() {
        let held = |at, until| {
            let seen = Seen::Held {
                until: Instant::from_secs(until),
            };
            (at, seen)
        };
        let marks = [held(1, 3), held(2, 5), held(7, 90)];
        assert_eq!(spans(&marks), [(1, 5), (7, 10)]);
        let marks = [held(1, 3), (2, Seen::Open)];
        assert_eq!(spans(&marks), [(1, 2)]);
    }

    fn spans(marks: &[(u64, Seen)]) -> Vec<(u64, u64)> {
        let mark = |(at, seen): &(u64, Seen)| Mark::new(Instant::from_secs(*at), *seen);
        let report = Report {
            timeline: marks.iter().map(mark).collect(),
            elapsed: Duration::from_secs(10),
            ..Report::default()
        };
        let secs = |at: Instant| at.since(Instant::ORIGIN).as_secs();
        let holds = report.holds();
        holds.iter().map(|(a, b)| (secs(*a), secs(*b))).collect()
    }
}
