//! tower-resilience's retry with exponential backoff, over its rate limiter.

use std::time::Duration;

use abide::sim::Answer;
use tower::{Service, ServiceBuilder, ServiceExt};
use tower_resilience_ratelimiter::RateLimiterLayer;
use tower_resilience_retry::RetryLayer;

use crate::job::{ATTEMPTS, RATE, World, work};

/// How long an item waits for a permit: as long as abide's may wait.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) async fn run(world: World) -> anyhow::Result<u32> {
    let inner = world.clone();
    let exchange = tower::service_fn(move |item: u32| {
        let world = inner.clone();
        async move { world.ask(item).await.ok_or("closed") }
    });
    let limiter = RateLimiterLayer::builder()
        .limit_for_period(RATE as usize)
        .refresh_period(Duration::from_secs(1))
        .timeout_duration(PATIENCE)
        .build()?;
    let limited = ServiceBuilder::new()
        .layer(limiter)
        .service(exchange)
        .map_err(|_| "closed");
    let retry = RetryLayer::<u32, Answer, &'static str>::builder()
        .max_attempts(ATTEMPTS as usize)
        .exponential_backoff(Duration::from_millis(250))
        .retry_on_response(|a: &Answer| a.status.as_u16() == 429 || a.status.is_server_error())
        .build();
    let client = ServiceBuilder::new().layer(retry).service(limited);
    let claimed = work(world.job, move |item| {
        let mut client = client.clone();
        async move {
            let Ok(client) = client.ready().await else {
                return false;
            };
            let answer = client.call(item).await;
            answer.is_ok_and(|answer| answer.status.is_success())
        }
    })
    .await;
    Ok(claimed)
}
