//! One answer, as rules look at it: what is costly to find out is found out once, when a rule
//! first asks.

use std::cell::OnceCell;

use abide_core::classify::{Answer, RequestView};
use http::HeaderMap;
use serde_json::Value;

use super::absent::{Absent, Bits, Needles};
use super::heads::{Found, Heads, Lines};
use super::whole;

/// What a body must be no larger than to be parsed as JSON; more is looked at as text only. It
/// bounds the work an answer can make us do.
pub const MAX_BODY: usize = 64 * 1024;

/// What the rules of one profile look for in every answer.
#[derive(Debug, Default)]
pub(super) struct Seats {
    pub(super) heads: Heads,
    pub(super) needles: Needles,
}

/// One answer, as rules look at it.
pub(crate) struct View<'a> {
    pub(crate) request: &'a RequestView<'a>,
    pub(crate) answer: &'a Answer<'a>,
    seats: &'a Seats,
    found: OnceCell<Found<'a>>,
    json: OnceCell<Option<Value>>,
    escapes: OnceCell<bool>,
    absent: Absent,
}

impl<'a> View<'a> {
    pub(super) fn new(
        request: &'a RequestView<'a>,
        answer: &'a Answer<'a>,
        seats: &'a Seats,
    ) -> Self {
        Self {
            request,
            answer,
            seats,
            found: OnceCell::new(),
            json: OnceCell::new(),
            escapes: OnceCell::new(),
            absent: Absent::default(),
        }
    }

    pub(crate) const fn headers(&self) -> &'a HeaderMap {
        self.answer.headers
    }

    /// The lines of a header that has a place.
    pub(super) fn lines(&self, place: usize) -> Lines<'a> {
        let find = || self.seats.heads.find(self.answer.headers);
        self.found.get_or_init(find).at(place)
    }

    /// The beginning of the body, as far as rules look at it.
    pub(crate) fn text(&self) -> Option<&'a [u8]> {
        self.answer.sample.map(|s| &s[..s.len().min(MAX_BODY)])
    }

    /// The body as JSON; `None` for anything that does not parse whole.
    pub(crate) fn json(&self) -> Option<&Value> {
        let parse = || {
            let sample = self.answer.sample?;
            (sample.len() <= MAX_BODY)
                .then(|| serde_json::from_slice(without_mark(sample)).ok())
                .flatten()
        };
        self.json.get_or_init(parse).as_ref()
    }

    /// Whether the body surely has none of these pieces of text.
    pub(super) fn has_none(&self, needles: Bits) -> bool {
        let text = self.text().unwrap_or_default();
        self.seats.needles.none_in(text, needles, &self.absent)
    }

    /// Whether the body may spell names with escapes.
    pub(crate) fn has_escapes(&self) -> bool {
        let look = || {
            let text = self.text().unwrap_or_default();
            let first = memchr::memchr(b'\\', text);
            first.is_some_and(|at| memchr::memmem::find(&text[at..], b"\\u").is_some())
        };
        *self.escapes.get_or_init(look)
    }

    /// Whether the body was to be JSON and ended before its JSON did.
    pub(crate) fn is_cut(&self) -> bool {
        let Some(sample) = self.answer.sample else {
            return false;
        };
        let sample = without_mark(sample);
        self.answer.complete && sample.len() <= MAX_BODY && !whole::is_balanced(sample) && {
            let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(sample);
            parsed.is_err_and(|e| e.is_eof())
        }
    }

    /// Whether there is no body.
    pub(crate) fn is_empty(&self) -> bool {
        let sample = self.answer.sample.unwrap_or_default();
        self.answer.complete && sample.iter().all(u8::is_ascii_whitespace)
    }
}

/// A byte order mark is no part of JSON, and nobody is to write one; some do (RFC 8259 §8.1 lets
/// a reader pass over it).
fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)
}
