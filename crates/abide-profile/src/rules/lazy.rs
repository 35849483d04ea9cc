//! Expressions that are made when they are first asked for: a catalogue of a hundred providers is
//! loaded at every start, and a process talks to a few.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;
use serde_json_path::JsonPath;

use super::absent::{Bits, Needles};
use super::needed::{self, Bytes};
use super::path::Plain;
use super::view::View;

/// What one compiled expression may take, in bytes: an expression that needs more is refused
/// when its profile is checked.
const MAX_REGEX: usize = 1024 * 1024;

/// How deep brackets of a path may be nested. Each level of filters doubles the time it takes to
/// read a path that is wrong, and thousands of them overflow the stack.
const MAX_NESTING: usize = 8;

/// A regular expression over bytes.
#[derive(Debug)]
pub(crate) struct Expression {
    text: Box<str>,
    made: OnceLock<Option<Regex>>,
    /// What a text must begin with.
    begins: Option<Bytes>,
    /// What a body must have one of, the cheapest to look for first.
    needs: Vec<Bits>,
}

impl Expression {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            made: OnceLock::new(),
            begins: needed::parse(text).as_ref().and_then(needed::beginnings),
            needs: Vec::new(),
        }
    }

    /// Shares what bodies are searched for with other rules.
    pub(super) fn seat(&mut self, needles: &mut Needles) {
        let hir = needed::parse(&self.text).filter(|_| self.begins.is_none());
        let Some(hir) = hir else {
            // How a body begins is seen at a glance.
            return;
        };
        // Whatever looks for elements shares this, and JSON has it seldom.
        if needed::needs_byte(&hir, b'<') {
            self.needs.extend(needles.place(b"<"));
        }
        let pieces = needed::pieces(&hir).unwrap_or_default();
        let pieces = needles.places(pieces.into_iter()).filter(|any| *any != 0);
        self.needs.extend(pieces);
    }

    /// What a text must begin with, where that is known.
    pub(super) const fn begins(&self) -> Option<Bytes> {
        self.begins
    }

    /// What a body must have one of, each.
    pub(super) fn needs(&self) -> impl Iterator<Item = Bits> {
        self.needs.iter().copied()
    }

    /// Why it cannot be made.
    pub(crate) fn check(&self) -> Result<(), String> {
        build(&self.text).map(drop)
    }

    /// `None` for one that cannot be made, which a checked profile has not.
    pub(crate) fn get(&self) -> Option<&Regex> {
        self.made.get_or_init(|| build(&self.text).ok()).as_ref()
    }

    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        !self.is_hopeless(text) && self.get().is_some_and(|r| r.is_match(text))
    }

    /// Whether it matches nothing that begins so: what looks for a page is asked of every good
    /// answer of a provider of JSON.
    fn is_hopeless(&self, text: &[u8]) -> bool {
        let begins = self.begins.as_ref().zip(text.first());
        begins.is_some_and(|(bytes, first)| !bytes.has(*first))
    }
}

fn build(text: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(MAX_REGEX).dfa_size_limit(MAX_REGEX);
    builder.build().map_err(|e| e.to_string())
}

/// A JSONPath.
#[derive(Debug)]
pub(crate) struct Path {
    text: Box<str>,
    made: OnceLock<Made>,
    /// What a body must have one of, for each name that all its nodes lie below.
    needs: Vec<Bits>,
}

#[derive(Debug)]
enum Made {
    Plain(Plain),
    General(JsonPath),
    /// It cannot be made, which a checked profile has not.
    Nothing,
}

impl Path {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            made: OnceLock::new(),
            needs: Vec::new(),
        }
    }

    /// Shares what bodies are searched for with other rules.
    pub(super) fn seat(&mut self, needles: &mut Needles) {
        let mut places = |names: &mut dyn Iterator<Item = &[u8]>| needles.places(names);
        self.needs = match self.get() {
            Made::Plain(path) => path
                .needed()
                .filter_map(|names| places(&mut names.iter().map(|n| n.as_bytes())))
                .collect(),
            Made::General(_) | Made::Nothing => self
                .top()
                .and_then(|top| places(&mut [top.as_bytes()].into_iter()))
                .into_iter()
                .collect(),
        };
    }

    /// As it is written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What a body must have one of, each, for it to have a node there.
    pub(super) fn needs(&self) -> impl Iterator<Item = Bits> {
        self.needs.iter().copied()
    }

    /// Why it cannot be made.
    pub(crate) fn check(&self) -> Result<(), String> {
        checked(&self.text).map(drop)
    }

    fn get(&self) -> &Made {
        self.made.get_or_init(|| {
            let plain = Plain::parse(&self.text).map(Made::Plain);
            let general = || checked(&self.text).map_or(Made::Nothing, Made::General);
            plain.unwrap_or_else(general)
        })
    }

    pub(crate) fn can_be_made(&self) -> bool {
        !matches!(self.get(), Made::Nothing)
    }

    /// Whether it has a node in the body that will do.
    pub(crate) fn any(&self, view: &View<'_>, mut will_do: impl FnMut(&Value) -> bool) -> bool {
        match self.get() {
            Made::Nothing => false,
            Made::Plain(path) => view.json().is_some_and(|json| path.any(json, &mut will_do)),
            Made::General(path) => view
                .json()
                .is_some_and(|json| path.query(json).iter().any(|node| will_do(node))),
        }
    }

    /// Whether it surely has no node in the body: looking for a few bytes costs a hundredth of
    /// parsing. A body with escapes may spell names otherwise.
    pub(crate) fn is_absent(&self, view: &View<'_>) -> bool {
        self.needs.iter().any(|names| view.has_none(*names)) && !view.has_escapes()
    }

    /// The member of the top object that every match lies in, where the path names one.
    pub(crate) fn top(&self) -> Option<&str> {
        let rest = self.text.strip_prefix("$.")?;
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let name = &rest[..end.unwrap_or(rest.len())];
        (!name.is_empty()).then_some(name)
    }
}

/// Makes a path. Brackets within brackets are bounded, and so is looking at every depth, since each time multiplies the work.
fn checked(text: &str) -> Result<JsonPath, String> {
    let mut depth = 0_usize;
    for b in text.bytes() {
        match b {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(format!("is nested more than {MAX_NESTING} deep"));
        }
    }
    if text.matches("..").count() > 1 {
        return Err("has `..` more than once".to_owned());
    }
    JsonPath::parse(text).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_page_by_its_first_letter_is_what_the_expression_says_too() {
        let page = Expression::new(r"(?i)^\s*<(?:!doctype\s+html|html)[\s>]");
        for text in [
            "<html>",
            " \n<!DOCTYPE html>",
            "{}",
            " {\"a\":\"<html>\"}",
            "",
            "  ",
            "\u{a0}<html>",
            "\u{feff}<html>",
            "\u{b}<html >",
            "x<html>",
        ] {
            let plain = page.get().unwrap().is_match(text.as_bytes());
            assert_eq!(page.is_match(text.as_bytes()), plain, "{text:?}");
        }
        assert!(Expression::new("<html>").is_match(b"x<html>"));
    }

    #[test]
    fn paths_without_bound_are_refused() {
        for text in [
            format!("$[?{}", "(".repeat(100_000)),
            format!("$[?@{}", "[?@".repeat(100_000)),
            format!("$[?@{}", "[?@".repeat(16)),
            "$..a..b".to_owned(),
            "$..*..*..*".to_owned(),
        ] {
            assert!(Path::new(&text).check().is_err());
        }
        assert_eq!(
            Path::new("$..a[?(@.b > 2 && !(@.c == 'x'))].d").check(),
            Ok(())
        );
    }
}
