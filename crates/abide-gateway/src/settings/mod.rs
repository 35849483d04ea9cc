//! What a gateway is told: plain values, read from wherever their owner likes.

mod read;
mod upstream;

use std::time::Duration;

pub use abide_config::{ChainMember, ChainRoute};

pub use self::read::BadSetting;
pub use self::upstream::{Transport, Upstream};
use crate::access::{Access, Secret};
use crate::upstream::Reach;

/// How a gateway behaves. What holds for each provider is the governor's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Its name in `Via` and `Proxy-Status`. Default `abide`: the name of a machine is nobody's
    /// business outside.
    pub name: String,
    /// The longest `Retry-After` of its own refusals; the body keeps the truth. Default none:
    /// whoever is told less comes back too early.
    pub advertise_cap: Option<Duration>,
    /// `Location`, `Content-Location` and `Link` of a provider lead through the gateway. Default
    /// yes: page 2 would pass it by.
    pub rewrite: bool,
    /// `Forwarded` tells providers who asks. Default no: it names machines behind the gateway.
    pub forwarded: bool,
    /// Hosts that nothing names may be asked through it as a proxy. Default no: an open proxy is
    /// found within hours.
    pub allow_unlisted: bool,
    /// What nothing names may be of an inner network. Default no: whoever may ask the gateway could
    /// reach what only its machine can.
    pub reach_inner: bool,
    /// Who may use it. Default everybody, which is for loopback only.
    pub access: Access,
    /// Web pages that may use it without a token. Default none: any page that is open on this
    /// machine could send what its user may.
    pub origins: Vec<String>,
    /// Who may change something, and by which names.
    pub admin: Admin,
    /// The configuration behind all this, as the admin API shows it: without secrets.
    pub shown: serde_json::Value,
    /// Bounds of time and size.
    pub limits: Limits,
    /// Providers with an address of their own, beside those of the catalogue.
    pub upstreams: Vec<Upstream>,
    /// Questions that several providers answer.
    pub chains: Vec<ChainRoute>,
}

/// The admin API.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Admin {
    /// What a change must show. Default none: what [`with_admin_token`] was told counts.
    ///
    /// [`with_admin_token`]: crate::Gateway::with_admin_token
    pub token: Option<Secret>,
    /// Names by which it is asked, with or without a port, beside those of this machine and the
    /// address listened at. Default none: any other name could be a page's own, pointed here.
    pub hosts: Vec<String>,
}

/// Bounds of time and size.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limits {
    /// For the head of a request, and between two requests of a connection. Default 60 s: longer
    /// than clients keep an idle connection, so that it is theirs to close.
    pub head_read: Duration,
    /// A body that stands still, in either direction. Default 60 s: longer than any provider
    /// thinks between two pieces.
    pub body_idle: Duration,
    /// A connection to a provider. Default 10 s: three times a lost packet's repeat.
    pub connect: Duration,
    /// From a request to the head of its answer. Default 120 s: reports take a minute.
    pub head: Duration,
    /// Connections of callers in all; who comes beyond waits to be accepted. Default 20,000: each
    /// costs up to 20 KiB.
    pub connections: usize,
    /// Connections of one address; those beyond are closed. Default none: on one machine all callers
    /// have the same.
    pub connections_per_client: Option<usize>,
    /// Unused connections kept to each host. Default 256: more than a provider lets one client have.
    pub pool_size: usize,
    /// An unused connection to a provider. Default 60 s: below what most servers allow.
    pub pool_idle: Duration,
    /// How long work is still taken after it was said that none is wanted. Default none: alone on a
    /// machine nobody looks; behind a balancer twice the interval at which it looks.
    pub leave: Duration,
    /// How long calls may go on waiting once nothing new is accepted. Default 20 s: service managers
    /// kill after 30 s or more.
    pub drain: Duration,
    /// A request body is kept up to here to be sent again. Default 64 KiB: what people send to
    /// APIs is smaller, and ten thousand of them fit into memory.
    pub replay: u64,
    /// The head of a request. Default 64 KiB: four times what servers take.
    pub head_size: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_read: Duration::from_secs(60),
            body_idle: Duration::from_secs(60),
            connect: Duration::from_secs(10),
            head: Duration::from_secs(120),
            connections: 20_000,
            connections_per_client: None,
            pool_size: 256,
            pool_idle: Duration::from_secs(60),
            leave: Duration::ZERO,
            drain: Duration::from_secs(20),
            replay: 64 * 1024,
            head_size: 64 * 1024,
        }
    }
}

impl Settings {
    /// How far a name leads that nobody wrote down for it.
    pub(crate) const fn outer_reach(&self) -> Reach {
        match self.reach_inner {
            true => Reach::Anywhere,
            false => Reach::Public,
        }
    }

    /// Where a provider is asked, by the provider's name or that of a part of it (`aws@HOST`).
    pub(crate) fn upstream_of(&self, provider: &str) -> Option<&Upstream> {
        let whole = provider.split(['@', '+']).next();
        let is = |u: &&Upstream| u.provider == provider || Some(u.provider.as_str()) == whole;
        self.upstreams.iter().find(is)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "abide".to_owned(),
            advertise_cap: None,
            rewrite: true,
            forwarded: false,
            allow_unlisted: false,
            reach_inner: false,
            access: Access::default(),
            origins: Vec::new(),
            admin: Admin::default(),
            shown: serde_json::Value::Object(serde_json::Map::new()),
            limits: Limits::default(),
            upstreams: Vec::new(),
            chains: Vec::new(),
        }
    }
}
