//! What the exit code says.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Every item is done or does not exist; or the command did what it was asked.
    Done,
    /// Some items failed.
    Failed,
    /// The command line or the configuration is wrong.
    Usage,
    /// Input, output or state cannot be used.
    Io,
    /// Nothing failed, but some items were skipped: come back later.
    Later,
    /// Interrupted, and saved.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(e: Exit) -> Self {
        Self::from(match e {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Io => 74,
            Exit::Later => 75,
            Exit::Interrupted => 130,
        })
    }
}

/// An error of the caller's making: exit 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

impl Exit {
    /// The exit of a command that ended with an error: what is not the caller's making is an
    /// input, an output or a state that cannot be used.
    pub(crate) fn of(e: &anyhow::Error) -> Self {
        if e.downcast_ref::<Usage>().is_some() {
            Self::Usage
        } else {
            Self::Io
        }
    }
}
