//! The protocol between processes and the store they share, explored exhaustively.
//!
//! The store is the real [`Book`](abide_store::lend::Book); the processes are the least a process
//! does: it asks, sends, tells what it met, and hears what others met. Whatever can happen in any
//! order happens in every order, within the bounds of a scenario: messages are late or lost, a
//! process is cut off and goes on alone, or is killed with what it was lent. In every state that
//! can be reached the properties of `checks.rs` hold.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod checks;
mod explore;
mod hear;
mod process;
mod steps;
mod world;

use std::time::Duration;

use abide_core::WallTime;
use abide_store::lend::Shape;

use explore::explore;
use world::{Left, World};

const S: Duration = Duration::from_secs(1);

/// Nothing may happen that is not named.
const NOTHING: Left = Left {
    asks: 0,
    refusals: 0,
    lifts: 0,
    cuts: 0,
    kills: 0,
    losses: 0,
    alone: 0,
    ahead: 0,
    backs: 0,
    horizon: 0,
};

/// Room enough: for scenarios about holds.
const WIDE: Shape = Shape::Bucket {
    interval: Duration::from_millis(100),
    burst: 9,
};

fn shapes() -> [Shape; 3] {
    [
        Shape::Bucket {
            interval: S * 2,
            burst: 2,
        },
        Shape::Fixed {
            limit: 2,
            period: S * 3,
            boundary: WallTime::from_unix_secs(1),
        },
        Shape::Sliding {
            limit: 2,
            period: S * 3,
        },
    ]
}

#[test]
fn holds_and_probes_of_two_processes() {
    let left = Left {
        asks: 3,
        refusals: 2,
        horizon: 3,
        ..NOTHING
    };
    explore(World::new(2, &[vec![WIDE]], left));
}

#[test]
fn holds_while_news_are_lost_and_a_person_lifts() {
    let left = Left {
        asks: 2,
        refusals: 1,
        lifts: 1,
        losses: 1,
        horizon: 3,
        ..NOTHING
    };
    explore(World::new(2, &[vec![WIDE]], left));
}

#[test]
fn holds_across_a_partition() {
    let left = Left {
        asks: 2,
        refusals: 2,
        cuts: 1,
        alone: 1,
        horizon: 2,
        ..NOTHING
    };
    explore(World::new(2, &[vec![WIDE]], left));
}

#[test]
fn a_lift_across_a_partition() {
    let left = Left {
        asks: 2,
        refusals: 1,
        lifts: 1,
        cuts: 1,
        horizon: 3,
        ..NOTHING
    };
    explore(World::new(2, &[vec![WIDE]], left));
}

#[test]
fn a_process_killed_with_a_probe_out() {
    let left = Left {
        asks: 2,
        refusals: 1,
        kills: 1,
        horizon: 3,
        ..NOTHING
    };
    explore(World::new(2, &[vec![WIDE]], left));
}

#[test]
fn probes_among_three_processes() {
    let left = Left {
        asks: 3,
        refusals: 1,
        horizon: 2,
        ..NOTHING
    };
    explore(World::new(3, &[vec![WIDE]], left));
}

#[test]
fn leases_of_each_shape_of_window() {
    for shape in shapes() {
        let left = Left {
            asks: 2,
            kills: 1,
            ahead: 1,
            backs: 2,
            horizon: 3,
            ..NOTHING
        };
        explore(World::new(2, &[vec![shape]], left));
    }
}

#[test]
fn a_set_of_two_gates_with_different_windows() {
    let [bucket, fixed, sliding] = shapes();
    let left = Left {
        asks: 3,
        refusals: 1,
        ahead: 1,
        backs: 1,
        horizon: 2,
        ..NOTHING
    };
    explore(World::new(2, &[vec![bucket], vec![fixed, sliding]], left));
}
