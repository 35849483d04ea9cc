//! Times as RFC 3339 writes them, also to the minute only, as some providers do.

use super::civil::Civil;
use super::cursor::Cursor;
use crate::time::WallTime;

/// `2026-03-10T12:30:47.5Z`, `2026-03-10T05:30:00-07:00`, also without seconds.
///
/// Without a zone it is absent: the time of an unknown place says nothing.
pub(super) fn parse(value: &[u8]) -> Option<WallTime> {
    let mut c = Cursor(value);
    let year = c.digits(4, 4)?;
    c.byte(b'-')?;
    let month = c.digits(2, 2)?;
    c.byte(b'-')?;
    let day = c.digits(2, 2)?;
    if !matches!(c.next()?, b'T' | b't' | b' ') {
        return None;
    }
    let h = c.digits(2, 2)?;
    c.byte(b':')?;
    let m = c.digits(2, 2)?;
    let mut s = 0;
    let mut fraction = 0;
    if c.byte(b':').is_some() {
        s = c.digits(2, 2)?;
        if c.byte(b'.').is_some() {
            fraction = fraction_nanos(&mut c)?;
        }
    }
    let east = match c.0.first()? {
        b'Z' | b'z' => {
            c.next()?;
            0
        }
        _ => c.offset()?,
    };
    c.done()?;
    let whole = Civil {
        year,
        month,
        day,
        clock: (h, m, s),
    }
    .wall(east)?;
    Some(WallTime::from_unix_nanos(
        whole.as_unix_nanos().saturating_add(fraction),
    ))
}

/// The digits after the seconds' point, in nanoseconds, rounded up.
fn fraction_nanos(c: &mut Cursor<'_>) -> Option<i64> {
    let n = c.0.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = c.0.split_at(n);
    if digits.is_empty() {
        return None;
    }
    c.0 = rest;
    let mut nanos = 0;
    for i in 0..9 {
        nanos = nanos * 10 + digits.get(i).map_or(0, |b| i64::from(b - b'0'));
    }
    Some(nanos + i64::from(digits.iter().skip(9).any(|b| *b != b'0')))
}
