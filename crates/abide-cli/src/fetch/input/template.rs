//! Addresses made of CSV columns: `https://a.example/{isbn}.json`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What a value may contain unescaped: nothing that could leave its place in the address.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A template, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Column(usize),
}

impl Template {
    /// Takes a template apart; columns are found in the CSV's header.
    pub(crate) fn new(text: &str, columns: &[String]) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err("--url: a { without its }".to_owned());
            };
            let Some(column) = columns.iter().position(|c| c == name.trim()) else {
                return Err(format!(
                    "--url: no column {name:?} in the input; it has: {}",
                    shown(columns)
                ));
            };
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Column(column));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        if !parts.iter().any(|p| matches!(p, Part::Column(_))) {
            return Err("--url: it names no {column}, so every row would ask the same".to_owned());
        }
        Ok(Self { parts })
    }

    /// The address of a row; `Err` names the column that is empty.
    pub(crate) fn fill(&self, row: &::csv::ByteRecord) -> Result<String, String> {
        let mut url = String::new();
        for part in &self.parts {
            match part {
                Part::Text(t) => url.push_str(t),
                Part::Column(c) => {
                    let value = row.get(*c).unwrap_or_default();
                    let value = std::str::from_utf8(value)
                        .map_err(|_| format!("column {} is not UTF-8", c + 1))?
                        .trim();
                    if value.is_empty() {
                        return Err(format!("column {} is empty", c + 1));
                    }
                    url.extend(utf8_percent_encode(value, ESCAPED));
                }
            }
        }
        Ok(url)
    }
}

/// Columns as they may be shown: a file that is no CSV has anything in its first line, secrets
/// included.
pub(super) fn shown(columns: &[String]) -> String {
    let plain = |c: &&String| {
        let safe = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.');
        c.len() <= 40 && c.chars().all(safe)
    };
    let names: Vec<&str> = columns.iter().filter(plain).map(String::as_str).collect();
    match columns.len() - names.len() {
        0 => names.join(", "),
        n => format!("{} ({n} more are no names)", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<String> {
        vec!["isbn".into(), "title".into()]
    }

    #[test]
    fn values_cannot_leave_their_place() {
        let t = Template::new("https://a.example/{isbn}?t={title}", &columns()).unwrap();
        let row = ::csv::ByteRecord::from(vec!["../1", "a&b c"]);
        assert_eq!(
            t.fill(&row).unwrap(),
            "https://a.example/..%2F1?t=a%26b%20c"
        );
    }

    #[test]
    fn a_template_that_cannot_work_says_why() {
        let e = Template::new("https://a.example/{isnb}", &columns()).unwrap_err();
        assert!(e.contains("isnb") && e.contains("isbn, title"), "{e}");
        assert!(Template::new("https://a.example/x", &columns()).is_err());
        assert!(Template::new("https://a.example/{isbn", &columns()).is_err());
    }

    #[test]
    fn an_empty_value_is_a_bad_row() {
        let t = Template::new("https://a.example/{isbn}", &columns()).unwrap();
        assert!(t.fill(&::csv::ByteRecord::from(vec![" ", "x"])).is_err());
    }
}
