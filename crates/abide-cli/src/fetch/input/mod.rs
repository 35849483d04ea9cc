//! The input: found out what it is, indexed once, loaded item by item.
//!
//! Only an index is kept in memory (where each record lies, and a fingerprint of it), so a list of
//! a million items costs a few dozen MiB. Records are read again just before they are sent.

mod csv;
mod file;
mod index;
mod place;
mod record;
mod template;

pub(crate) use file::read_at;
pub(crate) use index::{Index, Visit};
pub(crate) use place::Place;
pub(crate) use record::{Parsed, Parser, header_pair};

use super::args::Format;

/// Finds out what an input is, from its name and its first line.
pub(crate) fn sniff(name: &str, first: &[u8], has_template: bool) -> Format {
    let extension = name.rsplit_once('.').map(|(_, e)| e.to_ascii_lowercase());
    match extension.as_deref() {
        Some("csv") => return Format::Csv,
        Some("jsonl" | "ndjson" | "json") => return Format::Jsonl,
        _ => {}
    }
    let start = first.iter().copied().find(|b| !b.is_ascii_whitespace());
    match start {
        Some(b'{') => Format::Jsonl,
        _ if has_template => Format::Csv,
        _ => Format::Urls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_told_apart() {
        assert_eq!(sniff("a.csv", b"x", false), Format::Csv);
        assert_eq!(sniff("-", b"  {\"url\": 1}", false), Format::Jsonl);
        assert_eq!(sniff("-", b"isbn,title", true), Format::Csv);
        assert_eq!(
            sniff("list.txt", b"https://a.example/", false),
            Format::Urls
        );
    }
}
