//! The report of the demo.

use super::{BURST, Figures, RATE};

pub(super) fn intro(items: u32, concurrency: u32) {
    println!(
        "A provider on this machine takes {RATE} requests a second (burst {BURST}), tells nobody,"
    );
    println!(
        "and answers 429 with Retry-After: 1 beyond that. {items} items, {concurrency} at once:"
    );
    println!();
}

pub(super) fn print(abide: &Figures, plain: &Figures) {
    println!("  what the provider saw      abide    plain retry loop");
    row("accepted", abide.accepted, plain.accepted);
    row("refused", abide.refused, plain.refused);
    row(
        "sent inside a hold",
        abide.sent_inside_hold,
        plain.sent_inside_hold,
    );
    row("items lost", abide.lost, plain.lost);
    println!(
        "  {:<22} {:>9.1} {:>15.1}   seconds",
        "time", abide.seconds, plain.seconds
    );
    println!(
        "  {:<22} {:>8.2}× {:>14.2}×  the fastest schedule possible ({:.1} s)",
        "time against the limit",
        abide.seconds / abide.oracle_seconds,
        plain.seconds / plain.oracle_seconds,
        abide.oracle_seconds
    );
}

fn row(name: &str, abide: u64, plain: u64) {
    println!("  {name:<22} {abide:>9} {plain:>15}");
}
