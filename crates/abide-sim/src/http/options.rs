//! What a server adds to its provider.

use std::net::SocketAddr;
use std::time::Duration;

/// The wire around a provider, and how its requests are told apart.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Where to listen. Default: a free port of 127.0.0.1.
    pub listen: SocketAddr,
    /// Time added each way, on top of the real wire. Default: none.
    pub latency: Duration,
    /// How much the added time varies, from 0 to 1. Default: not at all.
    pub latency_jitter: f64,
    /// The longest round trip that a client is allowed before it must have heard of a hold.
    /// Default: 250 ms, which is much for a loopback and right for a machine that is busy.
    pub grace: Duration,
    /// A request header that names the item. Without it the item is the path with its query.
    /// Default: `sim-item`.
    pub item_header: Box<str>,
    /// A request header with the number of the client; without it, client 0. Default:
    /// `sim-client`.
    pub client_header: Box<str>,
    /// The longest request body that is read, in bytes; a longer one closes the connection.
    /// Default: 16 MiB.
    pub max_body: usize,
    /// Seed of the latency's jitter. Default: 0.
    pub seed: u64,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            latency: Duration::ZERO,
            latency_jitter: 0.0,
            grace: Duration::from_millis(250),
            item_header: "sim-item".into(),
            client_header: "sim-client".into(),
            max_body: 16 << 20,
            seed: 0,
        }
    }
}

impl ServerOptions {
    /// Adds `latency` each way, give or take `jitter` (from 0 to 1) of it.
    #[must_use]
    pub fn with_latency(self, latency: Duration, jitter: f64) -> Self {
        Self {
            latency,
            latency_jitter: jitter,
            ..self
        }
    }

    /// Allows a client `grace` before it must have heard of a hold.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Seeds the latency's jitter.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}
