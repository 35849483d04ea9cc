//! Signals by which whoever runs a command asks it to end.
//!
//! They are listened for from when this is made: what must not be missed is made before anybody is
//! told that the command is ready.

/// Which signal it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// From a terminal, as Ctrl-C.
    Interrupt,
    /// From a service manager, or `kill`.
    Terminate,
}

/// Listens for them.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Begins to listen; within a runtime.
    ///
    /// # Errors
    /// When the system does not let us.
    pub(crate) fn begin() -> anyhow::Result<Self> {
        #[cfg(unix)]
        {
            use anyhow::Context as _;
            use tokio::signal::unix::{SignalKind, signal};
            let listen = |kind| signal(kind).context("signals cannot be listened for");
            Ok(Self {
                interrupt: listen(SignalKind::interrupt())?,
                terminate: listen(SignalKind::terminate())?,
            })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Asked {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => Asked::Terminate,
            _ = self.interrupt.recv() => Asked::Interrupt,
        }
        #[cfg(not(unix))]
        {
            drop(tokio::signal::ctrl_c().await);
            Asked::Interrupt
        }
    }
}
