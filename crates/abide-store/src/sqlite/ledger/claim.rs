//! Owning a run: a lock of the system on a file beside the state, which dies with its process.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::sqlite::{lock, open};

/// The folder of the lock files, beside the state file.
const FOLDER: &str = "locks";

/// Whoever touches a run's lock passes this door first: to see whether a run is owned one must
/// lock its file for a moment, and no claim may meet such a moment.
const DOOR: &str = "door";

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
    let _door = door(dir)?;
    let file = lock_file(&path(dir, run))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Claim::File(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

/// Claims a run of a store in memory.
pub(super) fn memory(claimed: &Arc<Mutex<BTreeSet<i64>>>, run: i64) -> Option<Claim> {
    let fresh = lock(claimed).insert(run);
    fresh.then(|| Claim::Memory(Arc::clone(claimed), run))
}

/// Whether a live process owns the run.
pub(super) fn is_owned(dir: &Path, run: i64) -> io::Result<bool> {
    let _door = door(dir)?;
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

/// Waits for the door, which nobody keeps for longer than a look.
fn door(dir: &Path) -> io::Result<File> {
    open::make_dir(&dir.join(FOLDER))?;
    let door = lock_file(&dir.join(FOLDER).join(DOOR))?;
    door.lock()?;
    Ok(door)
}

fn lock_file(path: &Path) -> io::Result<File> {
    open::owner_only(OpenOptions::new().read(true).write(true).create(true)).open(path)
}

fn path(dir: &Path, run: i64) -> PathBuf {
    dir.join(FOLDER).join(format!("run-{run}"))
}
