//! What kinds of values knobs take, and how each is read from a file, a variable or a flag.

use std::time::Duration;

use abide_core::Verdict;
use abide_profile::Paths;

use crate::private::without_secrets;
use crate::units::{self, duration_text, size_text};
use crate::value::Value;

/// A kind of value, with its range.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number.
    Count(u64, u64),
    /// A whole number, or a word that stands for none.
    CountOr(u64, u64, &'static str),
    /// A length of time.
    Duration(Duration, Duration),
    /// A length of time, or a word that stands for none.
    DurationOr(Duration, Duration, &'static str),
    /// Lengths of time, any number of them up to 64, each within the range.
    Durations(Duration, Duration),
    /// Outages that hold: statuses from 400 on, 500 left out, and `transport`.
    HoldOn,
    /// What a hint of zero means: a duration (the floor), or `immediate`, or `ignore`.
    HintZero,
    /// A number.
    Number(f64, f64),
    /// Names of what is tried again: statuses, verdicts, phases, `asked`.
    RetryOn,
    /// Templates of paths, any number of them up to 64.
    Paths,
    /// A part of each limit in percent, a count, or `none`.
    PartOr,
    /// A rate, or `none`.
    RateOr,
    /// Rates, any number of them up to 16.
    Rates,
    /// A size in bytes.
    Size(u64, u64),
    /// On or off.
    Switch,
    /// `none`, `even`, or how many percent go at once.
    Spread,
    /// Free text, or `none`.
    TextOr,
    /// Texts, any number of them up to 64.
    Texts,
}

/// A value before it is read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Raw {
    List(Vec<Self>),
    /// Outside a file everything is text.
    Plain(String),
    Real(f64),
    Switch(bool),
    Text(String),
    Whole(i64),
    /// Something no knob takes: what it is called.
    Other(&'static str),
}

/// The verdicts that may be tried again. A quota or a ban is not healed by trying.
const VERDICTS: [Verdict; 6] = [
    Verdict::AuthError,
    Verdict::ClientError,
    Verdict::NotFound,
    Verdict::Offline,
    Verdict::RateLimited,
    Verdict::Unavailable,
];
/// What stands for failures of the exchange in `hold.on`.
pub(crate) const TRANSPORT: &str = "transport";
const PHASES: [&str; 4] = ["connect", "send", "head", "body"];

impl Kind {
    /// What is expected, in words that follow "expected".
    pub fn expected(self) -> String {
        const UNITS: &str = "as \"30s\", \"2m 13s\" or \"250ms\" (units: ms, s, m, h, d)";
        let from_to = |a, b| format!("from {} to {}", duration_text(a), duration_text(b));
        match self {
            Self::Choice(words) => format!("one of {}", quoted(words)),
            Self::Count(min, max) => format!("a whole number from {min} to {max}"),
            Self::CountOr(min, max, word) => {
                format!("a whole number from {min} to {max}, or \"{word}\"")
            }
            Self::Duration(a, b) => format!("a duration {}, {UNITS}", from_to(a, b)),
            Self::DurationOr(a, b, word) => {
                format!("a duration {}, {UNITS}, or \"{word}\"", from_to(a, b))
            }
            Self::Durations(a, b) => {
                format!("a list of durations, each {}, {UNITS}", from_to(a, b))
            }
            Self::HintZero => {
                format!("\"immediate\", \"ignore\", or a duration of at most 1h, {UNITS}")
            }
            Self::Number(min, max) => format!("a number from {min} to {max}"),
            Self::RetryOn => {
                let verdicts = VERDICTS.map(Verdict::as_str);
                format!(
                    "a list of statuses (100 to 599), verdicts ({}), phases ({}) and \"asked\"",
                    verdicts.join(", "),
                    PHASES.join(", ")
                )
            }
            Self::Paths => {
                "a list of at most 64 paths as \"/oauth/token\" or \"/v2/status/**\", in \
                            which * is one segment and ** at the end the rest"
                    .to_owned()
            }
            Self::PartOr => "a part as \"20%\" (1% to 99%), a whole number from 1 to 1000000, or \
                             \"none\""
                .to_owned(),
            Self::RateOr => "a rate as \"50/s\", \"1/10s\" or \"100/2s\", or \"none\"".to_owned(),
            Self::Rates => {
                "a list of at most 16 rates as \"50/s\", \"1/10s\" or \"100/2s\"".to_owned()
            }
            Self::Size(min, max) => format!(
                "a size from {} to {}, as \"64KiB\" or \"10MB\"",
                size_text(min),
                size_text(max)
            ),
            Self::HoldOn => "a list of statuses from 400 to 599 without 500, which never holds, \
                             and \"transport\""
                .to_owned(),
            Self::Spread => {
                "\"none\", \"even\", or the part that may go at once as \"25%\" (1% to 99%)"
                    .to_owned()
            }
            Self::Switch => "true or false".to_owned(),
            Self::TextOr => "text in quotes, or \"none\"".to_owned(),
            Self::Texts => "a list of at most 64 texts".to_owned(),
        }
    }

    /// Reads a value; `None` when it is not of this kind or not in its range.
    pub(crate) fn read(self, raw: &Raw) -> Option<Value> {
        match self {
            Self::Choice(words) => raw.word(words),
            Self::Count(min, max) => raw.count(min, max),
            Self::CountOr(min, max, word) => raw.count(min, max).or_else(|| raw.the(word)),
            Self::Duration(a, b) => raw.duration(a, b).map(Value::Duration),
            Self::DurationOr(a, b, word) => {
                let duration = raw.duration(a, b).map(Value::Duration);
                duration.or_else(|| raw.the(word))
            }
            Self::Durations(a, b) => {
                let all = raw.items(64)?;
                let all = all.iter().map(|r| r.duration(a, b));
                all.collect::<Option<_>>().map(Value::Durations)
            }
            Self::HintZero => {
                let floor = raw.duration(Duration::ZERO, Duration::from_secs(3600));
                let floor = floor.map(Value::Duration);
                floor.or_else(|| raw.word(&["immediate", "ignore"]))
            }
            Self::Number(min, max) => raw.number(min, max),
            Self::RetryOn => raw.words(retry_word),
            Self::Paths => raw.words(|r| {
                let text = r.text()?;
                Paths::parse([text]).map(|_| text.to_owned())
            }),
            Self::PartOr => {
                let part = raw.percent().or_else(|| raw.count(1, 1_000_000));
                part.or_else(|| raw.the("none"))
            }
            Self::Spread => raw.percent().or_else(|| raw.word(&["none", "even"])),
            Self::RateOr => {
                let rate = raw.text().and_then(units::rate).map(Value::Rate);
                rate.or_else(|| raw.the("none"))
            }
            Self::Rates => {
                let all = raw.items(16)?;
                let all = all.iter().map(|r| r.text().and_then(units::rate));
                all.collect::<Option<_>>().map(Value::Rates)
            }
            Self::Size(min, max) => {
                let size = raw.text().and_then(units::size)?;
                (min..=max).contains(&size).then_some(Value::Size(size))
            }
            Self::HoldOn => raw.words(|r| match r.status(400) {
                Some(status) => (status != "500").then_some(status),
                None => r.text().filter(|t| *t == TRANSPORT).map(str::to_owned),
            }),
            Self::Switch => match raw {
                Raw::Switch(on) => Some(Value::Switch(*on)),
                Raw::Plain(text) => text.trim().parse().ok().map(Value::Switch),
                _ => None,
            },
            Self::TextOr => raw.the("none").or_else(|| {
                let text = raw.text().filter(|t| !t.chars().any(char::is_control))?;
                Some(Value::Text(text.to_owned()))
            }),
            Self::Texts => raw.words(|r| r.text().filter(|t| !t.is_empty()).map(str::to_owned)),
        }
    }
}

/// The verdict of a word in `retry.on`.
pub(crate) fn verdict(word: &str) -> Option<Verdict> {
    VERDICTS.into_iter().find(|v| v.as_str() == word)
}

fn retry_word(raw: &Raw) -> Option<String> {
    if let Some(status) = raw.status(100) {
        return Some(status);
    }
    let word = raw.text()?;
    let known = word == "asked" || PHASES.contains(&word) || verdict(word).is_some();
    known.then(|| word.to_owned())
}

fn quoted(words: &[&str]) -> String {
    let all: Vec<_> = words.iter().map(|w| format!("\"{w}\"")).collect();
    all.join(", ")
}

impl Raw {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Plain(text) => Some(text.trim()),
            _ => None,
        }
    }

    fn word(&self, words: &[&'static str]) -> Option<Value> {
        let text = self.text()?;
        words.iter().find(|w| **w == text).map(|w| Value::Word(w))
    }

    fn the(&self, word: &'static str) -> Option<Value> {
        self.word(&[word])
    }

    fn whole(&self) -> Option<u64> {
        match self {
            Self::Whole(n) => u64::try_from(*n).ok(),
            Self::Plain(text) => {
                let text = text.trim();
                let digits = text.bytes().all(|b| b.is_ascii_digit());
                digits.then(|| text.parse().ok()).flatten()
            }
            _ => None,
        }
    }

    /// A part in percent, neither nothing nor all.
    fn percent(&self) -> Option<Value> {
        let digits = self.text()?.strip_suffix('%')?.trim_end();
        let whole = digits.bytes().all(|b| b.is_ascii_digit());
        let n = whole.then(|| digits.parse().ok()).flatten()?;
        (1..=99).contains(&n).then_some(Value::Percent(n))
    }

    fn count(&self, min: u64, max: u64) -> Option<Value> {
        let n = self.whole()?;
        (min..=max).contains(&n).then_some(Value::Count(n))
    }

    fn number(&self, min: f64, max: f64) -> Option<Value> {
        let n = match self {
            Self::Real(n) => *n,
            #[expect(clippy::cast_precision_loss, reason = "ranges of knobs are small")]
            Self::Whole(n) => *n as f64,
            Self::Plain(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        (min..=max).contains(&n).then_some(Value::Number(n))
    }

    fn duration(&self, min: Duration, max: Duration) -> Option<Duration> {
        let d = units::duration(self.text()?)?;
        (min..=max).contains(&d).then_some(d)
    }

    /// A status as its three digits.
    fn status(&self, from: u64) -> Option<String> {
        let n = match self {
            Self::Text(text) => Self::Plain(text.clone()).whole()?,
            other => other.whole()?,
        };
        (from..=599).contains(&n).then(|| n.to_string())
    }

    /// The items of a list; outside a file they are separated by commas.
    fn items(&self, most: usize) -> Option<Vec<Self>> {
        let items: Vec<Self> = match self {
            Self::List(items) => items.clone(),
            Self::Plain(text) if text.trim().is_empty() => Vec::new(),
            Self::Plain(text) => {
                let parts = text.split(',');
                parts.map(|p| Self::Plain(p.trim().to_owned())).collect()
            }
            _ => return None,
        };
        (items.len() <= most).then_some(items)
    }

    fn words(&self, one: impl Fn(&Self) -> Option<String>) -> Option<Value> {
        let items = self.items(64)?;
        let mut words: Vec<String> = Vec::new();
        for item in &items {
            let word = one(item)?;
            if !words.contains(&word) {
                words.push(word);
            }
        }
        Some(Value::Words(words))
    }

    /// What was found, in words that follow "found".
    pub(crate) fn found(&self) -> String {
        const MOST: usize = 60;
        let short = |text: &str| {
            // An address that stands in the wrong place is one all the same.
            let text = &without_secrets(text);
            let cut: String = text.chars().take(MOST).collect();
            let dots = if cut.len() < text.len() { "…" } else { "" };
            format!("{cut:?}{dots}")
        };
        match self {
            Self::List(items) => {
                let shown: Vec<_> = items.iter().take(8).map(Self::found).collect();
                let dots = if items.len() > 8 { ", …" } else { "" };
                format!("[{}{dots}]", shown.join(", "))
            }
            Self::Plain(text) | Self::Text(text) => short(text),
            Self::Real(n) => n.to_string(),
            Self::Switch(on) => on.to_string(),
            Self::Whole(n) => n.to_string(),
            Self::Other(what) => (*what).to_owned(),
        }
    }
}
