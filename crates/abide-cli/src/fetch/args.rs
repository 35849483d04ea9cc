//! The options of `abide fetch`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::knobs::Knobs;

/// Fetch many URLs, politely, without losing one; resumable.
///
/// INPUT is a list of URLs (one a line), JSON Lines of requests
/// (`{"id", "method", "url", "headers", "body", "priority", "cost", "patience"}`), or CSV with
/// `--url 'https://…/{column}.json'`. Each item ends as one JSON line in the output: done,
/// not_found, skipped (with the time to come back) or failed. A run that was stopped, by Ctrl-C
/// or by a crash, goes on with `--resume`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0 every item done or not found, 1 some failed, 2 usage, 74 input, output or state\n\
unusable, 75 nothing failed but some were skipped, 130 interrupted and saved."
)]
pub(crate) struct Args {
    /// The input file, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,
    /// What the input is; sniffed when absent
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
    /// The address of a CSV row, {column} standing for its values
    #[arg(long, value_name = "TEMPLATE")]
    pub(crate) url: Option<String>,
    /// The CSV column that names an item [default: id, else the line number]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) id: Option<String>,
    /// Where results go, as JSON Lines; - is standard output [default: -]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Save bodies as files in this folder instead of inline
    #[arg(long, value_name = "DIR")]
    pub(crate) save_dir: Option<PathBuf>,
    /// Write results in input order
    #[arg(long)]
    pub(crate) ordered: bool,

    #[command(flatten)]
    pub(crate) knobs: Knobs,

    /// The run's name [default: made from input and output]
    #[arg(long, value_name = "NAME")]
    pub(crate) run: Option<String>,
    /// Go on with the run where it stopped
    #[arg(long)]
    pub(crate) resume: bool,
    /// With --resume, ask again for what was skipped
    #[arg(long, requires = "resume")]
    pub(crate) retry_skipped: bool,
    /// Survive power loss, not only a crash of the program
    #[arg(long)]
    pub(crate) fsync: bool,
    /// Where state is kept; :memory: keeps none
    #[arg(long, env = "ABIDE_STATE", value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// The configuration file [default: abide.toml here, else in the user's configuration folder]
    #[arg(long, env = "ABIDE_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// A header for every request, as 'Name: value'
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// The User-Agent
    #[arg(long, value_name = "TEXT")]
    pub(crate) user_agent: Option<String>,
    /// A contact (mail or URL) to put into the User-Agent; some providers serve known callers better
    #[arg(long, value_name = "TEXT", conflicts_with = "user_agent")]
    pub(crate) contact: Option<String>,
    /// Redirects followed [default: 10]
    #[arg(long)]
    pub(crate) max_redirects: Option<u32>,
    /// The largest body; a larger one fails its item [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_body: Option<String>,
    /// Statuses that count as done, as 200-299,304 [default: 200-299]
    #[arg(long, value_name = "LIST")]
    pub(crate) done_status: Option<String>,
    /// Send through this proxy [default: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY]
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Trust the certificate authorities in this PEM file too
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,

    /// Stop before anything is sent if a line of the input is bad
    #[arg(long)]
    pub(crate) strict: bool,
    /// Read the input and say what would be sent
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A URL a line
    Urls,
    /// A JSON object a line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
}

impl Format {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Urls => "urls",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
        }
    }
}
