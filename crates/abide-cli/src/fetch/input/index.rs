//! Where each record lies, and a fingerprint of each.
//!
//! The fingerprint (a hash of the id, a hash of the content) is what a resumed run is compared
//! with: an input that changed since the run began is an error that names both lines.

use std::collections::HashMap;
use std::fs::File;
use std::hash::Hasher;
use std::io::{BufRead, BufReader, Read};

use siphasher::sip::SipHasher13;

use super::csv::Rows;
use super::place::{Bad, Place};
use super::record::Parser;
use crate::fetch::args::Format;
use crate::seal::Key;

/// The index of an input.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) places: Vec<Place>,
    /// 16 bytes an item: the hash of its id, the hash of its record.
    pub(crate) prints: Vec<u8>,
    /// Items that cannot be sent, with what is wrong.
    pub(crate) bad: Vec<(u32, Bad)>,
    key: Key,
}

/// The longest record, in bytes: beyond it a line is not a request but a mistake.
const LONGEST: u64 = 64 * 1024 * 1024;

/// What the walk over an input hands on, record by record.
pub(crate) trait Visit {
    /// A good record.
    fn item(&mut self, item: u32, parsed: &super::Parsed, raw: &[u8]) -> Result<(), String>;

    /// A bad record.
    fn bad(&mut self, item: u32, raw: &[u8]) -> Result<(), String>;

    /// A CSV's header.
    fn header(&mut self, raw: &[u8]) -> Result<(), String>;
}

fn hash(key: Key, bytes: &[u8]) -> u64 {
    let mut h = SipHasher13::new_with_keys(key.0, key.1);
    h.write(bytes);
    h.finish()
}

impl Index {
    /// An index of nothing.
    pub(crate) fn new(key: Key) -> Self {
        Self {
            key,
            ..Self::default()
        }
    }

    /// Walks an input once.
    pub(crate) fn read(
        input: &File,
        parser: &mut Parser,
        template: Option<&str>,
        id: Option<&str>,
        key: Key,
        visit: &mut dyn Visit,
    ) -> Result<Self, String> {
        let mut walk = Walk {
            index: Self::new(key),
            ids: HashMap::new(),
            visit,
        };
        match parser.format() {
            Format::Csv => walk.csv(input, parser, template, id)?,
            Format::Jsonl | Format::Urls => walk.lines(input, parser)?,
        }
        Ok(walk.index)
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    /// Adds a record that was checked when it was first read.
    pub(crate) fn push(
        &mut self,
        parser: &Parser,
        offset: u64,
        line: u32,
        raw: &[u8],
        each: &mut dyn FnMut(u32, &super::Parsed),
    ) {
        let item = self.len();
        let id = match parser.parse(raw, line) {
            Ok(parsed) => {
                each(item, &parsed);
                hash(self.key, parsed.id.as_bytes())
            }
            Err(bad) => {
                self.bad.push((item, bad));
                hash(self.key, &line.to_be_bytes())
            }
        };
        self.add(
            id,
            Place {
                offset,
                length: u32::try_from(raw.len()).unwrap_or(u32::MAX),
                line,
            },
            raw,
        );
    }

    fn add(&mut self, id: u64, place: Place, raw: &[u8]) {
        self.places.push(place);
        self.prints.extend_from_slice(&id.to_be_bytes());
        self.prints
            .extend_from_slice(&hash(self.key, raw).to_be_bytes());
    }

    /// Says where an input differs from the one a run began with.
    pub(crate) fn changed_since(&self, before: &[u8]) -> Option<String> {
        let (then, now) = (before.chunks_exact(16), self.prints.chunks_exact(16));
        let at = then.clone().zip(now.clone()).position(|(a, b)| a != b);
        let Some(i) = at else {
            return match before.len().cmp(&self.prints.len()) {
                std::cmp::Ordering::Equal => None,
                std::cmp::Ordering::Less => {
                    let line = self.places.get(before.len() / 16).map_or(0, |p| p.line);
                    Some(format!(
                        "the input has changed since the run began: it had {} items, and line {line} \
                         is new",
                        before.len() / 16
                    ))
                }
                std::cmp::Ordering::Greater => Some(format!(
                    "the input has changed since the run began: it had {} items and now has {}",
                    before.len() / 16,
                    self.places.len()
                )),
            };
        };
        let line = self.places[i].line;
        let old = &before[16 * i..16 * i + 8];
        let moved = now
            .enumerate()
            .find(|(_, print)| &print[..8] == old)
            .map(|(j, _)| j);
        Some(match moved {
            Some(j) if j != i => format!(
                "the input has changed since the run began: what was item {} is now on line {}, and \
                 line {line} is another",
                i + 1,
                self.places[j].line
            ),
            _ => format!(
                "the input has changed since the run began: line {line} (item {}) is not what it was",
                i + 1
            ),
        })
    }
}

struct Walk<'a> {
    index: Index,
    ids: HashMap<u64, u32>,
    visit: &'a mut dyn Visit,
}

impl Walk<'_> {
    fn lines(&mut self, input: &File, parser: &Parser) -> Result<(), String> {
        let mut input = BufReader::with_capacity(1 << 16, input);
        let (mut offset, mut line) = (0_u64, 0_u32);
        let mut raw = Vec::new();
        loop {
            raw.clear();
            let mut bounded = (&mut input).take(LONGEST);
            let n = bounded
                .read_until(b'\n', &mut raw)
                .map_err(|e| format!("line {}: {e}", line + 1))?;
            if n == 0 {
                return Ok(());
            }
            line += 1;
            if n as u64 == LONGEST {
                return Err(format!("line {line} is longer than 64 MiB"));
            }
            if !parser.is_blank(&raw) {
                let length = u32::try_from(n).unwrap_or(u32::MAX);
                self.record(
                    parser,
                    Place {
                        offset,
                        length,
                        line,
                    },
                    &raw,
                )?;
            }
            offset += n as u64;
        }
    }

    fn csv(
        &mut self,
        input: &File,
        parser: &mut Parser,
        template: Option<&str>,
        id: Option<&str>,
    ) -> Result<(), String> {
        let mut rows = Rows::new(BufReader::with_capacity(1 << 16, input));
        let mut first = true;
        let mut raw = Vec::new();
        while let Some(place) = rows.next().map_err(|e| e.to_string())? {
            raw.resize(place.length as usize, 0);
            super::read_at(input, &mut raw, place.offset)
                .map_err(|e| format!("line {}: {e}", place.line))?;
            if std::mem::take(&mut first) {
                parser.header(&raw, template, id)?;
                self.visit.header(&raw)?;
                continue;
            }
            self.record(parser, place, &raw)?;
        }
        if first {
            return Err("the input is empty: CSV needs a header".to_owned());
        }
        Ok(())
    }

    fn record(&mut self, parser: &Parser, place: Place, raw: &[u8]) -> Result<(), String> {
        let item = self.index.len();
        let id = match parser.parse(raw, place.line) {
            Ok(parsed) => {
                let id = hash(self.index.key, parsed.id.as_bytes());
                if let Some(before) = self.ids.insert(id, item) {
                    let first = self.index.places[before as usize].line;
                    return Err(format!(
                        "lines {first} and {} have the same id {:?}; ids must be unique",
                        place.line, parsed.id
                    ));
                }
                self.visit.item(item, &parsed, raw)?;
                id
            }
            Err(bad) => {
                self.visit.bad(item, raw)?;
                self.index.bad.push((item, bad));
                hash(self.index.key, &place.line.to_be_bytes())
            }
        };
        self.index.add(id, place, raw);
        Ok(())
    }
}
