//! Asking a shared store for leave, on behalf of the machines.
//!
//! The machines never wait for it: they say what they lack, it is asked for beside them, and what
//! comes of it is news. When the store cannot be asked, every provider is treated as the part of one
//! process among those that were there last, so that nobody sends at the full rate unseen; holds stay.
//! It is greeted until it answers; then everything known is written there again, what others wrote is
//! read, and the machines ask as before.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_core::gate::{GateKey, GateSpec};
use abide_core::hold::SetBy;
use abide_core::lease::LeaseId;
use abide_core::pace::Shape;
use abide_core::policy::ProviderPolicy;
use abide_core::provider::News;
use abide_core::sharing::AHEAD;
use abide_core::{Instant, Moment};
use abide_store::lend::{self, Answer, Ask, GateAsk, Lender, Lent, NotNow, Why};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::shard::Handle;

/// How long what a request asked for itself may be spent: it goes out at once, unless something came
/// between, and however far away the store is.
const LIFE: Duration = Duration::from_secs(1);

/// How often the store is greeted: its answer is news within a second while it is gone.
const GREET: Duration = Duration::from_millis(500);

/// How the limits are shared with other processes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sharing {
    /// They are not.
    Alone,
    /// A store lends what is sent; so many processes share it, this one included.
    Lent {
        /// Processes.
        peers: u32,
    },
    /// The store cannot be asked: this process keeps to its part of every limit.
    Part {
        /// Processes that were there last, this one included.
        peers: u32,
        /// What was met.
        why: String,
    },
}

/// What asks a shared store.
pub(crate) struct Lending {
    lender: Arc<dyn Lender>,
    /// Several permits at once where a limit is high.
    ahead: bool,
    /// Why it cannot be asked.
    lost: Mutex<Option<String>>,
    /// That changed.
    changed: Notify,
}

impl fmt::Debug for Lending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lending")
            .field("lender", &self.lender)
            .field("ahead", &self.ahead)
            .finish_non_exhaustive()
    }
}

/// What one machine lacks, gate by gate, under one id.
#[derive(Debug)]
pub(crate) struct Lack {
    pub(crate) id: LeaseId,
    pub(crate) keys: Vec<(GateKey, GateSpec)>,
    pub(crate) ask: Ask,
}

impl Lending {
    pub(crate) fn new(lender: Arc<dyn Lender>, ahead: bool) -> Self {
        Self {
            lender,
            ahead,
            lost: Mutex::new(None),
            changed: Notify::new(),
        }
    }

    /// How a provider is to be treated now that would be treated so without the store.
    pub(crate) fn treats(&self, policy: ProviderPolicy) -> ProviderPolicy {
        match *self.lost.lock() {
            None => policy.lent(self.ahead),
            Some(_) => policy.part_of(self.lender.peers()),
        }
    }

    pub(crate) fn sharing(&self) -> Sharing {
        let peers = self.lender.peers().max(1);
        match &*self.lost.lock() {
            None => Sharing::Lent { peers },
            Some(why) => Sharing::Part {
                peers,
                why: why.clone(),
            },
        }
    }

    /// The store cannot be asked.
    fn is_lost(&self, why: &lend::Lost) {
        let mut lost = self.lost.lock();
        if lost.is_none() {
            *lost = Some(why.0.clone());
            drop(lost);
            self.changed.notify_one();
        }
    }

    /// Waits until whether it can be asked has changed, and tells that; it is greeted meanwhile.
    pub(crate) async fn changes(&self) -> bool {
        loop {
            let greeted = async {
                tokio::time::sleep(GREET).await;
                self.lender.greet().await
            };
            tokio::select! {
                () = self.changed.notified() => return false,
                greeted = greeted => match greeted {
                    Ok(()) if self.lost.lock().take().is_some() => return true,
                    Ok(()) => {}
                    Err(why) => self.is_lost(&why),
                },
            }
        }
    }

    /// Asks for what a machine lacks, and tells it what came of that.
    pub(crate) async fn ask(self: Arc<Self>, shard: Handle, lack: Lack) {
        let asked = shard.shared().clock.moment();
        match self.lender.ask(lack.ask.clone()).await {
            Ok(Answer::Lent(lent)) => self.lent(&shard, lack, lent, asked.now).await,
            Ok(Answer::NotNow(not)) => not_now(&shard, &lack, &not, asked),
            Err(why) => {
                self.is_lost(&why);
                shard.with(|s, now| {
                    for (_, spec) in &lack.keys {
                        // By then it is treated as a part.
                        let id = lack.id;
                        s.machine.learn(
                            now,
                            *spec,
                            News::LeaseLost {
                                id,
                                not_before: now,
                            },
                        );
                    }
                });
            }
        }
    }

    /// Tells the machine what it may spend, and gives back what it did not when that lapses.
    async fn lent(&self, shard: &Handle, lack: Lack, lent: Lent, asked: Instant) {
        let Lack { id, keys, ask } = lack;
        // Counted from the question: the store counts from its answer, which came later.
        let until = |life: Duration| asked.after(life);
        shard.with(|s, now| {
            for (((_, spec), grant), gate) in keys.iter().zip(&lent.grants).zip(&ask.gates) {
                let news = News::Leased {
                    id,
                    permits: grant.permits,
                    until: until(grant.life),
                    probes: grant.probe.then(|| until(gate.probe)),
                };
                s.machine.learn(now, *spec, news);
            }
        });
        let longest = lent.grants.iter().map(|g| g.life).max().unwrap_or_default();
        tokio::time::sleep(longest).await;
        let mut unused = lent;
        let unspent = shard.with(|s, _| {
            let of = |(key, _): &(GateKey, GateSpec)| s.machine.unspent(*key, id);
            keys.iter().map(of).collect::<Vec<_>>()
        });
        let mut any = false;
        for (grant, (permits, probe)) in unused.grants.iter_mut().zip(unspent) {
            grant.permits = permits.min(grant.permits);
            grant.probe &= probe;
            any |= grant.permits > 0 || grant.probe;
        }
        if any {
            self.lender.give_back(&ask, &unused);
        }
    }
}

/// Nothing was lent: when it makes sense to ask again, and what the store knows of a hold.
fn not_now(shard: &Handle, lack: &Lack, not: &NotNow, asked: Moment) {
    shard.with(|s, now| {
        for (place, (_, spec)) in lack.keys.iter().enumerate() {
            let here = place == not.gate;
            if here
                && let Why::Held {
                    id,
                    cause,
                    until,
                    probes,
                } = not.why
            {
                let held = News::Held {
                    id: Some(id),
                    until: asked.instant_at(until),
                    cause,
                    ask: None,
                    set_by: SetBy::Shared,
                    probes,
                };
                s.machine.learn(now, *spec, held);
            }
            let not_before = if here { now.after(not.after) } else { now };
            let id = lack.id;
            s.machine
                .learn(now, *spec, News::LeaseLost { id, not_before });
        }
    });
}

/// What is asked of one gate.
pub(crate) fn gate_ask(
    gate: [u8; 16],
    windows: impl Iterator<Item = Shape>,
    (cost, ahead): (u32, u32),
    probe: Duration,
    at: Moment,
) -> GateAsk {
    let shape = |shape| match shape {
        Shape::Bucket { interval, burst } => lend::Shape::Bucket { interval, burst },
        Shape::Sliding { limit, period } => lend::Shape::Sliding { limit, period },
        Shape::Fixed {
            limit,
            period,
            boundary,
        } => lend::Shape::Fixed {
            limit,
            period,
            boundary: at.wall_at(boundary),
        },
    };
    GateAsk {
        gate,
        windows: windows.map(shape).collect(),
        cost,
        ahead,
        life: if ahead > 0 { AHEAD } else { LIFE },
        probe,
    }
}
