//! One answer explained, before it is printed.

use std::time::Duration;

use abide::core::run::RunPolicy;
use abide::core::signal::{LineReading, Note};
use abide::core::{AskSource, Instant, Reading, Scope, Verdict};
use abide::profile::judge::{CEILING, Judged, Recorded, judge};
use abide::profile::next::{Next, held, next};
use abide::profile::{Look, Profile};
use http::Method;

use super::time::{Told, span};

/// One answer explained.
pub(super) struct Report<'a> {
    pub(super) profile: &'a Profile,
    /// Why it is this profile.
    pub(super) chosen: String,
    pub(super) recorded: Recorded,
    pub(super) judged: Judged,
    pub(super) next: Vec<Next>,
    pub(super) remarks: Vec<String>,
}

/// What became of one place that was looked at.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) what: String,
    /// It decides how long to wait.
    pub(super) decides: bool,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        chosen: String,
        recorded: Recorded,
        request_body: Option<&[u8]>,
        remarks: Vec<String>,
    ) -> Self {
        let judged = judge(profile, &recorded);
        let mut methods = vec![recorded.method.clone()];
        for more in [Method::GET, Method::POST] {
            if !methods.contains(&more) {
                methods.push(more);
            }
        }
        let next = methods
            .iter()
            .map(|m| next(profile, &recorded, m, request_body))
            .collect();
        Self {
            profile,
            chosen,
            judged,
            next,
            recorded,
            remarks,
        }
    }

    /// The path as it may be shown: without the segment that is a credential.
    pub(super) fn path(&self) -> String {
        let secret = self.profile.told().credential.segment;
        let segments = self.recorded.path.split('/').enumerate();
        let shown = segments.map(|(i, s)| if Some(i) == secret { "…" } else { s });
        shown.collect::<Vec<_>>().join("/")
    }

    /// The instant that ends the wait.
    pub(super) fn until(&self) -> Option<Instant> {
        self.judged.wait.map(|d| self.judged.at.now.after(d))
    }

    pub(super) fn gate(&self) -> Option<&str> {
        let ask = self.judged.finding.ask();
        let class = ask.map_or(self.judged.finding.class, |a| a.class);
        self.profile.gates().name(self.judged.scope, class)
    }

    /// The gate of a quota.
    pub(super) fn gate_of(&self, reading: &Reading) -> String {
        let scope = reading.scope.unwrap_or(Scope::Account);
        let name = self.profile.gates().name(scope, reading.class);
        name.map_or_else(|| scope.to_string(), str::to_owned)
    }

    /// Who decided: a rule with its reason, or the status.
    pub(super) fn decided(&self) -> String {
        match &self.judged.rule {
            Some((name, why)) if why.is_empty() => name.clone(),
            Some((name, why)) => format!("{name}: {why}"),
            None => format!("the status {}", self.recorded.status.as_str()),
        }
    }

    /// How the wait comes about.
    pub(super) fn arithmetic(&self) -> String {
        let judged = &self.judged;
        let Some(wait) = judged.wait else {
            return match judged.again {
                true => "waiting is not called for".to_owned(),
                false => "waiting does not help".to_owned(),
            };
        };
        let basis = self.basis(wait);
        match judged.asked {
            Some(asked) if asked > CEILING => format!(
                "{basis}; that is {}, of which at most {} are believed",
                span(asked),
                span(CEILING)
            ),
            _ => basis,
        }
    }

    fn basis(&self, wait: Duration) -> String {
        let judged = &self.judged;
        let told = self
            .judged
            .rule_index
            .and_then(|i| self.profile.told().rules.get(i));
        let Some(ask) = judged.finding.ask() else {
            return match judged.finding.wait {
                Some(_) => "nobody says; the rule that decided knows".to_owned(),
                None if judged.finding.verdict == Verdict::QuotaExhausted => {
                    "nobody says; the next midnight UTC is assumed".to_owned()
                }
                None => match held(self.profile, judged) {
                    Some(first) => format!(
                        "nobody says; {} are enough for most, and the gate begins with {}",
                        span(wait),
                        span(first)
                    ),
                    None => format!(
                        "nobody says; {} are enough for most, and a call repeats sooner on its own",
                        span(wait)
                    ),
                },
            };
        };
        if judged.source == AskSource::Policy {
            let until = told.and_then(|r| r.until.as_deref());
            return format!(
                "nobody says; until the next {}",
                until.unwrap_or("boundary")
            );
        }
        let notes = judged
            .notes
            .iter()
            .map(|n| (n.name.as_str(), &n.value, until_of(n)));
        let looks = judged
            .looks
            .iter()
            .map(|l| (l.place.as_str(), &l.value, l.until));
        let mut all: Vec<_> = notes
            .chain(looks)
            .filter(|(_, _, u)| *u == Some(ask.until))
            .collect();
        all.sort_by_key(|(name, _, _)| (source_of(name) != judged.source, *name));
        if let Some((name, value, _)) = all.first() {
            let asked = judged.asked.unwrap_or(wait);
            return Told::new(value, asked, &self.recorded).equation(name);
        }
        let zero = judged.notes.iter().find(|n| n.reading == LineReading::Zero);
        match (judged.source, zero) {
            (AskSource::RetryAfter, Some(n)) => {
                format!("{} 0, read as {}", n.name, span(wait))
            }
            (AskSource::RateLimitReset, _) => {
                let told = judged
                    .notes
                    .iter()
                    .filter(|n| n.reading == LineReading::Understood);
                let told: Vec<String> = told.map(|n| format!("{} {}", n.name, n.value)).collect();
                told.join(" and ")
            }
            (source, _) => format!("{source} says so"),
        }
    }

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

    /// What a bulk run does with an item that gets this answer.
    pub(super) fn run(&self) -> String {
        let policy = RunPolicy::default();
        let judged = &self.judged;
        let budget = span(policy.wait_budget);
        match judged.finding.verdict {
            Verdict::Success => "the item is done".to_owned(),
            Verdict::NotFound => "the item ends as not_found, which is an answer".to_owned(),
            Verdict::AuthError | Verdict::ClientError => {
                "this item fails; the others go on".to_owned()
            }
            Verdict::QuotaExhausted | Verdict::Banned => {
                "puts the item off (skipped), and asks this provider no more".to_owned()
            }
            _ if !judged.again => "this item fails; the others go on".to_owned(),
            _ if judged.wait.is_some_and(|d| d > policy.patience) => format!(
                "puts the item off (skipped): the wait is longer than its patience of {}",
                span(policy.patience)
            ),
            _ if judged.finding.holds => format!(
                "waits for everything the answer covers, at most {budget} a provider, then goes on \
                 with one request"
            ),
            _ => "asks for this item again after a moment; the others go on".to_owned(),
        }
    }
}

fn until_of(note: &Note) -> Option<Instant> {
    match note.reading {
        LineReading::Until(t) => Some(t),
        _ => None,
    }
}

/// The source that a place belongs to.
fn source_of(name: &str) -> AskSource {
    if name.starts_with('$') || name == "the text of the body" {
        AskSource::Body
    } else if name.contains("retry-after") {
        AskSource::RetryAfter
    } else {
        AskSource::RateLimitReset
    }
}
