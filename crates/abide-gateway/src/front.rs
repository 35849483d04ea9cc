//! The gateway as it is now: other settings come into force between two requests, whole or not at
//! all.

use std::fmt;
use std::sync::Arc;

use abide::core::call::CallPolicy;
use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::bad::GatewayError;
use crate::gateway::Gateway;
use crate::settings::Settings;
use crate::ways::Ways;

/// The gateway as it is now. Clones share it.
#[derive(Clone)]
pub struct Front {
    now: Arc<ArcSwap<Gateway>>,
}

impl Front {
    /// It begins so.
    pub fn new(gateway: Gateway) -> Self {
        Self {
            now: Arc::new(ArcSwap::from_pointee(gateway)),
        }
    }

    /// As it is now.
    pub fn now(&self) -> Arc<Gateway> {
        self.now.load_full()
    }

    /// Makes ready what other settings need, and changes nothing: whoever has more to put in force
    /// with them does so once nothing can fail any more.
    ///
    /// # Errors
    /// When they do not make sense, or would let everybody in where other machines can connect.
    pub fn prepare(&self, settings: Settings, call: CallPolicy) -> Result<Prepared, GatewayError> {
        let gateway = self.now().renewed(settings, call)?;
        // Whatever a worker will need is tried here, where somebody hears of it.
        Ways::of(&gateway, None)?;
        Ok(Prepared(Arc::new(gateway)))
    }

    /// Puts in force what was made ready. What is under way ends as it began; unused connections
    /// whose ways did not change are kept.
    pub fn enter(&self, prepared: Prepared) {
        self.now.store(prepared.0);
    }

    /// Puts other settings in force at once.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare); then the old ones stay.
    pub fn renew(&self, settings: Settings, call: CallPolicy) -> Result<(), GatewayError> {
        self.enter(self.prepare(settings, call)?);
        Ok(())
    }
}

/// Other settings, made ready to be put in force.
#[derive(Debug)]
pub struct Prepared(Arc<Gateway>);

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("now", &self.now()).finish()
    }
}

/// The ways of one worker, made anew when the gateway is.
pub(crate) struct Own {
    made: Mutex<(Arc<Gateway>, Arc<Ways>)>,
}

impl Own {
    pub(crate) fn new(front: &Front) -> Result<Self, GatewayError> {
        let now = front.now();
        let ways = Arc::new(Ways::of(&now, None)?);
        Ok(Self {
            made: Mutex::new((now, ways)),
        })
    }

    /// Those of a gateway.
    pub(crate) fn of(&self, gateway: &Arc<Gateway>) -> Arc<Ways> {
        let mut made = self.made.lock();
        if !Arc::ptr_eq(&made.0, gateway) {
            match Ways::of(gateway, Some((&made.0, &made.1))) {
                Ok(ways) => *made = (Arc::clone(gateway), Arc::new(ways)),
                Err(e) => tracing::error!(error = %e, "old connections to providers stay in use"),
            }
        }
        Arc::clone(&made.1)
    }
}
