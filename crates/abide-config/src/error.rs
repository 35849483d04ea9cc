//! What is wrong with a configuration, and where.

use std::fmt;

/// Where a value stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Origin {
    /// Built in.
    Default,
    /// An environment variable, by its name.
    Env(String),
    /// A place in the file; line and column count from 1, columns in characters.
    File {
        /// The file, as it was named.
        path: String,
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// A flag on the command line, by its name.
    Flag(String),
    /// What is known of the provider: a profile, by its name.
    Profile(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Env(name) => f.write_str(name),
            Self::File { path, line, column } => write!(f, "{path}:{line}:{column}"),
            Self::Flag(name) => f.write_str(name),
            Self::Profile(name) => write!(f, "profile {name}"),
        }
    }
}

impl Origin {
    /// The place of a byte in a text.
    pub(crate) fn at(path: &str, text: &str, byte: usize) -> Self {
        let mut end = byte.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |n| n + 1);
        Self::File {
            path: path.to_owned(),
            line,
            column: before[start..].chars().count() + 1,
        }
    }
}

/// One thing that is wrong. Correct it where it stands; nothing was taken over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{origin}: {message}{}", suffix(help.as_deref()))]
#[non_exhaustive]
pub struct ConfigError {
    /// Where.
    pub origin: Origin,
    /// What is wrong.
    pub message: String,
    /// What was probably meant, or what to do.
    pub help: Option<String>,
}

impl ConfigError {
    pub(crate) fn new(origin: Origin, message: impl Into<String>) -> Self {
        Self {
            origin,
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn with_help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }
}

fn suffix(help: Option<&str>) -> String {
    help.map(|h| format!("; {h}")).unwrap_or_default()
}
