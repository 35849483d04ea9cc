//! How much processor time a process and its children have used, to the nanosecond: `schedstat` is
//! kept a thread, so a process is the sum of its tasks.

use std::fs;
use std::time::Duration;

/// Of a process and those it began.
pub(crate) fn used(pid: u32) -> Duration {
    let mut sum = own(pid);
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    for child in children.unwrap_or_default().split_whitespace() {
        if let Ok(child) = child.parse() {
            sum += used(child);
        }
    }
    sum
}

/// What is resident, in KiB, of a process and those it began.
pub(crate) fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let own = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let below = children.split_whitespace().filter_map(|c| c.parse().ok());
    own.unwrap_or(0) + below.map(resident).sum::<u64>()
}

fn own(pid: u32) -> Duration {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Duration::ZERO;
    };
    let nanos = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
