//! Ten policies whose figures nobody would guess, by number.

use std::time::Duration;

use abide_sim::policy::{
    Concurrency, FixedWindow, Hint, PenaltyBox, Policy, Service, SlidingWindow, Timed, TokenBucket,
};
use fastrand::Rng;

/// A policy off the grid of round figures.
#[derive(Debug)]
pub(crate) struct OffGrid {
    number: u64,
    /// There and back.
    pub(crate) trip: Duration,
}

impl OffGrid {
    /// The number of a name from `z1` to `z10`.
    pub(crate) fn number(name: &str) -> Option<u64> {
        let number = name.strip_prefix('z')?.parse().ok()?;
        (1..=10).contains(&number).then_some(number)
    }

    /// Number 1 to 10.
    pub(crate) fn numbered(number: u64) -> Self {
        let trips = [20, 60, 5, 35, 35, 14, 60, 30, 120, 18];
        let trip = trips[usize::try_from(number.saturating_sub(1)).unwrap_or(0) % trips.len()];
        Self {
            number,
            trip: Duration::from_millis(trip),
        }
    }

    /// The scenario of the table that it is a relative of.
    pub(crate) const fn relative(number: u64) -> &'static str {
        match number {
            2 | 8 => "b2",
            3 | 10 => "c",
            5 => "g",
            6 => "d",
            9 => "e",
            _ => "a",
        }
    }

    /// What the provider does.
    pub(crate) fn policy(&self, seed: u64) -> Box<dyn Policy> {
        let rng = Rng::with_seed(seed);
        let ms = Duration::from_millis;
        let second = ms(1_000);
        let service = |mean| Service::jittered(ms(mean), 0.3, rng.clone());
        match self.number {
            1 => Box::new(TokenBucket::new(37, second, 13).hinting(Hint::Fixed(second))),
            2 => Box::new(Timed::over(FixedWindow::new(83, ms(7_000)), service(15))),
            3 => Box::new(SlidingWindow::new(57, ms(1_300))),
            4 => Box::new(Timed::over(
                TokenBucket::new(37, second, 7).hinting(Hint::Fixed(second)),
                service(40),
            )),
            5 => Box::new(abide_sim::policy::Graphql::over(TokenBucket::new(
                63, second, 21,
            ))),
            6 => Box::new(PenaltyBox::around(TokenBucket::new(29, second, 9))),
            7 => Box::new(TokenBucket::new(61, second, 34).hinting(Hint::Fixed(second))),
            8 => Box::new(FixedWindow::new(91, ms(3_700)).shifted(ms(900))),
            9 => Box::new(Concurrency::new(7, service(130))),
            _ => Box::new(Timed::over(SlidingWindow::new(113, ms(4_600)), service(25))),
        }
    }
}
