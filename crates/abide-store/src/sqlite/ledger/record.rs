//! The records of a ledger as bytes: one of kind, four of index, and eight of a time where there
//! is one. A million items take five megabytes.

use abide_core::WallTime;

use super::{Finished, Outcome};
use crate::sqlite::fault::Fault;

/// The kind of an intent; outcomes follow.
const INTENT: u8 = 0;
/// The kind of a reopening: far from the outcomes, which grow from 1.
const REOPEN: u8 = 0x7f;
/// Set in a kind that a time follows.
const TIMED: u8 = 0x80;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// A write is about to be sent.
    Intent(u32),
    /// An item is over.
    End(Finished),
    /// An item is to be asked for again: what was said of it no longer counts.
    Reopen(u32),
}

/// The number of an outcome in the file; never reused, starting at 1.
pub(super) const fn code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Done => 1,
        Outcome::NotFound => 2,
        Outcome::Skipped => 3,
        Outcome::Failed => 4,
    }
}

/// The outcome of a number.
pub(super) const fn outcome(code: u8) -> Option<Outcome> {
    match code {
        1 => Some(Outcome::Done),
        2 => Some(Outcome::NotFound),
        3 => Some(Outcome::Skipped),
        4 => Some(Outcome::Failed),
        _ => None,
    }
}

/// Appends a record.
pub(super) fn encode(record: Record, out: &mut Vec<u8>) {
    let (kind, index, at) = match record {
        Record::Intent(index) => (INTENT, index, None),
        Record::End(f) => (code(f.outcome), f.index, f.retry_at),
        Record::Reopen(index) => (REOPEN, index, None),
    };
    out.push(if at.is_some() { kind | TIMED } else { kind });
    out.extend_from_slice(&index.to_le_bytes());
    if let Some(at) = at {
        out.extend_from_slice(&at.as_unix_nanos().to_le_bytes());
    }
}

/// Reads records one after the other.
pub(super) fn decode(mut bytes: &[u8], mut each: impl FnMut(Record)) -> Result<(), Fault> {
    let cut = || Fault::corrupt("a run's ledger is cut");
    while let Some((kind, rest)) = bytes.split_first() {
        let (index, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let index = u32::from_le_bytes(*index);
        bytes = rest;
        let retry_at = if kind & TIMED == 0 {
            None
        } else {
            let (at, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
            bytes = rest;
            Some(WallTime::from_unix_nanos(i64::from_le_bytes(*at)))
        };
        each(match kind & !TIMED {
            INTENT => Record::Intent(index),
            REOPEN => Record::Reopen(index),
            code => Record::End(Finished {
                index,
                outcome: outcome(code)
                    .ok_or_else(|| Fault::corrupt(format!("an outcome numbered {code}")))?,
                retry_at,
            }),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_a_cut_is_noticed() {
        let records = [
            Record::Intent(7),
            Record::Reopen(8),
            Record::End(Finished {
                index: u32::MAX,
                outcome: Outcome::Skipped,
                retry_at: Some(WallTime::from_unix_nanos(-5)),
            }),
            Record::End(Finished {
                index: 0,
                outcome: Outcome::Failed,
                retry_at: None,
            }),
        ];
        let mut bytes = Vec::new();
        records.iter().for_each(|r| encode(*r, &mut bytes));
        let mut back = Vec::new();
        decode(&bytes, |r| back.push(r)).unwrap();
        assert_eq!(back, records);
        for cut in [1, 4, 6, 11, 17, 22] {
            assert!(decode(&bytes[..cut], |_| {}).is_err(), "{cut}");
        }
        assert!(decode(&[9, 0, 0, 0, 0], |_| {}).is_err());
    }
}
