//! What each row must reach: all of it in this file, so that a change of a figure is seen.
//!
//! The figures are medians over seeds at 1,000 items and 32 hands; at 10,000 items what was
//! learned weighs less and must come to less. They bind abide alone: other controllers and
//! clients are there to compare with.

use crate::offgrid::OffGrid;
use crate::row::Row;

/// What a row may come to.
#[derive(Clone, Copy, Debug, Default)]
struct Bound {
    /// Times the fastest schedule.
    ratio: Option<f64>,
    refused: Option<u64>,
    done: Option<u64>,
    skipped: Option<u64>,
    /// Requests sent.
    requests: Option<u64>,
    /// Whether whoever was skipped is told when to come back.
    told: bool,
    /// Whether it may be banned.
    banned: bool,
    /// How long interactive items may take, in round trips, at the 99th percentile.
    trips: Option<f64>,
    /// The least part that bulk gets of what interactive items leave.
    share: Option<f64>,
}

const fn within(ratio: f64, refused: u64) -> Bound {
    Bound {
        ratio: Some(ratio),
        refused: Some(refused),
        done: None,
        skipped: None,
        requests: None,
        told: false,
        banned: false,
        trips: None,
        share: None,
    }
}

/// From so many items on what was learned must have paid off.
const MANY: u32 = 10_000;
/// What every learned row must reach then.
const MANY_RATIO: f64 = 1.06;
/// What a relative off the grid may take more than its row.
const OFF_GRID: (f64, u64) = (0.10, 10);
/// From so few items on no ratio says anything: the table's figures are of 1,000.
const FEW: u32 = 1_000;

/// The table.
fn table(scenario: &str) -> Bound {
    let done = |bound| Bound {
        done: Some(1_000),
        ..bound
    };
    match scenario {
        "a-known" | "b-known" | "c-known" | "d-known" | "e-known" | "k1" => within(1.02, 0),
        "a" => within(1.15, 15),
        "b" => within(1.03, 2),
        "b2" | "c" => within(if scenario == "c" { 1.20 } else { 1.25 }, 20),
        "d" => within(1.30, 10),
        "e" => within(1.10, 15),
        "f" => Bound {
            refused: None,
            ..done(within(1.15, 0))
        },
        "g" => done(within(1.15, 15)),
        "h" => quota(300, 700),
        "i" => quota(100, 900),
        "j" => Bound {
            refused: None,
            ..within(1.5, 0)
        },
        "k4" => Bound {
            trips: Some(2.0),
            share: Some(0.95),
            ..Bound::default()
        },
        _ => Bound {
            banned: true,
            ..Bound::default()
        },
    }
}

fn quota(limit: u64, skipped: u64) -> Bound {
    Bound {
        done: Some(limit),
        skipped: Some(skipped),
        // What is in flight when it is used up cannot be called back.
        requests: Some(limit + 32),
        told: true,
        ..Bound::default()
    }
}

fn bound(scenario: &str, items: u32) -> Bound {
    if scenario.ends_with("-second") {
        return within(1.05, 3);
    }
    if let Some(number) = OffGrid::number(scenario) {
        let own = bound(OffGrid::relative(number), items);
        return Bound {
            ratio: own.ratio.map(|r| r + OFF_GRID.0),
            refused: own.refused.map(|r| r + OFF_GRID.1),
            done: None,
            ..own
        };
    }
    let mut bound = table(scenario);
    if items >= MANY && !scenario.ends_with("-known") {
        let most = if scenario == "j" { 1.05 } else { MANY_RATIO };
        bound.ratio = bound.ratio.map(|r| r.min(most));
        bound.refused = None;
    }
    if items != FEW {
        (bound.done, bound.skipped) = (None, None);
    }
    bound
}

/// What a row misses, in words.
pub(crate) fn misses(row: &Row) -> Vec<String> {
    let mut all = Vec::new();
    let mut most = |what: &str, is: f64, bound: Option<f64>| {
        if let Some(bound) = bound.filter(|b| is > *b) {
            all.push(format!("{}: {what} {is}, at most {bound}", row.scenario));
        }
    };
    let count = |n: u64| n as f64;
    most("lost", count(row.lost), Some(0.0));
    most("sent inside a hold", count(row.sent_inside_hold), Some(0.0));
    most(
        "done and never accepted",
        count(row.never_accepted),
        Some(0.0),
    );
    if row.controller != "abide" {
        return all;
    }
    let bound = bound(&row.scenario, row.items);
    let ratio = (row.ratio * 1_000.0).round() / 1_000.0;
    most("times the fastest", ratio, bound.ratio);
    most("refused", count(row.refused), bound.refused.map(count));
    most("requests", count(row.requests), bound.requests.map(count));
    most("bans", count(row.bans), (!bound.banned).then_some(0.0));
    if let Some(trips) = row.interactive_p99_trips {
        most("round trips of an interactive item", trips, bound.trips);
    }
    let mut least = |what: &str, is: f64, bound: Option<f64>| {
        if let Some(bound) = bound.filter(|b| is < *b) {
            all.push(format!("{}: {what} {is}, at least {bound}", row.scenario));
        }
    };
    least("done", count(row.done), bound.done.map(count));
    least("skipped", count(row.skipped), bound.skipped.map(count));
    let told = bound.told.then(|| count(row.skipped));
    least("told when to come back", count(row.told), told);
    if let Some(share) = row.bulk_share {
        least("bulk's share", share, bound.share);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_may_take_a_little_more_than_its_row() {
        let (row, relative) = (bound("a", 1_000), bound("z1", 1_000));
        assert_eq!(relative.ratio, row.ratio.map(|r| r + 0.10));
        assert_eq!(relative.refused, Some(25));
    }

    #[test]
    fn with_many_items_learning_weighs_little() {
        assert_eq!(bound("d", 10_000).ratio, Some(1.06));
        assert_eq!(bound("j", 10_000).ratio, Some(1.05));
        assert_eq!(bound("a-known", 10_000).ratio, Some(1.02));
    }

    #[test]
    fn every_scenario_of_the_table_is_bounded() {
        for name in crate::scenario::names() {
            let bound = bound(&name, 1_000);
            let open = matches!(name.as_str(), "k2" | "k3");
            let some = bound.ratio.is_some() || bound.done.is_some() || bound.trips.is_some();
            assert!(some || open, "{name}");
        }
    }
}
