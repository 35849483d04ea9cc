//! How the file is kept.

/// How the file is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Force every commit to the disk, so that it survives a power cut and not only a crash.
    /// Default off: a commit then costs the disk's latency, and a crash is what happens.
    pub fsync: bool,
    /// The most bytes the file may grow to (its journal apart); what does not fit fails as on a
    /// full disk. Default none: the disk is the bound.
    pub max_bytes: Option<u64>,
}

impl Options {
    /// Sets [`fsync`](Self::fsync).
    #[must_use]
    pub const fn fsync(mut self, on: bool) -> Self {
        self.fsync = on;
        self
    }

    /// Sets [`max_bytes`](Self::max_bytes).
    #[must_use]
    pub const fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }
}
