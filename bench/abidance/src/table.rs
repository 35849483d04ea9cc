//! Shows rows, writes them, and says what they miss.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use crate::limits;
use crate::row::Row;

/// One line a row.
pub(crate) fn line(row: Option<&Row>) {
    let Some(r) = row else { return };
    let mixed = match (r.interactive_p99_trips, r.bulk_share) {
        (Some(trips), Some(share)) => format!("  interactive {trips:.2} trips  bulk {share:.3}"),
        _ => String::new(),
    };
    println!(
        "{:10} {:6} {:6.3} x  {:8.2} s of {:8.2}  refused {:4}  done {:5} skipped {:4} failed {:3}  inside {} lost {} bans {} burst {}{mixed}",
        r.scenario,
        r.controller,
        r.ratio,
        r.seconds,
        r.oracle_seconds,
        r.refused,
        r.done,
        r.skipped,
        r.failed,
        r.sent_inside_hold,
        r.lost,
        r.bans,
        r.peak_burst_after_hold,
    );
}

/// Writes `{"rows": […]}`.
pub(crate) fn write(file: &Path, rows: &[Row]) -> Result<()> {
    let text = serde_json::to_string_pretty(&json!({ "rows": rows }))?;
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Names what any row misses of what it must reach; `true` when none does.
pub(crate) fn check(rows: &[Row]) -> bool {
    let missed: Vec<String> = rows.iter().flat_map(limits::misses).collect();
    for line in &missed {
        eprintln!("missed: {line}");
    }
    missed.is_empty()
}
