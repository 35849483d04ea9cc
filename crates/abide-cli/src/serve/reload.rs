//! Taking over a changed configuration: on SIGHUP, and when the file changes.
//!
//! The file is looked at once a second instead of being watched: it may be replaced by another one, be
//! a link that is turned to another place (as Kubernetes does), or lie on a disk that tells nobody.
//! A bad file changes nothing, and says what is wrong with it once.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use abide_config::{Setup, Use};
use abide_gateway::Front;

use super::Args;

/// How often the file is looked at: nobody who saves one notices a second.
const LOOK: Duration = Duration::from_secs(1);

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    path: PathBuf,
    /// Where links lead.
    real: Option<PathBuf>,
    written: Option<SystemTime>,
    size: u64,
}

/// Keeps reading the configuration; it ends only with whoever waits for it.
pub(super) async fn keep_reading(args: &Args, setup: &Setup, front: &Front) {
    let mut seen = mark(args.config.as_deref());
    let mut asked = Asked::new();
    loop {
        let by_hand = tokio::select! {
            () = asked.next() => true,
            () = tokio::time::sleep(LOOK) => false,
        };
        let now = mark(args.config.as_deref());
        if !by_hand && now == seen {
            continue;
        }
        seen = now;
        match take_over(args, setup, front) {
            Ok(()) => eprintln!("abide: the configuration is read anew and in force"),
            Err(e) => eprintln!("abide: the configuration stays as it was: {e:#}"),
        }
    }
}

fn take_over(args: &Args, setup: &Setup, front: &Front) -> anyhow::Result<()> {
    let config = super::config(args)?;
    let settings = super::settings(&config, setup.catalogue())?;
    let call = config.call(Use::Gateway, None);
    setup.renew(config).map_err(|e| crate::config::usage(&e))?;
    front.renew(settings, call)?;
    front.now().governor().reconsider();
    Ok(())
}

fn mark(file: Option<&Path>) -> Option<Mark> {
    let path = file.map_or_else(crate::config::found, |p| Some(p.to_owned()))?;
    let about = std::fs::metadata(&path).ok();
    Some(Mark {
        real: std::fs::canonicalize(&path).ok(),
        written: about.as_ref().and_then(|a| a.modified().ok()),
        size: about.map_or(0, |a| a.len()),
        path,
    })
}

/// Whoever asks by a signal.
struct Asked {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Asked {
    fn new() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Self {
                signal: signal(SignalKind::hangup()).ok(),
            }
        }
        #[cfg(not(unix))]
        Self {}
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}
