//! Expressions that are made when they are first asked for: a catalogue of a hundred providers is
//! loaded at every start, and a process talks to a few.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};
use serde_json_path::JsonPath;

/// What one compiled expression may take, in bytes: an expression that needs more is refused
/// when its profile is checked.
const MAX_REGEX: usize = 1024 * 1024;

/// A regular expression over bytes.
#[derive(Debug)]
pub(crate) struct Expression {
    text: Box<str>,
    made: OnceLock<Option<Regex>>,
}

impl Expression {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            made: OnceLock::new(),
        }
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
        self.get().is_some_and(|r| r.is_match(text))
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
    made: OnceLock<Option<JsonPath>>,
}

impl Path {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            made: OnceLock::new(),
        }
    }

    /// As it is written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Why it cannot be made.
    pub(crate) fn check(&self) -> Result<(), String> {
        JsonPath::parse(&self.text)
            .map(drop)
            .map_err(|e| e.to_string())
    }

    pub(crate) fn get(&self) -> Option<&JsonPath> {
        let make = || JsonPath::parse(&self.text).ok();
        self.made.get_or_init(make).as_ref()
    }

    /// The member of the top object that every match lies in, where the path names one.
    pub(crate) fn top(&self) -> Option<&str> {
        let rest = self.text.strip_prefix("$.")?;
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let name = &rest[..end.unwrap_or(rest.len())];
        (!name.is_empty()).then_some(name)
    }
}
