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
/// How many cells the bar has.
const CELLS: u64 = 20;
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
    main.set_style(style());
    main.set_position(before);
    main.reset_eta();
    let _cleared = Cleared(&all);
    let mut held: Vec<ProgressBar> = Vec::new();
    loop {
        let finished = before + tally.finished();
        main.set_position(finished);
        main.set_message(overview(
            finished,
            total,
            main.per_sec(),
            main.elapsed(),
            main.eta(),
        ));
        let shown = closings(governor);
        while held.len() < shown.len() {
            let one = ProgressBar::new_spinner();
            one.set_style(style());
            held.push(all.add(one));
        }
        for line in held.drain(shown.len()..) {
            all.remove(&line);
        }
        for (line, text) in held.iter().zip(shown) {
            line.set_message(format!("  {text}"));
        }
        tokio::time::sleep(DRAW).await;
    }
}

/// Text as wide as the terminal (80 where it does not tell), cut at its edge: a line that wraps
/// cannot be drawn over.
fn style() -> ProgressStyle {
    ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// The first line: what matters most comes first, since the end may be cut off.
fn overview(finished: u64, total: u64, rate: f64, gone: Duration, to_go: Duration) -> String {
    let share = |of: u64| {
        let part = u128::from(finished) * u128::from(of) / u128::from(total.max(1));
        u64::try_from(part).unwrap_or(of).min(of)
    };
    let full = usize::try_from(share(CELLS)).unwrap_or_default();
    let left = usize::try_from(CELLS).unwrap_or_default() - full;
    let bar = "█".repeat(full) + &"░".repeat(left);
    let left = match finished < total && rate > 0.0 {
        true => format!(", {} to go", short(to_go)),
        false => String::new(),
    };
    format!(
        "{bar} {finished}/{total} {}%  {}/s  {} gone{left}",
        share(100),
        short_rate(rate),
        short(gone)
    )
}

/// A rate for people: two digits that mean something, whole numbers from a hundred on.
fn short_rate(rate: f64) -> String {
    if rate < 0.001 {
        // What a day brings is told by the count.
        return "0".to_owned();
    }
    let decimals = |rate: f64| (1 - rate.log10().floor() as i32).clamp(0, 4);
    // Rounded first: 9.96 is 10, not 10.0.
    let scale = 10_f64.powi(decimals(rate));
    let rounded = (rate * scale).round() / scale;
    format!("{rounded:.*}", decimals(rounded) as usize)
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
        let mut line = format!(
            "abide: {}/{total} finished, {}/s",
            before + done,
            short_rate(rate)
        );
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

#[cfg(test)]
mod tests {
    use std::io;

    use parking_lot::Mutex;

    use super::*;

    /// A terminal of 30 columns that remembers what it is told to show.
    #[derive(Debug)]
    struct Narrow(Arc<Mutex<Vec<String>>>);

    impl indicatif::TermLike for Narrow {
        fn width(&self) -> u16 {
            30
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().push(text.to_owned());
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_rate_shows_no_digits_that_mean_nothing() {
        for (rate, told) in [
            (0.0, "0"),
            (0.000_4, "0"),
            (0.004_26, "0.0043"),
            (0.426, "0.43"),
            (0.999, "1.0"),
            (8.349, "8.3"),
            (9.96, "10"),
            (42.7, "43"),
            (99.6, "100"),
            (1_234.5, "1235"),
        ] {
            assert_eq!(short_rate(rate), told, "{rate}");
        }
    }

    #[test]
    fn the_overview_is_whole_at_both_ends() {
        let s = Duration::from_secs;
        let told = overview(0, 0, 0.0, s(0), s(0));
        assert_eq!(told, "░░░░░░░░░░░░░░░░░░░░ 0/0 0%  0/s  0 s gone");
        let told = overview(150, 300, 8.349, s(18), s(19));
        assert_eq!(
            told,
            "██████████░░░░░░░░░░ 150/300 50%  8.3/s  18 s gone, 19 s to go"
        );
        assert!(told.chars().count() <= 80);
        let told = overview(300, 300, 8.0, s(36), s(0));
        assert_eq!(told, "████████████████████ 300/300 100%  8.0/s  36 s gone");
    }

    /// What is drawn never wraps: each line is cut at the terminal's edge.
    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let narrow = Narrow(Arc::clone(&written));
        let target = indicatif::ProgressDrawTarget::term_like(Box::new(narrow));
        let all = MultiProgress::with_draw_target(target);
        let bar = all.add(ProgressBar::new(300));
        bar.set_style(style());
        let s = Duration::from_secs;
        bar.set_message(overview(150, 300, 8.3, s(18), s(19)));
        bar.tick();
        let written = written.lock();
        let mut lines = written.iter().map(|w| w.trim_end());
        assert!(lines.any(|w| w == "██████████░░░░░░░░░░ 150/300 5"));
        assert!(
            written.iter().all(|w| w.chars().count() <= 30),
            "{written:?}"
        );
    }
}
