//! Which of several file hosters to show, and which to leave alone for a while.
//!
//! Three simulated hosters: one is well, one cuts every connection, one comes back after a minute.
//! Time is made to pass in an instant: `cargo run -p abide-acceptance --example c_hoster_health`.

#![allow(clippy::print_stdout, reason = "it shows what happens")]

use std::error::Error;
use std::time::Duration;

use abide::View;
use abide::core::Instant;
use abide::core::call::Safety;
use abide::testing::Sim;
use abide_acceptance::Program;
use abide_acceptance::script::{Script, cut, ok};

const POLICY: &str = r#"
[defaults]
attempts = 1
patience = "0s"
hold.on = [502, 503, 504, "transport"]
ladder.steps = ["5s", "10s", "20s", "30s", "60s", "5m", "1h"]
breaker.enabled = false
"#;

const HOSTERS: [&str; 3] = ["well.example", "dead.example", "back.example"];

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    let program = Program::new(POLICY);
    let begin = program.governor.clock().now();
    let up = move |from: u64| {
        let well = move |now: Instant| now.since(begin) >= Duration::from_secs(from);
        Script::by(move |_, at, _| if well(at.now) { ok() } else { cut() })
    };
    let sims = [up(0), up(u64::MAX), up(60)].map(|script| Sim::new(script, &program.clock));
    // Somebody has to try those again that are not shown.
    let mut probers = Vec::new();
    for (name, sim) in HOSTERS.iter().zip(&sims) {
        let sim = sim.clone();
        let probe = move |_| {
            let sim = sim.clone();
            async move { sim.ask("/").await }
        };
        probers.push(program.governor.keep_probing(name, probe));
    }
    // A person clicks once on each.
    for (name, sim) in HOSTERS.iter().zip(&sims) {
        let clicked = program
            .governor
            .call(name, Safety::Read, |_| sim.ask("/file"));
        match clicked.await {
            Ok(_) => println!("{name}: plays"),
            Err(e) => println!("{name}: {e}"),
        }
    }
    for minute in [0, 1, 2, 10, 60] {
        let until = Duration::from_secs(60 * minute);
        tokio::time::sleep(until.saturating_sub(program.clock.elapsed())).await;
        println!("\nafter {minute} min");
        println!(
            "  shown: {:?}",
            program.governor.shown(&HOSTERS, View::Healthy)?
        );
        println!(
            "  may be tried: {:?}",
            program.governor.shown(&HOSTERS, View::Available)?
        );
        for name in HOSTERS {
            let s = program.governor.provider(name).state();
            match s.retry_at {
                Some(at) => println!("  {name}: {} failures, held until {at}", s.failures),
                None => println!("  {name}: {} failures", s.failures),
            }
        }
    }
    for (name, sim) in HOSTERS.iter().zip(&sims) {
        println!("{name} was asked {} times in an hour", sim.truth().requests);
    }
    Ok(())
}
