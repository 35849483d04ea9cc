//! CSV: where each row begins and ends, and what it says.

use std::io::Read;

use ::csv::{ByteRecord, Reader, ReaderBuilder};

use super::place::{Bad, Place};

fn builder() -> ReaderBuilder {
    let mut b = ReaderBuilder::new();
    b.has_headers(false).flexible(true);
    b
}

/// A CSV's header.
pub(super) fn header(raw: &[u8]) -> Result<Vec<String>, Bad> {
    let row = row(raw)?;
    let strip = |(i, name): (usize, &[u8])| {
        let name = String::from_utf8_lossy(name);
        let name = if i == 0 {
            name.trim_start_matches('\u{feff}')
        } else {
            &name
        };
        name.trim().to_owned()
    };
    Ok(row.iter().enumerate().map(strip).collect())
}

/// One row.
pub(super) fn row(raw: &[u8]) -> Result<ByteRecord, Bad> {
    if raw.iter().filter(|b| **b == b'"').count() % 2 == 1 {
        return Err(Bad::new(1, "a quote that is never closed"));
    }
    let mut reader = builder().from_reader(raw);
    let mut row = ByteRecord::new();
    match reader.read_byte_record(&mut row) {
        Ok(true) => Ok(row),
        Ok(false) => Err(Bad::new(1, "an empty row")),
        Err(e) => Err(Bad::new(1, e.to_string())),
    }
}

/// Walks a CSV, telling the place of each row, the header first.
pub(super) struct Rows<R> {
    reader: Reader<R>,
    row: ByteRecord,
}

impl<R: Read> Rows<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            reader: builder().from_reader(input),
            row: ByteRecord::new(),
        }
    }

    /// The next row's place; its length is known when the one after it begins.
    pub(super) fn next(&mut self) -> Result<Option<Place>, ::csv::Error> {
        if !self.reader.read_byte_record(&mut self.row)? {
            return Ok(None);
        }
        let at = self.row.position();
        let (start, line) = at.map_or((0, 0), |p| (p.byte(), p.line()));
        let end = self.reader.position().byte();
        Ok(Some(Place {
            offset: start,
            length: u32::try_from(end - start).unwrap_or(u32::MAX),
            line: u32::try_from(line).unwrap_or(u32::MAX),
        }))
    }
}
