//! abide, as a library calls it: an item is a future under its provider's gates.

use std::sync::Arc;
use std::time::Duration;

use abide::core::call::{CallPolicy, Safety};
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::policy::ProviderPolicy;
use abide::profile::Catalogue;
use abide::{CallOptions, Failed, Said};

use crate::job::{ATTEMPTS, World, work};

const CUT: Transport = Transport {
    phase: Phase::Head,
    kind: TransportKind::Reset,
};

/// What its user knows of the GraphQL provider: how a refusal looks, not how often it may be asked.
const GRAPHQL: &str = r#"
name = "graphql-shop"
hosts = ["graphql.example"]

[[rule]]
why = "asked too often"
status = [200]
json = { "$.errors[*].extensions.code" = "RATE_LIMITED" }
verdict = "rate_limited"
gate = "provider"
"#;

/// abide as it is, with nothing told.
pub async fn by_default(world: World) -> anyhow::Result<u32> {
    let mut policy = ProviderPolicy::for_run();
    policy.provider.concurrency = world.job.workers;
    run(world, policy).await
}

/// abide under that policy.
pub async fn run(world: World, policy: ProviderPolicy) -> anyhow::Result<u32> {
    let job = world.job;
    let mut catalogue = Catalogue::built_in();
    catalogue.add("graphql.toml", GRAPHQL.to_owned())?;
    let governor = world
        .governor()
        .policy(policy)
        .catalogue(Arc::new(catalogue))
        .build()?;
    let mut call = CallPolicy::default();
    call.attempts = ATTEMPTS;
    call.patience = Duration::from_secs(600);
    call.wait_for_budget = true;
    let mut options = CallOptions::default();
    (options.call, options.safety) = (Some(call), Some(Safety::Read));
    // Whoever knows that it is GraphQL says so by the provider's name.
    let provider = match job.scenario {
        "g" => "graphql-shop",
        _ => "items.example",
    };
    let of = world.clone();
    let claimed = work(job, move |item| {
        let (governor, options, world) = (governor.clone(), options.clone(), of.clone());
        async move {
            let ask = |attempt: abide::Attempt| {
                let world = &world;
                async move {
                    let Some(answer) = world.ask(item).await else {
                        return Err(Failed::new((), Said::failed(CUT)));
                    };
                    let judged = attempt.judge(answer.status, &answer.headers, answer.body);
                    judged.map_err(|said| Failed::new((), said))
                }
            };
            governor.call_with(provider, &options, ask).await.is_ok()
        }
    })
    .await;
    Ok(claimed)
}
