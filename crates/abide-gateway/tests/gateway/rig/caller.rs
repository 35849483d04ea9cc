//! A caller of the gateway.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use super::wire::{Message, Wire};

/// A connection to the gateway.
pub struct Caller {
    pub wire: Wire,
    pub at: SocketAddr,
}

impl Caller {
    pub fn to(at: SocketAddr) -> Self {
        let socket = TcpStream::connect(at).unwrap();
        Self {
            wire: Wire::new(socket, Arc::default()),
            at,
        }
    }

    /// Sends what a test wrote, as it is.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.wire.send(bytes).unwrap();
    }

    /// Sends a request with a length.
    pub fn ask(&mut self, what: &str, fields: &str, body: &str) {
        let length = match body.is_empty() && what.starts_with("GET") {
            true => String::new(),
            false => format!("Content-Length: {}\r\n", body.len()),
        };
        let host = self.at;
        self.send(format!(
            "{what} HTTP/1.1\r\nHost: {host}\r\n{length}{fields}\r\n{body}"
        ));
    }

    pub fn answer(&mut self) -> Message {
        self.answered(false).expect("an answer")
    }

    /// The answer to HEAD.
    pub fn answer_to_head(&mut self) -> Message {
        self.answered(true).expect("an answer")
    }

    /// `None` where the connection ended without one.
    pub fn answered(&mut self, bodiless: bool) -> Option<Message> {
        self.wire.message(true, bodiless)
    }
}
