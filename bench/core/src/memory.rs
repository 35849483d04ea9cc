//! What a remembered gate takes.

use abide::core::gate::{GateSpec, KeyHasher};
use abide::core::policy::ProviderPolicy;
use abide::core::provider::Provider;
use abide::core::{Instant, Scope};
use serde_json::{Map, Value};

const GATES: u64 = 200_000;

pub(crate) fn measure(figures: &mut Map<String, Value>) {
    let mut policy = ProviderPolicy::default();
    policy.remembered_gates = GATES as usize;
    policy.account.windows = vec![
        abide::core::pace::Window::interval(std::time::Duration::from_millis(20)),
        abide::core::pace::Window::interval(std::time::Duration::from_millis(10)),
    ];
    let hasher = KeyHasher::new((1, 2));
    let before = resident();
    let mut p = Provider::new(policy, 1);
    for n in 0..GATES {
        let key = hasher.key(Scope::Account, &[&n.to_le_bytes()]);
        p.gates(Instant::from_secs(1), &[GateSpec::new(key, Scope::Account)]);
    }
    let after = resident();
    if let (Some(before), Some(after)) = (before, after) {
        figures.insert(
            "gate_bytes".to_owned(),
            Value::from((after - before) / GATES),
        );
    }
    drop(p);
}

/// Resident memory in bytes, where the system tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
