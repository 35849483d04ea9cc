//! What a run came to, for people and for machines.

use std::sync::Arc;
use std::time::Duration;

use abide::core::WallTime;
use abide::core::control::Learned;
use abide::run::Totals;
use abide::store::sqlite::ledger::{Counts, Progress};
use serde::Serialize;

use super::output::Tally;
use super::progress::short;
use crate::exit::Exit;

/// The summary of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    run: String,
    items: u64,
    done: u64,
    not_found: u64,
    skipped: u64,
    failed: u64,
    unfinished: u64,
    bad_lines: u64,
    requests: u64,
    refusals: u64,
    seconds: f64,
    /// Seconds that holds blocked the run, by provider.
    held: Vec<Held>,
    /// The limits found, and how to keep to them from the beginning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    learned: Vec<Found>,
    retry_at: Option<String>,
    interrupted: bool,
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Held {
    provider: String,
    seconds: f64,
    /// Why it is not asked any more, if so.
    stopped: Option<String>,
    retry_at: Option<String>,
}

#[derive(Debug, Serialize)]
struct Found {
    provider: String,
    /// In plain words.
    says: String,
    /// A section of `abide.toml`.
    section: String,
}

/// What the summary is made of.
pub(crate) struct Facts<'a> {
    pub(crate) run: &'a str,
    pub(crate) items: u64,
    pub(crate) counts: Counts,
    pub(crate) progress: Progress,
    pub(crate) bad_lines: u64,
    /// The earliest time at which anything skipped may be tried again.
    pub(crate) retry_at: Option<WallTime>,
    pub(crate) tally: &'a Tally,
    pub(crate) totals: &'a Totals,
    pub(crate) learned: Vec<(Arc<str>, Learned)>,
    pub(crate) elapsed: Duration,
}

impl Found {
    fn of((provider, learned): &(Arc<str>, Learned)) -> Self {
        Self {
            provider: provider.to_string(),
            says: learned.to_string(),
            section: abide_config::learned::section(provider, learned),
        }
    }
}

impl Summary {
    pub(crate) fn new(f: &Facts<'_>) -> Self {
        let mut held: Vec<Held> = Vec::new();
        for (provider, waited) in &f.totals.held {
            held.push(Held {
                provider: provider.to_string(),
                seconds: (waited.as_secs_f64() * 10.0).round() / 10.0,
                stopped: None,
                retry_at: None,
            });
        }
        for (provider, cause, at) in &f.totals.stopped {
            let i = held
                .iter()
                .position(|h| h.provider == **provider)
                .unwrap_or_else(|| {
                    held.push(Held {
                        provider: provider.to_string(),
                        seconds: 0.0,
                        stopped: None,
                        retry_at: None,
                    });
                    held.len() - 1
                });
            held[i].stopped = Some(cause.to_string());
            held[i].retry_at = at.map(|t| t.to_string());
        }
        let counts = f.counts;
        Self {
            run: f.run.to_owned(),
            items: f.items,
            done: u64::from(counts.done),
            not_found: u64::from(counts.not_found),
            skipped: u64::from(counts.skipped),
            failed: u64::from(counts.failed),
            unfinished: f.items.saturating_sub(u64::from(counts.finished())),
            bad_lines: f.bad_lines,
            requests: f.progress.totals.sent,
            refusals: f.progress.totals.refused,
            seconds: (f.elapsed.as_secs_f64() * 1000.0).round() / 1000.0,
            held,
            learned: f.learned.iter().map(Found::of).collect(),
            retry_at: f.retry_at.map(|t| t.to_string()),
            interrupted: f.totals.interrupted,
            error: f.tally.broken.lock().clone(),
        }
    }

    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    pub(crate) fn exit(&self) -> Exit {
        if self.error.is_some() {
            Exit::Io
        } else if self.unfinished > 0 && self.interrupted {
            Exit::Interrupted
        } else if self.unfinished > 0 {
            // Whatever left them: they have no line, so this is no end to be content with.
            Exit::Io
        } else if self.failed > 0 {
            Exit::Failed
        } else if self.skipped > 0 {
            Exit::Later
        } else {
            Exit::Done
        }
    }

    pub(crate) fn print(&self, resume: &str) {
        let mut text = format!("abide: {} of {} items done", self.done, self.items);
        for (n, what) in [
            (self.not_found, "not found"),
            (self.skipped, "skipped"),
            (self.failed, "failed"),
            (self.unfinished, "unfinished"),
        ] {
            if n > 0 {
                text.push_str(&format!(", {n} {what}"));
            }
        }
        let time = short(Duration::from_secs_f64(self.seconds));
        text.push_str(&format!(
            "; {} requests, {} refused, {time}",
            self.requests, self.refusals
        ));
        eprintln!("{text}");
        for h in &self.held {
            let mut line = format!("abide: {}", h.provider);
            if h.seconds > 0.0 {
                line.push_str(&format!(" held this run for {:.1} s", h.seconds));
            }
            if let Some(cause) = &h.stopped {
                let and = if h.seconds > 0.0 { " and" } else { "" };
                line.push_str(&format!("{and} is not asked any more ({cause})"));
            }
            if let Some(at) = &h.retry_at {
                line.push_str(&format!("; next possible at {at}"));
            }
            eprintln!("{line}");
        }
        for found in &self.learned {
            eprintln!("abide: {} {}", found.provider, found.says);
        }
        if let Some(why) = &self.error {
            eprintln!("abide: {why}; nothing that was finished is lost");
        }
        if self.unfinished > 0 {
            eprintln!(
                "abide: run {} is saved; go on with: {resume} --resume",
                self.run
            );
        } else if self.skipped > 0 {
            let when = match &self.retry_at {
                Some(at) => format!(" (possible from {at})"),
                None => String::new(),
            };
            eprintln!(
                "abide: ask again for what was skipped{when} with: {resume} --resume --retry-skipped"
            );
        }
    }
}
