//! Which lanes are closed, by what the governor says: asked before every fetch.
//!
//! A provider that is closed as a whole closes all its lanes. What closes an account closes the lanes
//! of that account: each lane is known by the gates that a job of it passes. A lane that is met for
//! the first time is open until then; so after a start at most as many jobs as a worker works at once
//! are taken of an account that is held, and they go back uncounted.

use std::collections::HashMap;
use std::time::Duration;

use abide::core::WallTime;
use abide::{Governor, Target};
use parking_lot::Mutex;

use crate::ops::claim::{gate_of, provider_of};
use crate::prepare::NOBODY;

/// Lanes known at most; those that are forgotten are met again.
const MOST: usize = 10_000;

/// How long a lane is left alone whose requests already wait in line.
const BUSY: Duration = Duration::from_millis(250);

/// The gates of the lanes that a worker met.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    governor: Option<Governor>,
    known: Mutex<HashMap<String, Target>>,
}

impl Gates {
    pub(crate) fn of(governor: Option<Governor>) -> Self {
        Self {
            governor,
            known: Mutex::default(),
        }
    }

    /// Whose word counts.
    pub(crate) const fn governor(&self) -> Option<&Governor> {
        self.governor.as_ref()
    }

    /// Learns the gates of a lane; `target` tells them where the lane's name does not.
    pub(crate) fn meet(&self, lane: &str, target: Option<&Target>) {
        let Some(governor) = &self.governor else {
            return;
        };
        let gate = gate_of(lane);
        if gate == NOBODY || self.known.lock().contains_key(gate) {
            return;
        }
        let provider = provider_of(gate);
        let target = match (target, gate.strip_prefix(provider)) {
            (Some(target), _) => target.clone(),
            (None, Some("")) => governor.target_of(provider, None),
            (None, Some(rest)) => match rest.strip_prefix(" @") {
                Some(account) => governor.target_of(provider, Some(account)),
                None => return,
            },
            (None, None) => return,
        };
        let mut known = self.known.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(gate.to_owned(), target);
    }

    /// What is closed now, and until when. `running` tells how many jobs of each lane are under way
    /// here: where some of them wait in line, no more are fetched.
    pub(crate) fn closed(&self, running: &HashMap<String, usize>) -> HashMap<String, WallTime> {
        let mut closed = HashMap::new();
        let Some(governor) = &self.governor else {
            return closed;
        };
        for state in governor.states() {
            if let Some(until) = state.retry_at {
                closed.insert(state.provider.to_string(), until);
            }
            let waits = state.waiting > 0 && running.contains_key(&*state.provider);
            if waits && state.retry_at.is_none() {
                let soon = governor.clock().wall().after(BUSY);
                closed.insert(state.provider.to_string(), soon);
            }
        }
        for (gate, target) in self.known.lock().iter() {
            if let Some(until) = governor.closed_until(target) {
                let all = closed.entry(gate.clone()).or_insert(until);
                *all = until.max(*all);
            }
        }
        closed
    }

    /// The hold that keeps a lane, by its id.
    pub(crate) fn hold(&self, lane: &str) -> Option<String> {
        let governor = self.governor.as_ref()?;
        let known = self.known.lock();
        let target = known.get(gate_of(lane))?;
        let hold = governor.provider_of(target).held(target)?;
        // As the gateway and `abide holds` name it.
        Some(format!("{:016x}", hold.id.0))
    }
}
