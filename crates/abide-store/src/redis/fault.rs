//! What was met, in plain words.

use ::redis::{ErrorKind, RedisError};

/// The server cannot be used. Never says what it is secured by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) why: String,
    /// The script is not known there: it did not run.
    pub(super) unknown_script: bool,
}

impl Fault {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            unknown_script: false,
        }
    }

    /// Nothing came within the time there was.
    pub(super) fn late(within: std::time::Duration) -> Self {
        Self::new(format!("it timed out: no answer within {within:?}"))
    }
}

impl From<RedisError> for Fault {
    fn from(e: RedisError) -> Self {
        let why = if let Some(code) = e.code() {
            format!("{code} {}", e.detail().unwrap_or_default())
        } else if e.is_timeout() {
            "it timed out".to_owned()
        } else if e.is_connection_refusal() {
            "it refused the connection".to_owned()
        } else if e.kind() == ErrorKind::AuthenticationFailed {
            let detail = e.detail().unwrap_or("name or password are wrong");
            format!("it let nobody in: {detail}")
        } else {
            e.to_string()
        };
        Self {
            why: why.trim_end().to_owned(),
            unknown_script: e.code() == Some("NOSCRIPT"),
        }
    }
}
