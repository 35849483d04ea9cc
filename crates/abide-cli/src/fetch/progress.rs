//! Progress: a bar with a line per held provider on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use abide::Governor;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::output::Tally;

/// How often a terminal is drawn.
const DRAW: Duration = Duration::from_millis(200);
/// How often a plain line is printed: a log should tell, not fill.
const PRINT: Duration = Duration::from_secs(10);
/// The most held providers shown at once.
const HELD: usize = 5;

/// Shows progress until it is aborted. `before` items were finished by earlier processes.
pub(crate) async fn show(total: u64, before: u64, tally: Arc<Tally>, governor: Governor) {
    if std::io::stderr().is_terminal() {
        bar(total, before, &tally, &governor).await;
    } else {
        lines(total, before, &tally, &governor).await;
    }
}

async fn bar(total: u64, before: u64, tally: &Tally, governor: &Governor) {
    let all = MultiProgress::new();
    let main = all.add(ProgressBar::new(total));
    let style = ProgressStyle::with_template(
        "{bar:30} {pos}/{len} {percent}%  {per_sec}  {elapsed} gone, {eta} to go",
    );
    main.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    main.set_position(before);
    main.reset_eta();
    let _cleared = Cleared(&all);
    let mut held: Vec<ProgressBar> = Vec::new();
    loop {
        main.set_position(before + tally.finished());
        let shown = closings(governor);
        while held.len() < shown.len() {
            let line = ProgressBar::new_spinner();
            line.set_style(
                ProgressStyle::with_template("  {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            held.push(all.add(line));
        }
        for line in held.drain(shown.len()..) {
            all.remove(&line);
        }
        for (line, text) in held.iter().zip(shown) {
            line.set_message(text);
        }
        tokio::time::sleep(DRAW).await;
    }
}

/// Clears the bars when progress is aborted.
struct Cleared<'a>(&'a MultiProgress);

impl Drop for Cleared<'_> {
    fn drop(&mut self) {
        // A terminal that cannot be cleared is not worth an error.
        let _ = self.0.clear();
    }
}

async fn lines(total: u64, before: u64, tally: &Tally, governor: &Governor) {
    let clock = Arc::clone(governor.clock());
    let (mut last, mut at) = (0, clock.now());
    loop {
        tokio::time::sleep(PRINT).await;
        let (done, now) = (tally.finished(), clock.now());
        let rate = (done - last) as f64 / now.since(at).as_secs_f64().max(0.001);
        let mut line = format!("abide: {}/{total} finished, {rate:.1}/s", before + done);
        for text in closings(governor) {
            line.push_str("; ");
            line.push_str(&text);
        }
        eprintln!("{line}");
        (last, at) = (done, now);
    }
}

/// What is held, why, and for how long, the longest first.
fn closings(governor: &Governor) -> Vec<String> {
    let now = governor.clock().now();
    let mut held = governor.held();
    held.sort_by_key(|h| std::cmp::Reverse(h.hold.until));
    held.dedup_by(|a, b| a.provider == b.provider);
    let more = held.len().saturating_sub(HELD);
    let mut lines: Vec<String> = held
        .iter()
        .take(HELD)
        .map(|h| {
            let left = h.hold.until.since(now);
            let source = h.hold.source();
            format!(
                "{} held: {} ({source}), {} to go",
                h.provider,
                h.hold.cause,
                short(left)
            )
        })
        .collect();
    if more > 0 {
        lines.push(format!("and {more} more are held"));
    }
    lines
}

/// A duration for people, rounded up: `90 s` is never shown as done when it is not.
pub(crate) fn short(d: Duration) -> String {
    let secs = d.as_secs() + u64::from(d.subsec_nanos() > 0);
    match secs {
        0..120 => format!("{secs} s"),
        120..7200 => format!("{} min {} s", secs / 60, secs % 60),
        7200..172_800 => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
        _ => format!("{} d {} h", secs / 86_400, secs % 86_400 / 3600),
    }
}
