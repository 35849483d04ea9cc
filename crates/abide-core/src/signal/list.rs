//! The members of a header that may hold several values, where a date may hold a comma.
//!
//! Proxies append a second `Retry-After` or join two lines by a comma. A member that is only the
//! name of a weekday is the first half of a date, so it is tried together with what follows
//! before it is given up.

use super::cursor::trim;
use super::date::is_weekday;

/// Calls `read` with each member; `read` says whether it could make sense of it.
pub(super) fn members(value: &[u8], mut read: impl FnMut(&[u8]) -> bool) {
    let mut rest = value;
    loop {
        let end = comma(rest).unwrap_or(rest.len());
        let member = trim(&rest[..end]);
        let tail = rest.get(end + 1..);
        if let Some(next) = tail.filter(|_| is_weekday(member)) {
            let both = end + 1 + comma(next).unwrap_or(next.len());
            if read(trim(&rest[..both])) {
                match rest.get(both + 1..) {
                    Some(after) => rest = after,
                    None => return,
                }
                continue;
            }
        } else if !member.is_empty() {
            read(member);
        }
        match tail {
            Some(next) => rest = next,
            None => return,
        }
    }
}

fn comma(value: &[u8]) -> Option<usize> {
    value.iter().position(|b| *b == b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(value: &str) -> Vec<String> {
        let mut out = Vec::new();
        members(value.as_bytes(), |m| {
            let m = String::from_utf8_lossy(m).into_owned();
            let sensible = !m.ends_with('!');
            if sensible {
                out.push(m);
            }
            sensible
        });
        out
    }

    #[test]
    fn dates_keep_their_comma() {
        assert_eq!(
            split("120, Tue, 10 Mar 2026 , Tuesday, 10-Mar-26,5"),
            ["120", "Tue, 10 Mar 2026", "Tuesday, 10-Mar-26", "5"]
        );
        assert_eq!(split("Tue Mar 10 2026, 7"), ["Tue Mar 10 2026", "7"]);
    }

    #[test]
    fn a_weekday_without_a_date_swallows_nothing() {
        assert_eq!(split("Tue, 5!, 7"), ["7"]);
        assert_eq!(split("7, Tue"), ["7", "Tue"]);
        assert_eq!(split(" , ,"), Vec::<String>::new());
    }
}
