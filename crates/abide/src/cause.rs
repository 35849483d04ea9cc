//! What lies behind a failure, kept level by level and without secrets.
//!
//! The errors of the HTTP client show URLs. Theirs are taken down as text, each level of the
//! chain for itself, so that whoever walks [`source`](std::error::Error::source) still finds every
//! level, and the kind of an I/O error survives.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use abide_profile::Profile;

use crate::struck::Secrets;

/// The deepest chain kept: a longer one is a circle.
const DEPTH: usize = 16;

/// One level of a failure, and what lies below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    text: String,
    io: Option<io::ErrorKind>,
    below: Option<Box<Self>>,
}

impl Cause {
    /// Takes down an error and everything below it.
    pub(crate) fn of(error: &(dyn StdError + 'static), secrets: &Secrets, p: &Profile) -> Self {
        Self::at(error, secrets, p, DEPTH)
    }

    fn at(e: &(dyn StdError + 'static), secrets: &Secrets, p: &Profile, deep: usize) -> Self {
        let below = e.source().filter(|_| deep > 0);
        Self {
            text: secrets.strike(&e.to_string(), p).into_owned(),
            io: e.downcast_ref::<io::Error>().map(io::Error::kind),
            below: below.map(|e| Box::new(Self::at(e, secrets, p, deep - 1))),
        }
    }

    /// The kind of the I/O error that it is, or that lies below it.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.io.or_else(|| self.below.as_ref()?.io_kind())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Cause {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.below.as_deref().map(|below| below as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("asked https://a.example/?key=s3cret")]
    struct Outer(#[source] io::Error);

    #[test]
    fn inv11_every_level_is_kept_without_secrets() {
        let profile = abide_profile::Catalogue::built_in().generic();
        let io = io::Error::new(io::ErrorKind::ConnectionReset, "reset by u:s3cret@a");
        let url = url::Url::parse("https://a.example/?key=s3cret").unwrap();
        let secrets = Secrets::of(&url, &http::HeaderMap::new(), &profile);
        let cause = Cause::of(&Outer(io), &secrets, &profile);
        assert_eq!(cause.to_string(), "asked https://a.example/?key=…");
        assert_eq!(cause.source().unwrap().to_string(), "reset by u:…@a");
        assert_eq!(cause.io_kind(), Some(io::ErrorKind::ConnectionReset));
        assert!(!format!("{cause:?}").contains("s3cret"));
    }
}
