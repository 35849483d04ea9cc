//! Owning a run: a lock of the system on a file beside the state, which dies with its process.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::sqlite::{lock, open};

/// A look at whether a run is owned locks its file for a moment; a claim that meets such a look
/// tries again this often before it believes that the run has an owner.
const LOOKS: u32 = 20;

/// The folder of the lock files, beside the state file.
const FOLDER: &str = "locks";

/// Ownership of a run, given back when dropped.
#[derive(Debug)]
pub(super) enum Claim {
    File(#[expect(dead_code, reason = "held for its lock")] File),
    Memory(Arc<Mutex<BTreeSet<i64>>>, i64),
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Self::Memory(claimed, run) = self {
            lock(claimed).remove(run);
        }
    }
}

/// Claims a run of a state folder; `None` when a live process owns it.
pub(super) fn file(dir: &Path, run: i64) -> io::Result<Option<Claim>> {
    let file = file_of(dir, run)?;
    for look in 0..LOOKS {
        if look > 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        match file.try_lock() {
            Ok(()) => return Ok(Some(Claim::File(file))),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(e)) => return Err(e),
        }
    }
    Ok(None)
}

/// Claims a run of a store in memory.
pub(super) fn memory(claimed: &Arc<Mutex<BTreeSet<i64>>>, run: i64) -> Option<Claim> {
    let fresh = lock(claimed).insert(run);
    fresh.then(|| Claim::Memory(Arc::clone(claimed), run))
}

/// Whether a live process owns the run.
pub(super) fn is_owned(dir: &Path, run: i64) -> io::Result<bool> {
    let file = match OpenOptions::new().read(true).open(path(dir, run)) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(e),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

/// Forgets the lock file of a run that is gone. Called by its owner.
pub(super) fn remove(dir: &Path, run: i64) {
    // A lock file left behind is empty and harms nobody: runs never get a number twice.
    let _ = std::fs::remove_file(path(dir, run));
}

fn file_of(dir: &Path, run: i64) -> io::Result<File> {
    open::make_dir(&dir.join(FOLDER))?;
    open::owner_only(OpenOptions::new().read(true).write(true).create(true)).open(path(dir, run))
}

fn path(dir: &Path, run: i64) -> PathBuf {
    dir.join(FOLDER).join(format!("run-{run}"))
}
