//! Bounds of time that hardly ever come to their end.
//!
//! Nearly every exchange is over long before its bounds are. To put a timer into the runtime's list
//! and to take it out again costs more than all that is looked at meanwhile, so a timer that nobody
//! needs any more is left there, and whoever needs one next puts its end off, which touches no list.
//! One that ends with nobody waiting wakes somebody for nothing, and no more.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Sleep as HyperSleep, Timer};
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep};

/// Timers kept for the next exchange; each takes some hundred bytes.
const KEPT: usize = 1024;

/// The timers of one worker that are all of one length.
#[derive(Clone)]
pub(crate) struct Bounds {
    length: Duration,
    kept: Arc<Mutex<Vec<Pin<Box<Sleep>>>>>,
}

impl Bounds {
    pub(crate) fn new(length: Duration) -> Self {
        Self {
            length,
            kept: Arc::default(),
        }
    }

    pub(crate) const fn length(&self) -> Duration {
        self.length
    }

    /// One that runs once it is polled.
    pub(crate) fn one(&self) -> Bound {
        Bound {
            bounds: self.clone(),
            sleep: None,
        }
    }
}

/// A bound of one exchange; it runs from the first time it is polled.
pub(crate) struct Bound {
    bounds: Bounds,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Bound {
    /// Whether it has come to its end.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = match &mut self.sleep {
            Some(sleep) => sleep,
            none => {
                let until = now() + self.bounds.length;
                let kept = self.bounds.kept.lock().pop();
                none.insert(match kept {
                    Some(mut kept) => {
                        kept.as_mut().reset(until);
                        kept
                    }
                    None => Box::pin(tokio::time::sleep_until(until)),
                })
            }
        };
        sleep.as_mut().poll(cx)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(sleep) = self.sleep.take() {
            let mut kept = self.bounds.kept.lock();
            if kept.len() < KEPT {
                kept.push(sleep);
            }
        }
    }
}

/// The timer of one connection for what the HTTP library bounds there, one thing at a time.
#[derive(Clone)]
pub(crate) struct Beside(Arc<Mutex<Option<Pin<Box<Sleep>>>>>);

impl Beside {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }
}

impl Timer for Beside {
    fn sleep(&self, length: Duration) -> Pin<Box<dyn HyperSleep>> {
        self.sleep_until(Timer::now(self) + length)
    }

    fn sleep_until(&self, until: std::time::Instant) -> Pin<Box<dyn HyperSleep>> {
        Box::pin(Until {
            until: until.into(),
            shared: self.clone(),
        })
    }

    fn now(&self) -> std::time::Instant {
        now().into()
    }
}

/// One of the things bounded by the timer of a connection.
struct Until {
    until: Instant,
    shared: Beside,
}

impl Future for Until {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut shared = self.shared.0.lock();
        let sleep = shared.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(self.until)));
        if sleep.deadline() != self.until {
            sleep.as_mut().reset(self.until);
        }
        sleep.as_mut().poll(cx)
    }
}

impl HyperSleep for Until {}

#[expect(
    clippy::disallowed_methods,
    reason = "the runtime's timers are told of its own clock"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    const LENGTH: Duration = Duration::from_secs(60);

    async fn over(bound: &mut Bound) {
        poll_fn(|cx| bound.poll_over(cx)).await;
    }

    async fn left(bound: &mut Bound) -> bool {
        tokio::time::timeout(Duration::ZERO, over(bound))
            .await
            .is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn a_bound_used_once_more_runs_its_whole_length() {
        let bounds = Bounds::new(LENGTH);
        for waited in [0, 30, 59, 60, 61, 300] {
            let mut first = bounds.one();
            assert!(left(&mut first).await);
            drop(first);
            tokio::time::sleep(Duration::from_secs(waited)).await;
            let began = now();
            over(&mut bounds.one()).await;
            assert_eq!(began.elapsed().as_secs(), 60, "{waited}");
        }
        assert_eq!(bounds.kept.lock().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn bounds_at_the_same_time_are_apart() {
        let bounds = Bounds::new(LENGTH);
        let (mut one, mut two) = (bounds.one(), bounds.one());
        assert!(left(&mut one).await);
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(left(&mut two).await);
        let began = now();
        over(&mut one).await;
        assert_eq!(began.elapsed().as_secs(), 40);
        over(&mut two).await;
        assert_eq!(began.elapsed().as_secs(), 60);
    }

    #[tokio::test(start_paused = true)]
    async fn the_timer_of_a_connection_is_put_off() {
        let timer = Beside::new();
        let mut first = timer.sleep(LENGTH);
        assert!(
            tokio::time::timeout(Duration::from_secs(30), &mut first)
                .await
                .is_err()
        );
        drop(first);
        let began = now();
        timer.sleep(LENGTH).await;
        assert_eq!(began.elapsed().as_secs(), 60);
        timer.sleep(Duration::from_secs(1)).await;
        assert_eq!(began.elapsed().as_secs(), 61);
    }
}
