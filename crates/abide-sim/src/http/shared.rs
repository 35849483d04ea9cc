//! What all connections of a server share, and a request's leave of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use tokio::time::sleep;

use super::clock::Clock;
use super::options::ServerOptions;
use crate::policy::Service;
use crate::provider::Provider;
use crate::request::RequestId;

/// What all connections of a server share.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) options: ServerOptions,
    latency: Option<Mutex<Service>>,
    provider: Mutex<Provider>,
}

impl Shared {
    pub(super) fn new(provider: Provider, options: ServerOptions) -> Self {
        let ServerOptions {
            latency,
            latency_jitter,
            seed,
            ..
        } = options;
        let wire = (latency > Duration::ZERO)
            .then(|| Service::jittered(latency, latency_jitter, Rng::with_seed(seed)));
        Self {
            clock: Clock::start(),
            options,
            latency: wire.map(Mutex::new),
            provider: Mutex::new(provider),
        }
    }

    /// The provider. Whoever panicked while looking at it left it as it was.
    pub(super) fn provider(&self) -> MutexGuard<'_, Provider> {
        self.provider.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One way over the wire.
    pub(super) async fn travel(&self) {
        let Some(latency) = &self.latency else { return };
        let time = latency
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .draw();
        sleep(time).await;
    }
}

/// Tells the provider when a request is over, however it ends: answered, or its client gone.
pub(super) struct Departure {
    pub(super) shared: Arc<Shared>,
    pub(super) id: RequestId,
}

impl Departure {
    /// The answer that opens a hold is on its way: from now on its client may know.
    pub(super) fn wrote(&self) {
        let mut provider = self.shared.provider();
        let now = self.shared.clock.read().now;
        provider.wrote(now, self.id, self.shared.options.grace);
    }
}

impl Drop for Departure {
    fn drop(&mut self) {
        let mut provider = self.shared.provider();
        let at = self.shared.clock.read();
        provider.depart(at, self.id);
    }
}
