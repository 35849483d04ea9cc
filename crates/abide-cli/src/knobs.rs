//! The options of a run that set a knob of the configuration.

use abide_config::Flag;

/// How a run behaves: what `abide fetch` does, `abide plan` reckons with.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Knobs {
    /// Requests on the wire at once, all providers together [default: 8]
    #[arg(long, short, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) concurrency: Option<u32>,
    /// Send no faster than this to a provider, as 50/s, 100/2s or 1/10s
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<String>,
    /// How long an item waits at holds, all together [default: 300s]
    #[arg(long, value_name = "TIME")]
    pub(crate) patience: Option<String>,
    /// The longest single wait [default: the patience]
    #[arg(long, value_name = "TIME")]
    pub(crate) wait_max: Option<String>,
    /// Wall time a provider's holds may block the run [default: 10m]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Sends an item, the first one included [default: 8]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) attempts: Option<u32>,
    /// How long an attempt may take to its head, and its body stand still [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
}

/// An option, the key it sets, and what it was set to.
pub(crate) type Given = (&'static str, &'static str, Option<String>);

impl Knobs {
    /// Those that were given, and `more` of the command's own.
    pub(crate) fn flags(&self, more: impl IntoIterator<Item = Given>) -> Vec<Flag> {
        let own: [Given; 7] = [
            ("--concurrency", "concurrency", number(self.concurrency)),
            ("--rate", "rate", self.rate.clone()),
            ("--patience", "patience", self.patience.clone()),
            ("--wait-max", "wait.max", self.wait_max.clone()),
            ("--budget", "run.budget", self.budget.clone()),
            ("--attempts", "attempts", number(self.attempts)),
            ("--timeout", "timeout", self.timeout.clone()),
        ];
        let flag = |(name, key, value): Given| {
            let name = name.to_owned();
            value.map(|value| Flag { name, key, value })
        };
        own.into_iter().chain(more).filter_map(flag).collect()
    }
}

/// A number as it is read.
pub(crate) fn number(n: Option<u32>) -> Option<String> {
    n.map(|n| n.to_string())
}
