//! Results in input order.
//!
//! Lines that come too soon are put aside in a temporary file, of which only places are kept in
//! memory: an item that waits a minute must not make a hundred thousand others pile up. What is
//! put aside does not count as finished until it is written; an interrupted run writes it at its
//! end, with gaps. A resumed run writes behind, and the one that ends complete sorts the whole.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write as _};

use crate::fetch::input::read_at;

/// Puts lines into the order of their items.
#[derive(Debug)]
pub(super) struct Order<T> {
    /// The items whose lines are still to come, in order.
    expected: std::vec::IntoIter<u32>,
    next: Option<u32>,
    aside: BTreeMap<u32, (u64, u32, T)>,
    file: File,
    end: u64,
}

impl<T> Order<T> {
    /// An order over these items, which must ascend.
    pub(super) fn new(expected: Vec<u32>) -> io::Result<Self> {
        let mut expected = expected.into_iter();
        let next = expected.next();
        Ok(Self {
            expected,
            next,
            aside: BTreeMap::new(),
            file: tempfile::tempfile()?,
            end: 0,
        })
    }

    /// Takes a line; hands on to `emit` whatever is due now, in order.
    pub(super) fn take(
        &mut self,
        item: u32,
        line: &[u8],
        what: T,
        mut emit: impl FnMut(&[u8], T),
    ) -> io::Result<()> {
        if self.next != Some(item) {
            self.file.seek(SeekFrom::Start(self.end))?;
            self.file.write_all(line)?;
            let length = u32::try_from(line.len()).unwrap_or(u32::MAX);
            self.aside.insert(item, (self.end, length, what));
            self.end += line.len() as u64;
            return Ok(());
        }
        emit(line, what);
        self.next = self.expected.next();
        let mut buf = Vec::new();
        while let Some((offset, length, what)) = self.next.and_then(|n| self.aside.remove(&n)) {
            buf.resize(length as usize, 0);
            read_at(&self.file, &mut buf, offset)?;
            emit(&buf, what);
            self.next = self.expected.next();
        }
        if self.aside.is_empty() && self.end > 0 {
            self.file.set_len(0)?;
            self.end = 0;
        }
        Ok(())
    }

    /// Hands on everything put aside, in order, though lines before it are missing.
    pub(super) fn rest(&mut self, mut emit: impl FnMut(&[u8], T)) -> io::Result<()> {
        let mut buf = Vec::new();
        while let Some((_, (offset, length, what))) = self.aside.pop_first() {
            buf.resize(length as usize, 0);
            read_at(&self.file, &mut buf, offset)?;
            emit(&buf, what);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_in_order_whatever_order_they_came_in() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut items: Vec<u32> = (0..200).map(|i| 2 * i).collect();
        let mut order = Order::new(items.clone()).unwrap();
        rng.shuffle(&mut items);
        let mut out = Vec::new();
        for i in items {
            order
                .take(i, i.to_string().as_bytes(), i, |line, what| {
                    assert_eq!(line, what.to_string().as_bytes());
                    out.push(what);
                })
                .unwrap();
        }
        assert_eq!(out, (0..200).map(|i| 2 * i).collect::<Vec<u32>>());
    }
}
