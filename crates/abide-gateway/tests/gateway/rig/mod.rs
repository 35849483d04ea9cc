//! A gateway at real sockets, with a provider behind it that says what a test wants byte by byte, and
//! callers before it that do so too.

mod caller;
mod gate;
mod h2;
mod peer;
mod wire;

use std::time::Duration;

use abide::clock::{Clock as _, System};
use abide::core::Instant;

pub use self::caller::Caller;
pub use self::gate::{Gate, shop};
pub use self::h2::Frames;
pub use self::peer::{Peer, ok, reply};
pub use self::wire::{Message, Wire};

/// Longer than anything here takes on a machine that is busy: a test that hangs ends by it.
pub const LONG: Duration = Duration::from_secs(60);

pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub fn now() -> Instant {
    System.now()
}

/// Waits until something is so.
pub fn until(what: &str, so: impl Fn() -> bool) {
    let began = now();
    while !so() {
        assert!(now().since(began) < LONG, "not so: {what}");
        std::thread::sleep(ms(2));
    }
}

/// Bytes in which a piece that is missing or twice there is seen.
pub fn pattern(len: usize) -> Vec<u8> {
    let mut dice = fastrand::Rng::with_seed(7);
    let mut bytes = vec![0; len];
    dice.fill(&mut bytes);
    bytes
}

/// Does something on a thread of its own.
pub fn aside<T: Send + 'static>(
    what: impl FnOnce() -> T + Send + 'static,
) -> std::thread::JoinHandle<T> {
    std::thread::spawn(what)
}
