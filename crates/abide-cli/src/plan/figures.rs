//! What a plan comes to, for people and for machines.

use std::time::Duration;

use abide::core::{Instant, WallTime};
use abide_sim::Fate;
use abide_sim::world::{Ending, Report, Seen};
use serde::Serialize;

use super::cells::{Cell, coarse};
use super::spark::{self, Colours};
use crate::exit::Exit;
use crate::explain::time::{here, span};

/// Into how many stretches a run is cut.
const CELLS: u16 = 60;

/// What a plan comes to.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    provider: String,
    /// What is known of the provider's limits, in words.
    notes: Vec<String>,
    /// Whether the client knew a limit from the beginning.
    limit_known: bool,
    items: u64,
    done: u64,
    skipped: u64,
    failed: u64,
    unfinished: u64,
    requests: u64,
    refusals: u64,
    /// Requests that met an outage.
    failures: u64,
    bans: u64,
    seconds: f64,
    held_seconds: f64,
    /// The fastest schedule that the provider permits to one who knows everything.
    fastest_seconds: f64,
    begins: String,
    ends: String,
    /// When to come back for what is skipped.
    retry_at: Option<String>,
    learned: Vec<Found>,
    timeline: Vec<Cell>,
    #[serde(skip)]
    times: Times,
}

#[derive(Debug)]
struct Times {
    elapsed: Duration,
    held: Duration,
    fastest: Duration,
    end: WallTime,
}

#[derive(Debug, Serialize)]
struct Found {
    /// In plain words.
    says: String,
    /// A section of `abide.toml`, where the provider has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<String>,
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

impl Figures {
    pub(super) fn new(
        (provider, named): (&str, bool),
        begins: WallTime,
        (notes, limit_known): (Vec<String>, bool),
        report: &Report,
    ) -> Self {
        let end = begins.after(report.elapsed);
        let retry_at = report.endings.iter().flatten().filter_map(|e| match e {
            Ending::Skipped { retry_at, .. } => *retry_at,
            _ => None,
        });
        let retry_at = retry_at.min();
        let learned = report.records.iter().flatten().filter_map(|r| r.learned);
        let learned = learned.map(|l| Found {
            says: l.to_string(),
            section: named.then(|| abide_config::learned::section(provider, &l)),
        });
        let held: Duration = report.sites.iter().map(|s| s.held).sum();
        let timeline = cells(report);
        Self {
            provider: provider.to_owned(),
            notes,
            limit_known,
            items: report.items,
            done: report.done,
            skipped: report.skipped,
            failed: report.failed,
            unfinished: report.lost,
            requests: report.requests,
            refusals: report.refused,
            failures: timeline.iter().map(|c| c.failed).sum(),
            bans: report.bans,
            seconds: rounded(report.elapsed.as_secs_f64()),
            held_seconds: rounded(held.as_secs_f64()),
            fastest_seconds: rounded(report.oracle.as_secs_f64()),
            begins: begins.to_string(),
            ends: end.to_string(),
            retry_at: retry_at.map(|at| begins.after(at.since(Instant::ORIGIN)).to_string()),
            learned: learned.collect(),
            timeline,
            times: Times {
                elapsed: report.elapsed,
                held,
                fastest: report.oracle,
                end,
            },
        }
    }

    pub(super) fn exit(&self) -> Exit {
        if self.failed > 0 || self.unfinished > 0 {
            Exit::Failed
        } else if self.skipped > 0 {
            Exit::Later
        } else {
            Exit::Done
        }
    }

    /// A few plain lines.
    pub(super) fn text(&self, from_now: bool, colours: Colours) -> String {
        let mut lines = self.notes.clone();
        let Times {
            elapsed,
            held,
            fastest,
            end,
        } = self.times;
        let begun = match from_now {
            true => "now".to_owned(),
            false => format!("at {}", self.begins),
        };
        let ends = here(end).unwrap_or_else(|| end.to_string());
        lines.push(format!(
            "{} items take {}: begun {begun}, they end at {ends}",
            self.items,
            span(coarse(elapsed)),
        ));
        let mut said = format!("{} requests, {} refused", self.requests, self.refusals);
        for (n, what) in [(self.failures, "in an outage"), (self.bans, "bans")] {
            if n > 0 {
                said.push_str(&format!(", {n} {what}"));
            }
        }
        let (held, fastest) = (span(coarse(held)), span(coarse(fastest)));
        lines.push(format!(
            "{said}; held for {held}; the fastest possible is {fastest}"
        ));
        for (n, what) in [
            (
                self.skipped,
                "skipped: refused again and again, or held beyond the patience or the budget",
            ),
            (self.failed, "failed"),
            (self.unfinished, "never finished"),
        ] {
            if n > 0 {
                lines.push(format!("{n} of {} items would be {what}", self.items));
            }
        }
        if let Some(at) = &self.retry_at {
            lines.push(format!("what is skipped can be asked for again from {at}"));
        }
        for found in &self.learned {
            lines.push(format!("learned: {}", found.says));
        }
        let mut out = String::new();
        for line in lines {
            out.push_str(&crate::shown::plain(&line));
            out.push('\n');
        }
        out.push_str(&spark::draw(&self.timeline, elapsed, colours));
        out
    }
}

fn cells(report: &Report) -> Vec<Cell> {
    let each = report.elapsed.as_secs_f64().max(1e-3) / f64::from(CELLS);
    let cell = |n: u16| Cell {
        from: rounded(each * f64::from(n)),
        ..Cell::default()
    };
    let mut cells: Vec<Cell> = (0..CELLS).map(cell).collect();
    let place = |at: Instant| {
        let at = at.since(Instant::ORIGIN).as_secs_f64();
        ((at / each) as usize).min(usize::from(CELLS) - 1)
    };
    for mark in &report.timeline {
        let cell = &mut cells[place(mark.at)];
        match mark.seen {
            Seen::Answered(Fate::Accepted) => cell.accepted += 1,
            Seen::Answered(Fate::Refused) => cell.refused += 1,
            Seen::Answered(_) => cell.failed += 1,
            _ => {}
        }
    }
    for (from, to) in report.holds() {
        for cell in &mut cells[place(from)..=place(to.max(from))] {
            cell.held = true;
        }
    }
    cells
}
