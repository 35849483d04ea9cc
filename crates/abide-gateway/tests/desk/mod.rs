//! A gateway at real sockets before a simulated provider, and requests to it byte by byte.
#![allow(
    clippy::disallowed_methods,
    dead_code,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "test code; each file uses its part"
)]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use abide::core::call::CallPolicy;
use abide::store::{Memory, Store};
use abide_config::{Setup, Use};
use abide_gateway::settings::Settings;
use abide_gateway::{Front, Gateway, Listener, Log, Secret, Serving};
use abide_sim::Provider;
use abide_sim::http::{Server, ServerOptions};
use abide_sim::policy::Plain;
use serde_json::Value;

pub const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A gateway with one provider, `shop`.
pub struct Desk {
    pub server: Server,
    pub front: Front,
    pub at: SocketAddr,
    /// Where it is asked of itself, where that is another place.
    pub admin: SocketAddr,
    pub store: Arc<dyn Store>,
    serving: Option<Serving>,
}

/// What was answered.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|l| l.split_once(": "));
        lines
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v)
    }
}

impl Desk {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::over(
            Arc::new(Memory::new([7; 32])),
            Plain::sized(20),
            change,
            None,
        )
    }

    pub fn apart() -> Self {
        let store = Arc::new(Memory::new([7; 32]));
        Self::over(store, Plain::sized(20), |_| {}, Some("127.0.0.1:0"))
    }

    pub fn over(
        store: Arc<dyn Store>,
        policy: impl abide_sim::policy::Policy + 'static,
        change: impl FnOnce(&mut Settings),
        admin: Option<&str>,
    ) -> Self {
        let options = ServerOptions::default().with_latency(Duration::from_millis(300), 0.0);
        let server = Server::start(Provider::new(policy), options).unwrap();
        let text = format!("[providers.shop]\nupstream = \"{}\"\n", server.url());
        let setup = Setup::from_text("abide.toml", &text, Use::Gateway).unwrap();
        let mut settings = Settings::read(setup.config()).unwrap();
        settings.limits.drain = Duration::from_secs(1);
        change(&mut settings);
        let governor = setup.governor().store(Arc::clone(&store)).build().unwrap();
        let gateway = Gateway::new(settings, governor, CallPolicy::default(), Log::none());
        let gateway = gateway
            .unwrap()
            .with_admin_token(Secret::new(TOKEN).unwrap());
        let front = Front::new(gateway);
        let mut listener = Listener::bind("127.0.0.1:0").unwrap();
        if admin.is_some() {
            listener = listener.without_admin();
        }
        let at = place(&listener);
        let mut serving = Serving::start(&front, &listener, 1).unwrap();
        let mut asked_at = at;
        if let Some(admin) = admin {
            let listener = Listener::bind(admin).unwrap().only_admin();
            asked_at = place(&listener);
            serving = serving.and_admin(&listener).unwrap();
        }
        Self {
            server,
            front,
            at,
            admin: asked_at,
            store,
            serving: Some(serving),
        }
    }

    /// Reads from the API, as anybody of this machine.
    pub fn get(&self, path: &str) -> Got {
        self.ask("GET", path, "", "")
    }

    /// Changes something, with the token.
    pub fn change(&self, method: &str, path: &str, body: &str) -> Got {
        let fields = format!("Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n");
        self.ask(method, path, &fields, body)
    }

    /// Asks the API with these fields.
    pub fn ask(&self, method: &str, path: &str, fields: &str, body: &str) -> Got {
        let host = self.admin;
        let target = format!("/-/api/v1/{path}");
        let length = body.len();
        raw(
            self.admin,
            &format!(
                "{method} {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n{fields}\r\n{body}"
            ),
        )
    }

    /// Asks the provider through the gateway.
    pub fn through(&self, path: &str, fields: &str) -> Got {
        let host = self.at;
        raw(
            self.at,
            &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}\r\n"),
        )
    }

    /// How often the provider was asked.
    pub fn requests(&self) -> u64 {
        self.server.read(|t| t.requests)
    }

    pub async fn drain(&mut self) {
        self.serving.take().unwrap().drain().await.unwrap();
    }
}

impl Drop for Desk {
    /// Nobody waits for a worker that has nothing to do.
    fn drop(&mut self) {
        drop(self.serving.take());
    }
}

fn place(listener: &Listener) -> SocketAddr {
    listener
        .url()
        .trim_start_matches("http://")
        .parse()
        .unwrap()
}

/// Sends bytes and reads what is answered until the connection ends.
pub fn raw(at: SocketAddr, text: &str) -> Got {
    let mut socket = TcpStream::connect(at).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    socket.write_all(text.as_bytes()).unwrap();
    let mut all = Vec::new();
    socket.read_to_end(&mut all).unwrap();
    let all = String::from_utf8_lossy(&all).into_owned();
    let (head, body) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok());
    let chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    assert!(!chunked, "what is told of the gateway has a length: {head}");
    Got {
        status: status.unwrap_or_else(|| panic!("no answer: {all:?}")),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// Waits until something is so.
pub fn until(what: &str, so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < Duration::from_secs(20), "not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
