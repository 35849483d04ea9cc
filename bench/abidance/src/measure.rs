//! One run of one scenario.

use std::time::Duration;

use abide_core::control::Adaptive;
use abide_sim::Provider;
use abide_sim::world::{Plan, Report, World};
use fastrand::Rng;

use crate::scenario::Scenario;

/// Runs it in virtual time. The seed says when on the provider's clock it begins, too: a window
/// that is met at its beginning is not met in its middle.
pub(crate) fn run(
    scenario: &Scenario,
    items: u32,
    width: u32,
    adaptive: &Adaptive,
    seed: u64,
) -> Report {
    let mut plan = Plan::new(width, scenario.trip).jittered(0.3);
    let mut rng = Rng::with_seed(seed ^ 0x5eed);
    plan.begins = Duration::from_millis(rng.u64(0..60_000));
    for gate in [
        &mut plan.gates.provider,
        &mut plan.gates.account,
        &mut plan.gates.route,
    ] {
        gate.adaptive = adaptive.clone();
    }
    scenario.tell(&mut plan);
    let mut world = World::new(plan, seed);
    world.add(Provider::new(scenario.policy(seed)), items);
    world.run()
}
