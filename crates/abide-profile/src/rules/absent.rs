//! What is surely not in a body is looked for once an answer, however many rules look for it.

use std::cell::Cell;

/// The paths of all rules: many look for the same, and it is looked for once an answer.
#[derive(Debug, Default)]
pub(super) struct Paths(Vec<Box<str>>);

/// Which paths are known to have no node in one answer's body, a bit each.
#[derive(Debug, Default)]
pub(super) struct Absent {
    looked: Cell<u64>,
    absent: Cell<u64>,
}

impl Paths {
    pub(super) fn place(&mut self, text: &str) -> Option<usize> {
        let known = self.0.iter().position(|t| **t == *text);
        if known.is_some() || self.0.len() == u64::BITS as usize {
            return known;
        }
        self.0.push(text.into());
        Some(self.0.len() - 1)
    }
}

impl Absent {
    pub(super) fn or_look(&self, place: usize, look: impl FnOnce() -> bool) -> bool {
        let bit = 1 << place;
        if self.looked.get() & bit == 0 {
            self.looked.set(self.looked.get() | bit);
            if look() {
                self.absent.set(self.absent.get() | bit);
            }
        }
        self.absent.get() & bit != 0
    }
}
