//! tower's retry with its exponential backoff, over its rate limit behind a buffer.

use std::time::Duration;

use abide::sim::Answer;
use tower::retry::backoff::{Backoff, ExponentialBackoff, ExponentialBackoffMaker, MakeBackoff};
use tower::retry::{Policy, Retry};
use tower::util::rng::HasherRng;
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::job::{ATTEMPTS, RATE, World, work};

/// What everybody writes: again after 429, 5xx and failures.
#[derive(Clone)]
struct Again {
    left: u32,
    backoff: ExponentialBackoff<HasherRng>,
}

impl Policy<u32, Answer, &'static str> for Again {
    type Future = <ExponentialBackoff<HasherRng> as Backoff>::Future;

    fn retry(
        &mut self,
        _: &mut u32,
        result: &mut Result<Answer, &'static str>,
    ) -> Option<Self::Future> {
        let again = match result {
            Ok(answer) => answer.status.as_u16() == 429 || answer.status.is_server_error(),
            Err(_) => true,
        };
        if !again || self.left == 0 {
            return None;
        }
        self.left -= 1;
        Some(self.backoff.next_backoff())
    }

    fn clone_request(&mut self, item: &u32) -> Option<u32> {
        Some(*item)
    }
}

pub(crate) async fn run(world: World) -> anyhow::Result<u32> {
    let inner = world.clone();
    let exchange = tower::service_fn(move |item: u32| {
        let world = inner.clone();
        async move { world.ask(item).await.ok_or("closed") }
    });
    let limited = ServiceBuilder::new()
        .buffer(1024)
        .rate_limit(u64::from(RATE), Duration::from_secs(1))
        .service(exchange)
        .map_err(|_| "closed");
    let (least, most) = (Duration::from_millis(250), Duration::from_secs(8));
    let backoff = ExponentialBackoffMaker::new(least, most, 0.5, HasherRng::default());
    let backoff = backoff.map_err(|e| anyhow::anyhow!("{e}"))?;
    let claimed = work(world.job, move |item| {
        let policy = Again {
            left: ATTEMPTS - 1,
            backoff: backoff.clone().make_backoff(),
        };
        let mut client = Retry::new(policy, limited.clone());
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
