//! Looking for a few members of a large JSON object while it streams by.
//!
//! A GraphQL answer says `errors` after megabytes of `data`. The members that rules look into are
//! picked out of the stream and kept; everything else is passed over. Nothing is checked beyond
//! what finding the members needs: a body that is no JSON yields none.

/// What is kept of the wanted members together, in bytes; larger ones are left out.
const MOST: usize = 64 * 1024;
/// Longer names are nobody's.
const LONGEST_NAME: usize = 256;

/// Looks for members of the top object.
#[derive(Debug)]
pub struct Scanner {
    wanted: Vec<String>,
    kept: Vec<u8>,
    place: Place,
    depth: u32,
    in_string: bool,
    escaped: bool,
    name: Vec<u8>,
    /// Where in `kept` the member that is being read begins.
    member: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the object.
    Start,
    /// Before or within a name.
    Name,
    /// Between a name and its value.
    Colon,
    /// Within a value.
    Value,
    /// After the object, or where it is none.
    End,
}

impl Scanner {
    /// Looks for members of these names.
    pub const fn new(wanted: Vec<String>) -> Self {
        Self {
            wanted,
            kept: Vec::new(),
            place: Place::Start,
            depth: 0,
            in_string: false,
            escaped: false,
            name: Vec::new(),
            member: None,
        }
    }

    /// The next piece of the body.
    pub fn feed(&mut self, piece: &[u8]) {
        for b in piece {
            self.step(*b);
        }
    }

    /// An object of the wanted members that came whole; `None` when there are none.
    pub fn found(mut self) -> Option<Vec<u8>> {
        if let Some(from) = self.member.take() {
            self.kept.truncate(from);
        }
        if self.kept.is_empty() {
            return None;
        }
        let mut object = vec![b'{'];
        object.append(&mut self.kept);
        object.push(b'}');
        Some(object)
    }

    fn step(&mut self, b: u8) {
        if self.in_string {
            self.within_string(b);
            return;
        }
        match self.place {
            Place::Start => match b {
                b'{' => self.place = Place::Name,
                // A byte order mark is no content.
                0xef | 0xbb | 0xbf => {}
                b if b.is_ascii_whitespace() => {}
                _ => self.place = Place::End,
            },
            Place::Name => match b {
                b'"' => {
                    self.in_string = true;
                    self.name.clear();
                }
                b'}' => self.place = Place::End,
                b if b.is_ascii_whitespace() || b == b',' => {}
                _ => self.place = Place::End,
            },
            Place::Colon => match b {
                b':' => self.begin_value(),
                b if b.is_ascii_whitespace() => {}
                _ => self.place = Place::End,
            },
            Place::Value => self.within_value(b),
            Place::End => {}
        }
    }

    fn within_string(&mut self, b: u8) {
        let ends = b == b'"' && !self.escaped;
        self.escaped = b == b'\\' && !self.escaped;
        match self.place {
            Place::Name if ends => self.place = Place::Colon,
            // One byte more than the longest, so that a cut name is like none that is wanted.
            Place::Name if self.name.len() <= LONGEST_NAME => self.name.push(b),
            Place::Name => {}
            _ => self.keep(b),
        }
        if ends {
            self.in_string = false;
        }
    }

    fn begin_value(&mut self) {
        self.place = Place::Value;
        self.depth = 0;
        if self.is_wanted() && self.kept.len() + self.name.len() + 4 <= MOST {
            self.member = Some(self.kept.len());
            if !self.kept.is_empty() {
                self.kept.push(b',');
            }
            self.kept.push(b'"');
            self.kept.extend_from_slice(&self.name);
            self.kept.extend_from_slice(b"\":");
        }
    }

    /// Whether the name that was read is one of those wanted, however it is spelled.
    fn is_wanted(&self) -> bool {
        let is = |name: &[u8]| self.wanted.iter().any(|w| w.as_bytes() == name);
        if !self.name.contains(&b'\\') {
            return is(&self.name);
        }
        let quoted = [b"\"", self.name.as_slice(), b"\""].concat();
        serde_json::from_slice::<String>(&quoted).is_ok_and(|name| is(name.as_bytes()))
    }

    fn within_value(&mut self, b: u8) {
        match b {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b',' if self.depth == 0 => {
                self.member = None;
                self.place = Place::Name;
                return;
            }
            b'}' if self.depth == 0 => {
                self.member = None;
                self.place = Place::End;
                return;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.keep(b);
    }

    fn keep(&mut self, b: u8) {
        let Some(from) = self.member else {
            return;
        };
        if self.kept.len() < MOST {
            self.kept.push(b);
        } else {
            self.kept.truncate(from);
            self.member = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str, piece: usize) -> Option<String> {
        let mut s = Scanner::new(vec!["errors".into(), "extensions".into()]);
        for piece in body.as_bytes().chunks(piece) {
            s.feed(piece);
        }
        s.found().map(|f| String::from_utf8(f).unwrap())
    }

    #[test]
    fn members_are_picked_out_of_a_stream_cut_anywhere() {
        let body = r#" {"data":{"errors":[1],"s":"}\",\"errors\":"} , "errors":[{"type":"RATE_LIMITED"}],
            "extensions" : {"cost":1.5} }"#;
        let wanted = r#"{"errors":[{"type":"RATE_LIMITED"}],"extensions": {"cost":1.5} }"#;
        for piece in 1..20 {
            assert_eq!(found(body, piece).as_deref(), Some(wanted), "{piece}");
        }
    }

    #[test]
    fn what_does_not_come_whole_is_left_out() {
        assert_eq!(found(r#"{"errors":[1"#, 3), None);
        assert_eq!(
            found(r#"{"extensions":1,"errors":[1"#, 3).as_deref(),
            Some(r#"{"extensions":1}"#)
        );
        let large = format!(r#"{{"errors":"{}","extensions":2}}"#, "x".repeat(MOST));
        assert_eq!(found(&large, 1000).as_deref(), Some(r#"{"extensions":2}"#));
    }

    #[test]
    fn a_name_may_be_spelled_with_escapes() {
        let body = r#"{"\u0065rrors":[1],"extensions\u0020":2,"err\u00":3}"#;
        let wanted = r#"{"\u0065rrors":[1]}"#;
        assert_eq!(found(body, 2).as_deref(), Some(wanted));
    }

    #[test]
    fn what_is_no_object_has_none() {
        for body in ["", "[]", "null", "<html>", "{]", "{\"a\" 1}"] {
            assert_eq!(found(body, 1), None, "{body}");
        }
    }
}
