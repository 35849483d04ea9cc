//! How the store is used.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use abide_core::WallTime;

type Wall = Arc<dyn Fn() -> WallTime + Send + Sync>;

/// How the store is used.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// What all keys begin with. Default `abide`: two of one name share what they know, two of
    /// different names know nothing of one another.
    pub prefix: String,
    /// An ask that is not answered within this is lost. Default 250 ms: longer than any round trip
    /// worth sharing a limit over, shorter than anybody should wait for nothing.
    pub ask_within: Duration,
    /// A connection that is not made within this is not made. Default 2 s.
    pub connect_within: Duration,
    /// Certificates (PEM) to trust a server by, instead of the platform's.
    pub ca_file: Option<PathBuf>,
    /// The store's secret, as an earlier run was told it. With it a process can begin while the
    /// store is gone; without it there is no beginning, since nobody knows how accounts are named.
    pub known_secret: Option<[u8; 32]>,
    pub(super) wall: Wall,
}

/// Without the secret.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("prefix", &self.prefix)
            .field("ask_within", &self.ask_within)
            .field("connect_within", &self.connect_within)
            .field("ca_file", &self.ca_file)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prefix: "abide".to_owned(),
            ask_within: Duration::from_millis(250),
            connect_within: Duration::from_secs(2),
            ca_file: None,
            known_secret: None,
            wall: Arc::new(system),
        }
    }
}

impl Options {
    /// Sets [`prefix`](Self::prefix).
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets [`ask_within`](Self::ask_within).
    #[must_use]
    pub const fn ask_within(mut self, within: Duration) -> Self {
        self.ask_within = within;
        self
    }

    /// Sets [`connect_within`](Self::connect_within).
    #[must_use]
    pub const fn connect_within(mut self, within: Duration) -> Self {
        self.connect_within = within;
        self
    }

    /// Sets [`ca_file`](Self::ca_file).
    #[must_use]
    pub fn ca_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(file.into());
        self
    }

    /// Sets [`known_secret`](Self::known_secret).
    #[must_use]
    pub const fn known_secret(mut self, secret: [u8; 32]) -> Self {
        self.known_secret = Some(secret);
        self
    }

    /// The wall clock of the process: that in which it says and hears times. Default the system's.
    #[must_use]
    pub fn wall(mut self, wall: impl Fn() -> WallTime + Send + Sync + 'static) -> Self {
        self.wall = Arc::new(wall);
        self
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the default only: whoever has a clock of its own hands it in"
)]
fn system() -> WallTime {
    let now = std::time::SystemTime::now();
    match now.duration_since(std::time::UNIX_EPOCH) {
        Ok(d) => WallTime::default().after(d),
        Err(e) => WallTime::default().before(e.duration()),
    }
}
