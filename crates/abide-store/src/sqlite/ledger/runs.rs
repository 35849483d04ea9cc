//! Making, claiming, listing and removing runs.

use rusqlite::params;

use super::claim::{self, Claim};
use super::handle::Ledger;
use super::replay::Sum;
use super::{NewRun, Owner, RunError, RunInfo, RunState, rows};
use crate::sqlite::{Inner, Sqlite, lock, open};

const LONGEST_NAME: usize = 128;

impl Sqlite {
    /// Makes a run and claims it.
    ///
    /// # Errors
    /// [`RunError::UnfitName`], [`RunError::Exists`], or [`RunError::Store`].
    pub fn create_run(&self, new: NewRun, owner: Owner) -> Result<Ledger, RunError> {
        let name = new.name.clone();
        let length = name.chars().count();
        if length == 0 || length > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(RunError::UnfitName(name));
        }
        let as_owner = owner.clone();
        let made = self
            .inner
            .write(move |conn| rows::insert(conn, &new, &as_owner))?;
        if made.is_none() {
            return Err(RunError::Exists(name));
        }
        self.claim_run(&name, owner)
    }

    /// Claims a run, to go on with it.
    ///
    /// # Errors
    /// [`RunError::Unknown`], [`RunError::Owned`] when a live process owns it (this one
    /// included), or [`RunError::Store`].
    pub fn claim_run(&self, name: &str, owner: Owner) -> Result<Ledger, RunError> {
        let (run, info) = self.find(name)?;
        let Some(claim) = self.inner.claim(run)? else {
            // Read again: the owner may have come after the first look.
            let (_, info) = self.find(name)?;
            return Err(RunError::Owned {
                name: info.name,
                owner: info.owner,
            });
        };
        let known = self.inner.write(move |conn| {
            let set = "UPDATE runs SET owner = ?2, owned_ns = ?3 WHERE id = ?1";
            Ok(conn.execute(set, params![run, owner.who, owner.since.as_unix_nanos()])? == 1)
        })?;
        if !known {
            return Err(RunError::Unknown(info.name));
        }
        // Read under the claim: nobody else appends any more.
        let (_, info) = self.find(name)?;
        let mut sum = Sum::new(info.items, info.sealed, info.progress);
        self.inner.read(|conn| rows::replay(conn, run, &mut sum))?;
        Ok(Ledger::new(self.clone(), run, info.name, claim, sum))
    }

    /// What is known of a run.
    ///
    /// # Errors
    /// [`RunError::Unknown`] or [`RunError::Store`].
    pub fn run(&self, name: &str) -> Result<RunInfo, RunError> {
        let (run, info) = self.find(name)?;
        self.with_state(run, info)
    }

    /// All runs, the youngest first.
    ///
    /// # Errors
    /// [`RunError::Store`].
    pub fn runs(&self) -> Result<Vec<RunInfo>, RunError> {
        let all = self.inner.read(rows::all)?;
        let all = all.into_iter();
        all.map(|(run, info)| self.with_state(run, info)).collect()
    }

    /// Forgets a run. Its output is not touched.
    ///
    /// # Errors
    /// [`RunError::Unknown`], [`RunError::Owned`] when a live process owns it, or
    /// [`RunError::Store`].
    pub fn remove_run(&self, name: &str) -> Result<(), RunError> {
        let (run, info) = self.find(name)?;
        let Some(_claim) = self.inner.claim(run)? else {
            return Err(RunError::Owned {
                name: info.name,
                owner: info.owner,
            });
        };
        self.inner.write(move |conn| rows::delete(conn, run))?;
        if let Some(dir) = &self.inner.dir {
            claim::remove(dir, run);
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<(i64, RunInfo), RunError> {
        let found = self.inner.read(|conn| rows::by_name(conn, name))?;
        found.ok_or_else(|| RunError::Unknown(name.to_owned()))
    }

    fn with_state(&self, run: i64, mut info: RunInfo) -> Result<RunInfo, RunError> {
        let inner = &self.inner;
        let owned = match &inner.dir {
            Some(dir) => claim::is_owned(dir, run).map_err(|e| open::io_error(&inner.path, &e))?,
            None => lock(&inner.claimed).contains(&run),
        };
        info.state = if owned {
            RunState::Running
        } else if info.sealed && info.counts.finished() == info.items {
            RunState::Finished
        } else {
            RunState::Interrupted
        };
        Ok(info)
    }
}

impl Inner {
    fn claim(&self, run: i64) -> Result<Option<Claim>, RunError> {
        match &self.dir {
            Some(dir) => {
                let claim = claim::file(dir, run).map_err(|e| open::io_error(&self.path, &e))?;
                Ok(claim)
            }
            None => Ok(claim::memory(&self.claimed, run)),
        }
    }
}
