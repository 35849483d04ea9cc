//! Aids for the tests of a program that uses abide: providers that know the truth, and a clock
//! that stands still until everybody waits.
//!
//! With tokio's time paused (`#[tokio::test(start_paused = true)]`) nothing is waited for really:
//! a hold of an hour is over at once, and every instant is exact.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
//! use abide::testing::{self, Sim};
//! use abide::sim::policy::TokenBucket;
//! use abide::core::call::Safety;
//!
//! let clock = testing::clock();
//! let governor = testing::governor(&clock).build().unwrap();
//! let sim = Sim::new(TokenBucket::new(10, std::time::Duration::from_secs(1), 1), &clock);
//! for n in 0..30 {
//!     governor
//!         .call("shop.example", Safety::Read, |_| sim.ask(format!("/item/{n}")))
//!         .await
//!         .unwrap();
//! }
//! sim.assert_no_send_inside_hold();
//! # });
//! ```

mod clock;
mod sim;

use std::sync::Arc;

pub use clock::Virtual;
pub use sim::{Asked, Sim};

use crate::builder::GovernorBuilder;
use crate::governor::Governor;

/// A clock that follows tokio's, to be paused with it.
pub fn clock() -> Arc<Virtual> {
    Arc::new(Virtual::start())
}

/// The beginning of a governor by that clock, all whose throws of the dice are repeatable.
pub fn governor(clock: &Arc<Virtual>) -> GovernorBuilder {
    let clock: Arc<dyn crate::clock::Clock> = Arc::<Virtual>::clone(clock);
    Governor::builder().clock(clock).seed(1)
}
