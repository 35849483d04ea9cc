//! `abide plan`: how long a job will take, told by a run in virtual time.
//!
//! The simulated provider keeps to what a profile documents, or to the policy of a file; the client
//! is the core as `abide fetch` drives it.

mod cells;
mod documented;
mod figures;
mod spark;

use std::path::{Path, PathBuf};
use std::time::Duration;

use abide::clock::{Clock, System};
use abide::core::policy::ProviderPolicy;
use abide::core::{ClassifyPolicy, Instant, Moment, WallTime};
use abide_config::{Config, Use};
use abide_sim::Provider;
use abide_sim::policy::{All, Policy, Service, Timed};
use abide_sim::recipe::Recipe;
use abide_sim::world::{Plan, Report, World};
use anyhow::Context;

use self::documented::Known;
use self::figures::Figures;
use crate::exit::{Exit, Usage};
use crate::knobs::Knobs;

/// The longest job that is followed to its end.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);
/// The largest policy file read: a thousand times what anyone writes by hand.
const LARGEST: u64 = 1 << 20;

/// Say how long a job will take, without sending anything.
///
/// The job is run in virtual time. With --provider the provider keeps exactly the limits that its
/// profile documents, and the client knows them, as abide fetch would. With --against it keeps to
/// the policy of a file that the client does not know, and has to learn.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n\
  abide plan --items 5000 --provider github --credential --concurrency 32\n\
  abide plan --items 2000 --against policy.toml --chart plan.svg\n\n\
A policy.toml for --against (docs/plan.md has every key):\n\
  kind = \"bucket\"\n  count = 50\n  per = \"1s\"\n  burst = 10\n  retry_after = \"1s\"\n\n\
Exit codes: 0 every item would be done, 1 some would fail, 2 usage, 74 a file cannot be used,\n\
75 none would fail but some would be skipped.")]
pub(crate) struct Args {
    /// How many items, one request each
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    items: u32,
    /// The provider: a name of the catalogue, of abide.toml, or a host
    #[arg(long, value_name = "NAME", required_unless_present = "against")]
    provider: Option<String>,
    /// A policy to plan against that the client does not know (TOML, see docs/plan.md)
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// The requests carry a credential: limits of those without one do not hold
    #[arg(long, requires = "provider")]
    credential: bool,
    /// The account's plan, as the provider's profile names it [default: abide.toml's]
    #[arg(long, value_name = "NAME", requires = "provider")]
    plan: Option<String>,
    /// The path that is asked for, where limits differ by it
    #[arg(long, value_name = "PATH", default_value = "/")]
    path: String,
    /// The round trip to the provider, as 80ms
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = abide_config::duration)]
    trip: Duration,
    /// By how much of itself each way varies, from 0 to 1; providers that count to the millisecond
    /// refuse what a network brings together
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    jitter: f64,
    /// How long the provider takes to answer a request that it lets in [default: no time]; with
    /// --against its file says so
    #[arg(long, value_name = "TIME", value_parser = abide_config::duration, conflicts_with = "against")]
    service: Option<Duration>,
    /// The dice: the same seed and --at give the same plan
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// When the job begins, as 2026-12-01T09:00:00Z [default: now]
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    at: Option<WallTime>,

    #[command(flatten)]
    knobs: Knobs,
    /// The configuration file [default: abide.toml here, else in the user's configuration folder]
    #[arg(long, env = "ABIDE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,

    /// Draw accepted, refused and held over time into this file, whose name ends in .svg or .png
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn timestamp(text: &str) -> Result<WallTime, String> {
    let told: Result<jiff::Timestamp, _> = text.trim().parse();
    let nanos = told.map_err(|e| e.to_string())?.as_nanosecond();
    let nanos = i64::try_from(nanos).map_err(|_| "is too far away".to_owned())?;
    Ok(WallTime::from_unix_nanos(nanos))
}

fn share(text: &str) -> Result<f64, String> {
    let told: Option<f64> = text.parse().ok();
    let fits = told.filter(|n| (0.0..=1.0).contains(n));
    fits.ok_or_else(|| "is no share from 0 to 1".to_owned())
}

/// A job and who it is for.
struct Job {
    /// The provider, as people call it.
    name: String,
    plan: Plan,
    policy: Box<dyn Policy>,
    /// What is known of the provider, in words.
    notes: Vec<String>,
    /// Whether the client knows a limit.
    knows: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(chart) = &args.chart
        && !chart.extension().is_some_and(|e| e == "svg" || e == "png")
    {
        let what = format!("--chart: {} does not end in .svg or .png", chart.display());
        return Err(Usage(what).into());
    }
    let begins = args.at.unwrap_or_else(|| System.wall());
    let Job {
        name,
        plan,
        policy,
        notes,
        knows,
    } = Job::new(args, begins)?;
    let mut world = World::new(plan, args.seed);
    world.add(Provider::new(policy), args.items);
    let report = world.run();
    if let Some(chart) = &args.chart {
        draw(chart, &format!("{} items, {name}", args.items), &report)?;
    }
    let figures = Figures::new(
        (&name, args.provider.is_some()),
        begins,
        (notes, knows),
        &report,
    );
    let text = match args.json {
        true => format!("{}\n", serde_json::to_string(&figures)?),
        false => figures.text(args.at.is_none(), spark::Colours::here()),
    };
    crate::shown::print(&text)?;
    Ok(figures.exit())
}

fn draw(chart: &Path, title: &str, report: &Report) -> anyhow::Result<()> {
    let picture = match chart.extension().is_some_and(|e| e == "png") {
        true => abide_sim::world::png(title, report)?,
        false => abide_sim::world::svg(title, report)?.into_bytes(),
    };
    std::fs::write(chart, picture).with_context(|| format!("{} cannot be written", chart.display()))
}

impl Job {
    fn new(args: &Args, begins: WallTime) -> anyhow::Result<Self> {
        let config = crate::config::load(
            args.config.as_deref(),
            args.knobs.flags([("--plan", "plan", args.plan.clone())]),
        )?;
        let all = crate::catalogue::load(None, &config)?;
        crate::config::agrees(&config, &all)?;
        let at = Moment::new(Instant::ORIGIN, begins);
        let known = args.provider.as_deref();
        let known = known
            .map(|name| Known::new(name, args, &config, &all))
            .transpose()?;
        let (gates, classify) = match &known {
            Some(known) => known.treatment(&config, at),
            None => (
                config.provider(Use::Fetch, None),
                config.classify(Use::Fetch, None),
            ),
        };
        let mut plan = plan(args, &config, gates, classify).beginning(begins);
        if let Some(known) = &known {
            plan.passes = known.passes();
        }
        let gates = &plan.gates;
        let knows = (plan.passes.iter())
            .any(|(scope, class, _)| !gates.of(*scope, *class).windows.is_empty());
        let mut notes = match &known {
            Some(known) => known.notes(),
            None => Vec::new(),
        };
        let policy: Box<dyn Policy> = match &args.against {
            Some(file) => {
                let policy = hidden(file)?.policy(args.seed);
                let (file, what) = (file.display(), policy.describe());
                notes.push(format!("against {file}, hidden from the client: {what}"));
                policy
            }
            None => {
                let limits = known.as_ref().map(|k| k.policy(at));
                let service = Service::constant(args.service.unwrap_or_default());
                let limits = limits.unwrap_or_else(|| All::of([]));
                Box::new(Timed::over(limits, service))
            }
        };
        let name = match (&args.provider, &args.against) {
            (Some(name), _) => name.clone(),
            (None, Some(file)) => file.display().to_string(),
            (None, None) => String::new(),
        };
        Ok(Self {
            name,
            plan,
            policy,
            notes,
            knows,
        })
    }
}

/// A run as `abide fetch` does it.
fn plan(args: &Args, config: &Config, gates: ProviderPolicy, classify: ClassifyPolicy) -> Plan {
    let provider = args.provider.as_deref();
    let run = config.run(provider);
    let mut plan = Plan::new(run.concurrency, args.trip).jittered(args.jitter);
    plan.timeout = config.fetch().timeout;
    plan.at_most = LONGEST;
    plan.watched = true;
    plan.gates = gates;
    plan.classify = classify;
    plan.call = config.call(Use::Fetch, provider);
    plan.run = run;
    plan
}

/// The policy of a file.
fn hidden(file: &Path) -> anyhow::Result<Recipe> {
    let what = || format!("{} cannot be read", file.display());
    if std::fs::metadata(file).with_context(what)?.len() > LARGEST {
        anyhow::bail!("{} is larger than 1 MiB", file.display());
    }
    let text = std::fs::read_to_string(file).with_context(what)?;
    Recipe::parse(&text).map_err(|f| {
        let (line, column) = (f.line, f.column);
        Usage(format!("{}:{line}:{column}: {}", file.display(), f.what)).into()
    })
}
