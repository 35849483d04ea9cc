//! A picture of a run: what was accepted, what refused, and when a gate was held.
//!
//! One drawing, as lines (SVG) or as dots (PNG). The letters of both come with the program, so
//! that a picture looks alike on a machine without fonts.

mod dots;

use std::sync::Once;

use abide_core::Instant;
use plotters::coord::Shift;
use plotters::prelude::*;

pub use self::dots::png;
use super::report::Report;
use super::timeline::{Mark, Seen};
use crate::reply::Fate;

const SIZE: (u32, u32) = (900, 420);
const FONT: &str = "sans-serif";
const HELD: RGBColor = RGBColor(235, 220, 170);
const ACCEPTED: RGBColor = RGBColor(30, 100, 180);
const REFUSED: RGBColor = RGBColor(200, 30, 30);
const FASTEST: RGBColor = RGBColor(150, 150, 150);
/// More points than a picture has pixels show nothing more.
const POINTS: usize = 2_000;

/// The picture could not be drawn.
#[derive(Debug)]
pub struct NotDrawn(String);

impl std::fmt::Display for NotDrawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotDrawn {}

/// Draws a run that was [watched](super::Plan::watched), as SVG.
///
/// # Errors
/// When the drawing fails, which is not expected of one in memory.
pub fn svg(title: &str, report: &Report) -> Result<String, NotDrawn> {
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    draw(root, title, report).map_err(|e| NotDrawn(e.to_string()))?;
    Ok(text)
}

/// The letters, also for those who look up how wide a text is.
fn letters() {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| {
        let font = epaint_default_fonts::HACK_REGULAR;
        // It is what it is in every build: a test draws with it.
        let _ = plotters::style::register_font(FONT, FontStyle::Normal, font);
    });
}

/// The unit in which so many seconds are told, and its length.
fn unit(seconds: f64) -> (&'static str, f64) {
    match seconds {
        s if s < 300.0 => ("seconds", 1.0),
        s if s < 18_000.0 => ("minutes", 60.0),
        s if s < 432_000.0 => ("hours", 3_600.0),
        _ => ("days", 86_400.0),
    }
}

fn draw<B>(
    root: DrawingArea<B, Shift>,
    title: &str,
    report: &Report,
) -> Result<(), Box<dyn std::error::Error>>
where
    B: DrawingBackend,
    B::ErrorType: 'static,
{
    letters();
    let (unit, length) = unit(report.elapsed.as_secs_f64());
    let end = (report.elapsed.as_secs_f64() / length).max(0.001);
    let (accepted, refused) = answers(&report.timeline, length);
    let count = refused.len();
    let most = accepted.last().map_or(1.0, |(_, n)| n.max(1.0));
    let (accepted, refused) = (thinned(accepted), thinned(refused));
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, (FONT, 18))
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..end * 1.02, 0.0..most * 1.05)?;
    let spans = report.holds();
    let spans = spans
        .iter()
        .map(|(from, to)| (seconds(*from) / length, seconds(*to) / length));
    let bars = thinned(spans.collect());
    let bars = bars.iter().map(|(from, to)| {
        Rectangle::new([(*from, 0.0), (*to, most * 1.05)], HELD.mix(0.6).filled())
    });
    chart
        .draw_series(bars)?
        .label("held")
        .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 16, y + 5)], HELD.filled()));
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc(unit)
        .y_desc("requests")
        .label_style((FONT, 12))
        .draw()?;
    let fastest = report.oracle.as_secs_f64() / length;
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
        .label(format!("refused ({count})"))
        .legend(|(x, y)| Circle::new((x + 8, y), 3, REFUSED.filled()));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .label_font((FONT, 12))
        .draw()?;
    root.present()?;
    Ok(())
}

fn seconds(at: Instant) -> f64 {
    at.since(Instant::ORIGIN).as_secs_f64()
}

/// Points of a picture.
type Points = Vec<(f64, f64)>;

/// Every so many of them, and the last.
fn thinned(all: Points) -> Points {
    let step = all.len().div_ceil(POINTS).max(1);
    let last = all.last().copied();
    let mut some: Points = all.into_iter().step_by(step).collect();
    if step > 1 {
        some.extend(last);
    }
    some
}

/// Requests accepted by then, and where on that line some were not.
fn answers(timeline: &[Mark], length: f64) -> (Points, Points) {
    let (mut accepted, mut refused) = (vec![(0.0, 0.0)], Vec::new());
    let mut count = 0.0;
    for mark in timeline {
        let at = seconds(mark.at) / length;
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Plan, World};
    use super::*;
    use crate::{Provider, scenarios};

    #[test]
    fn a_run_is_drawn() {
        let mut plan = Plan::new(8, Duration::from_millis(20));
        plan.watched = true;
        let mut world = World::new(plan, 1);
        world.add(Provider::new(scenarios::named("a", 1).unwrap()), 100);
        let text = svg("a bucket", &world.run()).unwrap();
        for part in ["<svg", "a bucket", "accepted", "refused (", "</svg>"] {
            assert!(text.contains(part), "{part}");
        }
    }

    #[test]
    fn the_same_run_is_drawn_as_dots() {
        let mut plan = Plan::new(8, Duration::from_millis(20));
        plan.watched = true;
        let mut world = World::new(plan, 1);
        world.add(Provider::new(scenarios::named("a", 1).unwrap()), 100);
        let bytes = png("a bucket", &world.run()).unwrap();
        assert!(bytes.len() < 100_000, "{}", bytes.len());
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(bytes))
            .read_info()
            .unwrap();
        let info = reader.info();
        assert_eq!((info.width, info.height), SIZE);
        let mut dots = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut dots).unwrap();
        let dark = |row: &[u8]| row.chunks(3).filter(|p| p.iter().all(|c| *c < 90)).count();
        let title: usize = dots.chunks(3 * SIZE.0 as usize).take(34).map(dark).sum();
        assert!(title > 100, "the title is there to be read: {title}");
    }

    #[test]
    fn many_points_are_thinned_and_the_last_stays() {
        let all: Points = (0..10_001).map(|n| (f64::from(n), 0.0)).collect();
        let some = thinned(all);
        assert!(some.len() <= POINTS + 1, "{}", some.len());
        assert_eq!(some.last(), Some(&(10_000.0, 0.0)));
    }
}
