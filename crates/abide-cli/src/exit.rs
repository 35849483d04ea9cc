//! What the exit code says.

use std::process::ExitCode;

use abide_gateway::GatewayError;
use abide_gateway::settings::BadSetting;

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

/// A setting that is wrong is the caller's; a file or a port that cannot be used may be well the next
/// time, and whoever restarts us is to try.
pub(crate) fn wrong(why: BadSetting) -> anyhow::Error {
    match why.is_from_outside() {
        true => why.into(),
        false => Usage(why.to_string()).into(),
    }
}

/// Why there is no gateway: settings, unless it is this machine's TLS.
pub(crate) fn no_gateway(why: GatewayError) -> anyhow::Error {
    match why {
        GatewayError::Tls(_) => why.into(),
        why => Usage(why.to_string()).into(),
    }
}
