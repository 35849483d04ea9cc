//! One answer explained, before it is printed.

use std::time::Duration;

use abide::core::run::RunPolicy;
use abide::core::signal::{LineReading, Note};
use abide::core::{AskSource, Instant, Reading, Scope, Verdict};
use abide::profile::Profile;
use abide::profile::judge::{CEILING, Judged, Recorded, judge};
use abide::profile::next::{Next, held, next};
use http::Method;

use super::source::source_of;
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

    /// The path as it may be shown: without the credential, where paths carry one.
    pub(super) fn path(&self) -> String {
        abide::shown_path(&self.recorded.path, self.profile).into_owned()
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
            _ if !self.comes_again() => "this item fails; the others go on".to_owned(),
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

    /// Whether a run sends it again: waiting can help, it is among what is tried again, and a
    /// write was refused, or its repetition invited.
    fn comes_again(&self) -> bool {
        let judged = &self.judged;
        let invited = judged.asked.is_some() || judged.finding.again == Some(true);
        let twice =
            self.recorded.method.is_safe() || judged.finding.verdict.is_refusal() || invited;
        judged.again && judged.retry_on && twice
    }
}

fn until_of(note: &Note) -> Option<Instant> {
    match note.reading {
        LineReading::Until(t) => Some(t),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use abide::profile::Catalogue;

    use super::*;
    use crate::explain::{http, json, show};

    /// Headers, values and bodies that mean something somewhere, put together at random.
    #[test]
    fn any_answer_of_any_provider_can_be_explained() {
        let names = [
            "retry-after",
            "retry-after-ms",
            "ratelimit",
            "ratelimit-policy",
            "date",
            "age",
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
            "content-type",
            "x-ratelimit-reset-tokens",
            "x-rate-limit-reset",
            "content-length",
            "set-cookie",
        ];
        let values = [
            "0",
            "-5",
            "1e9",
            "5",
            "1773144060",
            "1773144060000",
            "99999999999999999999999",
            "Tue, 10 Mar 2026 12:01:00 GMT",
            "\"a\";r=0;t=50",
            "\"a\";q=5;w=60",
            "6m0s",
            "1.5",
            "application/json",
            "text/html",
            "2026-03-10T12:00:00Z",
            "",
            "\u{9b}31m\u{ff}",
        ];
        let bodies = [
            "",
            "{",
            "[]",
            "{\"retry_after\": 1e300}",
            "{\"retry_after\": -1}",
            "{\"error\": {\"code\": \"rateLimitExceeded\"}}",
            "<html>captcha</html>",
            "\u{0}",
        ];
        let all = Catalogue::built_in();
        let providers = all.names();
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..3000 {
            let mut pick =
                |from: &[&'static str]| random.choice(from.iter()).copied().unwrap_or_default();
            let mut raw = format!("HTTP/2 {}\r\n", pick(&["200", "403", "429", "503", "999"]));
            for _ in 0..4 {
                raw.push_str(&format!("{}: {}\r\n", pick(&names), pick(&values)));
            }
            raw.push_str("\r\n");
            raw.push_str(pick(&bodies));
            let given = http::parse(raw.as_bytes()).unwrap();
            let name = random.choice(providers.iter()).unwrap();
            let profile = all.get(name).unwrap();
            let recorded = Recorded {
                method: Method::GET,
                path: "/a".to_owned(),
                wall: abide::core::WallTime::from_unix_secs(1_773_144_000),
                status: given.status,
                headers: given.headers,
                body: given.body,
                json: random.bool(),
            };
            let report = Report::new(&profile, String::new(), recorded, None, given.remarks);
            let text = show::text(&report);
            let odd = |c: char| c.is_control() && c != '\n';
            assert!(!text.contains(odd), "{raw:?}\n{text:?}");
            let _ = json::value(&report);
        }
    }
}
