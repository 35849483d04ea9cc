//! Which rules may be about an answer, as words with a bit a rule: most rules are about refusals,
//! pages, or a body that says something, and most answers are none of these. What several rules
//! need is looked for once.

use abide_core::signal::{Media, NameSet};
use http::Method;

use super::condition::{Condition, Needs, STATUSES};
use super::view::View;
use crate::pattern::Pattern;

/// The bit of every rule that has none of its own. They are always told by themselves.
const REST: u32 = u64::BITS - 1;

/// The rules that need something, a bit each.
type Group<T> = Vec<(T, u64)>;

/// Which rules may be about an answer.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By status, from 100 on.
    words: Vec<u64>,
    /// By what body is announced: JSON, a page, anything else, nothing.
    media: [u64; 4],
    /// Those that only concern who expects JSON.
    asked: u64,
    methods: Group<Vec<Method>>,
    heads: Group<NameSet>,
    paths: Group<Vec<Pattern>>,
    body: u64,
    needles: Group<Needs>,
    rules: usize,
}

impl Index {
    pub(super) fn new<'a>(rules: impl ExactSizeIterator<Item = &'a Condition>) -> Self {
        let mut index = Self {
            words: vec![0; usize::from(STATUSES)],
            media: [1 << REST; 4],
            rules: rules.len(),
            ..Self::default()
        };
        for (n, rule) in rules.enumerate() {
            let own = u32::try_from(n).ok().filter(|n| *n < REST);
            let bit = 1 << own.unwrap_or(REST);
            for (status, word) in (100..).zip(&mut index.words) {
                if rule.statuses().has(status) {
                    *word |= bit;
                }
            }
            if own.is_some() {
                index.put(rule, bit);
            }
        }
        index
    }

    fn put(&mut self, rule: &Condition, bit: u64) {
        let all = [Media::Json, Media::Html, Media::Other, Media::Unknown];
        for media in all.into_iter().filter(|m| rule.may_be_about(*m)) {
            self.media[place(media)] |= bit;
        }
        if rule.expects_json() {
            self.asked |= bit;
        }
        if rule.needs_body() {
            self.body |= bit;
        }
        if !rule.methods().is_empty() {
            join(&mut self.methods, rule.methods().to_vec(), bit);
        }
        if !rule.paths().is_empty() {
            join(&mut self.paths, rule.paths().to_vec(), bit);
        }
        rule.heads().for_each(|h| join(&mut self.heads, h, bit));
        rule.needs().for_each(|n| join(&mut self.needles, n, bit));
    }

    /// The places of the rules whose head may fit an answer, in order.
    pub(super) fn of_head(&self, view: &View<'_>) -> impl Iterator<Item = usize> + use<> {
        each(self.head(view), self.rules)
    }

    /// The places of the rules that may fit an answer, in order.
    pub(super) fn of(&self, view: &View<'_>) -> impl Iterator<Item = usize> + use<> {
        let mut word = self.head(view);
        if view.answer.sample.is_none() {
            word &= !self.body;
        }
        let lacks = |needs: &Needs| match needs {
            Needs::Text(any) => view.has_none(*any),
            Needs::Names(any) => view.has_none(*any) && !view.has_escapes(),
            Needs::Beginning(set) => {
                let first = view.text().and_then(<[u8]>::first);
                first.is_some_and(|b| !set.has(*b))
            }
            Needs::Nothing => !view.is_empty(),
        };
        each(without(word, &self.needles, lacks), self.rules)
    }

    fn head(&self, view: &View<'_>) -> u64 {
        let signal = view.answer.signal;
        let at = usize::from(signal.status.as_u16()).checked_sub(100);
        let mut word = at.and_then(|n| self.words.get(n)).copied().unwrap_or(0);
        word &= self.media[place(signal.media)];
        if !view.request.accepts_json {
            word &= !self.asked;
        }
        word = without(word, &self.methods, |all| {
            !all.contains(view.request.method)
        });
        word = without(word, &self.heads, |head| !head.meets(signal.names));
        let path = view.request.path;
        without(word, &self.paths, |all| {
            !all.iter().any(|p| p.matches(path))
        })
    }
}

const fn place(media: Media) -> usize {
    match media {
        Media::Json => 0,
        Media::Html => 1,
        Media::Unknown => 3,
        _ => 2,
    }
}

fn join<T: PartialEq>(group: &mut Group<T>, need: T, bit: u64) {
    match group.iter_mut().find(|(known, _)| *known == need) {
        Some((_, word)) => *word |= bit,
        None => group.push((need, bit)),
    }
}

/// Takes away the rules of which a need is not met; what nobody needs is not looked for.
fn without<T>(mut word: u64, group: &Group<T>, lacks: impl Fn(&T) -> bool) -> u64 {
    for (need, rules) in group {
        if word & rules != 0 && lacks(need) {
            word &= !rules;
        }
    }
    word
}

fn each(mut word: u64, rules: usize) -> impl Iterator<Item = usize> {
    let rest = match word >> REST {
        0 => 0..0,
        _ => REST as usize..rules,
    };
    word &= !(1 << REST);
    let own = std::iter::from_fn(move || {
        let n = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (n < u64::BITS).then_some(n as usize)
    });
    own.chain(rest)
}

#[cfg(test)]
mod tests {
    use abide_core::classify::{Answer, RequestView};
    use abide_core::signal::read;
    use abide_core::{Instant, Moment, Skew, WallTime};
    use http::{HeaderMap, HeaderValue, StatusCode};

    use super::*;
    use crate::format::{self, Match, Rule, Status};
    use crate::problem::Place;
    use crate::rules::view::{Seats, View};

    /// One of many kinds of rule.
    fn rule(n: usize) -> Condition {
        let rule = Rule {
            status: match n % 3 {
                0 => vec![],
                1 => vec![Status::One(429)],
                _ => vec![Status::Range("5xx".to_owned())],
            },
            methods: match n % 5 {
                0 => vec!["GET".to_owned(), "PATCH".to_owned()],
                1 => vec!["POST".to_owned()],
                _ => vec![],
            },
            media: [
                None,
                Some(format::Media::Json),
                Some(format::Media::Html),
                Some(format::Media::Other),
            ][n / 3 % 4],
            paths: match n % 4 {
                0 => vec!["/a".to_owned()],
                _ => vec![],
            },
            header: match n % 11 {
                0 => [("x-a".to_owned(), Match::Present(true))].into(),
                1 => [("content-type".to_owned(), Match::Present(false))].into(),
                _ => [].into(),
            },
            json_expected: n.is_multiple_of(7),
            ..Rule::default()
        };
        Condition::new(&rule, &Place::default(), &mut Vec::new())
    }

    #[test]
    fn every_rule_whose_head_fits_is_found() {
        let rules: Vec<Condition> = (0..150).map(rule).collect();
        let at = Moment::new(Instant::from_secs(1), WallTime::from_unix_secs(1));
        let seats = Seats::default();
        let methods = [Method::GET, Method::POST, Method::PUT];
        for count in [0, 1, 63, 64, 65, 150] {
            let rules = &rules[..count];
            let index = Index::new(rules.iter());
            for (n, status) in (100..=999).enumerate() {
                let mut headers = HeaderMap::new();
                let media = ["application/json", "text/html", "image/png", ""][n % 4];
                if !media.is_empty() {
                    headers.insert("content-type", HeaderValue::from_static(media));
                }
                if n % 5 == 0 {
                    headers.insert("x-a", HeaderValue::from_static("b"));
                }
                let status = StatusCode::from_u16(status).unwrap();
                let answer = Answer {
                    signal: &read(status, &headers, at, &mut Skew::new()),
                    headers: &headers,
                    sample: None,
                    complete: true,
                    trailers: None,
                };
                let request = RequestView {
                    method: &methods[n / 2 % 3],
                    path: ["/a", "/b"][n / 7 % 2],
                    accepts_json: n % 2 == 0,
                };
                let view = View::new(&request, &answer, &seats);
                let about = |n: &usize| rules[*n].head_fits(&view);
                let wanted: Vec<usize> = (0..count).filter(about).collect();
                // Those without a bit of their own are told by their head.
                let told: Vec<usize> = index.of(&view).filter(about).collect();
                assert_eq!(told, wanted, "{count} rules, {status}");
                let mut others = index.of(&view).filter(|n| !about(n));
                assert!(others.all(|n| n >= 63));
            }
        }
    }
}
