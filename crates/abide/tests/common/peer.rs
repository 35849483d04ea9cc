//! The peer itself: one thread a connection, and a script.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use abide::core::Instant;

use super::now;

/// One request, as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its position among all requests to this peer, from 0.
    pub(crate) n: usize,
    /// The connection it came over, from 0.
    pub(crate) connection: usize,
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// When it had come in whole.
    pub(crate) at: Instant,
    /// Just before its answer was written; `None` while it has none.
    pub(crate) answered: Option<Instant>,
}

/// What the peer does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Answer {
        head: String,
        body: Vec<u8>,
        /// Ends the connection after this many bytes of the body.
        cut: Option<usize>,
        after: Duration,
        /// Between two pieces of the body; it goes at once without one.
        drip: Option<Duration>,
    },
    /// The connection ends without a byte.
    Close,
    /// Nothing comes, and the connection stays.
    Silence,
}

pub(crate) fn reply(status: u16) -> Reply {
    Reply::Answer {
        head: format!("HTTP/1.1 {status} x\r\n"),
        body: b"body\n".to_vec(),
        cut: None,
        after: Duration::ZERO,
        drip: None,
    }
}

impl Reply {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        if let Self::Answer { head, .. } = &mut self {
            *head += &format!("{name}: {value}\r\n");
        }
        self
    }

    pub(crate) fn saying(mut self, text: impl Into<Vec<u8>>) -> Self {
        if let Self::Answer { body, .. } = &mut self {
            *body = text.into();
        }
        self
    }

    pub(crate) fn json(self, text: impl Into<Vec<u8>>) -> Self {
        self.header("Content-Type", "application/json").saying(text)
    }

    pub(crate) fn sized(mut self, len: usize) -> Self {
        if let Self::Answer { body, .. } = &mut self {
            *body = vec![b'x'; len];
        }
        self
    }

    pub(crate) fn cut_after(mut self, len: usize) -> Self {
        if let Self::Answer { cut, .. } = &mut self {
            *cut = Some(len);
        }
        self
    }

    pub(crate) fn dripping(mut self, time: Duration) -> Self {
        if let Self::Answer { drip, .. } = &mut self {
            *drip = Some(time);
        }
        self
    }

    pub(crate) fn after(mut self, time: Duration) -> Self {
        if let Self::Answer { after, .. } = &mut self {
            *after = time;
        }
        self
    }
}

type Script = Box<dyn Fn(&Seen) -> Reply + Send + Sync>;

struct Shared {
    script: Script,
    seen: Mutex<Vec<Seen>>,
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A peer that listens until the test ends.
pub(crate) struct Peer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Peer {
    pub(crate) fn start(script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            seen: Mutex::default(),
        });
        let all = Arc::clone(&shared);
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().flatten().enumerate() {
                let shared = Arc::clone(&all);
                thread::spawn(move || serve(&shared, connection, stream));
            }
        });
        Self { address, shared }
    }

    /// Answers from a list, the last one for ever.
    pub(crate) fn saying(replies: impl Into<Vec<Reply>>) -> Self {
        let replies = replies.into();
        Self::start(move |seen| replies[seen.n.min(replies.len() - 1)].clone())
    }

    /// An address of the loopback where nobody listens.
    pub(crate) fn nobody() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The name the governor gives it.
    pub(crate) fn name(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen().clone()
    }

    pub(crate) fn requests(&self) -> usize {
        self.shared.seen().len()
    }
}

fn serve(shared: &Shared, connection: usize, stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut wire = BufReader::new(stream);
    while let Some(mut seen) = read(&mut wire, connection) {
        let reply = {
            let mut all = shared.seen();
            seen.n = all.len();
            all.push(seen.clone());
            (shared.script)(&seen)
        };
        let Reply::Answer {
            head,
            body,
            cut,
            after,
            drip,
        } = reply
        else {
            if matches!(reply, Reply::Silence) {
                // Until the client leaves.
                let _ = wire.read(&mut [0]);
            }
            return;
        };
        thread::sleep(after);
        shared.seen()[seen.n].answered = Some(now());
        let sent = &body[..cut.unwrap_or(body.len()).min(body.len())];
        let mut out = format!("{head}content-length: {}\r\n\r\n", body.len()).into_bytes();
        if let Some(drip) = drip {
            if wire.get_mut().write_all(&out).is_err() {
                return;
            }
            for piece in sent.chunks(1000) {
                thread::sleep(drip);
                if wire.get_mut().write_all(piece).is_err() {
                    return;
                }
            }
            continue;
        }
        out.extend_from_slice(sent);
        if wire.get_mut().write_all(&out).is_err() || cut.is_some() {
            return;
        }
    }
}

fn read(wire: &mut BufReader<TcpStream>, connection: usize) -> Option<Seen> {
    let mut line = || {
        let mut text = String::new();
        let n = wire.read_line(&mut text).unwrap_or(0);
        (n > 0).then(|| text.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = HashMap::new();
    loop {
        let text = line()?;
        let Some((name, value)) = text.split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = Vec::new();
    if headers.contains_key("transfer-encoding") {
        loop {
            let mut size = String::new();
            wire.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            take(wire, size, &mut body)?;
            take(wire, 2, &mut Vec::new())?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = headers.get("content-length") {
        take(wire, length.parse().ok()?, &mut body)?;
    }
    Some(Seen {
        n: 0,
        connection,
        method,
        path,
        headers,
        body,
        at: now(),
        answered: None,
    })
}

fn take(wire: &mut BufReader<TcpStream>, len: usize, into: &mut Vec<u8>) -> Option<()> {
    let mut piece = vec![0; len];
    wire.read_exact(&mut piece).ok()?;
    into.append(&mut piece);
    Some(())
}
