//! Gates that count nothing, and limits that contradict each other.

use super::{Found, Subject};
use crate::format::{Gate, Limit, Profile};
use crate::problem::Place;
use crate::units::duration;

pub(super) fn look(subject: &Subject<'_>, found: &mut Found) {
    for (i, gate) in subject.own.gates.iter().enumerate() {
        let place = Place::default().key("gate").item(i);
        for (n, limit) in gate.limits.iter().enumerate() {
            let earlier = &gate.limits[..n];
            if let Some(other) = earlier.iter().find(|e| contradict(e, limit)) {
                let what = format!(
                    "{} per {} contradicts {} per {}: tell them apart by plan or credential",
                    limit.count, limit.per, other.count, other.per
                );
                found.warn(place.key("limits").item(n), what);
            }
        }
        if is_idle(gate, subject.whole) {
            let what = format!(
                "{:?} has no limits and no concurrency, and no rule or reading names it",
                gate.name
            );
            found.warn(place, what);
        }
    }
}

fn contradict(a: &Limit, b: &Limit) -> bool {
    let (Ok(one), Ok(other)) = (duration(&a.per), duration(&b.per)) else {
        return false;
    };
    one == other && a.count != b.count && a.plan == b.plan && a.credential == b.credential
}

/// The three gates that every provider has are there anyway.
fn is_idle(gate: &Gate, whole: &Profile) -> bool {
    let named = |name: &Option<String>| name.as_ref() == Some(&gate.name);
    !matches!(gate.name.as_str(), "provider" | "account" | "route")
        && gate.limits.is_empty()
        && gate.concurrency.is_none()
        && !whole.rules.iter().any(|r| named(&r.gate))
        && !whole.readings.iter().any(|r| named(&r.gate))
}
