//! Where state is kept.

use std::path::{Path, PathBuf};

use abide::store::Store as _;
use abide::store::sqlite::{Options, Sqlite};
use anyhow::Context;
use etcetera::BaseStrategy;

use crate::seal::{Key, Seal};

/// The state of this installation.
pub(crate) struct State {
    pub(crate) store: Sqlite,
    pub(crate) seal: Seal,
}

impl State {
    /// The key of fingerprints: records may hold secrets, which an unkeyed hash would let one
    /// guess at.
    pub(crate) fn key(&self) -> Key {
        let secret = u128::from_le_bytes(
            self.store
                .secret()
                .first_chunk()
                .copied()
                .unwrap_or_default(),
        );
        (secret as u64, (secret >> 64) as u64)
    }

    /// Opens a state that exists; `None` where there is none. Looking must not make one.
    pub(crate) fn existing(dir: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let found = match dir {
            Some(dir) => dir.to_owned(),
            None => default_dir()?,
        };
        if !found.join("state.db").exists() {
            return Ok(None);
        }
        Self::open(dir, false).map(Some)
    }

    /// Opens the state: the folder given, or the platform's state directory.
    pub(crate) fn open(dir: Option<&Path>, fsync: bool) -> anyhow::Result<Self> {
        let mut options = Options::default();
        options.fsync = fsync;
        if is_memory(dir) {
            let store = Sqlite::in_memory_with(options)?;
            return Ok(Self {
                store,
                seal: Seal::open(None)?,
            });
        }
        let dir = match dir {
            Some(dir) => dir.to_owned(),
            None => default_dir()?,
        };
        let store = Sqlite::open_with(&dir, options)?;
        let seal = Seal::open(Some(&dir))?;
        Ok(Self { store, seal })
    }
}

/// Nothing is kept beyond the process.
pub(crate) fn is_memory(dir: Option<&Path>) -> bool {
    dir.is_some_and(|d| d.as_os_str() == ":memory:")
}

/// The folder of the state where none is named.
pub(crate) fn default_dir() -> anyhow::Result<PathBuf> {
    let base = etcetera::choose_base_strategy()
        .context("this user has no home folder; name a state folder with --state")?;
    Ok(base
        .state_dir()
        .unwrap_or_else(|| base.data_dir())
        .join("abide"))
}
