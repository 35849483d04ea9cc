//! HTTP/2 in clear text, frame by frame: what no library of it would send.

use std::net::SocketAddr;

use super::caller::Caller;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const GOAWAY: u8 = 7;

/// A connection that began with prior knowledge.
pub struct Frames(Caller);

/// One that came.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frames {
    pub fn to(at: SocketAddr) -> Self {
        let mut caller = Caller::to(at);
        caller.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let mut this = Self(caller);
        this.frame(SETTINGS, 0, 0, &[]);
        this
    }

    pub fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut bytes = vec![len[1], len[2], len[3], kind, flags];
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        self.0.send(bytes);
    }

    /// Fields without any compression, as whole headers of stream 1.
    pub fn headers(&mut self, fields: &[(&str, &str)], ends: bool) {
        let mut block = Vec::new();
        for (name, value) in fields {
            block.push(0);
            for text in [name, value] {
                assert!(text.len() < 127);
                block.push(u8::try_from(text.len()).unwrap());
                block.extend(text.as_bytes());
            }
        }
        self.frame(HEADERS, 4 | u8::from(ends), 1, &block);
    }

    pub fn data(&mut self, bytes: &[u8], ends: bool) {
        self.frame(DATA, u8::from(ends), 1, bytes);
    }

    /// `None` once the connection is at its end.
    pub fn next(&mut self) -> Option<Frame> {
        let head = self.0.wire.exact(9)?;
        let len = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        Some(Frame {
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5], head[6], head[7], head[8]]),
            payload: self.0.wire.exact(len)?,
        })
    }

    /// The first frame that ends stream 1 or all: how it ended.
    pub fn ended(&mut self) -> Option<Frame> {
        loop {
            let frame = self.next()?;
            let ends = matches!(frame.kind, DATA | HEADERS) && frame.flags & 1 == 1;
            if matches!(frame.kind, RST_STREAM | GOAWAY) || ends {
                return Some(frame);
            }
        }
    }
}
