//! What a profile's own readings and asks found in an answer, for people.
//!
//! Kept apart from deciding, so that the path of every answer pays nothing for it.

use abide_core::classify::{Answer, RequestView};
use abide_core::{Hint, Instant};
use http::HeaderName;

use super::reader::Reader;
use super::view::View;
use super::{Rules, Told, turned_away};
use crate::gates::Gates;

/// The longest part of a value that is shown, in bytes.
const SHOWN: usize = 80;

/// A place of an answer that a profile looked at and that tells something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Where: the header's name, the JSONPath, or "the text of the body".
    pub place: String,
    /// The header, where it is one.
    pub header: Option<HeaderName>,
    /// What is told there; at most 80 bytes are kept.
    pub value: String,
    /// What it stands for: `limit`, `remaining`, `used`, `reset`, `window`, `cost`, `bucket` or
    /// `ask`.
    pub part: &'static str,
    /// The gate it speaks of, by name, where it says.
    pub gate: Option<String>,
    /// The instant it names, where it stands for one that has not passed.
    pub until: Option<Instant>,
    /// Something could be made of it.
    pub understood: bool,
}

impl Rules {
    /// What this profile's own readings and asks find in an answer.
    pub fn looks(
        &self,
        request: &RequestView<'_>,
        answer: &Answer<'_>,
        gates: &Gates,
    ) -> Vec<Look> {
        let view = View::new(request, answer, &self.seats);
        let rule = self.deciding(&view).map(|i| &self.rules[i]);
        let mut looks = Vec::new();
        for quota in self.quotas.iter() {
            let (scope, class) = quota.gate();
            let gate = gates.name(scope, class);
            for (part, reader) in quota.parts() {
                looks.extend(look(reader, part, gate, &view));
            }
        }
        let common = self.asks.iter().filter(|_| turned_away(rule, answer));
        let own = rule.into_iter().flat_map(|r| &r.asks);
        for told in own.chain(common) {
            for (part, reader) in told.parts() {
                looks.extend(look(reader, part, None, &view));
            }
        }
        looks
    }
}

impl Told {
    fn parts(&self) -> impl Iterator<Item = (&'static str, &Reader)> {
        let name = move |i| match (self, i) {
            (Self::At(_), _) => "ask",
            (_, 0) => "requested",
            (_, 1) => "available",
            _ => "rate",
        };
        self.readers().enumerate().map(move |(i, r)| (name(i), r))
    }
}

/// `None` where nothing is told.
fn look(reader: &Reader, part: &'static str, gate: Option<&str>, view: &View<'_>) -> Option<Look> {
    let place = reader.place()?;
    let value = reader.named(view, <[u8]>::to_vec)?;
    let hint = match part {
        "reset" | "ask" => reader.when(view),
        _ => Hint::Absent,
    };
    let until = match hint {
        Hint::Until(at) => Some(at),
        _ => None,
    };
    let understood = match part {
        "reset" | "ask" => hint != Hint::Absent,
        "window" => reader.span(view).is_some(),
        "requested" | "available" | "rate" => reader.number(view).is_some(),
        "bucket" => true,
        _ => reader.count(view).is_some(),
    };
    Some(Look {
        place,
        header: reader.header().cloned(),
        value: String::from_utf8_lossy(&value[..value.len().min(SHOWN)]).into_owned(),
        part,
        gate: gate.map(str::to_owned),
        until,
        understood,
    })
}
