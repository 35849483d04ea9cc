//! What is surely not in a body is looked for once an answer, however many rules look for it.

use std::cell::Cell;

use memchr::memmem::Finder;

/// Some of the needles, a bit each.
pub(super) type Bits = u128;

/// The pieces of text that something must be in a body with: many rules look for the same.
#[derive(Debug, Default)]
pub(super) struct Needles(Vec<Finder<'static>>);

/// Which of them were looked for in one answer's body, and which it lacks.
#[derive(Debug, Default)]
pub(super) struct Absent {
    looked: Cell<Bits>,
    absent: Cell<Bits>,
}

impl Needles {
    /// The bit of a needle; `None` when there are no more.
    pub(super) fn place(&mut self, needle: &[u8]) -> Option<Bits> {
        let known = self.0.iter().position(|f| f.needle() == needle);
        let at = known.or_else(|| {
            let room = self.0.len() < Bits::BITS as usize && !needle.is_empty();
            room.then(|| {
                self.0.push(Finder::new(needle).into_owned());
                self.0.len() - 1
            })
        })?;
        Some(1 << at)
    }

    /// The bits of needles of which a body must have one; `None` when not all have room.
    pub(super) fn places<'a>(&mut self, any: impl Iterator<Item = &'a [u8]>) -> Option<Bits> {
        let mut all = any.map(|needle| self.place(needle));
        all.try_fold(0, |all, one| Some(all | one?))
    }

    /// Whether `text` has none of them.
    pub(super) fn none_in(&self, text: &[u8], mut any: Bits, known: &Absent) -> bool {
        while any != 0 {
            let at = any.trailing_zeros() as usize;
            let bit = 1 << at;
            any &= !bit;
            if known.looked.get() & bit == 0 {
                known.looked.set(known.looked.get() | bit);
                if self.0.get(at).is_some_and(|f| f.find(text).is_none()) {
                    known.absent.set(known.absent.get() | bit);
                }
            }
            if known.absent.get() & bit == 0 {
                return false;
            }
        }
        true
    }
}
