//! When a rule applies.

use abide_core::signal::{self, NameSet};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Method};
use serde_json::Value;

use super::absent::Bits;
use super::heads;
use super::lazy::{Expression, Path};
use super::needed::Bytes;
use super::reader::Reader;
use super::view::{Seats, View};
use crate::format::{Body, Match, Media, Rule, Scalar, Status};
use crate::pattern::{Pattern, methods, patterns};
use crate::problem::{Place, Problem};

/// How many statuses there are: 100 to 999, those of no class too.
pub(super) const STATUSES: u16 = 900;

/// A set of statuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statuses {
    /// Every one, as where none is named.
    all: bool,
    listed: [u64; 15],
}

impl Statuses {
    fn put(&mut self, status: u16) {
        if let Some(n) = status.checked_sub(100).filter(|n| *n < STATUSES) {
            self.listed[n as usize / 64] |= 1 << (n % 64);
        }
    }

    pub(crate) fn has(&self, status: u16) -> bool {
        let n = status.wrapping_sub(100);
        self.all || n < STATUSES && self.listed[n as usize / 64] & (1 << (n % 64)) != 0
    }

    /// Whether every status of the other one is in this one too.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let mut listed = self.listed.iter().zip(other.listed);
        self.all || !other.all && listed.all(|(mine, theirs)| theirs & !mine == 0)
    }

    pub(crate) fn of(all: &[Status], place: &Place, problems: &mut Vec<Problem>) -> Self {
        let mut set = Self {
            all: all.is_empty(),
            ..Self::default()
        };
        for (i, status) in all.iter().enumerate() {
            let range = match status {
                Status::One(n) => Some((*n, *n)),
                Status::Range(text) => range(text),
            };
            match range {
                Some((low, high)) if 100 <= low && low <= high && high <= 999 => {
                    (low..=high).for_each(|n| set.put(n));
                }
                _ => problems.push(Problem::new(
                    place.item(i),
                    "is no status (100 to 999), class (\"5xx\") or range (\"500-504\")",
                )),
            }
        }
        set
    }
}

fn range(text: &str) -> Option<(u16, u16)> {
    if let Some(class) = text.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|c| (1..=9).contains(c))?;
        return Some((class * 100, class * 100 + 99));
    }
    let (low, high) = text.split_once('-')?;
    Some((low.trim().parse().ok()?, high.trim().parse().ok()?))
}

/// When a rule applies.
#[derive(Debug)]
pub(crate) struct Condition {
    statuses: Statuses,
    methods: Vec<Method>,
    paths: Vec<Pattern>,
    media: Option<Media>,
    json_expected: bool,
    headers: Vec<Header>,
    json: Vec<(Path, Test)>,
    text: Option<Expression>,
    body: Option<Body>,
    compared: Vec<(Reader, Reader, bool)>,
}

/// What a body must have one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Names of JSON, which may be spelled with escapes.
    Names(Bits),
    Text(Bits),
    /// It must begin with one of these, or be empty.
    Beginning(Bytes),
    /// There must be none.
    Nothing,
}

/// What a header must be.
#[derive(Debug)]
struct Header {
    name: HeaderName,
    test: Test,
    /// Its name as a set: most answers have it not, and it need not be looked up in them.
    set: NameSet,
}

/// What a value must be.
#[derive(Debug)]
pub(crate) enum Test {
    Present(bool),
    Is(bool),
    Null(bool),
    OneOf(Vec<Scalar>),
    Matches(Expression),
}

impl Condition {
    pub(crate) fn new(rule: &Rule, place: &Place, problems: &mut Vec<Problem>) -> Self {
        let statuses = Statuses::of(&rule.status, &place.key("status"), problems);
        let methods = methods(&rule.methods, &place.key("methods"), problems);
        let paths = patterns(&rule.paths, &place.key("paths"), problems);
        let mut headers = Vec::new();
        for (name, wanted) in &rule.header {
            let place = place.key("header").key(name);
            match name.parse::<HeaderName>() {
                Ok(name) => headers.push(Header {
                    set: heads::set(&name),
                    name,
                    test: Test::new(wanted, &place, problems),
                }),
                Err(_) => problems.push(Problem::new(place, "is no header's name")),
            }
        }
        let mut json = Vec::new();
        for (path, wanted) in &rule.json {
            let place = place.key("json").key(path);
            let path = Path::new(path);
            if let Err(why) = path.check() {
                problems.push(Problem::new(place.clone(), why));
            }
            json.push((path, Test::new(wanted, &place, problems)));
        }
        let text = rule.text.as_deref().map(Expression::new);
        if let Some(Err(why)) = text.as_ref().map(Expression::check) {
            problems.push(Problem::new(place.key("text"), why));
        }
        let mut compared = Vec::new();
        let pairs = [
            ("at_least", &rule.at_least, true),
            ("more_than", &rule.more_than, false),
        ];
        for (key, pair, equal_too) in pairs {
            if let Some((a, b)) = pair {
                let place = place.key(key);
                let a = Reader::new(a, &place.item(0), problems);
                let b = Reader::new(b, &place.item(1), problems);
                compared.extend(a.zip(b).map(|(a, b)| (a, b, equal_too)));
            }
        }
        Self {
            statuses,
            methods,
            paths,
            media: rule.media,
            json_expected: rule.json_expected,
            headers,
            json,
            text,
            body: rule.body,
            compared,
        }
    }

    /// Gives what it looks for places.
    pub(super) fn seat(&mut self, seats: &mut Seats) {
        for (path, _) in &mut self.json {
            path.seat(&mut seats.needles);
        }
        if let Some(text) = &mut self.text {
            text.seat(&mut seats.needles);
        }
        for (a, b, _) in &mut self.compared {
            a.seat_path(seats);
            b.seat_path(seats);
        }
    }

    /// Whether it may be about a body that is announced so.
    pub(super) fn may_be_about(&self, media: signal::Media) -> bool {
        let untold = |h: &Header| h.name == CONTENT_TYPE && matches!(h.test, Test::Present(false));
        let told = matches!(media, signal::Media::Unknown) || !self.headers.iter().any(untold);
        told && self.media.is_none_or(|m| m == kind(media))
    }

    pub(super) const fn expects_json(&self) -> bool {
        self.json_expected
    }

    pub(super) fn methods(&self) -> &[Method] {
        &self.methods
    }

    pub(super) fn paths(&self) -> &[Pattern] {
        &self.paths
    }

    /// The headers without which it does not fit.
    pub(super) fn heads(&self) -> impl Iterator<Item = NameSet> {
        let needed = |h: &&Header| !h.test.of_lines(&mut std::iter::empty());
        self.headers.iter().filter(needed).map(|h| h.set)
    }

    /// What the body must have for it to fit.
    pub(super) fn needs(&self) -> impl Iterator<Item = Needs> {
        let json = self.json.iter().filter(|(_, test)| !test.accepts_absence());
        let names = json.flat_map(|(path, _)| path.needs());
        let text = self.text.iter().flat_map(Expression::needs);
        let empty = self.body == Some(Body::Empty);
        let begins = self.text.iter().find_map(Expression::begins);
        names
            .map(Needs::Names)
            .chain(text.map(Needs::Text))
            .chain(begins.map(Needs::Beginning))
            .chain(empty.then_some(Needs::Nothing))
    }

    /// Which statuses it is about.
    pub(crate) const fn statuses(&self) -> &Statuses {
        &self.statuses
    }

    /// Whether status, request and headers fit.
    #[inline]
    pub(crate) fn head_fits(&self, view: &View<'_>) -> bool {
        let signal = view.answer.signal;
        self.statuses.has(signal.status.as_u16())
            && (!self.json_expected || view.request.accepts_json)
            && self.media.is_none_or(|m| m == kind(signal.media))
            && (self.methods.is_empty() || self.methods.contains(view.request.method))
            && (self.paths.is_empty() || self.paths.iter().any(|p| p.matches(view.request.path)))
            && self.headers.iter().all(|h| h.fits(view))
            && self.compared.iter().all(|(a, b, equal_too)| {
                a.needs_body() || b.needs_body() || compare(a, b, *equal_too, view)
            })
    }

    /// Whether it looks into the body at all.
    pub(crate) fn needs_body(&self) -> bool {
        !self.json.is_empty()
            || self.text.is_some()
            || self.body.is_some()
            || self
                .compared
                .iter()
                .any(|(a, b, _)| a.needs_body() || b.needs_body())
    }

    /// The members of the body's top object it looks into.
    pub(crate) fn tops(&self) -> impl Iterator<Item = &str> {
        let compared = self.compared.iter().flat_map(|(a, b, _)| [a, b]);
        let paths = self.json.iter().filter_map(|(path, _)| path.top());
        paths.chain(compared.filter_map(Reader::top))
    }

    /// Whether the body fits too.
    pub(crate) fn body_fits(&self, view: &View<'_>) -> bool {
        if !self.needs_body() {
            return true;
        }
        if view.answer.sample.is_none() {
            return false;
        }
        let state = self.body.is_none_or(|body| match body {
            Body::Empty => view.is_empty(),
            Body::Cut => view.is_cut(),
        });
        state
            && self
                .json
                .iter()
                .all(|(path, test)| test.of_json(path, view))
            && self
                .text
                .as_ref()
                .is_none_or(|t| view.text().is_some_and(|s| t.is_match(s)))
            && self
                .compared
                .iter()
                .all(|(a, b, equal_too)| compare(a, b, *equal_too, view))
    }
}

fn compare(a: &Reader, b: &Reader, equal_too: bool, view: &View<'_>) -> bool {
    match (a.number(view), b.number(view)) {
        (Some(a), Some(b)) => a > b || equal_too && a >= b,
        _ => false,
    }
}

pub(super) const fn kind(media: signal::Media) -> Media {
    match media {
        signal::Media::Json => Media::Json,
        signal::Media::Html => Media::Html,
        _ => Media::Other,
    }
}

impl Header {
    fn fits(&self, view: &View<'_>) -> bool {
        if !self.set.meets(view.answer.signal.names) {
            return self.test.of_lines(&mut std::iter::empty());
        }
        let lines = view.headers().get_all(&self.name).iter();
        self.test.of_lines(&mut lines.map(HeaderValue::as_bytes))
    }
}

impl Test {
    fn new(wanted: &Match, place: &Place, problems: &mut Vec<Problem>) -> Self {
        match wanted {
            Match::Present(yes) => Self::Present(*yes),
            Match::Is { is } => Self::Is(*is),
            Match::Null { null } => Self::Null(*null),
            Match::Number(n) => Self::OneOf(vec![Scalar::Number(*n)]),
            Match::Equals(text) => Self::OneOf(vec![Scalar::Text(text.clone())]),
            Match::OneOf(all) => Self::OneOf(all.clone()),
            Match::Matches { matches } => {
                let expression = Expression::new(matches);
                if let Err(why) = expression.check() {
                    problems.push(Problem::new(place.clone(), why));
                }
                Self::Matches(expression)
            }
        }
    }

    const fn accepts_absence(&self) -> bool {
        matches!(self, Self::Present(false) | Self::Null(_))
    }

    fn of_lines<'a>(&self, lines: &mut impl Iterator<Item = &'a [u8]>) -> bool {
        match self {
            Self::Present(yes) => lines.next().is_some() == *yes,
            Self::Is(yes) => lines.any(|l| {
                let word: &[u8] = if *yes { b"true" } else { b"false" };
                l.trim_ascii().eq_ignore_ascii_case(word)
            }),
            Self::Null(yes) => lines.all(|l| l.trim_ascii().is_empty()) == *yes,
            Self::OneOf(all) => lines.any(|l| {
                let l = l.trim_ascii();
                all.iter().any(|s| match s {
                    Scalar::Text(text) => l.eq_ignore_ascii_case(text.as_bytes()),
                    Scalar::Number(n) => number(l) == Some(*n),
                })
            }),
            Self::Matches(expression) => lines.any(|l| expression.is_match(l.trim_ascii())),
        }
    }

    fn of_json(&self, path: &Path, view: &View<'_>) -> bool {
        let any = |will_do: fn(&Value) -> bool| path.any(view, will_do);
        match self {
            // A body that is no JSON has no nodes, and lacks none either.
            Self::Present(false) => view.json().is_some() && path.can_be_made() && !any(|_| true),
            Self::Present(true) => any(|_| true),
            Self::Is(true) => any(|n| n.as_bool() == Some(true)),
            Self::Is(false) => any(|n| n.as_bool() == Some(false)),
            Self::Null(true) => any(Value::is_null),
            Self::Null(false) => any(|n| !n.is_null()),
            Self::OneOf(all) => path.any(view, |node| {
                all.iter().any(|s| match (s, node) {
                    (Scalar::Text(text), Value::String(told)) => text == told,
                    (Scalar::Number(n), Value::String(told)) => number(told.as_bytes()) == Some(*n),
                    (Scalar::Number(n), told) => told.as_f64() == Some(*n),
                    (Scalar::Text(_), _) => false,
                })
            }),
            Self::Matches(expression) => path.any(view, |node| match node {
                Value::String(told) => expression.is_match(told.as_bytes()),
                Value::Number(n) => expression.is_match(n.to_string().as_bytes()),
                _ => false,
            }),
        }
    }
}

fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &[Status]) -> (Statuses, usize) {
        let mut problems = Vec::new();
        let set = Statuses::of(all, &Place::default(), &mut problems);
        (set, problems.len())
    }

    #[test]
    fn every_status_there_can_be_is_matched_where_none_is_named() {
        let (all, _) = of(&[]);
        assert!((100..=999).all(|s| all.has(s)));
        let (some, wrong) = of(&[Status::Range("600-999".into()), Status::One(429)]);
        assert_eq!(wrong, 0);
        assert!(some.has(999) && some.has(600) && some.has(429));
        assert!(!some.has(599) && !some.has(100) && !some.has(1000) && !some.has(0));
        assert!(all.covers(&some) && !some.covers(&all) && some.covers(&some));
        let (nine, _) = of(&[Status::Range("9xx".into())]);
        assert!(some.covers(&nine) && !nine.has(899));
        for wrong in ["0xx", "10xx", "99-200", "500-1000", "x"] {
            assert_eq!(of(&[Status::Range(wrong.into())]).1, 1, "{wrong}");
        }
    }
}
