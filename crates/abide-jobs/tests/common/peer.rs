//! A provider that answers by a script, over a real socket.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What came.
#[derive(Clone, Debug)]
pub struct Came {
    pub line: String,
    pub head: String,
    pub body: String,
}

#[derive(Clone)]
pub struct Peer {
    address: String,
    script: Arc<Mutex<VecDeque<String>>>,
    came: Arc<Mutex<Vec<Came>>>,
}

pub fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n{body}",
        body.len()
    )
}

pub fn ok() -> String {
    answer(
        "200 OK",
        "content-type: text/plain\r\nset-cookie: s=s3cr3t\r\n",
        "hello",
    )
}

pub fn refusing(secs: u64) -> String {
    answer(
        "429 Too Many Requests",
        &format!("retry-after: {secs}\r\n"),
        "",
    )
}

impl Peer {
    /// Gives these answers in order, the last one for ever. An empty one closes the connection.
    pub fn saying(answers: impl IntoIterator<Item = String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = Self {
            address: listener.local_addr().unwrap().to_string(),
            script: Arc::new(Mutex::new(answers.into_iter().collect())),
            came: Arc::default(),
        };
        let theirs = peer.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let peer = theirs.clone();
                std::thread::spawn(move || peer.serve(stream));
            }
        });
        peer
    }

    pub fn say(&self, answers: impl IntoIterator<Item = String>) {
        *self.script.lock().unwrap() = answers.into_iter().collect();
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn name(&self) -> String {
        self.address.clone()
    }

    pub fn came(&self) -> Vec<Came> {
        self.came.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.came.lock().unwrap().len()
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if line == "\r\n" {
                break;
            }
            let lower = line.to_ascii_lowercase();
            if let Some(n) = lower.strip_prefix("content-length:") {
                length = n.trim().parse().unwrap();
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let line = head.lines().next().unwrap_or_default().to_owned();
        let body = String::from_utf8_lossy(&body).into_owned();
        self.came.lock().unwrap().push(Came { line, head, body });
        let mut script = self.script.lock().unwrap();
        let answer = match script.len() {
            1 => script[0].clone(),
            _ => script.pop_front().unwrap_or_default(),
        };
        drop(script);
        let mut stream = stream;
        let _ = stream.write_all(answer.as_bytes());
    }
}
