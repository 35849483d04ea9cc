//! Between the machine's records and the store's: monotonic time becomes wall time at the edge.

use std::time::Duration;

use abide_core::hold::{Hold, SetBy};
use abide_core::provider::{GateRecord, News};
use abide_core::{Ask, Instant, Moment, Scope};
use abide_store::{StoreKey, StoredGate, StoredHold};

/// A stored hold longer than this is believed no further: the longest hold is 31 days, and a
/// clock that jumped must not close a provider for years.
const LONGEST: Duration = Duration::from_secs(31 * 24 * 3600);

pub(crate) fn record(key: StoreKey, r: &GateRecord, revision: u64, at: Moment) -> StoredGate {
    StoredGate {
        key,
        scope: r.scope,
        hold: r.hold.map(|h| stored_hold(&h, at)),
        rung: r.rung,
        interval: r.interval,
        learned: r.learned,
        failures: r.failures,
        last_success: r.last_success.map(|t| at.wall_at(t)),
        counts: r
            .counts
            .iter()
            .map(|(w, used, end)| (*w, *used, at.wall_at(*end)))
            .collect(),
        revision,
    }
}

pub(crate) fn stored_hold(h: &Hold, at: Moment) -> StoredHold {
    StoredHold {
        id: h.id,
        cause: h.cause,
        until: at.wall_at(h.until),
        ask: h.ask.map(|a| (at.wall_at(a.until), a.source)),
        since: at.wall_at(h.since),
        probes: h.probes,
        lifted: h.lifted,
    }
}

/// What a stored gate means to the machine. `restart` tells a record of an earlier run of this
/// process from one another process has just written.
pub(crate) fn news(s: &StoredGate, at: Moment, restart: bool) -> Vec<News> {
    let mut news = Vec::new();
    let set_by = if restart {
        SetBy::Restored
    } else {
        SetBy::Shared
    };
    match s.hold {
        Some(h) if h.lifted => news.push(News::Lifted { id: Some(h.id) }),
        Some(h) if h.until > at.wall => {
            let until = at.instant_at(h.until.min(at.wall.after(LONGEST)));
            news.push(News::Held {
                id: Some(h.id),
                until,
                cause: h.cause,
                ask: h.ask.map(|(wall, source)| ask(at, wall, source, s.scope)),
                set_by,
                probes: h.probes,
            });
        }
        _ => {}
    }
    if !restart {
        news.push(News::Health {
            rung: s.rung,
            failures: s.failures,
            last_success: s.last_success.map(|t| at.instant_at(t.min(at.wall))),
        });
    } else {
        let counts = s.counts.iter().filter(|(_, _, end)| *end > at.wall);
        news.push(News::Restored {
            rung: s.rung,
            interval: s.interval,
            learned: s.learned,
            failures: s.failures,
            last_success: s.last_success.map(|t| at.instant_at(t.min(at.wall))),
            counts: counts
                .map(|(w, used, end)| (*w, *used, at.instant_at(*end)))
                .collect(),
        });
    }
    news
}

fn ask(at: Moment, wall: abide_core::WallTime, source: abide_core::AskSource, scope: Scope) -> Ask {
    let until: Instant = at.instant_at(wall);
    Ask {
        until,
        source,
        scope,
        class: abide_core::GateClass::PLAIN,
    }
}
