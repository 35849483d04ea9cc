//! The `governor` crate told the right number, and a retry with exponential backoff.

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::Context;
use governor::{Quota, RateLimiter};

use crate::job::{ATTEMPTS, World, work};

/// Requests a second that the provider allows in the long run.
fn truth(scenario: &str) -> u32 {
    match scenario {
        "c" => 40,
        _ => 50,
    }
}

pub(crate) async fn run(world: World) -> anyhow::Result<u32> {
    let rate = NonZeroU32::new(truth(world.job.scenario)).context("no rate at all")?;
    // A limiter that lets its whole count loose at once is over whatever counts in a window.
    let quota = Quota::per_second(rate).allow_burst(NonZeroU32::MIN);
    let limiter = std::sync::Arc::new(RateLimiter::direct(quota));
    let of = world.clone();
    let claimed = work(world.job, move |item| {
        let (world, limiter) = (of.clone(), std::sync::Arc::clone(&limiter));
        async move {
            let mut pause = Duration::from_millis(250);
            for _ in 0..ATTEMPTS {
                limiter.until_ready().await;
                let answer = world.ask(item).await;
                if answer.is_some_and(|a| a.status.is_success()) {
                    return true;
                }
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            false
        }
    })
    .await;
    Ok(claimed)
}
