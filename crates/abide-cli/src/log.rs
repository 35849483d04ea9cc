//! What the command says of its work while it works, on the standard error: a line a message.
//!
//! `ABIDE_LOG` says what is told: a level (`debug`), or levels by the part of abide they are of
//! (`abide_gateway=debug,warn`). Libraries below abide are heard from WARN on, whatever it says: in
//! detail they tell what is sent, and that is nobody's business.

use std::io::{self, Write};

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, FilterExt as _, filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::exit::Usage;

/// The variable that says what is told.
const VARIABLE: &str = "ABIDE_LOG";
/// What is told where it says nothing: what a person would want to know of.
const DEFAULT: &str = "warn,abide=info";

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// Begins to tell.
///
/// # Errors
/// When `ABIDE_LOG` cannot be read.
pub(crate) fn begin(shape: Shape) -> anyhow::Result<()> {
    let told = told();
    let told = told.as_deref().unwrap_or(DEFAULT);
    let filter = EnvFilter::builder().parse(told).map_err(|e| {
        Usage(format!(
            "{VARIABLE}: {e}; write a level as debug, or abide_gateway=debug,warn"
        ))
    })?;
    let filter = filter.and(filter_fn(is_ours_or_grave));
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(|| Line(io::stderr()));
    let layer = match shape {
        Shape::Text => lines.with_filter(filter).boxed(),
        Shape::Json => lines.json().flatten_event(true).with_filter(filter).boxed(),
    };
    // A command begins once; where somebody listens already, they are told.
    let _ = tracing_subscriber::registry().with(layer).try_init();
    Ok(())
}

/// Begins to tell where somebody wants it told, for commands that show their progress otherwise.
///
/// # Errors
/// When `ABIDE_LOG` cannot be read.
pub(crate) fn begin_if_asked() -> anyhow::Result<()> {
    match told() {
        Some(_) => begin(Shape::Text),
        None => Ok(()),
    }
}

fn told() -> Option<String> {
    let told = std::env::var(VARIABLE).ok();
    told.filter(|t| !t.trim().is_empty())
}

fn is_ours_or_grave(of: &Metadata<'_>) -> bool {
    of.target().starts_with("abide") || *of.level() <= Level::WARN
}

/// Where one message goes: what stands in it, others may have said, and it is one line all the same.
struct Line<W>(W);

impl<W: Write> Write for Line<W> {
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        let end = message.len() - usize::from(message.ends_with(b"\n"));
        let plain = |b: &u8| match b {
            0..=0x1f | 0x7f => b' ',
            b => *b,
        };
        let mut line: Vec<u8> = message[..end].iter().map(plain).collect();
        line.extend_from_slice(&message[end..]);
        self.0.write_all(&line)?;
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        let mut out = Vec::new();
        Line(&mut out).write_all(b"a\nb\x1b[31m\rc\n").unwrap();
        assert_eq!(out, b"a b [31m c\n");
    }

    #[test]
    fn what_is_told_by_default_can_be_read() {
        for told in [DEFAULT, "debug", "abide=debug,warn", "abide_gateway=trace"] {
            assert!(EnvFilter::builder().parse(told).is_ok(), "{told}");
        }
        assert!(EnvFilter::builder().parse("abide=loud").is_err());
    }
}
