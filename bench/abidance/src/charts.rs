//! One picture a scenario: what was accepted, what refused, and when a gate was held.

use std::fs;
use std::path::Path;

use abide_core::Instant;
use abide_sim::Fate;
use abide_sim::world::{Mark, Report, Seen};
use anyhow::{Context, Result, anyhow};
use plotters::prelude::*;

const SIZE: (u32, u32) = (900, 420);
const HELD: RGBColor = RGBColor(235, 220, 170);
const ACCEPTED: RGBColor = RGBColor(30, 100, 180);
const REFUSED: RGBColor = RGBColor(200, 30, 30);
const FASTEST: RGBColor = RGBColor(150, 150, 150);

/// Draws one run into `dir`.
pub(crate) fn draw(dir: &Path, scenario: &str, controller: &str, report: &Report) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let file = dir.join(format!("{scenario}-{controller}.svg"));
    let title = format!("{scenario}, {controller}");
    svg(&file, &title, report).map_err(|e| anyhow!("cannot draw {}: {e}", file.display()))
}

fn seconds(at: Instant) -> f64 {
    at.since(Instant::ORIGIN).as_secs_f64()
}

fn svg(
    file: &Path,
    title: &str,
    report: &Report,
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let end = report.elapsed.as_secs_f64().max(0.001);
    let (accepted, refused) = answers(&report.timeline);
    let most = accepted.last().map_or(1.0, |(_, n)| n.max(1.0));
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..end * 1.02, 0.0..most * 1.05)?;
    let spans = holds(&report.timeline, end);
    let bars = spans.iter().map(|(from, to)| {
        Rectangle::new([(*from, 0.0), (*to, most * 1.05)], HELD.mix(0.6).filled())
    });
    chart
        .draw_series(bars)?
        .label("held")
        .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 16, y + 5)], HELD.filled()));
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc("seconds")
        .y_desc("requests")
        .draw()?;
    let fastest = report.oracle.as_secs_f64();
    if fastest <= end * 1.5 {
        let line = [(fastest, 0.0), (fastest, most)];
        chart
            .draw_series(LineSeries::new(line, FASTEST))?
            .label("the fastest possible")
            .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], FASTEST));
    }
    chart
        .draw_series(LineSeries::new(accepted, ACCEPTED))?
        .label("accepted")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], ACCEPTED));
    let dots = refused
        .iter()
        .map(|at| Circle::new(*at, 3, REFUSED.filled()));
    chart
        .draw_series(dots)?
        .label(format!("refused ({})", refused.len()))
        .legend(|(x, y)| Circle::new((x + 8, y), 3, REFUSED.filled()));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .draw()?;
    root.present()?;
    Ok(())
}

/// Requests accepted by then, and where on that line some were refused.
fn answers(timeline: &[Mark]) -> (Vec<(f64, f64)>, Vec<(f64, f64)>) {
    let (mut accepted, mut refused) = (vec![(0.0, 0.0)], Vec::new());
    let mut count = 0.0;
    for mark in timeline {
        let at = seconds(mark.at);
        match mark.seen {
            Seen::Answered(Fate::Accepted) => {
                count += 1.0;
                accepted.push((at, count));
            }
            Seen::Answered(_) => refused.push((at, count)),
            _ => {}
        }
    }
    (accepted, refused)
}

/// From when to when some gate was closed, up to the end.
fn holds(timeline: &[Mark], end: f64) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> = Vec::new();
    for mark in timeline {
        let at = seconds(mark.at);
        match (mark.seen, spans.last_mut()) {
            (Seen::Held { until }, Some(last)) if at <= last.1 => {
                last.1 = last.1.max(seconds(until)).min(end);
            }
            (Seen::Held { until }, _) => spans.push((at, seconds(until).min(end))),
            // A hold may be lifted before its time.
            (Seen::Open, Some(last)) => last.1 = last.1.min(at),
            _ => {}
        }
    }
    spans
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
            (Instant::from_secs(at), seen)
        };
        let marks = [held(1, 3), held(2, 5), held(7, 90)];
        assert_eq!(spans(&marks), [(1.0, 5.0), (7.0, 10.0)]);
        let marks = [held(1, 3), (Instant::from_secs(2), Seen::Open)];
        assert_eq!(spans(&marks), [(1.0, 2.0)]);
    }

    fn spans(marks: &[(Instant, Seen)]) -> Vec<(f64, f64)> {
        let marks: Vec<Mark> = marks
            .iter()
            .map(|(at, seen)| Mark::new(*at, *seen))
            .collect();
        holds(&marks, 10.0)
    }
}
