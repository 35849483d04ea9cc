//! A simulated provider at hand, without sockets.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_core::classify::{Phase, Transport, TransportKind};
use abide_sim::policy::Policy;
use abide_sim::{Answer, Provider, Request, Truth, What};
use http::StatusCode;
use parking_lot::Mutex;

use super::Virtual;
use crate::call::{Failed, Said};
use crate::clock::Clock;

/// How long a silent connection is listened to: longer than anybody waits.
const SILENCE: Duration = Duration::from_secs(3600);

/// What a request to a simulated provider can be made from.
#[derive(Clone, Debug)]
pub struct Asked(Request);

impl From<Request> for Asked {
    fn from(request: Request) -> Self {
        Self(request)
    }
}

/// A GET of that path.
impl From<String> for Asked {
    fn from(path: String) -> Self {
        Self(Request::get(path))
    }
}

/// A GET of that path.
impl From<&str> for Asked {
    fn from(path: &str) -> Self {
        Self(Request::get(path))
    }
}

/// A simulated provider that keeps a ledger of what was done to it. Clones share it.
#[derive(Clone)]
pub struct Sim {
    provider: Arc<Mutex<Provider>>,
    clock: Arc<Virtual>,
    trip: Duration,
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim").finish_non_exhaustive()
    }
}

impl Sim {
    /// A provider with this policy, half a round trip of 10 ms away.
    pub fn new(policy: impl Policy + 'static, clock: &Arc<Virtual>) -> Self {
        Self::over(Provider::new(policy), clock)
    }

    /// That provider, half a round trip of 10 ms away.
    pub fn over(provider: Provider, clock: &Arc<Virtual>) -> Self {
        Self {
            provider: Arc::new(Mutex::new(provider)),
            clock: Arc::clone(clock),
            trip: Duration::from_millis(10),
        }
    }

    /// The same, with another time for half a round trip.
    #[must_use]
    pub const fn away(mut self, trip: Duration) -> Self {
        self.trip = trip;
        self
    }

    /// Sends a request; `None` where the connection closes without an answer.
    pub async fn exchange(&self, request: impl Into<Asked>) -> Option<Answer> {
        let id = self
            .provider
            .lock()
            .send(self.clock.now(), request.into().0);
        tokio::time::sleep(self.trip).await;
        let reply = self.provider.lock().arrive(self.clock.moment(), id);
        tokio::time::sleep(reply.after).await;
        if matches!(reply.what, What::Silence) {
            tokio::time::sleep(SILENCE).await;
        }
        self.provider.lock().depart(self.clock.moment(), id);
        tokio::time::sleep(self.trip).await;
        self.provider.lock().receive(self.clock.now(), id);
        match reply.what {
            What::Answer(answer) => Some(answer),
            _ => None,
        }
    }

    /// Sends a request, as an attempt of [`Governor::call`](crate::Governor::call).
    ///
    /// # Errors
    /// Any answer but a success; what it means is said as the provider's profile reads it.
    pub async fn ask(&self, request: impl Into<Asked>) -> Result<Answer, Failed<StatusCode>> {
        let asked = request.into();
        let path = asked.0.path.split('?').next().unwrap_or("/").to_owned();
        let Some(answer) = self.exchange(asked).await else {
            let cut = Transport {
                phase: Phase::Head,
                kind: TransportKind::Reset,
            };
            return Err(Failed::new(StatusCode::BAD_GATEWAY, Said::failed(cut)));
        };
        let said = Said::answer(answer.status, &answer.headers)
            .body(answer.body.clone())
            .path(path);
        match answer.status.is_success() {
            true => Ok(answer),
            false => Err(Failed::new(answer.status, said)),
        }
    }

    /// What the provider has seen so far.
    pub fn truth(&self) -> Truth {
        self.provider.lock().truth().clone()
    }

    /// # Panics
    /// When a request was started inside a hold that its sender knew of.
    pub fn assert_no_send_inside_hold(&self) {
        let inside = self.truth().sent_inside_hold;
        assert!(inside == 0, "{inside} requests were started inside a hold");
    }

    /// # Panics
    /// When a write took effect more than once.
    pub fn assert_no_write_twice(&self) {
        let truth = self.truth();
        let twice = truth.written_twice();
        assert!(twice.is_empty(), "written more than once: {twice:?}");
    }

    /// # Panics
    /// When more than one request came within 100 ms after a hold's end.
    pub fn assert_no_herd(&self) {
        let burst = self.truth().peak_burst_after_hold;
        assert!(burst <= 1, "{burst} requests came together after a hold");
    }
}
