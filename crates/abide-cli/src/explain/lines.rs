//! What became of every place of an answer that was looked at.

use abide::core::AskSource;
use abide::core::signal::LineReading;
use abide::profile::Look;

use super::report::Report;
use super::source::source_of;

/// What became of one place that was looked at.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) what: String,
    /// It decides how long to wait.
    pub(super) decides: bool,
}

impl Report<'_> {
    /// Every header that was looked at, and what became of it.
    pub(super) fn headers(&self) -> Vec<Line> {
        // What the profile reads itself it knows better.
        let of_profile = |name: &http::HeaderName| {
            let looks = &self.judged.looks;
            looks.iter().any(|l| l.header.as_ref() == Some(name))
        };
        let mut all: Vec<Line> = self
            .judged
            .notes
            .iter()
            .filter(|n| !of_profile(&n.name))
            .map(|n| self.line(n.name.as_str(), &n.value, &n.reading, None))
            .collect();
        let looks = self.judged.looks.iter().filter(|l| l.header.is_some());
        all.extend(looks.map(|l| self.look(l)));
        all
    }

    /// Every place of the body that told something.
    pub(super) fn body(&self) -> Vec<Line> {
        let looks = self.judged.looks.iter().filter(|l| l.header.is_none());
        looks.map(|l| self.look(l)).collect()
    }

    fn look(&self, look: &Look) -> Line {
        let reading = match (look.until, look.understood, look.part) {
            (Some(t), ..) => LineReading::Until(t),
            (None, true, "reset" | "ask") => LineReading::Zero,
            (None, true, _) => LineReading::Understood,
            // A profile's own forms do not tell what has passed from what cannot be read.
            (None, false, _) => LineReading::Malformed,
        };
        self.line(&look.place, &look.value, &reading, Some(look))
    }

    fn line(&self, name: &str, value: &str, reading: &LineReading, look: Option<&Look>) -> Line {
        let judged = &self.judged;
        let mut decides = false;
        let what = match reading {
            LineReading::Until(t) => {
                let ask = judged.finding.ask();
                decides = ask.is_some_and(|a| a.until == *t && source_of(name) == a.source);
                let when = judged.at.wall_at(*t);
                match decides {
                    true => format!("says {when}, and decides"),
                    false => format!("says {when}; {}", self.not_used(name)),
                }
            }
            LineReading::Zero if judged.finding.asks.is_empty() => {
                "asks for no wait; not used".to_owned()
            }
            LineReading::Zero => "asks for no wait, which every other source outranks".to_owned(),
            LineReading::Elapsed => "ignored: names a time that has passed".to_owned(),
            LineReading::Understood => match look {
                Some(l) => l.part.to_owned(),
                None => "read".to_owned(),
            },
            LineReading::Malformed if look.is_some() => {
                "ignored: cannot be read in its form, or has passed".to_owned()
            }
            LineReading::Malformed => "ignored: follows no grammar that is accepted".to_owned(),
            LineReading::TooLong => "ignored: longer than any hint needs to be".to_owned(),
            _ => "looked at".to_owned(),
        };
        let gate = look.and_then(|l| l.gate.as_ref());
        Line {
            name: name.to_owned(),
            value: value.to_owned(),
            what: match gate {
                Some(gate) => format!("{what} (gate {gate})"),
                None => what,
            },
            decides,
        }
    }

    /// Why a time that was told does not decide.
    fn not_used(&self, name: &str) -> &'static str {
        let judged = &self.judged;
        let rule = judged
            .rule_index
            .and_then(|i| self.profile.told().rules.get(i));
        let source = source_of(name);
        if rule.is_some_and(|r| r.ignore_ask && source != AskSource::RateLimitReset) {
            return "ignored: the rule that decided says it is not meant";
        }
        if rule.is_some_and(|r| r.ignore_readings && source == AskSource::RateLimitReset) {
            return "ignored: the rule that decided says it speaks of another quota";
        }
        match judged.finding.ask() {
            None if judged.finding.verdict.is_answer() => "nothing is used up, so nobody waits",
            None => "not meant as a wait here",
            Some(a) if a.source < source => "a source that is believed before it decides",
            Some(_) => "another one decides",
        }
    }

    /// The headers that could not say anything, by name only: a value may be a secret.
    pub(super) fn passed_over(&self) -> Vec<&str> {
        let headers = self.recorded.headers.keys().map(http::HeaderName::as_str);
        let noted = |name: &&str| {
            !self.judged.notes.iter().any(|n| n.name == **name)
                && !self.judged.looks.iter().any(|l| l.place == **name)
        };
        let mut names: Vec<&str> = headers.filter(noted).collect();
        names.sort_unstable();
        names
    }
}
