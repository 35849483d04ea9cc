//! One connection to a database, and nothing more: what the queue's operations are written over.
//!
//! The operations themselves (`ops`) are written once, in SQL that both engines read: `?1` for a
//! value, whole numbers, texts and bytes. So both engines mean the same by construction, and the
//! suite that is run on both looks for what construction cannot rule out.

#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod schema;
pub(crate) mod sqlite;
mod value;

use crate::error::QueueError;

pub(crate) use value::{Row, Value};

/// The values for one run of a statement.
pub(crate) type Args = Vec<Value>;

/// One connection.
pub(crate) trait Db: Send {
    /// Begins a transaction that may write; connects anew where the connection was lost.
    fn begin(&mut self) -> Result<(), Fault>;

    fn commit(&mut self) -> Result<(), Fault>;

    fn rollback(&mut self);

    /// Runs one statement for each of `rows`; the rows each of them gave.
    fn query_each(&mut self, sql: &str, rows: &[Args]) -> Result<Vec<Vec<Row>>, Fault>;

    /// Runs one statement for each of `rows`; how many rows each of them changed.
    fn execute_each(&mut self, sql: &str, rows: &[Args]) -> Result<Vec<u64>, Fault>;

    fn query(&mut self, sql: &str, args: Args) -> Result<Vec<Row>, Fault> {
        Ok(self.query_each(sql, &[args])?.pop().unwrap_or_default())
    }

    fn execute(&mut self, sql: &str, args: Args) -> Result<u64, Fault> {
        Ok(self.execute_each(sql, &[args])?.pop().unwrap_or_default())
    }

    /// What a query adds that must pass over rows others are about to change. With one writer
    /// there are none.
    fn skip_locked(&self) -> &'static str {
        ""
    }

    /// Takes a name for the rest of the transaction, so that no other transaction looks at it
    /// meanwhile; `false` where somebody has it and `wait` is not set. With one writer it is free.
    fn take(&mut self, _name: &str, _wait: bool) -> Result<bool, Fault> {
        Ok(true)
    }

    /// Tells other processes at the commit that something is to be had.
    fn tell(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Whether another process has committed since this was asked last.
    fn changed(&mut self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Gives room back to the system.
    fn shrink(&mut self) -> Result<(), Fault>;

    /// What it is called in errors, without a password.
    fn place(&self) -> &str;
}

/// What went wrong below the surface.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The database or the system said no.
    Sql(String),
    /// What was read makes no sense.
    Damaged(String),
    /// The connection is gone, and nothing was committed: worth another try.
    Lost(String),
    /// A later abide wrote it.
    Newer {
        /// Its version.
        found: i64,
    },
}

impl Fault {
    /// What the caller is told.
    pub(crate) fn about(self, place: &str) -> QueueError {
        let place = place.to_owned();
        match self {
            Self::Damaged(why) => QueueError::Damaged { place, why },
            Self::Newer { found } => QueueError::Newer {
                place,
                found,
                known: schema::KNOWN,
            },
            Self::Sql(why) | Self::Lost(why) => QueueError::Database { place, why },
        }
    }
}
