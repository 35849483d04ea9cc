//! `abide fetch` beside a bare loop over the same HTTP client, in pairs.
//!
//! Both ask a fast provider on this machine for the same items of 1 KiB and write a JSON line an
//! item; the bare loop keeps no state, holds nothing and classifies nothing. The two take turns,
//! so that a machine whose speed drifts drifts for both; the figure is the median of the paired
//! ratios. Needs the release binary: `cargo build --release` first.

mod bare;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use abide::clock::{Clock, System};
use abide_sim::Provider;
use abide_sim::http::{Server, ServerOptions};
use abide_sim::policy::Plain;
use anyhow::{Context, ensure};
use clap::Parser;

/// Times bulk runs.
#[derive(Debug, Parser)]
struct Args {
    /// Items a run
    #[arg(long, default_value_t = 100_000)]
    items: u32,
    /// Pairs of runs
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Requests at once
    #[arg(long, default_value_t = 32)]
    concurrency: u32,
    /// The binary
    #[arg(long, default_value = "target/release/abide")]
    abide: PathBuf,
    /// Write figures here, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Be the bare loop: read this list
    #[arg(long, hide = true)]
    bare: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let Some(list) = &args.bare {
        return bare::run(list, args.concurrency);
    }
    let dir = tempfile::tempdir()?;
    let server = Server::start(Provider::new(Plain::sized(1024)), ServerOptions::default())?;
    let list = dir.path().join("list.txt");
    let mut file = BufWriter::new(File::create(&list)?);
    for i in 0..args.items {
        writeln!(file, "{}/item/{i}", server.url())?;
    }
    drop(file);
    let (mut ratios, mut rates, mut bares, mut memory) = (vec![], vec![], vec![], 0_u64);
    for round in 0..args.rounds {
        let (bare, _) = timed(bare_command(&args, &list)?, &args, "bare loop")?;
        let out = dir.path().join(format!("out-{round}.jsonl"));
        let mut command = Command::new(&args.abide);
        command
            .arg("fetch")
            .arg(&list)
            .arg("--quiet")
            .arg("--out")
            .arg(&out);
        command
            .arg("--state")
            .arg(dir.path().join(format!("state-{round}")));
        command
            .arg("--concurrency")
            .arg(args.concurrency.to_string());
        let (seconds, peak) = timed(command, &args, "abide fetch")?;
        let lines = std::fs::read_to_string(&out)?.lines().count();
        ensure!(
            lines == args.items as usize,
            "{lines} lines for {} items",
            args.items
        );
        let n = f64::from(args.items);
        println!(
            "round {round}: abide {:.0}/s, bare {:.0}/s, ratio {:.2}, peak {} MiB",
            n / seconds,
            n / bare,
            bare / seconds,
            peak / 1024
        );
        ratios.push(bare / seconds);
        rates.push(n / seconds);
        bares.push(n / bare);
        memory = memory.max(peak);
    }
    let figures = serde_json::json!({
        "items": args.items,
        "concurrency": args.concurrency,
        "rounds": args.rounds,
        "abide_items_per_second": median(&mut rates),
        "bare_items_per_second": median(&mut bares),
        "ratio_to_bare": median(&mut ratios),
        "peak_memory_kib": memory,
    });
    println!("{figures}");
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(())
}

fn bare_command(args: &Args, list: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--bare").arg(list);
    command
        .arg("--concurrency")
        .arg(args.concurrency.to_string());
    Ok(command)
}

/// Runs a command; returns its wall time and its peak memory in KiB.
fn timed(mut command: Command, args: &Args, what: &str) -> anyhow::Result<(f64, u64)> {
    let began = System.now();
    let mut child = command
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("{what} cannot start (is {} built?)", args.abide.display()))?;
    let pid = child.id();
    let watch = std::thread::spawn(move || {
        let mut peak = 0;
        while let Some(now) = peak_memory(pid) {
            peak = peak.max(now);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        peak
    });
    let status = child.wait()?;
    let seconds = System.now().since(began).as_secs_f64();
    ensure!(status.success(), "{what} ended with {status}");
    Ok((seconds, watch.join().unwrap_or(0)))
}

/// The most memory a process has had, where the system tells.
fn peak_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
