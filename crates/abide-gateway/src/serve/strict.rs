//! Requests of HTTP/1.1 whose framing could be read in two ways are refused.
//!
//! Where two readers disagree on where a request ends, one of them can be made to see a request that
//! the other one did not (request smuggling). The HTTP library settles such cases in its own way;
//! here they are refused before anything of them is handed on: a length beside chunks, two lengths,
//! lines that end in a bare LF or CR, folded fields, chunks that are none. So is a request that names two
//! hosts or none: two readers may take it for two different places' (RFC 9112 section 3.2).
//!
//! This reads along: what it has seen is passed on untouched until something is wrong.

/// Reads along with one connection.
#[derive(Debug)]
pub(super) struct Strict {
    state: State,
    /// The longest head, and the longest line of a body's framing. The HTTP library bounds what it keeps,
    /// which is more than that where one read brings a whole head.
    most: usize,
    /// Bytes of the present head.
    size: usize,
    /// The beginning of a line that is not whole yet.
    begun: Vec<u8>,
    head: Head,
}

#[derive(Debug)]
enum State {
    /// In the lines of a head; `true` before its first.
    Head { first: bool },
    /// In a body of this many more bytes.
    Body(u64),
    /// In the line that tells a chunk's size.
    Size,
    /// In a chunk of this many more bytes.
    Chunk(u64),
    /// In the line end behind a chunk.
    ChunkEnd,
    /// In the lines behind the last chunk.
    Trailers,
    /// Not HTTP/1 any more: nothing is looked at.
    Other,
}

impl Default for State {
    fn default() -> Self {
        Self::Head { first: true }
    }
}

/// What a head has said so far.
#[derive(Debug, Default)]
struct Head {
    length: Option<u64>,
    chunked: bool,
    host: bool,
    /// It must name a host: only HTTP/1.0 need not.
    needs_host: bool,
    /// What follows it may be no HTTP: a tunnel, another protocol. Whoever serves the connection ends it
    /// where it stays HTTP, since nothing behind it was looked at.
    leaves: bool,
}

/// What is wrong, and where the request that it is wrong with begins among the bytes read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) begins: usize,
    pub(super) what: &'static str,
}

/// How a connection of HTTP/2 begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0";

impl Strict {
    /// `most` bounds heads.
    pub(super) fn new(most: usize) -> Self {
        Self {
            state: State::default(),
            most,
            size: 0,
            begun: Vec::new(),
            head: Head::default(),
        }
    }

    /// Looks at what was read.
    pub(super) fn see(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        let (mut at, mut begins) = (0, 0);
        while at < bytes.len() {
            let rest = &bytes[at..];
            let wrong = |what| Wrong { begins, what };
            match &mut self.state {
                State::Other => return Ok(()),
                State::Body(left) | State::Chunk(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    *left -= taken as u64;
                    at += taken;
                    if *left == 0 {
                        let ended = matches!(self.state, State::Body(_));
                        self.state = match ended {
                            true => State::Head { first: true },
                            false => State::ChunkEnd,
                        };
                        if ended {
                            begins = at;
                        }
                    }
                }
                _ => {
                    let Some(end) = memchr::memchr(b'\n', rest) else {
                        if self.begun.len() + rest.len() + self.size > self.most {
                            return Err(wrong("a line without an end"));
                        }
                        self.begun.extend_from_slice(rest);
                        return Ok(());
                    };
                    at += end + 1;
                    self.size += self.begun.len() + end + 1;
                    if self.size > self.most {
                        return Err(wrong("a head that is too large"));
                    }
                    let over = if self.begun.is_empty() {
                        Self::line(&mut self.state, &mut self.head, &rest[..=end])
                    } else {
                        let mut line = std::mem::take(&mut self.begun);
                        line.extend_from_slice(&rest[..=end]);
                        let over = Self::line(&mut self.state, &mut self.head, &line);
                        line.clear();
                        self.begun = line;
                        over
                    };
                    if over.map_err(wrong)? {
                        begins = at;
                    }
                    // A line of a chunk is bounded by itself, trailers as a head is.
                    if !matches!(self.state, State::Head { first: false } | State::Trailers) {
                        self.size = 0;
                    }
                }
            }
        }
        Ok(())
    }

    /// One whole line; whether a request ended with it.
    fn line(state: &mut State, head: &mut Head, line: &[u8]) -> Result<bool, &'static str> {
        let Some(line) = line.strip_suffix(b"\r\n") else {
            return Err("a line that ends in a bare LF");
        };
        if memchr::memchr(b'\r', line).is_some() {
            return Err("a bare CR");
        }
        match state {
            State::Head { first } => {
                if std::mem::take(first) {
                    if line.is_empty() {
                        // Empty lines before a request are ignored (RFC 9112 section 2.2).
                        *first = true;
                        return Ok(false);
                    }
                    if line == PREFACE {
                        *state = State::Other;
                        return Ok(false);
                    }
                    *head = Head {
                        leaves: line.starts_with(b"CONNECT "),
                        needs_host: !line.ends_with(b" HTTP/1.0"),
                        ..Head::default()
                    };
                    return Ok(false);
                }
                if !line.is_empty() {
                    return head.field(line).map(|()| false);
                }
                if head.needs_host && !head.host {
                    return Err("no host");
                }
                *state = match (head.leaves, head.chunked, head.length) {
                    (_, true, Some(_)) => return Err("a length beside chunks"),
                    (true, ..) => State::Other,
                    (_, true, None) => State::Size,
                    (_, _, Some(length)) if length > 0 => State::Body(length),
                    _ => State::Head { first: true },
                };
                Ok(matches!(state, State::Head { .. }))
            }
            State::Size => {
                let size = size(line).ok_or("a chunk without a size")?;
                *state = match size {
                    0 => State::Trailers,
                    size => State::Chunk(size),
                };
                Ok(false)
            }
            State::ChunkEnd if line.is_empty() => {
                *state = State::Size;
                Ok(false)
            }
            State::ChunkEnd => Err("a chunk longer than its size"),
            State::Trailers if line.is_empty() => {
                *state = State::Head { first: true };
                Ok(true)
            }
            State::Trailers if line[0] == b' ' || line[0] == b'\t' => Err("a folded field"),
            _ => Ok(false),
        }
    }
}

impl Head {
    fn field(&mut self, line: &[u8]) -> Result<(), &'static str> {
        match line[0] | 0x20 {
            b'c' | b'h' | b't' | b'u' => {}
            b' ' | 0x29 => return Err("a folded field"),
            _ => return Ok(()),
        }
        let Some(colon) = memchr::memchr(b':', line) else {
            return Ok(());
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            if self.length.is_some() {
                return Err("two lengths");
            }
            let digits = std::str::from_utf8(value)
                .ok()
                .filter(|v| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit()));
            let length = digits.and_then(|v| v.parse().ok());
            self.length = Some(length.ok_or("a length that is no number")?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err("a coding of the transfer other than chunks");
            }
            self.chunked = true;
        } else if name.eq_ignore_ascii_case(b"host") {
            if std::mem::replace(&mut self.host, true) {
                return Err("two hosts");
            }
            // A list, a path, a name and password: who reads only a part of it reads another host.
            if value.iter().any(|b| b" \t,/?#@\\".contains(b)) {
                return Err("a host that is none");
            }
        } else if name.eq_ignore_ascii_case(b"upgrade") {
            self.leaves = true;
        }
        Ok(())
    }
}

/// A chunk's size; its extensions say nothing to us.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|b| *b == b';').next()?.trim_ascii_end();
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the bytes are cut into reads.
    fn see(text: &str) -> Result<(), &'static str> {
        let whole = Strict::new(64 * 1024)
            .see(text.as_bytes())
            .map_err(|w| w.what);
        for size in 1..text.len().min(24) {
            let mut strict = Strict::new(64 * 1024);
            let pieces = text.as_bytes().chunks(size);
            let cut = pieces.map(|p| strict.see(p)).find(Result::is_err);
            assert_eq!(
                cut.map_or(Ok(()), |w| w.map_err(|w| w.what)),
                whole,
                "{size}"
            );
        }
        whole
    }

    const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn gw_requests_whose_framing_is_plain_pass() {
        for good in [
            GET.to_owned(),
            GET.repeat(3),
            format!("\r\n{GET}"),
            format!("POST / HTTP/1.1\r\nHost: a\r\ncontent-length:  5\t\r\n\r\nhello{GET}"),
            format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n{GET}"),
            "GET / HTTP/1.0\r\n\r\n".to_owned(),
            "GET / HTTP/1.1\r\nhost: [::1]:80\r\n\r\n".to_owned(),
            format!(
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b\r\nhe\nlo\r\n0\r\nX: y\r\n\r\n{GET}"
            ),
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\n\0".to_owned(),
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\n\n\r\r"
                .to_owned(),
            "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n\n\r\0".to_owned(),
        ] {
            assert_eq!(see(&good), Ok(()), "{good:?}");
        }
    }

    #[test]
    fn gw_requests_that_can_be_read_in_two_ways_are_refused() {
        let post = "POST / HTTP/1.1\r\nHost: a\r\n";
        for (bad, what) in [
            (
                "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
                "a length beside chunks",
            ),
            (
                "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
                "a length beside chunks",
            ),
            (
                "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
                "two lengths",
            ),
            (
                "Content-Length: 3, 3\r\n\r\nabc",
                "a length that is no number",
            ),
            (
                "Content-Length: +3\r\n\r\nabc",
                "a length that is no number",
            ),
            ("Content-Length: -1\r\n\r\n", "a length that is no number"),
            (
                "Content-Length: 99999999999999999999\r\n\r\n",
                "a length that is no number",
            ),
            ("Content-Length:\r\n\r\n", "a length that is no number"),
            ("Host: b\r\n\r\n", "two hosts"),
            ("X: y\n\r\n", "a line that ends in a bare LF"),
            ("X: y\r\n\n", "a line that ends in a bare LF"),
            ("X: a\rb\r\n\r\n", "a bare CR"),
            ("X: y\r\n z\r\n\r\n", "a folded field"),
            ("X: y\r\n\tz\r\n\r\n", "a folded field"),
            (
                "Transfer-Encoding: gzip, chunked\r\n\r\n",
                "a coding of the transfer other than chunks",
            ),
            (
                "Transfer-Encoding: identity\r\n\r\n",
                "a coding of the transfer other than chunks",
            ),
            (
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                "a coding of the transfer other than chunks",
            ),
            (
                "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
                "a chunk without a size",
            ),
            (
                "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
                "a chunk without a size",
            ),
            (
                "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
                "a chunk without a size",
            ),
            (
                "Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
                "a chunk longer than its size",
            ),
            (
                "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
                "a line that ends in a bare LF",
            ),
        ] {
            assert_eq!(see(&format!("{post}{bad}")), Err(what), "{bad:?}");
        }
        assert_eq!(see("GET / HTTP/1.1\r\n\r\n"), Err("no host"));
        assert_eq!(
            see("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"),
            Err("two hosts")
        );
        for host in ["a, b", "a/b", "u:p@a", "a b"] {
            let told = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(see(&told), Err("a host that is none"), "{host}");
        }
    }

    #[test]
    fn gw_what_came_before_a_bad_request_stands() {
        let bad = format!("{GET}POST / HTTP/1.1\r\nX: y\n\r\n");
        let wrong = Strict::new(64 * 1024).see(bad.as_bytes()).unwrap_err();
        assert_eq!(wrong.begins, GET.len());
    }
}
