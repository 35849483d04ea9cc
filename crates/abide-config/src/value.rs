//! A value of a knob, and the forms it is written in.

use std::fmt;
use std::time::Duration;

use serde_json::json;

use crate::units::{Rate, duration_text, size_text};

/// What a knob is set to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A whole number.
    Count(u64),
    /// A length of time.
    Duration(Duration),
    /// Lengths of time.
    Durations(Vec<Duration>),
    /// A number.
    Number(f64),
    /// A part of a whole.
    Percent(u8),
    /// So many in so much time.
    Rate(Rate),
    /// Several rates, all to be kept.
    Rates(Vec<Rate>),
    /// Bytes.
    Size(u64),
    /// On or off.
    Switch(bool),
    /// Free text.
    Text(String),
    /// One of the words the knob knows.
    Word(&'static str),
    /// Several words.
    Words(Vec<String>),
}

/// As TOML.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(n) => write!(f, "{n}"),
            Self::Duration(d) => quoted(f, &duration_text(*d)),
            Self::Durations(all) => list(f, all, |d| duration_text(*d)),
            // With its point, as TOML wants it.
            Self::Number(n) => write!(f, "{n:?}"),
            Self::Percent(n) => write!(f, "\"{n}%\""),
            Self::Rate(r) => quoted(f, &r.to_string()),
            Self::Rates(all) => list(f, all, Rate::to_string),
            Self::Size(n) => quoted(f, &size_text(*n)),
            Self::Switch(on) => write!(f, "{on}"),
            Self::Text(text) => quoted(f, text),
            Self::Word(word) => quoted(f, word),
            Self::Words(all) => list(f, all, String::clone),
        }
    }
}

impl Value {
    /// As JSON: numbers and switches as such, everything with a unit as it is written in TOML.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Count(n) => json!(n),
            Self::Number(n) => json!(n),
            Self::Switch(on) => json!(on),
            Self::Duration(d) => json!(duration_text(*d)),
            Self::Durations(all) => all.iter().map(|d| duration_text(*d)).collect(),
            Self::Percent(n) => json!(format!("{n}%")),
            Self::Rate(r) => json!(r.to_string()),
            Self::Rates(all) => all.iter().map(Rate::to_string).collect(),
            Self::Size(n) => json!(size_text(*n)),
            Self::Text(text) => json!(text),
            Self::Word(word) => json!(word),
            Self::Words(all) => json!(all),
        }
    }
}

fn list<T>(f: &mut fmt::Formatter<'_>, all: &[T], text: impl Fn(&T) -> String) -> fmt::Result {
    f.write_str("[")?;
    for (i, one) in all.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        quoted(f, &text(one))?;
    }
    f.write_str("]")
}

/// A basic string of TOML (whose escapes are JSON's, and the delete character's beside).
fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let json = serde_json::Value::from(text).to_string();
    f.write_str(&json.replace('\u{7f}', "\\u007f"))
}
