//! A run in two lines: how many were accepted, and where some were refused or held.

use std::io::IsTerminal as _;
use std::time::Duration;

use super::cells::{Cell, coarse};
use crate::explain::time::span;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Whether to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colours {
    Some,
    None,
}

impl Colours {
    /// What standard output takes, and its reader wants.
    pub(super) fn here() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        match std::io::stdout().is_terminal() && !unwanted && !dumb {
            true => Self::Some,
            false => Self::None,
        }
    }

    fn put(self, out: &mut String, code: u8, text: &str) {
        match self {
            Self::Some => out.push_str(&format!("\u{1b}[{code}m{text}\u{1b}[0m")),
            Self::None => out.push_str(text),
        }
    }
}

/// The lines of a run, with what the marks mean.
pub(super) fn draw(cells: &[Cell], elapsed: Duration, colours: Colours) -> String {
    let most = cells.iter().map(|c| c.accepted).max().unwrap_or_default();
    let bars: String = cells.iter().map(|c| bar(c.accepted, most)).collect();
    let marks: Vec<char> = cells.iter().map(mark).collect();
    let mut out = String::new();
    colours.put(&mut out, 36, &bars);
    let each = elapsed / u32::try_from(cells.len()).unwrap_or(1).max(1);
    let each = span(coarse(each));
    out.push_str(&format!("  accepted, up to {most} in {each}\n"));
    if marks.iter().all(|m| *m == ' ') {
        return out;
    }
    for mark in &marks {
        match mark {
            '×' => colours.put(&mut out, 31, "×"),
            '!' => colours.put(&mut out, 35, "!"),
            '─' => colours.put(&mut out, 33, "─"),
            _ => out.push(' '),
        }
    }
    let known = [('×', "× refused"), ('!', "! outage"), ('─', "─ held")];
    let there = known.iter().filter(|(mark, _)| marks.contains(mark));
    let there: Vec<&str> = there.map(|(_, what)| *what).collect();
    out.push_str(&format!("  {}\n", there.join(", ")));
    out
}

fn bar(accepted: u64, most: u64) -> char {
    if accepted == 0 {
        return ' ';
    }
    let step = (accepted * 8).div_ceil(most.max(1)).clamp(1, 8);
    BARS[usize::try_from(step).unwrap_or(1) - 1]
}

const fn mark(cell: &Cell) -> char {
    match cell {
        Cell { refused: 1.., .. } => '×',
        Cell { failed: 1.., .. } => '!',
        Cell { held: true, .. } => '─',
        _ => ' ',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells() -> Vec<Cell> {
        let cell = |accepted, refused, held| Cell {
            accepted,
            refused,
            held,
            ..Cell::default()
        };
        vec![
            cell(8, 0, false),
            cell(1, 2, true),
            cell(0, 0, true),
            cell(4, 0, false),
        ]
    }

    #[test]
    fn a_run_is_two_lines() {
        let text = draw(&cells(), Duration::from_secs(40), Colours::None);
        assert_eq!(
            text,
            "█▁ ▄  accepted, up to 8 in 10 s\n ×─   × refused, ─ held\n"
        );
    }

    #[test]
    fn without_anything_to_mark_it_is_one() {
        let text = draw(&cells()[..1], Duration::from_secs(1), Colours::Some);
        assert_eq!(text, "\u{1b}[36m█\u{1b}[0m  accepted, up to 8 in 1 s\n");
    }
}
