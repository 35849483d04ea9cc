//! The lanes of a run at run time: which provider's gates each one passes, and what its items
//! are told when those close.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use abide_core::gate::GateKey;
use abide_core::refusal::{DecidedBy, Refusal, RefusalKind};
use abide_core::run::{LaneId, Run};
use abide_core::{Ask, Instant, Scope, Verdict};
use tokio::sync::watch;

use super::BulkPolicy;
use crate::governor::Governor;
use crate::shard::Handle;
use crate::target::Target;

/// What a lane's waiting items are told.
#[derive(Clone, Debug, Default)]
pub(super) struct Closed {
    /// Closed until then.
    pub(super) until: Option<Instant>,
    pub(super) cause: Option<Verdict>,
    pub(super) ask: Option<Ask>,
    /// Waiting for it is not affordable: everyone who waits leaves.
    pub(super) leave: bool,
}

impl Closed {
    /// The refusal of an item that leaves.
    pub(super) fn refusal(&self) -> Refusal {
        let mut r = Refusal::new(RefusalKind::Held, DecidedBy::Policy);
        r.cause = self.cause;
        r.ask = self.ask;
        r.scope = self.ask.map_or(Scope::Provider, |a| a.scope);
        r.retry_at = self.ask.map(|a| a.until).max(self.until);
        r
    }
}

/// The lanes of one provider that tell routes apart. A run of fifty thousand pages may know as
/// many routes; what follows shares lanes by account, and is told of wider closings only.
const FINE: usize = 256;

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) shard: Handle,
    pub(super) target: Target,
    /// Its items go to different routes.
    pub(super) coarse: bool,
    keys: Vec<GateKey>,
    pub(super) closed: watch::Sender<Closed>,
}

/// All lanes of a run, by lane id.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    all: Vec<Lane>,
    /// The lane of plain items, and that of items that wait longer: what turns the ones away is
    /// no news to the others.
    by_target: HashMap<Target, [Option<LaneId>; 2]>,
    by_provider: HashMap<Arc<str>, Vec<LaneId>>,
}

impl Lanes {
    pub(super) fn lane(
        &mut self,
        governor: &Governor,
        run: &mut Run,
        policy: &BulkPolicy,
        target: &Target,
        patience: Option<Duration>,
    ) -> LaneId {
        let usual = policy.run_of(&target.provider);
        let many = self.by_provider.get(&target.provider);
        let coarse = many.is_some_and(|l| l.len() >= FINE) && !self.by_target.contains_key(target);
        let wide;
        let target = if coarse {
            wide = target.without_routes();
            &wide
        } else {
            target
        };
        let longer = patience.filter(|p| *p > usual.patience);
        let known = self.by_target.get(target);
        let id = known.and_then(|lanes| lanes[usize::from(longer.is_some())]);
        let id = id.unwrap_or_else(|| {
            let id = run.lane_with(usual.clone());
            self.open_lane(governor, target, id, longer.is_some(), coarse);
            id
        });
        if let Some(patience) = longer {
            run.bear(id, patience);
        }
        id
    }

    fn open_lane(
        &mut self,
        governor: &Governor,
        target: &Target,
        id: LaneId,
        longer: bool,
        coarse: bool,
    ) {
        let shard = governor.provider_of(target);
        let keys = shard.keys(target);
        self.by_provider
            .entry(Arc::clone(shard.name()))
            .or_default()
            .push(id);
        self.all.push(Lane {
            shard,
            target: target.clone(),
            coarse,
            keys,
            closed: watch::Sender::new(Closed::default()),
        });
        let lanes = self.by_target.entry(target.clone()).or_default();
        lanes[usize::from(longer)] = Some(id);
    }

    pub(super) fn get(&self, id: LaneId) -> &Lane {
        &self.all[id.0 as usize]
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = LaneId> {
        (0..u32::try_from(self.all.len()).unwrap_or(u32::MAX)).map(LaneId)
    }

    /// The lanes that pass this gate.
    pub(super) fn through(&self, provider: &Arc<str>, key: GateKey) -> Vec<LaneId> {
        let lanes = self
            .by_provider
            .get(provider)
            .map_or(&[][..], Vec::as_slice);
        lanes
            .iter()
            .copied()
            .filter(|id| self.get(*id).keys.contains(&key))
            .collect()
    }

    /// Tells a lane's waiting items of a closing.
    pub(super) fn close(&self, id: LaneId, closed: Closed) {
        self.get(id).closed.send_modify(|c| *c = closed);
    }

    pub(super) fn open(&self, id: LaneId) {
        self.get(id).closed.send_modify(|c| *c = Closed::default());
    }
}
