//! Metadata of image models from two vendors and an archive at hand.
//!
//! The first vendor refuses after twenty lookups for 75 s: everybody waits for that once, nobody
//! floods the second vendor, and what the archive knows is shown meanwhile, marked as a stand-in.
//! `cargo run -p abide-acceptance --example e_model_metadata`.

#![allow(clippy::print_stdout, reason = "it shows what happens")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use abide::core::call::Safety;
use abide::testing::Sim;
use abide::{Chain, Failed, Said};
use abide_acceptance::Program;
use abide_acceptance::script::{Script, asking, ok};
use http::StatusCode;

const POLICY: &str = r#"
[defaults]
attempts = 6
patience = "300s"
pace.adaptive = "off"

[providers.civitai]
rate = "1/750ms"

[providers.civarchive]
rate = "1/s"
"#;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let program = Program::new(POLICY);
    let civitai = Script::new(|n| if n == 20 { asking(429, 75) } else { ok() });
    let civitai = Sim::new(civitai, &program.clock);
    let civarchive = Sim::new(Script::new(|_| ok()), &program.clock);
    let chain = {
        let (civitai, civarchive) = (civitai.clone(), civarchive.clone());
        Chain::new(&program.governor)
            .network("civitai", move |_, _: Arc<u32>| {
                let sim = civitai.clone();
                async move { sim.ask("/api/v1/models").await.map(|_| "metadata") }
            })
            .network("civarchive", move |_, _| {
                let sim = civarchive.clone();
                async move { sim.ask("/api/models").await.map(|_| "metadata") }
            })
            .local("archive", |_, id| async move {
                match *id % 2 {
                    0 => Ok("old metadata"),
                    _ => Err(Failed::new(StatusCode::NOT_FOUND, Said::not_found())),
                }
            })
    };
    let mut batch = tokio::task::JoinSet::new();
    for n in 0..40 {
        let (governor, sim, clock) = (
            program.governor.clone(),
            civitai.clone(),
            Arc::clone(&program.clock),
        );
        batch.spawn(async move {
            let attempt = |_| sim.ask("/api/v1/models");
            let called = governor.call("civitai", Safety::Read, attempt).await;
            (
                n,
                called.map(drop).map_err(|e| e.to_string()),
                clock.elapsed(),
            )
        });
    }
    // While the batch waits, a person looks at two models and will not wait.
    tokio::time::sleep(Duration::from_secs(20)).await;
    let state = program.governor.provider("civitai").state();
    println!(
        "20 s on, civitai is held until {:?}",
        state.retry_at.map(|t| t.to_string())
    );
    let hasty = chain.patience(Duration::ZERO);
    for model in [2, 3] {
        match hasty.ask(model).await {
            Ok(a) if a.degraded => {
                println!("model {model}: {} of the {}, a stand-in", a.value, a.by);
            }
            Ok(a) => println!("model {model}: {} of {}", a.value, a.by),
            Err(e) => println!("model {model}: {e}"),
        }
    }
    let mut ended = batch.join_all().await;
    ended.sort_by_key(|(n, _, _)| *n);
    let done = ended.iter().filter(|(_, end, _)| end.is_ok()).count();
    let last = ended.iter().map(|(_, _, at)| *at).max().unwrap_or_default();
    println!(
        "the batch: {done} of {} done, the last at {last:?}",
        ended.len()
    );
    let truth = civitai.truth();
    println!(
        "civitai saw {} requests, {} refused, {} inside its hold; civarchive saw {}",
        truth.requests,
        truth.refused,
        truth.sent_inside_hold,
        civarchive.truth().requests
    );
    Ok(())
}
