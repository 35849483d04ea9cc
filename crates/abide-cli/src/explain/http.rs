//! A raw answer, as `curl -i` prints it: heads one after the other (100, redirects, a proxy's),
//! of which the last one counts, and a body. Total on any bytes.

use http::StatusCode;

use super::input::{Given, put};

/// Where a text is no answer, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) line: usize,
    pub(super) what: &'static str,
}

/// The most remarks about lines that were passed over.
const MOST_REMARKS: usize = 8;

pub(super) fn parse(text: &[u8]) -> Result<Given, Wrong> {
    let mut lines = Lines { text, line: 0 };
    let mut first = lines.next();
    while first.is_some_and(|l| l.trim_ascii().is_empty()) {
        first = lines.next();
    }
    let told = first.map(|l| l.strip_prefix(b"\xef\xbb\xbf").unwrap_or(l));
    let Some(mut status) = told.and_then(status_line) else {
        let what = match told {
            None => "is empty; an answer begins as \"HTTP/1.1 429 Too Many Requests\"",
            Some(l) if l.starts_with(b"< ") || l.starts_with(b"* ") => {
                "looks as `curl -v` prints it; `curl -i` prints an answer that can be read"
            }
            Some(_) => "is no status line (as \"HTTP/1.1 429 Too Many Requests\")",
        };
        let line = lines.line.max(1);
        return Err(Wrong { line, what });
    };
    loop {
        let (mut given, ended) = head(&mut lines);
        given.status = status;
        let begun = lines.line;
        let body = lines.text;
        if let Some(next) = ended.then(|| lines.next().and_then(status_line)).flatten() {
            status = next;
            continue;
        }
        given.body = recorded(&mut given, body, begun);
        return Ok(given);
    }
}

/// The lines of a head, and whether it ended before the text did.
fn head(lines: &mut Lines<'_>) -> (Given, bool) {
    let mut given = Given::default();
    let mut pending: Option<(usize, Vec<u8>)> = None;
    let mut passed_over = 0;
    let mut finish = |pending: Option<(usize, Vec<u8>)>, given: &mut Given| {
        let Some((line, text)) = pending else {
            return;
        };
        let told = match text.iter().position(|b| *b == b':') {
            None => Err("is no header (NAME: VALUE)".to_owned()),
            Some(at) => put(&mut given.headers, &text[..at], &text[at + 1..]),
        };
        if let Err(why) = told {
            passed_over += 1;
            if passed_over <= MOST_REMARKS {
                given
                    .remarks
                    .push(format!("line {line} {why}: passed over"));
            }
        }
    };
    loop {
        let Some(line) = lines.next() else {
            finish(pending, &mut given);
            return (given, false);
        };
        if line.is_empty() {
            finish(pending, &mut given);
            return (given, true);
        }
        match &mut pending {
            // A line that begins with a space goes on with the one before it.
            Some((_, text)) if line.starts_with(b" ") || line.starts_with(b"\t") => {
                text.push(b' ');
                text.extend_from_slice(line.trim_ascii());
            }
            _ => {
                let line = (lines.line, line.to_vec());
                finish(pending.replace(line), &mut given);
            }
        }
    }
}

/// The body, unless the head tells of one that is not there.
fn recorded(given: &mut Given, body: &[u8], line: usize) -> Option<Vec<u8>> {
    let has = |name| given.headers.get(name);
    let length = has("content-length").and_then(|v| v.to_str().ok()?.trim().parse::<u64>().ok());
    if body.is_empty() && length.is_some_and(|n| n > 0) {
        let what =
            "the head tells of a body that was not recorded; rules about bodies are left out";
        given.remarks.push(what.to_owned());
        return None;
    }
    let coded = has("content-encoding").is_some_and(|v| v != "identity");
    if coded && body.iter().take(64).any(|b| *b < 9) {
        let what = format!(
            "the body that begins in line {} is compressed, so nothing in it is looked at; `curl --compressed` records it plain",
            line + 1
        );
        given.remarks.push(what);
        return None;
    }
    Some(body.to_vec())
}

/// The status of `HTTP/1.1 429 Too Many Requests`, `HTTP/2 429`.
fn status_line(line: &[u8]) -> Option<StatusCode> {
    let rest = line.strip_prefix(b"HTTP/")?;
    let end = rest.iter().position(|b| *b == b' ')?;
    let (version, rest) = rest.split_at(end);
    let fit = |b: &u8| b.is_ascii_digit() || *b == b'.';
    if version.is_empty() || version.len() > 4 || !version.iter().all(fit) {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let (status, after) = rest.split_at_checked(3)?;
    let whole = after.first().is_none_or(|b| *b == b' ');
    StatusCode::from_bytes(status).ok().filter(|_| whole)
}

/// The lines of a text, counted; their ends (LF or CRLF) are left out.
struct Lines<'a> {
    /// What has not been read yet.
    text: &'a [u8],
    /// The number of the line read last.
    line: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.text.is_empty() {
            return None;
        }
        let end = self.text.iter().position(|b| *b == b'\n');
        let (line, rest) = match end {
            Some(at) => (&self.text[..at], &self.text[at + 1..]),
            None => (self.text, &[][..]),
        };
        self.text = rest;
        self.line += 1;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> u16 {
        parse(text.as_bytes()).unwrap().status.as_u16()
    }

    #[test]
    fn the_last_head_counts() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n\
                    HTTP/2 429 \r\nRetry-After: 5\r\n\r\n{\"a\": 1}";
        let given = parse(text.as_bytes()).unwrap();
        assert_eq!(given.status, 429);
        assert_eq!(given.headers.len(), 1, "the others' headers are left out");
        assert_eq!(given.body.unwrap(), b"{\"a\": 1}");
    }

    #[test]
    fn lines_end_either_way() {
        for end in ["\n", "\r\n"] {
            let text = ["HTTP/1.1 503 Busy", "A: b", "", "one", "", "two"].join(end);
            let given = parse(text.as_bytes()).unwrap();
            assert_eq!(given.headers["a"], "b");
            assert_eq!(given.body.unwrap(), ["one", "", "two"].join(end).as_bytes());
        }
    }

    #[test]
    fn a_body_that_speaks_of_http_is_a_body() {
        let given = parse(b"HTTP/1.1 200 OK\n\nHTTP/1.1 is old").unwrap();
        assert_eq!(given.status, 200);
        assert_eq!(given.body.unwrap(), b"HTTP/1.1 is old");
    }

    #[test]
    fn a_line_that_is_no_header_is_passed_over_and_told() {
        let given = parse(b"HTTP/1.1 200 OK\nhunter2\nA: b\n c\nB: \x01\n\n").unwrap();
        assert_eq!(given.headers["a"], "b c");
        assert_eq!(given.remarks.len(), 2, "{:?}", given.remarks);
        assert!(given.remarks[0].starts_with("line 2 is no header"));
        assert!(!given.remarks.concat().contains("hunter2"));
    }

    #[test]
    fn what_was_not_recorded_is_not_empty() {
        let given = parse(b"HTTP/1.1 429 x\nContent-Length: 40\n\n").unwrap();
        assert_eq!(given.body, None);
        assert_eq!(parse(b"HTTP/1.1 429 x\n\n").unwrap().body.unwrap(), b"");
    }

    #[test]
    fn what_is_no_answer_is_refused_with_its_line() {
        for text in [
            "",
            "\n\nhello",
            "HTTP/",
            "HTTP/1.1 42",
            "HTTP/x 200 OK",
            "< HTTP/1.1 200 OK",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
        assert_eq!(parse(b"\n\nhello").unwrap_err().line, 3);
        assert_eq!(status("HTTP/3 599\n"), 599);
        assert_eq!(status("HTTP/1.0 200 OK"), 200);
    }

    #[test]
    fn any_bytes_can_be_read() {
        let mut random = fastrand::Rng::with_seed(7);
        let parts: [&[u8]; 9] = [
            b"HTTP/1.1 200 OK",
            b"\r\n",
            b"\n",
            b"\r",
            b"A: b",
            b":",
            b" ",
            b"\xff\x00",
            b"HTTP/2 429",
        ];
        for _ in 0..20_000 {
            let n = random.usize(..12);
            let text: Vec<u8> = (0..n)
                .flat_map(|_| random.choice(parts).unwrap().to_vec())
                .collect();
            let _ = parse(&text);
        }
    }
}
