//! The one timer of a provider.

use std::sync::Arc;
use std::time::Duration;

use abide_core::Instant;

use super::Shard;

/// A timer sleeps no longer than this at once: it counts time awake only, and must look again
/// after the machine was suspended.
pub(crate) const NAP: Duration = Duration::from_secs(10);

impl Shard {
    /// The one timer of a provider: sleeps until the machine has something to do.
    pub(super) async fn time(self: Arc<Self>) {
        let mut alive = Alive {
            shard: &self,
            ended: false,
        };
        loop {
            let now = self.shared.clock.now();
            let at = {
                let mut state = self.state.lock();
                match state.machine.next_wake() {
                    Some(at) => {
                        state.timer_at = at;
                        at
                    }
                    None => {
                        state.timer_at = Instant::FAR;
                        state.timing = false;
                        alive.ended = true;
                        return;
                    }
                }
            };
            let nap = at.since(now).min(NAP);
            if !nap.is_zero() {
                tokio::select! {
                    () = tokio::time::sleep(nap) => {}
                    () = self.timer.notified() => continue,
                }
            }
            self.with(|s, now| {
                // Due again from scratch: whatever is next may be earlier than what was slept
                // for.
                s.timer_at = Instant::FAR;
                s.machine.wake(now);
                s.timer_at = s.machine.next_wake().unwrap_or(Instant::FAR);
            });
        }
    }
}

/// Notes that a timer died with its runtime, so that the next waiter starts another.
struct Alive<'a> {
    shard: &'a Shard,
    ended: bool,
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let mut state = self.shard.state.lock();
            state.timing = false;
            state.timer_at = Instant::FAR;
        }
    }
}
