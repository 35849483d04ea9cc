//! Where the queue is, and how it is opened.

use std::path::PathBuf;
use std::sync::Arc;

use abide::Governor;
use abide::core::WallTime;
use abide::store::sqlite::Sqlite;
use abide_config::{Flag, Setup, Use};
use abide_jobs::{Queue, Seal};
use anyhow::Context;

use crate::exit::Usage;
use crate::seal::install_key;
use crate::state;

/// Where the queue is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Place {
    /// Where state is kept: the queue is jobs.db there [default: the platform's]
    #[arg(long, env = "ABIDE_STATE", value_name = "DIR", global = true)]
    state: Option<PathBuf>,
    /// The configuration file [default: abide.toml here, else in the user's configuration folder]
    #[arg(long, env = "ABIDE_CONFIG", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// A queue in PostgreSQL that several machines share, as "host=db user=abide dbname=jobs"
    #[arg(long, env = "ABIDE_JOBS", value_name = "CONNECTION", global = true)]
    jobs: Option<String>,
}

impl Place {
    /// The folder of the state. A queue that ends with its process is of no use.
    fn dir(&self) -> anyhow::Result<PathBuf> {
        if state::is_memory(self.state.as_deref()) {
            let why = "--state :memory:: jobs are kept in a folder; name one";
            return Err(Usage(why.to_owned()).into());
        }
        match &self.state {
            Some(dir) => Ok(dir.clone()),
            None => state::default_dir(),
        }
    }

    /// What is configured.
    pub(crate) fn setup(&self, flags: Vec<Flag>) -> anyhow::Result<Setup> {
        let config = crate::config::load(self.config.as_deref(), flags)?;
        let catalogue = crate::catalogue::load(None, &config)?;
        crate::config::setup(config, catalogue, Use::Call)
    }

    /// A governor that shares the state with the other commands.
    pub(crate) fn governor(&self, setup: &Setup) -> anyhow::Result<Governor> {
        let store = Sqlite::open(&self.dir()?)?;
        Ok(setup.governor().store(Arc::new(store)).build()?)
    }

    /// Opens the queue; jobs are put to the providers that the governor knows them of.
    pub(crate) fn queue(&self, governor: Governor) -> anyhow::Result<Queue> {
        let dir = self.dir()?;
        let queue = Queue::builder().governor(governor);
        if let Some(connection) = &self.jobs {
            std::fs::create_dir_all(&dir)
                .with_context(|| format!("{} cannot be made", dir.display()))?;
            let seal = seal(&dir)?;
            return Ok(queue.seal(seal).connect(connection)?);
        }
        // The folder is made first, with the right permissions.
        drop(Queue::builder().open(&dir)?);
        Ok(queue.seal(seal(&dir)?).open(&dir)?)
    }

    /// The queue where only jobs are looked at, whoever is asked.
    pub(crate) fn plain(&self) -> anyhow::Result<Queue> {
        let setup = self.setup(Vec::new())?;
        self.queue(setup.governor().build()?)
    }
}

fn seal(dir: &std::path::Path) -> anyhow::Result<Seal> {
    Seal::new(install_key(Some(dir))?).context("the install key has a length that no key has")
}

/// A time: an instant as 2026-03-10T12:05:00Z, or so long from now, as 10m.
pub(crate) fn instant(flag: &str, text: &str, now: WallTime) -> anyhow::Result<WallTime> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        let nanos = i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX);
        return Ok(WallTime::from_unix_nanos(nanos));
    }
    Ok(now.after(length(flag, text)?))
}

/// A length of time, as 10m.
pub(crate) fn length(flag: &str, text: &str) -> anyhow::Result<std::time::Duration> {
    abide_config::duration(text).map_err(|why| Usage(format!("{flag}: {why}")).into())
}

/// Runs something that waits.
pub(crate) fn block_on<T>(made: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the async runtime cannot start")?;
    let done = runtime.block_on(made);
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    done
}
