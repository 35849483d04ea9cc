//! Rounds: each subject in turn, in an order thrown anew every round, and each figure a ratio to
//! what nginx came to in the same round.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::subject::{Kind, Plan, Subject, answers, end, free};
use crate::{cpu, nginx, start, table, waiting, wrk};

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
    /// Worker threads of each; each subject is measured with each number of them.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    threads: Vec<usize>,
    /// Measures abide once more with so many places a provider: at its default of 8 most of the
    /// callers wait in line, which no plain proxy has them do.
    #[arg(long)]
    concurrency: Option<u32>,
    /// Measures abide once more with so many other providers configured.
    #[arg(long, default_value_t = 0)]
    providers: usize,
    /// How many of those are held meanwhile.
    #[arg(long, default_value_t = 0, requires = "providers")]
    held: usize,
    /// Measures instead what so many callers that wait take: each asks a held provider over
    /// HTTP/1.1, with 8 header fields.
    #[arg(long, conflicts_with = "start")]
    waiting: Option<usize>,
    /// Measures instead how long it takes from the start to the first byte answered.
    #[arg(long)]
    start: bool,
}

impl Args {
    fn plans(&self) -> Vec<Plan> {
        let mut plans = Vec::new();
        for &kind in &self.subjects {
            for &threads in &self.threads {
                let plain = Plan::of(kind, threads);
                plans.push(plain);
                if kind == Kind::Abide && self.concurrency.is_some() {
                    plans.push(Plan {
                        concurrency: self.concurrency,
                        ..plain
                    });
                }
                if kind == Kind::Abide && self.providers > 0 {
                    plans.push(Plan {
                        providers: self.providers,
                        held: self.held.min(self.providers),
                        ..plain
                    });
                }
            }
        }
        plans
    }
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
    let plans = args.plans();
    let mut origin = nginx::origin(dir.path(), upstream, args.held)?;
    let done = answers(upstream).and_then(|()| {
        if args.start {
            return start::measure(&plans, args.rounds, dir.path(), upstream);
        }
        if let Some(many) = args.waiting {
            return waiting::measure(&plans, many, dir.path(), upstream);
        }
        let all = rounds(args, &plans, dir.path(), upstream)?;
        table::print(&plans, &all);
        Ok(())
    });
    end(&mut origin);
    done
}

fn rounds(
    args: &Args,
    plans: &[Plan],
    dir: &Path,
    upstream: SocketAddr,
) -> anyhow::Result<Vec<Vec<Figures>>> {
    let started = plans.iter().map(|p| Subject::start(p, dir, upstream));
    let subjects: Vec<_> = started.collect::<Result<_, _>>()?;
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
        eprintln!("{}: {kib} KiB resident", subject.label);
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
