//! One end of a connection, and messages of HTTP/1.1 read from it.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::LONG;

/// One end of a connection.
pub struct Wire {
    pub socket: TcpStream,
    ahead: Vec<u8>,
    /// Bytes read, for whoever counts them.
    count: Arc<AtomicU64>,
}

/// A request or an answer.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// The line in front.
    pub first: String,
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub trailers: Vec<(String, String)>,
    /// It came to its end.
    pub whole: bool,
}

impl Wire {
    pub fn new(socket: TcpStream, count: Arc<AtomicU64>) -> Self {
        socket.set_read_timeout(Some(LONG)).unwrap();
        socket.set_nodelay(true).unwrap();
        Self {
            socket,
            ahead: Vec::new(),
            count,
        }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.socket.write_all(bytes.as_ref())
    }

    /// Sends until nothing more is taken for `still`, or all is gone; how much that was.
    pub fn send_until_stuck(&mut self, bytes: &[u8], still: Duration) -> usize {
        self.socket.set_write_timeout(Some(still)).unwrap();
        let mut sent = 0;
        while sent < bytes.len() {
            match self.socket.write(&bytes[sent..]) {
                Ok(n) => sent += n,
                Err(_) => break,
            }
        }
        self.socket.set_write_timeout(None).unwrap();
        sent
    }

    /// Says that nothing more is sent.
    pub fn half_close(&self) {
        self.socket.shutdown(Shutdown::Write).unwrap();
    }

    /// Whether more came.
    fn more(&mut self) -> bool {
        let mut piece = [0; 16 * 1024];
        match self.socket.read(&mut piece) {
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                panic!("nothing came for {LONG:?}")
            }
            Ok(0) | Err(_) => false,
            Ok(n) => {
                self.count.fetch_add(n as u64, Ordering::Relaxed);
                self.ahead.extend_from_slice(&piece[..n]);
                true
            }
        }
    }

    /// Up to and with `end`.
    pub fn through(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            let found = self.ahead.windows(end.len()).position(|w| w == end);
            if let Some(at) = found {
                return Some(self.ahead.drain(..at + end.len()).collect());
            }
            if !self.more() {
                return None;
            }
        }
    }

    pub fn exact(&mut self, len: usize) -> Option<Vec<u8>> {
        while self.ahead.len() < len {
            if !self.more() {
                return None;
            }
        }
        Some(self.ahead.drain(..len).collect())
    }

    /// Whatever comes until the other side ends the connection.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.ahead)
    }

    /// A head alone.
    pub fn head(&mut self) -> Option<Message> {
        let text = self.through(b"\r\n\r\n")?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let (first, fields) = text.split_once("\r\n")?;
        Some(Message {
            first: first.to_owned(),
            fields: fields_of(fields),
            ..Message::default()
        })
    }

    /// A head and its body. `bodiless` for answers that have none whatever their head says.
    pub fn message(&mut self, is_answer: bool, bodiless: bool) -> Option<Message> {
        let mut message = self.head()?;
        let none = is_answer && (bodiless || matches!(message.status(), 100..200 | 204 | 304));
        if none {
            message.whole = true;
        } else if message.is_chunked() {
            self.chunks(&mut message);
        } else if let Some(len) = message.header("content-length") {
            let len: usize = len.parse().unwrap();
            message.whole = true;
            message.body = self.exact(len).unwrap_or_else(|| {
                message.whole = false;
                std::mem::take(&mut self.ahead)
            });
        } else if is_answer {
            message.body = self.rest();
            message.whole = true;
        } else {
            message.whole = true;
        }
        Some(message)
    }

    /// The next piece of a body in chunks; empty for the last one.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = String::from_utf8(self.through(b"\r\n")?).ok()?;
        let size = usize::from_str_radix(size.trim().split(';').next()?, 16).ok()?;
        if size == 0 {
            return Some(Vec::new());
        }
        let piece = self.exact(size)?;
        self.exact(2)?;
        Some(piece)
    }

    fn chunks(&mut self, message: &mut Message) {
        while let Some(piece) = self.chunk() {
            if !piece.is_empty() {
                message.body.extend(piece);
                continue;
            }
            let mut lines = String::new();
            while let Some(line) = self.through(b"\r\n") {
                if line == b"\r\n" {
                    message.whole = true;
                    break;
                }
                lines.push_str(&String::from_utf8_lossy(&line));
            }
            message.trailers = fields_of(&lines);
            return;
        }
    }
}

fn fields_of(text: &str) -> Vec<(String, String)> {
    let pairs = text.lines().filter_map(|l| l.split_once(':'));
    pairs
        .map(|(n, v)| (n.trim().to_ascii_lowercase(), v.trim().to_owned()))
        .collect()
}

impl Message {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }

    pub fn all(&self, name: &str) -> Vec<&str> {
        let of = self.fields.iter().filter(|(n, _)| n == name);
        of.map(|(_, v)| v.as_str()).collect()
    }

    pub fn status(&self) -> u16 {
        let code = self.first.split(' ').nth(1).and_then(|s| s.parse().ok());
        code.unwrap_or_else(|| panic!("no status: {self:?}"))
    }

    /// The target of a request.
    pub fn target(&self) -> &str {
        self.first.split(' ').nth(1).unwrap()
    }

    pub fn method(&self) -> &str {
        self.first.split(' ').next().unwrap()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The token of `Proxy-Status`.
    pub fn error(&self) -> Option<&str> {
        let (_, after) = self.header("proxy-status")?.split_once("error=")?;
        after.split(';').next()
    }

    pub fn retry_after(&self) -> Option<u64> {
        self.header("retry-after").map(|v| v.parse().unwrap())
    }

    fn is_chunked(&self) -> bool {
        let coding = self.header("transfer-encoding");
        coding.is_some_and(|c| c.eq_ignore_ascii_case("chunked"))
    }
}
