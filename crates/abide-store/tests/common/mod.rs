//! What the tests of stores share.

#![allow(dead_code, reason = "every test file uses a part")]

#[cfg(feature = "redis")]
pub(crate) mod server;

use std::time::Duration;

use abide_core::hold::HoldId;
use abide_core::{AskSource, Scope, Verdict, WallTime};
use abide_store::{StoreKey, StoredGate, StoredHold};

/// `s` seconds after the tests' beginning of time: in a future in which no server's own clock ends
/// what is in force.
pub(crate) fn at(s: i64) -> WallTime {
    WallTime::from_unix_secs(2_500_000_000 + s)
}

pub(crate) fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

pub(crate) fn key(n: u8) -> StoreKey {
    StoreKey {
        provider: "api.example.org".to_owned(),
        gate: [n; 16],
    }
}

pub(crate) fn hold(id: u64, until: i64) -> StoredHold {
    StoredHold {
        id: HoldId(id),
        cause: Verdict::RateLimited,
        until: at(until),
        ask: Some((at(until), AskSource::RetryAfter)),
        since: at(0),
        probes: true,
        lifted: false,
    }
}

pub(crate) fn gate(n: u8, revision: u64) -> StoredGate {
    StoredGate {
        key: key(n),
        scope: Scope::Account,
        hold: None,
        rung: None,
        interval: None,
        learned: None,
        failures: 0,
        last_success: None,
        counts: Vec::new(),
        revision,
    }
}

pub(crate) fn held(n: u8, revision: u64, hold: StoredHold) -> StoredGate {
    StoredGate {
        hold: Some(hold),
        ..gate(n, revision)
    }
}
