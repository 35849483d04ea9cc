//! From a file's text to what it says, with the place of everything that is wrong.

use std::fmt;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::format;
use crate::problem::{Place, Problem, Step, one_of};

/// Something wrong in a profile's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, counted from 1; 0 where it is nowhere in particular.
    pub line: usize,
    /// The column, counted from 1 in characters.
    pub column: usize,
    /// What is wrong, where, and what to do.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.what),
            line => write!(f, "line {line}, column {}: {}", self.column, self.what),
        }
    }
}

/// Reads a profile.
///
/// # Errors
/// What is wrong, and where.
pub fn parse(text: &str) -> Result<format::Profile, Fault> {
    read(text)
}

/// Reads anything.
pub(crate) fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Fault> {
    toml::from_str(text).map_err(|e| {
        let what = suggested(e.message());
        e.span().map_or_else(
            || Fault {
                line: 0,
                column: 0,
                what: what.clone(),
            },
            |span| at(text, &span, what.clone()),
        )
    })
}

/// The fault that a problem is in a file.
pub(crate) fn placed(text: &str, problem: &Problem) -> Fault {
    let what = problem.to_string();
    match span(text, &problem.place) {
        Some(span) => at(text, &span, what),
        None => Fault {
            line: 0,
            column: 0,
            what,
        },
    }
}

fn at(text: &str, span: &Range<usize>, what: String) -> Fault {
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |n| n + 1);
    Fault {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        what,
    }
}

/// Where in the text the deepest step that is there lies.
fn span(text: &str, place: &Place) -> Option<Range<usize>> {
    let root = DeTable::parse(text).ok()?;
    let mut found = None;
    let mut table = Some(root.get_ref());
    let mut list = None;
    for step in &place.0 {
        let next = match step {
            Step::Key(key) => {
                let Some((name, value)) = table?.iter().find(|(k, _)| k.get_ref().as_ref() == key)
                else {
                    break;
                };
                found = Some(name.span());
                value
            }
            Step::Item(n) => {
                let Some(item) = list.and_then(|l: &toml::de::DeArray<'_>| l.get(*n)) else {
                    break;
                };
                found = Some(item.span());
                item
            }
        };
        (table, list) = match next.get_ref() {
            DeValue::Table(t) => (Some(t), None),
            DeValue::Array(a) => (None, Some(a)),
            _ => (None, None),
        };
        if table.is_none() && list.is_none() {
            break;
        }
    }
    found
}

/// Adds to "unknown field" which one may have been meant.
fn suggested(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.as_slice() {
        [unknown, known @ ..] if message.starts_with("unknown ") && !known.is_empty() => {
            one_of(unknown, known)
        }
        _ => message.lines().next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_with_its_place_and_a_guess() {
        let fault = parse("name = \"x\"\n\n[[rule]]\nverdit = \"banned\"\n").unwrap_err();
        assert_eq!((fault.line, fault.column), (4, 1));
        assert_eq!(
            fault.what,
            "\"verdit\" is unknown; \"verdict\" may be meant"
        );
        let fault = parse("name = 5").unwrap_err();
        assert_eq!((fault.line, fault.column), (1, 8));
    }

    #[test]
    fn a_problem_is_found_in_the_text() {
        let text = "hosts = [\"a\", \"b c\"]\n[[rule]]\n[[rule]]\nverdict = \"x\"\n";
        let place = Place::default().key("rule").item(1).key("verdict");
        let fault = placed(text, &Problem::new(place, "is wrong"));
        assert_eq!((fault.line, fault.column), (4, 1));
        let place = Place::default().key("hosts").item(1);
        let fault = placed(text, &Problem::new(place, "is wrong"));
        assert_eq!((fault.line, fault.column), (1, 15));
    }
}
