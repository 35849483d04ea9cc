//! Quotas told in words of a provider's own.

use abide_core::finding::{BucketId, Reading};
use abide_core::signal::{NameSet, is_quota};
use abide_core::{GateClass, Hint, Instant, Scope};

use super::reader::Reader;
use super::view::{Seats, View};
use crate::boundary::Boundary;
use crate::format;
use crate::gates::{Cover, Gates};
use crate::problem::{Place, Problem, one_of};

/// Where one quota is told.
#[derive(Debug)]
pub(crate) struct Quota {
    gate: Cover,
    limit: Option<Reader>,
    remaining: Option<Reader>,
    used: Option<Reader>,
    reset: Option<Reader>,
    window: Option<Reader>,
    cost: Option<Reader>,
    bucket: Option<Reader>,
    until: Option<Boundary>,
    /// It reads headers that are understood without a profile too.
    common: bool,
    /// The headers without which it tells nothing, where it does so by headers alone.
    heads: Option<NameSet>,
}

impl Quota {
    pub(crate) fn new(
        told: &format::Reading,
        gates: &Gates,
        place: &Place,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let gate = told
            .gate
            .as_deref()
            .map_or(Some((Scope::Account, GateClass::PLAIN)), |name| {
                let found = gates.cover(name);
                if found.is_none() {
                    let what = one_of(name, &gates.names());
                    problems.push(Problem::new(place.key("gate"), what));
                }
                found
            });
        let until = told.until.as_deref().and_then(|text| {
            let found = Boundary::parse(text);
            if found.is_none() {
                problems.push(Problem::new(place.key("until"), "is no boundary"));
            }
            found
        });
        let mut reader = |key: &str, source: &Option<format::Source>| {
            let source = source.as_ref()?;
            Reader::new(source, &place.key(key), problems)
        };
        let mut quota = Self {
            gate: gate.unwrap_or((Scope::Account, GateClass::PLAIN)),
            limit: reader("limit", &told.limit),
            remaining: reader("remaining", &told.remaining),
            used: reader("used", &told.used),
            reset: reader("reset", &told.reset),
            window: reader("window", &told.window),
            cost: reader("cost", &told.cost),
            bucket: reader("bucket", &told.bucket),
            until,
            common: false,
            heads: None,
        };
        let headers = quota.readers().filter_map(Reader::header);
        let common = headers.map(http::HeaderName::as_str).any(is_quota);
        quota.common = common;
        quota
    }

    fn readers(&self) -> impl Iterator<Item = &Reader> {
        self.parts().map(|(_, reader)| reader)
    }

    /// The gate it speaks of.
    pub(crate) const fn gate(&self) -> Cover {
        self.gate
    }

    /// What is told of it, by the name of the format's key.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&'static str, &Reader)> {
        [
            ("limit", &self.limit),
            ("remaining", &self.remaining),
            ("used", &self.used),
            ("reset", &self.reset),
            ("window", &self.window),
            ("cost", &self.cost),
            ("bucket", &self.bucket),
        ]
        .into_iter()
        .filter_map(|(name, reader)| Some((name, reader.as_ref()?)))
    }

    /// Gives what it looks for places.
    pub(super) fn seat(&mut self, seats: &mut Seats) {
        let readers = [
            &mut self.limit,
            &mut self.remaining,
            &mut self.used,
            &mut self.reset,
            &mut self.window,
            &mut self.cost,
            &mut self.bucket,
        ];
        for reader in readers.into_iter().flatten() {
            reader.seat_head(seats);
            reader.seat_path(seats);
        }
        let reset = self.reset.as_ref().filter(|r| !r.is_constant());
        let telling = [&self.limit, &self.remaining, &self.cost, &self.bucket];
        let telling = telling.into_iter().flatten().chain(reset);
        self.heads = telling
            .map(Reader::head)
            .try_fold(NameSet::default(), |mut all, one| {
                all.join(one?);
                Some(all)
            });
    }

    /// Whether it reads headers that are understood without a profile too.
    pub(crate) const fn is_of_common_names(&self) -> bool {
        self.common
    }

    pub(crate) fn needs_body(&self) -> bool {
        self.readers().any(Reader::needs_body)
    }

    pub(crate) fn tops(&self) -> impl Iterator<Item = &str> {
        self.readers().filter_map(Reader::top)
    }

    /// What an answer tells of it; `None` when it says nothing.
    pub(crate) fn read(&self, view: &View<'_>) -> Option<Reading> {
        if self
            .heads
            .is_some_and(|heads| !heads.meets(view.answer.signal.names))
        {
            return None;
        }
        let count = |r: &Option<Reader>| r.as_ref().and_then(|r| r.count(view));
        let limit = count(&self.limit);
        let left = || Some(limit?.saturating_sub(count(&self.used)?));
        let remaining = count(&self.remaining).or_else(left);
        let cost = count(&self.cost).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let bucket = self.bucket.as_ref().and_then(|r| r.named(view, hash));
        let reset = self.reset.as_ref().map_or(Hint::Absent, |r| r.when(view));
        let reset = match reset {
            Hint::Until(at) => Some(at),
            _ if remaining == Some(0) => self.boundary(view),
            _ => None,
        };
        let told = limit.is_some()
            || remaining.is_some()
            || cost.is_some()
            || bucket.is_some()
            || reset.is_some() && !self.reset.as_ref().is_some_and(Reader::is_constant);
        told.then(|| Reading {
            scope: Some(self.gate.0),
            class: self.gate.1,
            limit,
            remaining,
            reset,
            window: self.window.as_ref().and_then(|r| r.span(view)),
            cost,
            bucket: bucket.map(BucketId),
        })
    }

    fn boundary(&self, view: &View<'_>) -> Option<Instant> {
        self.until.as_ref()?.next(view.answer.signal.at)
    }
}

/// A bucket's name, shortened. It is no secret and is only compared within one provider.
fn hash(name: &[u8]) -> u64 {
    // FNV-1a.
    name.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3)
    })
}
