//! Taking over a changed configuration: on SIGHUP, and when the file changes.
//!
//! The file is looked at once a second instead of being watched: it may be replaced by another one, be
//! a link that is turned to another place (as Kubernetes does), or lie on a disk that tells nobody.
//! What two looks in a row see alike is taken over: an editor empties a file before it writes it.
//! A bad file changes nothing, and says what is wrong with it once; so do one that is gone, and one
//! that holds nothing any more. Whoever wants every default again writes a comment into it.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use abide_config::{File, Setup, Use};
use abide_gateway::Front;
use anyhow::bail;

use super::Args;

/// How often the file is looked at: nobody who saves one notices a second or two.
const LOOK: Duration = Duration::from_secs(1);

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    path: PathBuf,
    /// Where links lead.
    real: Option<PathBuf>,
    written: Option<SystemTime>,
    size: u64,
}

impl Mark {
    /// How the file is now that is in force, or would be; `None` where there is none.
    pub(super) fn now(named: Option<&Path>) -> Option<Self> {
        let path = named.map_or_else(crate::config::found, |p| Some(p.to_owned()))?;
        let about = std::fs::metadata(&path).ok();
        Some(Self {
            real: std::fs::canonicalize(&path).ok(),
            written: about.as_ref().and_then(|a| a.modified().ok()),
            size: about.map_or(0, |a| a.len()),
            path,
        })
    }

    /// The text of the file.
    pub(super) fn read(&self) -> anyhow::Result<File> {
        crate::config::read(&self.path)
    }
}

/// What was seen of the file, look by look.
#[derive(Debug)]
struct Looks {
    /// What was taken over last, or could not be.
    done: Option<Mark>,
    /// What the last look saw, where it was another.
    seen: Option<Option<Mark>>,
}

impl Looks {
    /// Whether what is seen now is to be taken over: it is another than the last, and stood still
    /// for two looks.
    fn see(&mut self, now: Option<Mark>) -> bool {
        if now == self.done {
            self.seen = None;
            return false;
        }
        if self.seen.as_ref() == Some(&now) {
            self.finish(now);
            return true;
        }
        self.seen = Some(now);
        false
    }

    fn finish(&mut self, now: Option<Mark>) {
        self.done = now;
        self.seen = None;
    }
}

/// The file in force, as it was read.
#[derive(Debug)]
pub(super) struct InForce {
    looks: Looks,
    file: Option<File>,
}

impl InForce {
    /// Reads the file that is named or found. What is written to it from now on is seen.
    pub(super) fn begin(named: Option<&Path>) -> anyhow::Result<Self> {
        let mark = Mark::now(named);
        let file = mark.as_ref().map(Mark::read).transpose()?;
        let looks = Looks {
            done: mark,
            seen: None,
        };
        Ok(Self { looks, file })
    }

    pub(super) const fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Whether another file may take its place.
    fn gives_way_to(&self, other: Option<&File>) -> anyhow::Result<()> {
        let Some(old) = &self.file else {
            return Ok(());
        };
        let Some(other) = other else {
            bail!("{} is gone", old.path);
        };
        if other.path != old.path && !Path::new(&old.path).exists() {
            bail!("{} is gone, and {} is another", old.path, other.path);
        }
        if other.text.trim().is_empty() && !old.text.trim().is_empty() {
            bail!(
                "{} holds nothing any more; write a comment into it if every default is meant",
                other.path
            );
        }
        Ok(())
    }
}

/// Keeps reading the configuration; it ends only with whoever waits for it.
pub(super) async fn keep_reading(
    args: &Args,
    setup: &Setup,
    front: &Front,
    mut in_force: InForce,
    mut asked: Asked,
) {
    loop {
        let by_hand = tokio::select! {
            () = asked.next() => true,
            () = tokio::time::sleep(LOOK) => false,
        };
        let now = Mark::now(args.config.as_deref());
        match by_hand {
            true => in_force.looks.finish(now.clone()),
            false if in_force.looks.see(now.clone()) => {}
            false => continue,
        }
        match take_over(args, setup, front, &mut in_force, now.as_ref()) {
            Ok(()) => eprintln!("abide: the configuration is read anew and in force"),
            Err(e) => eprintln!("abide: the configuration stays as it was: {e:#}"),
        }
    }
}

/// Whole or not at all: everything that may fail is done before anything is put in force.
fn take_over(
    args: &Args,
    setup: &Setup,
    front: &Front,
    in_force: &mut InForce,
    now: Option<&Mark>,
) -> anyhow::Result<()> {
    let file = now.map(Mark::read).transpose()?;
    in_force.gives_way_to(file.as_ref())?;
    let config = super::config(args, file.as_ref())?;
    let settings = super::settings(&config, setup.catalogue())?;
    let call = config.call(Use::Gateway, None);
    let prepared = front.prepare(settings, call)?;
    setup.renew(config).map_err(|e| crate::config::usage(&e))?;
    front.enter(prepared);
    front.now().governor().reconsider();
    in_force.file = file;
    Ok(())
}

/// Whoever asks by a signal.
pub(super) struct Asked {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Asked {
    /// Listens from now on; within a runtime.
    pub(super) fn begin() -> Self {
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
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(size: u64) -> Option<Mark> {
        Some(Mark {
            path: "abide.toml".into(),
            real: None,
            written: None,
            size,
        })
    }

    fn file(text: &str) -> File {
        File {
            path: "/nowhere/abide.toml".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_change_counts_once_it_stands_still() {
        let mut looks = Looks {
            done: mark(10),
            seen: None,
        };
        assert!(!looks.see(mark(10)));
        assert!(!looks.see(mark(0)), "an editor begins to write");
        assert!(!looks.see(mark(7)), "and goes on");
        assert!(looks.see(mark(7)));
        assert!(!looks.see(mark(7)), "once");
        assert!(!looks.see(None));
        assert!(looks.see(None), "that it is gone is told, once");
        assert!(!looks.see(None));
    }

    #[test]
    fn a_file_that_is_gone_or_empty_changes_nothing() {
        let in_force = |file| InForce {
            looks: Looks {
                done: None,
                seen: None,
            },
            file,
        };
        let full = in_force(Some(file(
            "[gateway]\nclient_token = \"0123456789abcdef\"\n",
        )));
        assert!(full.gives_way_to(None).is_err());
        assert!(full.gives_way_to(Some(&file(" \n"))).is_err());
        let other = File {
            path: "/elsewhere/abide.toml".to_owned(),
            text: "[gateway]\n".to_owned(),
        };
        assert!(full.gives_way_to(Some(&other)).is_err());
        assert!(full.gives_way_to(Some(&file("# all defaults\n"))).is_ok());
        let none = in_force(None);
        assert!(none.gives_way_to(None).is_ok());
        assert!(none.gives_way_to(Some(&other)).is_ok());
        assert!(
            in_force(Some(file("")))
                .gives_way_to(Some(&file("")))
                .is_ok()
        );
    }
}
