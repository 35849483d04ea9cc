//! A run at work: what its driver and its items share.

use std::sync::Arc;

use abide_core::Instant;
use abide_core::run::Run;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

use super::BulkPolicy;
use super::lanes::Lanes;
use crate::client::Client;
use crate::governor::Governor;

/// A run at work.
pub(super) struct Driver<S, K> {
    pub(super) client: Client,
    pub(super) policy: BulkPolicy,
    pub(super) run: Mutex<Run>,
    pub(super) lanes: Lanes,
    pub(super) source: Arc<S>,
    pub(super) sink: Arc<K>,
    pub(super) stop: CancellationToken,
    pub(super) wire: Arc<Semaphore>,
    /// A lane was stopped: its items are to be ended.
    pub(super) stopped: Notify,
    /// One run is one party in the queues of its providers.
    pub(super) fair: u64,
}

impl<S, K> Driver<S, K> {
    pub(super) fn governor(&self) -> &Governor {
        self.client.governor()
    }

    pub(super) fn now(&self) -> Instant {
        self.governor().clock().now()
    }
}
