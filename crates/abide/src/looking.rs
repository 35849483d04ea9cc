//! Hearing what other processes wrote, and going by what a shared store lends.

use std::sync::Arc;
use std::time::Duration;

use abide_store::StoreError;

use crate::governor::Governor;
use crate::health::{WRITES, Writes};
use crate::lending::{Lending, Sharing};
use crate::policies::Policies;
use crate::providers::Shards;
use crate::shared::Shared;

/// How often the store is looked at for what other processes wrote: new holds are seen within
/// 100 ms.
const LOOK: Duration = Duration::from_millis(50);
/// Of so many looks one sees whether the store can be written.
const A_WRITE: u32 = (WRITES.as_millis() / LOOK.as_millis()) as u32;

impl Governor {
    /// Looks at what other processes have written to the store, once.
    ///
    /// # Errors
    /// When the store cannot be read; holds known here stay in force.
    pub fn look(&self) -> Result<(), StoreError> {
        for stored in self.shared.store.changes(self.shared.clock.wall())? {
            let provider = stored.key.provider.clone();
            if let Some(shard) = self.known(&provider) {
                shard.learn(&stored);
                self.pass_on(&stored);
                continue;
            }
            self.pass_on(&stored);
            self.shared.keep([stored]);
            // It may have come meanwhile, and have looked before.
            if let Some(shard) = self.known(&provider) {
                let stored = self.shared.recalled(&provider);
                stored.iter().for_each(|gate| shard.learn(gate));
            }
        }
        Ok(())
    }

    /// Keeps looking at the store until the last clone of this governor is gone. A look that finds
    /// nothing new costs a few microseconds.
    pub fn keep_looking(&self) -> tokio::task::JoinHandle<()> {
        let weak = self.weakly();
        tokio::spawn(async move {
            let looks = async {
                let mut writes = Writes::default();
                let mut looks = 0_u32;
                while let Some(governor) = weak.upgrade() {
                    let shared = Arc::clone(&governor.shared);
                    shared.health.read(governor.look());
                    drop(governor);
                    if looks.is_multiple_of(A_WRITE) {
                        writes.look(&shared.store, &shared.health).await;
                    }
                    looks = looks.wrapping_add(1);
                    tokio::time::sleep(LOOK).await;
                }
            };
            let lending = weak.shared.lending.clone();
            match lending {
                None => looks.await,
                Some(lending) => tokio::select! {
                    () = looks => {}
                    () = Self::keep_sharing(&weak, &lending) => {}
                },
            }
        })
    }

    /// Goes over to a part of every limit when the store that lends is lost, and back when it answers:
    /// what is known here is told to it again first.
    async fn keep_sharing(governor: &Weakly, lending: &Lending) {
        loop {
            let back = lending.changes().await;
            let Some(governor) = governor.upgrade() else {
                return;
            };
            if back {
                for shard in governor.all() {
                    for record in shard.records() {
                        governor.shared.store.put(record);
                    }
                }
                governor.shared.health.read(governor.look());
                tracing::info!("the shared store is back: what it lends is sent");
            } else if let Sharing::Part { peers, why } = governor.sharing() {
                tracing::warn!(
                    why,
                    peers,
                    "the shared store is lost: this process keeps to its part of every limit"
                );
            }
            governor.reconsider();
        }
    }

    fn weakly(&self) -> Weakly {
        Weakly {
            shared: Arc::clone(&self.shared),
            policies: Arc::clone(&self.policies),
            providers: Arc::downgrade(&self.providers),
        }
    }
}

/// A governor that does not keep itself.
struct Weakly {
    shared: Arc<Shared>,
    policies: Arc<Policies>,
    providers: std::sync::Weak<Shards>,
}

impl Weakly {
    fn upgrade(&self) -> Option<Governor> {
        Some(Governor {
            shared: Arc::clone(&self.shared),
            policies: Arc::clone(&self.policies),
            providers: self.providers.upgrade()?,
        })
    }
}
