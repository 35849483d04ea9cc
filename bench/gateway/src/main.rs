//! What a gateway costs, beside nginx: CPU time a request and the slowest hundredth, in rounds that
//! alternate, since these figures are only worth something as ratios taken in the same minute.
//!
//! ```text
//! cargo build --release -p abide-cli
//! cargo run --release -p bench-gateway                  nginx and abide
//! cargo run --release -p bench-gateway -- --subjects nginx,legacy,pool
//! cargo run --release -p bench-gateway -- --subjects abide --providers 1000 --held 100
//! cargo run --release -p bench-gateway -- --subjects abide --threads 1,2
//! cargo run --release -p bench-gateway -- --subjects abide --waiting 2000
//! cargo run --release -p bench-gateway -- --subjects abide --start
//!
//! cargo build --release --manifest-path bench/pingora/Cargo.toml --target-dir target
//! cargo run --release -p bench-gateway -- --subjects nginx,abide,pingora
//! ```
//!
//! A stand-in is a gateway around an empty decision: timers, an observed body, an access log and
//! metrics, and no gates. It tells what the HTTP client below costs before anything is built on it.

mod cpu;
mod measure;
mod nginx;
mod stand_in;
mod start;
mod subject;
mod table;
mod waiting;
mod wrk;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// What a gateway costs, beside nginx.
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    role: Option<Role>,
    #[command(flatten)]
    measure: measure::Args,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Is a gateway around an empty decision.
    #[command(hide = true)]
    StandIn {
        #[arg(long)]
        client: stand_in::Kind,
        #[arg(long)]
        listen: SocketAddr,
        #[arg(long)]
        upstream: SocketAddr,
        #[arg(long)]
        log: PathBuf,
        #[arg(long, default_value_t = 1)]
        threads: usize,
    },
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    match args.role {
        Some(Role::StandIn {
            client,
            listen,
            upstream,
            log,
            threads,
        }) => stand_in::serve(client, listen, upstream, &log, threads),
        None => measure::run(&args.measure),
    }
}
