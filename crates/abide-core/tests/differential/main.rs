//! The machine against the naive model: the same random schedule, the same answers.
//!
//! A failing seed is printed; `ABIDE_SEED=n cargo test --test differential` replays it alone, with
//! `ABIDE_TRACE=1` step by step. `ABIDE_SCHEDULES` sets how many are tried.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod model;
mod pair;

use fastrand::Rng;
use model::script::{Universe, steps};
use pair::Pair;
use proptest::prelude::*;

const SCHEDULES: u64 = 6_000;

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(seed: u64) {
    let rng = &mut Rng::with_seed(seed);
    let universe = Universe::random(rng.u64(..));
    let count = rng.usize(20..140);
    let mut pair = Pair::new(&universe);
    for step in steps(rng, count) {
        pair.step(&step);
    }
    pair.finish();
}

#[test]
fn machine_and_model_agree() {
    if let Some(seed) = env("ABIDE_SEED") {
        return run(seed);
    }
    for seed in 0..env("ABIDE_SCHEDULES").unwrap_or(SCHEDULES) {
        let caught = std::panic::catch_unwind(|| run(seed));
        if let Err(panic) = caught {
            println!("replay with ABIDE_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn machine_and_model_agree_on_schedules_that_shrink(
        world in any::<u64>(),
        steps in prop::collection::vec(any::<[u16; 24]>(), 1..100),
    ) {
        let mut pair = Pair::new(&Universe::random(world));
        for step in &steps {
            pair.step(step);
        }
        pair.finish();
    }
}
