//! abide, as a library calls it: an item is a future under its provider's gates.

use std::time::Duration;

use abide::core::call::{CallPolicy, Safety};
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::policy::ProviderPolicy;
use abide::{CallOptions, Failed, Said, testing};

use crate::job::{ATTEMPTS, Job, Outcome, World, work};

const CUT: Transport = Transport {
    phase: Phase::Head,
    kind: TransportKind::Reset,
};

pub(crate) async fn run(job: Job) -> anyhow::Result<Outcome> {
    let world = World::new(job)?;
    let governor = testing::governor(&world.clock)
        .policy(ProviderPolicy::for_run())
        .build()?;
    let mut call = CallPolicy::default();
    call.attempts = ATTEMPTS;
    call.patience = Duration::from_secs(600);
    call.wait_for_budget = true;
    let mut options = CallOptions::default();
    (options.call, options.safety) = (Some(call), Some(Safety::Read));
    // Whoever knows that it is GraphQL says so by the provider's name.
    let provider = match job.scenario {
        "g" => "hardcover",
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
    Ok(world.outcome(claimed))
}
