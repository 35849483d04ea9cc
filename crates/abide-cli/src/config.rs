//! `abide config`: the policy in force, and where each value came from.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use abide::profile::Catalogue;
use abide_config::{Config, ConfigError, File, Flag, Setup, Use};
use anyhow::{Context, bail};
use etcetera::BaseStrategy;

use crate::exit::{Exit, Usage};

/// Show, check or begin a configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// The configuration file [default: abide.toml here, else in the user's configuration folder]
    #[arg(long, env = "ABIDE_CONFIG", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Print the policy in force, every value with where it came from
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check a file: every mistake with its line and column
    Check {
        /// The file [default: the one in force]
        file: Option<PathBuf>,
    },
    /// Write a commented starter file with every default and its reason
    Init {
        /// Where to [default: abide.toml here]; - prints it
        file: Option<PathBuf>,
        /// Write over a file that exists
        #[arg(long)]
        force: bool,
    },
}

/// Whether what is configured goes with what is known of providers.
///
/// # Errors
/// Everything that does not, with its place.
pub(crate) fn agrees(config: &Config, all: &Catalogue) -> anyhow::Result<()> {
    let errors = config.against(all);
    if errors.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Err(Usage(lines.join("\n")).into())
}

/// Puts a configuration and a catalogue together.
///
/// # Errors
/// Everything that does not go with the other, with its place.
pub(crate) fn setup(config: Config, all: Catalogue, of: Use) -> anyhow::Result<Setup> {
    Setup::new(config, all, of).map_err(|errors| usage(&errors))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.verb {
        Verb::Show { json } => {
            let mut config = load(args.config.as_deref(), Vec::new())?;
            let all = crate::catalogue::load(None, &config)?;
            agrees(&config, &all)?;
            config.know(&all);
            if *json {
                println!("{:#}", abide_config::show_json(&config));
            } else {
                print!("{}", abide_config::show(&config));
            }
        }
        Verb::Check { file } => {
            let path = file.clone().or_else(|| args.config.clone()).or_else(found);
            let Some(path) = path else {
                println!("there is no abide.toml: every default is in force");
                return Ok(Exit::Done);
            };
            let file = File::read(&path).map_err(|e| usage(&[e]))?;
            let errors = abide_config::check(&file);
            if !errors.is_empty() {
                return Err(usage(&errors));
            }
            let config = load(Some(&path), Vec::new())?;
            let all = crate::catalogue::load(None, &config)?;
            agrees(&config, &all)?;
            println!("{}: nothing is wrong", path.display());
        }
        Verb::Init { file, force } => init(file.as_deref(), *force)?,
    }
    Ok(Exit::Done)
}

fn init(file: Option<&Path>, force: bool) -> anyhow::Result<()> {
    let path = file.unwrap_or_else(|| Path::new("abide.toml"));
    let text = abide_config::init();
    if path.as_os_str() == "-" {
        print!("{text}");
        return Ok(());
    }
    let mut options = std::fs::OpenOptions::new();
    options
        .write(true)
        .create_new(!force)
        .create(force)
        .truncate(force);
    let mut out = match options.open(path) {
        Ok(out) => out,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("{} exists already; --force writes over it", path.display())
        }
        Err(e) => {
            return Err(e).with_context(|| format!("{} cannot be written", path.display()));
        }
    };
    out.write_all(text.as_bytes())
        .with_context(|| format!("{} cannot be written", path.display()))?;
    println!(
        "{}: written; every value in it is the default",
        path.display()
    );
    Ok(())
}

/// The configuration in force: flags, variables, the file named or found.
pub(crate) fn load(file: Option<&Path>, flags: Vec<Flag>) -> anyhow::Result<Config> {
    let path = file.map(Path::to_owned).or_else(found);
    with(path.as_deref().map(read).transpose()?.as_ref(), flags)
}

/// The text of a configuration file.
pub(crate) fn read(path: &Path) -> anyhow::Result<File> {
    File::read(path).map_err(|e| usage(&[e]))
}

/// The configuration in force with this file, or none: flags and variables go before it.
pub(crate) fn with(file: Option<&File>, flags: Vec<Flag>) -> anyhow::Result<Config> {
    let env = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Config::load(file, env, flags).map_err(|errors| usage(&errors))
}

/// abide.toml here, else in the user's configuration folder.
pub(crate) fn found() -> Option<PathBuf> {
    let here = PathBuf::from("abide.toml");
    if here.exists() {
        return Some(here);
    }
    let base = etcetera::choose_base_strategy().ok()?;
    Some(base.config_dir().join("abide").join("abide.toml")).filter(|p| p.exists())
}

pub(crate) fn usage(errors: &[ConfigError]) -> anyhow::Error {
    let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Usage(all.join("\nabide: ")).into()
}
