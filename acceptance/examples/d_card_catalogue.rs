//! An art build against a host that asks for quiet in the middle of it.
//!
//! The host serves 40 images, refuses once for 20 s, serves 60 more, and then wants ten minutes:
//! the first is sat out, the second ends the build, which goes on where it stopped.
//! `cargo run -p abide-acceptance --example d_card_catalogue`.

#![allow(clippy::print_stdout, reason = "it shows what happens")]

use std::time::Duration;

use abide::core::call::Safety;
use abide::testing::Sim;
use abide_acceptance::Program;
use abide_acceptance::script::{Script, asking, bare, ok};

const POLICY: &str = r#"
[defaults]
attempts = 3
wait.max = "30s"
patience = "60s"
backoff = { base = "1s", factor = 2, max = "2s" }

[providers.scryfall-images]
retry.on = ["rate_limited", "asked", 500, 502, 503, 504]
"#;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() {
    let program = Program::new(POLICY);
    let script = Script::new(|n| match n {
        7 => bare(404),
        40 => asking(429, 20),
        101 => asking(429, 600),
        _ => ok(),
    });
    let sim = Sim::new(script, &program.clock);
    let mut left: Vec<u32> = (0..150).collect();
    while !left.is_empty() {
        println!(
            "at {:?}: {} images to fetch",
            program.clock.elapsed(),
            left.len()
        );
        let (mut cached, mut failed) = (Vec::new(), Vec::new());
        let mut come_back = None;
        for image in &left {
            let path = format!("/normal/front/{image}.jpg");
            let attempt = |_| sim.ask(path.as_str());
            let called = program
                .governor
                .call("scryfall-images", Safety::Read, attempt);
            match called.await {
                Ok(_) => cached.push(*image),
                Err(e) if e.turned().is_rate_limited() => {
                    println!("  the build stops: {e}");
                    come_back = e.turned().retry_at();
                    break;
                }
                Err(e) => {
                    println!("  image {image} failed: {e}");
                    failed.push(*image);
                }
            }
        }
        println!("  {} cached, {} failed", cached.len(), failed.len());
        left.retain(|image| !cached.contains(image) && !failed.contains(image));
        if let Some(at) = come_back {
            let wait = at.since(program.governor.clock().wall());
            println!("  the next build comes at {at}");
            tokio::time::sleep(wait + Duration::from_millis(1)).await;
        }
    }
    let truth = sim.truth();
    println!(
        "at {:?}: done, {} requests, {} refused, {} sent inside a hold",
        program.clock.elapsed(),
        truth.requests,
        truth.refused,
        truth.sent_inside_hold
    );
}
