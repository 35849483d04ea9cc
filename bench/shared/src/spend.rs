//! What is lent, spent in the process: the least that whoever holds a lease does. More is asked for
//! when half of it is spent, so that nobody waits for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abide_store::RedisStore;
use abide_store::lend::{Answer, Ask, Lender as _, Lent};
use tokio::sync::Notify;

use crate::table::now;

#[derive(Clone, Debug)]
pub(crate) struct Purse {
    store: RedisStore,
    ask: Ask,
    state: Arc<(Mutex<State>, Notify)>,
}

#[derive(Debug, Default)]
struct State {
    /// What is left, and until when it may be spent.
    left: u32,
    until: Duration,
    asking: bool,
    failed: Option<String>,
}

impl Purse {
    pub(crate) fn new(store: RedisStore, ask: Ask) -> Self {
        Self {
            store,
            ask,
            state: Arc::default(),
        }
    }

    /// One permit.
    pub(crate) async fn spend(self) -> anyhow::Result<()> {
        loop {
            let more = self.state.1.notified();
            let has = {
                let mut state = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(why) = &state.failed {
                    anyhow::bail!("{why}");
                }
                // A clock is looked at once in a while: a lease is a matter of milliseconds.
                if state.left.is_multiple_of(16) && state.until < now() {
                    state.left = 0;
                }
                let has = state.left > 0;
                state.left = state.left.saturating_sub(1);
                if state.left <= self.ask.gates[0].ahead / 2 && !state.asking {
                    state.asking = true;
                    tokio::spawn(self.clone().fill());
                }
                has
            };
            if has {
                return Ok(());
            }
            more.await;
        }
    }

    async fn fill(self) {
        let answer = self.store.ask(self.ask.clone()).await;
        let mut state = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.asking = false;
        match answer {
            Ok(Answer::Lent(Lent { grants, .. })) => {
                state.left += grants[0].permits;
                state.until = now() + grants[0].life;
            }
            Ok(Answer::NotNow(no)) => state.failed = Some(format!("turned away: {no:?}")),
            Err(lost) => state.failed = Some(lost.to_string()),
        }
        drop(state);
        self.state.1.notify_waiters();
    }
}
