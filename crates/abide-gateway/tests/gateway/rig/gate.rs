//! The gateway of a test.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use abide::store::Memory;
use abide_config::{Setup, Use};
use abide_gateway::settings::Settings;
use abide_gateway::{Format, Front, Gateway, Listener, Log, Secret, ServeError, Serving};
use parking_lot::Mutex;

use super::caller::Caller;
use super::peer::Peer;
use super::wire::Message;
use super::{secs, until};

/// What whoever changes something shows.
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A gateway that serves on a free port, with a log that a test can read.
pub struct Gate {
    pub front: Front,
    pub at: SocketAddr,
    setup: Setup,
    log: Lines,
    serving: Option<Serving>,
}

/// A configuration with one provider, `shop`, and more lines of its section.
pub fn shop(at: SocketAddr, more: &str) -> String {
    format!("[providers.shop]\nupstream = \"http://{at}\"\n{more}\n")
}

impl Gate {
    /// Before one provider, `shop`.
    pub fn before(peer: &Peer) -> Self {
        Self::with(peer, "")
    }

    /// The same, with more lines of its section.
    pub fn with(peer: &Peer, more: &str) -> Self {
        Self::of(&shop(peer.at, more))
    }

    /// By a whole configuration.
    pub fn of(text: &str) -> Self {
        Self::changed(text, |_| {})
    }

    pub fn changed(text: &str, change: impl FnOnce(&mut Settings)) -> Self {
        Self::at("127.0.0.1:0", text, change).unwrap()
    }

    /// Where a test wants it to listen.
    pub fn at(
        address: &str,
        text: &str,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Self, ServeError> {
        let setup = Setup::from_text("abide.toml", text, Use::Gateway).unwrap();
        let mut settings = Settings::read(setup.config()).unwrap();
        settings.limits.drain = secs(1);
        change(&mut settings);
        let store = Arc::new(Memory::new([7; 32]));
        let governor = setup.governor().store(store).build().unwrap();
        let log = Lines::default();
        let call = setup.config().call(Use::Gateway, None);
        let books = Log::to(log.clone(), Format::Text, 1).unwrap();
        let gateway = Gateway::new(settings, governor, call, books)
            .unwrap()
            .with_admin_token(Secret::new(TOKEN).unwrap());
        let front = Front::new(gateway);
        let listener = Listener::bind(address).unwrap();
        let url = listener.url();
        let serving = Serving::start(&front, &listener, 1)?;
        Ok(Self {
            at: url.trim_start_matches("http://").parse().unwrap(),
            front,
            setup,
            log,
            serving: Some(serving),
        })
    }

    /// Takes another configuration over, as a changed file is.
    pub fn renew(&self, text: &str) -> Result<(), String> {
        let told = Setup::from_text("abide.toml", text, Use::Gateway);
        let told = told.map_err(|e| format!("{e:?}"))?;
        let settings = Settings::read(told.config()).map_err(|e| e.to_string())?;
        let call = told.config().call(Use::Gateway, None);
        let renewed = self.setup.renew(told.config().clone());
        renewed.map_err(|e| format!("{e:?}"))?;
        let renewed = self.front.renew(settings, call);
        renewed.map_err(|e| e.to_string())?;
        self.front.now().governor().reconsider();
        Ok(())
    }

    pub fn caller(&self) -> Caller {
        Caller::to(self.at)
    }

    /// Asks once, on a connection of its own.
    pub fn ask(&self, what: &str, fields: &str, body: &str) -> Message {
        let mut caller = self.caller();
        caller.ask(what, fields, body);
        caller.answer()
    }

    pub fn get(&self, path: &str) -> Message {
        self.ask(&format!("GET {path}"), "", "")
    }

    /// Asks, and waits for the answer somewhere else.
    pub fn aside(&self, what: &str, fields: &str) -> std::thread::JoinHandle<Message> {
        let mut caller = self.caller();
        caller.ask(what, fields, "");
        std::thread::spawn(move || caller.answer())
    }

    /// What `/-/metrics` says under this name and labels.
    pub fn figure(&self, name: &str) -> Option<f64> {
        let all = self.get("/-/metrics").text();
        let line = all.lines().find_map(|l| l.strip_prefix(name))?.to_owned();
        line.trim().parse().ok()
    }

    /// Waits until so many requests stand in line for `shop`.
    pub fn until_waiting(&self, count: usize) {
        let of = |front: &Front| {
            let states = front.now().governor().states();
            let shop = states.iter().find(|s| &*s.provider == "shop");
            shop.map_or(0, |s| s.waiting)
        };
        until(&format!("{count} wait"), || of(&self.front) == count);
    }

    /// Waits until `shop` is held.
    pub fn until_held(&self) {
        until("a hold", || !self.front.now().governor().held().is_empty());
    }

    /// The access log, once a line has been written that has this in it.
    pub fn logged(&self, what: &str) -> String {
        until(&format!("a line of {what}"), || {
            self.log.text().contains(what)
        });
        self.log.text()
    }

    /// Ends in good order; joined once it has ended.
    pub fn drain(&mut self) -> std::thread::JoinHandle<()> {
        let serving = self.serving.take().unwrap();
        std::thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            runtime.block_on(serving.drain()).unwrap();
        })
    }
}

/// Lines that were logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
