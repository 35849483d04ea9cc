//! What a profile makes of an answer.
//!
//! Rules are tried in order and the first that matches decides; what it leaves open is left to
//! the status and the headers. A body that does not parse matches no rule about JSON, so it never
//! hides the status.
//!
//! The work per answer is bounded: at most [`MAX_BODY`] bytes of a body are looked at, parsed
//! once, by regular expressions and paths whose time is linear in them.

mod absent;
mod condition;
mod heads;
mod index;
mod lazy;
mod needed;
mod path;
mod quota;
mod reader;
mod trace;
mod view;
mod whole;

use std::time::Duration;

use abide_core::classify::{Answer, BodyMatch, Parts, RequestView};
use abide_core::{Health, Hint, Reading, Verdict};

pub(crate) use self::condition::Statuses;
pub use self::trace::Look;
pub use self::view::MAX_BODY;

use self::condition::Condition;
use self::index::Index;
use self::quota::Quota;
use self::reader::Reader;
use self::view::{Seats, View};
use crate::boundary::Boundary;
use crate::extend::Origin;
use crate::format::{Amount, Inspect, Profile, Rule};
use crate::gates::{Cover, Gates};
use crate::problem::{Place, Problem, one_of};
use crate::units::duration;

/// The rules of one profile and its parents.
#[derive(Debug)]
pub struct Rules {
    rules: Vec<Compiled>,
    index: Index,
    quotas: Vec<Quota>,
    seats: Seats,
    asks: Vec<Told>,
}

/// One rule.
#[derive(Debug)]
struct Compiled {
    name: String,
    why: String,
    when: Condition,
    verdict: Option<Verdict>,
    health: Option<Health>,
    gate: Option<Cover>,
    asks: Vec<Told>,
    ignore_ask: bool,
    ignore_readings: bool,
    boundary: Option<Boundary>,
    wait: Option<Duration>,
    again: Option<bool>,
    inspect: Inspect,
}

/// Where a wait is told.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are a few in a profile, nearly all of the smaller kind"
)]
enum Told {
    At(Reader),
    /// What is requested, what is available, and how much a second comes.
    Missing([Reader; 3]),
}

/// The rule that decided about an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided<'a> {
    /// Whose rule it is and which: `github rule 3`.
    pub name: &'a str,
    /// One line why.
    pub why: &'a str,
    /// Its place among the profile's rules, those of its parents included.
    pub index: usize,
}

/// Whether the rules have to see an answer's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// No: the head decides.
    Nothing,
    /// Yes, before the caller sees the answer.
    Before,
    /// Yes, while the caller reads it.
    Beside,
}

impl Rules {
    /// Makes the rules of a profile whose parents were merged in; `origins` tells whose each
    /// rule is.
    pub(crate) fn new(
        profile: &Profile,
        origins: &[Origin],
        gates: &Gates,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let top = Place::default();
        let mut rules = Vec::new();
        for (i, rule) in profile.rules.iter().enumerate() {
            let place = top.key("rule").item(i);
            let name = origins.get(i).map(|o| o.name.clone()).unwrap_or_default();
            rules.push(Compiled::new(rule, name, gates, &place, problems));
        }
        let mut quotas = Vec::new();
        for (i, reading) in profile.readings.iter().enumerate() {
            let place = top.key("reading").item(i);
            quotas.push(Quota::new(reading, gates, &place, problems));
        }
        let mut asks = told(&profile.asks, &top.key("ask"), problems);
        let mut seats = Seats::default();
        quotas.iter_mut().for_each(|q| q.seat(&mut seats));
        rules.iter_mut().for_each(|r| r.when.seat(&mut seats));
        let own = rules.iter_mut().flat_map(|r| &mut r.asks);
        for reader in own.chain(&mut asks).flat_map(Told::readers_mut) {
            reader.seat_path(&mut seats);
        }
        Self {
            index: Index::new(rules.iter().map(|r| &r.when)),
            rules,
            seats,
            quotas,
            asks,
        }
    }

    /// What is found, and the rule that decided.
    pub fn decide(
        &self,
        request: &RequestView<'_>,
        answer: &Answer<'_>,
    ) -> (Option<Decided<'_>>, Option<Parts>) {
        let view = View::new(request, answer, &self.seats);
        let index = self.deciding(&view);
        let rule = index.and_then(|i| self.rules.get(i));
        let ignored = rule.is_some_and(|r| r.ignore_readings);
        let (mut readings, mut superseded) = (Vec::new(), false);
        for quota in self.quotas.iter().filter(|_| !ignored) {
            let Some(reading) = quota.read(&view) else {
                continue;
            };
            if readings.is_empty() {
                // A profile has a handful; one more is told by a header alone.
                readings.reserve_exact(self.quotas.len() + 1);
            }
            readings.push(reading);
            // The profile knows better what those names mean here.
            superseded |= quota.is_of_common_names();
        }
        let turned_away = turned_away(rule, answer);
        let mut parts = Parts::default();
        let own = rule.map_or(&[][..], |r| &r.asks);
        if turned_away || !own.is_empty() {
            let all = || own.iter().chain(self.asks.iter().filter(|_| turned_away));
            parts.ask = first(all().filter(|t| !t.is_header()), &view);
            // What a header tells is believed as the reset of a quota, before the body.
            if let Hint::Until(at) = first(all().filter(|t| t.is_header()), &view) {
                readings.push(Reading {
                    reset: Some(at),
                    ..Reading::default()
                });
            }
        }
        if rule.is_none() && readings.is_empty() && parts.ask == Hint::Absent {
            return (None, None);
        }
        parts.readings = readings;
        parts.ignore_readings = superseded;
        let Some(rule) = rule else {
            return (None, Some(parts));
        };
        parts.verdict = rule.verdict;
        parts.health = rule.health;
        parts.gate = rule.gate;
        parts.ignore_ask = rule.ignore_ask;
        parts.ignore_readings |= rule.ignore_readings;
        parts.boundary = rule
            .boundary
            .as_ref()
            .and_then(|b| b.next(answer.signal.at));
        parts.wait = rule.wait;
        parts.again = rule.again;
        let decided = Decided {
            name: &rule.name,
            why: &rule.why,
            index: index.unwrap_or_default(),
        };
        (Some(decided), Some(parts))
    }

    /// Whose each rule is and which, in the order in which they are tried.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|r| r.name.as_str())
    }

    /// The first rule that fits.
    fn deciding(&self, view: &View<'_>) -> Option<usize> {
        let fits = |r: &Compiled| r.when.head_fits(view) && r.when.body_fits(view);
        let mut about = self.index.of(view);
        about.find(|n| self.rules.get(*n).is_some_and(fits))
    }

    /// The rules whose head may fit an answer, in order.
    fn about(&self, view: &View<'_>) -> impl Iterator<Item = &Compiled> {
        let about = self.index.of_head(view);
        about.filter_map(|n| self.rules.get(n))
    }

    /// Whether the body of an answer with this head has to be seen.
    pub fn wants(&self, request: &RequestView<'_>, answer: &Answer<'_>) -> Wants {
        let view = View::new(request, answer, &self.seats);
        let mut wants = Wants::Nothing;
        for rule in self.about(&view).filter(|r| r.when.head_fits(&view)) {
            let looks = rule.when.needs_body();
            if looks || rule.asks.iter().any(Told::needs_body) {
                match rule.inspect {
                    Inspect::Before => return Wants::Before,
                    Inspect::Beside => wants = Wants::Beside,
                }
            }
            if !looks {
                // It decides, whatever follows.
                break;
            }
        }
        if refused(answer) && self.asks.iter().any(Told::needs_body) {
            return Wants::Before;
        }
        if wants == Wants::Nothing && self.quotas.iter().any(Quota::needs_body) {
            return Wants::Beside;
        }
        wants
    }

    /// Whether the head of an answer tells what it means and covers: its body may only tell how
    /// long to wait.
    pub fn head_decides(&self, request: &RequestView<'_>, answer: &Answer<'_>) -> bool {
        let view = View::new(request, answer, &self.seats);
        let mut fitting = self.about(&view).filter(|r| r.when.head_fits(&view));
        fitting.next().is_none_or(|r| !r.when.needs_body())
    }

    /// The members of the body's top object that rules about an answer with this head look into;
    /// `None` where there are none. Of a body that is too large to be kept these are picked out;
    /// what a rule looks for in its text is looked for in its beginning.
    pub fn tops(&self, request: &RequestView<'_>, answer: &Answer<'_>) -> Option<Vec<&str>> {
        let view = View::new(request, answer, &self.seats);
        let mut tops = Vec::new();
        let fitting = self.about(&view).filter(|r| r.when.head_fits(&view));
        for rule in fitting {
            tops.extend(rule.when.tops());
            tops.extend(rule.asks.iter().flat_map(Told::tops));
        }
        tops.extend(self.quotas.iter().flat_map(Quota::tops));
        tops.extend(self.asks.iter().flat_map(Told::tops));
        tops.sort_unstable();
        tops.dedup();
        (!tops.is_empty()).then_some(tops)
    }
}

impl BodyMatch for Rules {
    fn find(&self, request: &RequestView<'_>, answer: &Answer<'_>) -> Option<Parts> {
        self.decide(request, answer).1
    }
}

/// Whether what is told about waiting speaks of this answer.
fn turned_away(rule: Option<&Compiled>, answer: &Answer<'_>) -> bool {
    match rule.and_then(|r| r.verdict) {
        Some(v) => v.is_refusal() || v == Verdict::Unavailable,
        None => refused(answer),
    }
}

/// A status that turns away. What is not there says nothing about waiting.
fn refused(answer: &Answer<'_>) -> bool {
    let status = answer.signal.status.as_u16();
    status >= 400 && !matches!(status, 404 | 410)
}

fn first<'a>(told: impl Iterator<Item = &'a Told>, view: &View<'_>) -> Hint {
    told.fold(Hint::Absent, |found, t| match found {
        Hint::Until(_) => found,
        _ => found.or(t.when(view)),
    })
}

fn told(all: &[Amount], place: &Place, problems: &mut Vec<Problem>) -> Vec<Told> {
    let amounts = all.iter().enumerate();
    amounts
        .filter_map(|(i, a)| Told::new(a, &place.item(i), problems))
        .collect()
}

impl Told {
    fn new(amount: &Amount, place: &Place, problems: &mut Vec<Problem>) -> Option<Self> {
        match amount {
            Amount::Told(source) => Reader::new(source, place, problems).map(Self::At),
            Amount::Missing {
                requested,
                available,
                rate,
            } => Some(Self::Missing([
                Reader::new(requested, &place.key("requested"), problems)?,
                Reader::new(available, &place.key("available"), problems)?,
                Reader::new(rate, &place.key("rate"), problems)?,
            ])),
        }
    }

    fn readers(&self) -> std::slice::Iter<'_, Reader> {
        match self {
            Self::At(one) => std::slice::from_ref(one).iter(),
            Self::Missing(all) => all.iter(),
        }
    }

    fn readers_mut(&mut self) -> std::slice::IterMut<'_, Reader> {
        match self {
            Self::At(one) => std::slice::from_mut(one).iter_mut(),
            Self::Missing(all) => all.iter_mut(),
        }
    }

    fn needs_body(&self) -> bool {
        self.readers().any(Reader::needs_body)
    }

    fn is_header(&self) -> bool {
        self.readers().all(Reader::is_header)
    }

    fn tops(&self) -> impl Iterator<Item = &str> {
        self.readers().filter_map(Reader::top)
    }

    fn when(&self, view: &View<'_>) -> Hint {
        match self {
            Self::At(reader) => reader.when(view),
            Self::Missing(all) => {
                let [Some(requested), Some(available), Some(rate)] =
                    all.each_ref().map(|r| r.number(view))
                else {
                    return Hint::Absent;
                };
                let missing = requested - available;
                if rate <= 0.0 || missing <= 0.0 {
                    return Hint::Absent;
                }
                match Duration::try_from_secs_f64(missing / rate) {
                    Ok(wait) => Hint::Until(view.answer.signal.at.now.after(wait)),
                    Err(_) => Hint::Absent,
                }
            }
        }
    }
}

impl Compiled {
    fn new(
        rule: &Rule,
        name: String,
        gates: &Gates,
        place: &Place,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut wrong = |key: &str, what: String| problems.push(Problem::new(place.key(key), what));
        let verdict = rule.verdict.as_deref().and_then(|word| {
            let found = VERDICTS.into_iter().find(|v| v.as_str() == word);
            if found.is_none() {
                let words: Vec<&str> = VERDICTS.iter().map(|v| v.as_str()).collect();
                wrong("verdict", one_of(word, &words));
            }
            found
        });
        let health = rule.health.as_deref().and_then(|word| match word {
            "success" => Some(Health::Success),
            "neutral" => Some(Health::Neutral),
            "failure" => Some(Health::Failure),
            _ => {
                wrong("health", one_of(word, &["success", "neutral", "failure"]));
                None
            }
        });
        let gate = rule.gate.as_deref().and_then(|name| {
            let found = gates.cover(name);
            if found.is_none() {
                wrong("gate", one_of(name, &gates.names()));
            }
            found
        });
        let boundary = rule.until.as_deref().and_then(|text| {
            let found = Boundary::parse(text);
            if found.is_none() {
                wrong(
                    "until",
                    format!(
                        "{text:?} is none of minute, quarter-hour, hour, midnight ZONE, month ZONE"
                    ),
                );
            }
            found
        });
        let wait = rule
            .wait
            .as_deref()
            .and_then(|text| duration(text).map_err(|why| wrong("wait", why)).ok());
        Self {
            name,
            why: rule.why.clone(),
            when: Condition::new(rule, place, problems),
            verdict,
            health,
            gate,
            asks: told(&rule.ask, &place.key("ask"), problems),
            ignore_ask: rule.ignore_ask,
            ignore_readings: rule.ignore_readings,
            boundary,
            wait,
            again: rule.again,
            inspect: rule.inspect,
        }
    }
}

/// Every verdict that an answer can have.
const VERDICTS: [Verdict; 8] = [
    Verdict::AuthError,
    Verdict::Banned,
    Verdict::ClientError,
    Verdict::NotFound,
    Verdict::QuotaExhausted,
    Verdict::RateLimited,
    Verdict::Success,
    Verdict::Unavailable,
];
