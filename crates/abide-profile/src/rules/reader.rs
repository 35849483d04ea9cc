//! Reading a value that an answer tells somewhere.

use std::time::Duration;

use abide_core::Hint;
use abide_core::signal::{Form, NameSet, count};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::heads::{self, Lines};
use super::lazy::{Expression, Path};
use super::view::{Seats, View};
use crate::format::{Source, Unit};
use crate::problem::{Place, Problem};

/// Where a value is told, and how it is written.
#[derive(Debug)]
pub(crate) struct Reader {
    spot: Spot,
    item: Option<usize>,
    key: Option<Box<str>>,
    unit: Option<Unit>,
    /// Where its header is found without a lookup.
    place: Option<usize>,
}

#[derive(Debug)]
enum Spot {
    Header(HeaderName, Option<Expression>),
    Trailer(HeaderName),
    Json(Path, Option<Expression>),
    Text(Expression),
    Value(f64),
}

impl Reader {
    pub(crate) fn new(s: &Source, place: &Place, problems: &mut Vec<Problem>) -> Option<Self> {
        let places = [
            s.header.is_some(),
            s.trailer.is_some(),
            s.json.is_some(),
            s.value.is_some(),
            s.text.is_some() && s.header.is_none() && s.json.is_none(),
        ];
        if places.iter().filter(|p| **p).count() != 1 {
            problems.push(Problem::new(
                place.clone(),
                "needs exactly one of header, trailer, json, text and value",
            ));
            return None;
        }
        let text = s.text.as_deref().map(Expression::new);
        if let Some(Err(why)) = text.as_ref().map(Expression::check) {
            problems.push(Problem::new(place.key("text"), why));
        }
        if text
            .as_ref()
            .and_then(Expression::get)
            .is_some_and(|r| r.captures_len() < 2)
        {
            problems.push(Problem::new(
                place.key("text"),
                "needs a group (…) around the value",
            ));
        }
        let mut header = |key: &str, name: &str| match name.parse::<HeaderName>() {
            Ok(name) => Some(name),
            Err(_) => {
                let what = format!("{name:?} is no header's name");
                problems.push(Problem::new(place.key(key), what));
                None
            }
        };
        let spot = if let Some(name) = &s.header {
            Spot::Header(header("header", name)?, text)
        } else if let Some(name) = &s.trailer {
            Spot::Trailer(header("trailer", name)?)
        } else if let Some(path) = &s.json {
            let path = Path::new(path);
            if let Err(why) = path.check() {
                problems.push(Problem::new(place.key("json"), why));
            }
            Spot::Json(path, text)
        } else if let Some(text) = text {
            Spot::Text(text)
        } else {
            Spot::Value(s.value.unwrap_or_default())
        };
        if s.item == Some(0) {
            problems.push(Problem::new(place.key("item"), "items are counted from 1"));
        }
        Some(Self {
            spot,
            item: s.item,
            key: s.key.as_deref().map(Into::into),
            unit: s.unit,
            place: None,
        })
    }

    /// Whether it looks into the body.
    pub(crate) const fn needs_body(&self) -> bool {
        matches!(self.spot, Spot::Json(..) | Spot::Text(_))
    }

    /// Whether it is the same in every answer.
    pub(crate) const fn is_constant(&self) -> bool {
        matches!(self.spot, Spot::Value(_))
    }

    /// Whether it looks at headers or trailers.
    pub(crate) const fn is_header(&self) -> bool {
        matches!(self.spot, Spot::Header(..) | Spot::Trailer(_))
    }

    /// The member of the body's top object it looks into, where it looks into one.
    pub(crate) fn top(&self) -> Option<&str> {
        match &self.spot {
            Spot::Json(path, _) => path.top(),
            _ => None,
        }
    }

    /// The header it reads.
    pub(crate) const fn header(&self) -> Option<&HeaderName> {
        match &self.spot {
            Spot::Header(name, _) => Some(name),
            _ => None,
        }
    }

    /// Where it looks, in words; `None` for a number that is no part of the answer.
    pub(crate) fn place(&self) -> Option<String> {
        match &self.spot {
            Spot::Header(name, _) | Spot::Trailer(name) => Some(name.to_string()),
            Spot::Json(path, _) => Some(path.text().to_owned()),
            Spot::Text(_) => Some("the text of the body".to_owned()),
            Spot::Value(_) => None,
        }
    }

    /// Gives its header a place: for what is read of every answer.
    pub(super) fn seat_head(&mut self, seats: &mut Seats) {
        if let Spot::Header(name, _) = &self.spot {
            self.place = seats.heads.place(name);
        }
    }

    /// Shares what bodies are searched for.
    pub(super) fn seat_path(&mut self, seats: &mut Seats) {
        if let Spot::Json(path, _) = &mut self.spot {
            path.seat(&mut seats.needles);
        }
    }

    /// Its header as a set, where it reads one.
    pub(super) fn head(&self) -> Option<NameSet> {
        self.header().map(heads::set)
    }

    /// As a count.
    pub(crate) fn count(&self, view: &View<'_>) -> Option<u64> {
        self.first(view, count)
    }

    /// As a number.
    pub(crate) fn number(&self, view: &View<'_>) -> Option<f64> {
        if let Spot::Value(n) = self.spot {
            return Some(n);
        }
        self.first(view, |text| {
            let text = std::str::from_utf8(text).ok()?.trim();
            let plain = text.strip_prefix('-').unwrap_or(text);
            let digits = |b: u8| b.is_ascii_digit() || b == b'.';
            (!plain.is_empty() && plain.bytes().all(digits))
                .then(|| text.parse().ok())
                .flatten()
        })
    }

    /// As a time to come back.
    pub(crate) fn when(&self, view: &View<'_>) -> Hint {
        let form = self.form();
        if let Spot::Value(n) = self.spot {
            return view.answer.signal.told(n.to_string().as_bytes(), form);
        }
        let mut zero = false;
        let found = self.first(view, |text| match view.answer.signal.told(text, form) {
            Hint::Absent => None,
            Hint::Zero => {
                zero = true;
                None
            }
            until @ Hint::Until(_) => Some(until),
        });
        found.unwrap_or(if zero { Hint::Zero } else { Hint::Absent })
    }

    /// As a length of time.
    pub(crate) fn span(&self, view: &View<'_>) -> Option<Duration> {
        let form = self.form();
        if let Spot::Value(n) = self.spot {
            return form.span(n.to_string().as_bytes());
        }
        self.first(view, |text| form.span(text))
            .filter(|d| !d.is_zero())
    }

    /// As a name, of which something is made.
    pub(crate) fn named<T>(&self, view: &View<'_>, make: impl Fn(&[u8]) -> T) -> Option<T> {
        self.first(view, |text| (!text.is_empty()).then(|| make(text)))
    }

    const fn form(&self) -> Form {
        match self.unit {
            None | Some(Unit::Seconds | Unit::Number) => Form::Seconds,
            Some(Unit::Millis) => Form::Millis,
            Some(Unit::Micros) => Form::Micros,
            Some(Unit::Nanos) => Form::Nanos,
            Some(Unit::Minutes) => Form::Minutes,
            Some(Unit::Hours) => Form::Hours,
            Some(Unit::Epoch) => Form::Epoch,
            Some(Unit::HttpDate | Unit::Rfc3339) => Form::Date,
            Some(Unit::Duration) => Form::Duration,
            Some(Unit::PerSecond) => Form::PerSecond,
            Some(Unit::Any) => Form::Any,
        }
    }

    /// The first value told there of which `read` makes something.
    fn first<T>(&self, view: &View<'_>, mut read: impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
        match &self.spot {
            Spot::Header(name, text) => {
                let lines = self.place.map_or(Lines::Several, |at| view.lines(at));
                match lines {
                    Lines::None => None,
                    Lines::One(line) => self.of_line(line, text.as_ref(), &mut read),
                    Lines::Several => self.of_lines(view.headers(), name, text.as_ref(), read),
                }
            }
            Spot::Trailer(name) => self.of_lines(view.answer.trailers?, name, None, read),
            Spot::Json(path, _) if path.is_absent(view) => None,
            Spot::Json(path, text) => {
                let mut of = |node: &Value| match (node, text) {
                    (Value::String(told), Some(text)) => {
                        read(text.get()?.captures(told.as_bytes())?.get(1)?.as_bytes())
                    }
                    (Value::String(told), None) => self.part(told.as_bytes(), &mut read),
                    (Value::Number(n), _) => read(n.to_string().as_bytes()),
                    _ => None,
                };
                let mut found = None;
                path.any(view, |node| {
                    found = of(node);
                    found.is_some()
                });
                found
            }
            Spot::Text(text) => {
                let found = text.get()?.captures(view.text()?)?;
                read(found.get(1)?.as_bytes())
            }
            Spot::Value(n) => read(n.to_string().as_bytes()),
        }
    }

    fn of_lines<T>(
        &self,
        headers: &HeaderMap,
        name: &HeaderName,
        text: Option<&Expression>,
        mut read: impl FnMut(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let mut lines = headers.get_all(name).iter();
        lines.find_map(|line| self.of_line(line, text, &mut read))
    }

    fn of_line<T>(
        &self,
        line: &HeaderValue,
        text: Option<&Expression>,
        read: &mut impl FnMut(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let line = line.as_bytes();
        match text {
            Some(text) => read(text.get()?.captures(line)?.get(1)?.as_bytes()),
            None => self.part(line, read),
        }
    }

    fn part<T>(&self, value: &[u8], read: &mut impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
        let value = match self.item {
            Some(n) => value.split(|b| *b == b',').nth(n.checked_sub(1)?)?,
            None => value,
        };
        let Some(key) = &self.key else {
            return read(value.trim_ascii());
        };
        if value.trim_ascii_start().starts_with(b"{") {
            let object: Value = serde_json::from_slice(value).ok()?;
            return match object.get(&**key)? {
                Value::String(text) => read(text.as_bytes()),
                Value::Number(n) => read(n.to_string().as_bytes()),
                _ => None,
            };
        }
        value
            .split(|b| matches!(b, b';' | b','))
            .find_map(|pair| {
                let cut = pair.iter().position(|b| matches!(b, b'=' | b':'))?;
                let (name, value) = pair.split_at(cut);
                let same = name.trim_ascii().eq_ignore_ascii_case(key.as_bytes());
                same.then(|| value[1..].trim_ascii())
            })
            .and_then(read)
    }
}
