//! A cursor over bytes that reads dates piece by piece and never looks past its end.
//!
//! Header values are bytes, not text: a stray 0xFF must make a value absent, never a panic, so
//! nothing here goes through `str`.

/// What is left of one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    /// Between `min` and `max` ASCII digits, as a number.
    pub(super) fn digits(&mut self, min: usize, max: usize) -> Option<u32> {
        let n = self
            .0
            .iter()
            .take(max)
            .take_while(|b| b.is_ascii_digit())
            .count();
        if n < min {
            return None;
        }
        let (head, rest) = self.0.split_at(n);
        self.0 = rest;
        Some(
            head.iter()
                .fold(0, |v: u32, b| v.saturating_mul(10) + u32::from(b - b'0')),
        )
    }

    /// The next byte, whatever it is.
    pub(super) fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Exactly this byte.
    pub(super) fn byte(&mut self, wanted: u8) -> Option<()> {
        if self.0.first() == Some(&wanted) {
            self.next().map(|_| ())
        } else {
            None
        }
    }

    /// A run of ASCII letters, at least one.
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        let n = self
            .0
            .iter()
            .take_while(|b| b.is_ascii_alphabetic())
            .count();
        let (head, rest) = self.0.split_at(n);
        self.0 = rest;
        (n > 0).then_some(head)
    }

    /// One space or more.
    pub(super) fn spaces(&mut self) -> Option<()> {
        self.byte(b' ')?;
        while self.byte(b' ').is_some() {}
        Some(())
    }

    /// `hh:mm:ss`, as three numbers.
    pub(super) fn clock(&mut self) -> Option<(u32, u32, u32)> {
        let h = self.digits(2, 2)?;
        self.byte(b':')?;
        let m = self.digits(2, 2)?;
        self.byte(b':')?;
        Some((h, m, self.digits(2, 2)?))
    }

    /// `±hh:mm` or `±hhmm`, as seconds east of UTC.
    pub(super) fn offset(&mut self) -> Option<i64> {
        let sign = match self.next()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let h = self.digits(2, 2)?;
        if self.0.first() == Some(&b':') {
            self.next()?;
        }
        let m = self.digits(2, 2)?;
        (h < 24 && m < 60).then(|| sign * i64::from(h * 3600 + m * 60))
    }

    /// Nothing is left.
    pub(super) const fn done(&self) -> Option<()> {
        if self.0.is_empty() { Some(()) } else { None }
    }
}

/// `value` without optional whitespace (spaces and tabs, nothing else) at its ends.
pub(super) fn trim(value: &[u8]) -> &[u8] {
    let blank = |b: &u8| *b == b' ' || *b == b'\t';
    let Some(start) = value.iter().position(|b| !blank(b)) else {
        return &[];
    };
    let end = value
        .iter()
        .rposition(|b| !blank(b))
        .map_or(start, |e| e + 1);
    &value[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_spaces_and_tabs_are_trimmed() {
        assert_eq!(trim(b" \t120\t "), b"120");
        assert_eq!(trim(b"\x0b120"), b"\x0b120");
        assert_eq!(trim(b"  "), b"");
    }

    #[test]
    fn offsets_are_signed_and_bounded() {
        assert_eq!(Cursor(b"-07:00").offset(), Some(-25_200));
        assert_eq!(Cursor(b"+0530").offset(), Some(19_800));
        assert_eq!(Cursor(b"+24:00").offset(), None);
        assert_eq!(Cursor(b"0700").offset(), None);
    }
}
