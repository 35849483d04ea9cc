//! Rounds: each subject in turn, in an order thrown anew every round, and each figure a ratio to
//! what nginx came to in the same round.

use std::time::Duration;

use crate::subject::{Kind, Subject, answers, end, free};
use crate::{cpu, nginx, table, wrk};

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The gateways; the first is what the others are compared with.
    #[arg(long, value_delimiter = ',', default_value = "nginx,abide")]
    subjects: Vec<Kind>,
    /// How many rounds.
    #[arg(long, default_value_t = 15)]
    rounds: u32,
    /// How long each runs a round.
    #[arg(long, default_value_t = 3)]
    seconds: u32,
    /// Connections of the load.
    #[arg(long, default_value_t = 64)]
    connections: u32,
    /// Worker threads of each.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

/// One subject in one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// CPU time of the gateway a request.
    pub(crate) cpu: Duration,
    /// The slowest hundredth took this long or longer.
    pub(crate) p99: Duration,
    /// Requests a second.
    pub(crate) rate: f64,
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let upstream = free()?;
    let mut origin = nginx::origin(dir.path(), upstream)?;
    let all = rounds(args, dir.path(), upstream);
    end(&mut origin);
    table::print(&args.subjects, &all?);
    Ok(())
}

fn rounds(
    args: &Args,
    dir: &std::path::Path,
    upstream: std::net::SocketAddr,
) -> anyhow::Result<Vec<Vec<Figures>>> {
    answers(upstream)?;
    let kinds = args.subjects.iter();
    let subjects: Vec<_> = kinds
        .map(|kind| Subject::start(*kind, dir, upstream, args.threads))
        .collect::<Result<_, _>>()?;
    for subject in &subjects {
        // Connections and caches are made before anything counts.
        wrk::run(&subject.url, args.connections, 1)?;
    }
    let mut all = vec![Vec::new(); subjects.len()];
    for round in 0..args.rounds {
        let mut order: Vec<_> = (0..subjects.len()).collect();
        fastrand::shuffle(&mut order);
        for i in order {
            all[i].push(one(args, &subjects[i])?);
        }
        eprintln!("round {} of {}", round + 1, args.rounds);
    }
    for subject in &subjects {
        let kib = cpu::resident(subject.pid());
        eprintln!("{:?}: {kib} KiB resident", subject.kind);
    }
    Ok(all)
}

fn one(args: &Args, subject: &Subject) -> anyhow::Result<Figures> {
    let before = cpu::used(subject.pid());
    let load = wrk::run(&subject.url, args.connections, args.seconds)?;
    let used = cpu::used(subject.pid()).saturating_sub(before);
    Ok(Figures {
        cpu: used / u32::try_from(load.requests.max(1))?,
        p99: load.p99,
        rate: load.requests as f64 / f64::from(args.seconds),
    })
}
