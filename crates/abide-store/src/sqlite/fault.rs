//! What went wrong inside, and what the caller is told of it.

use rusqlite::ErrorCode;

use crate::StoreError;

/// A failure below the surface, before the file's name is put to it.
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite or the system said no.
    Sql(rusqlite::Error),
    /// What was read makes no sense.
    Corrupt(String),
}

impl Fault {
    pub(super) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt(what.into())
    }

    /// Another connection holds the lock: worth another try.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self, Self::Sql(e) if matches!(
            e.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        ))
    }

    /// What the caller is told about the file at `path`.
    pub(super) fn about(self, path: &str) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::Corrupt(why) => StoreError::Corrupt { path, why },
            Self::Sql(e) if is_damage(&e) => StoreError::Corrupt {
                path,
                why: e.to_string(),
            },
            Self::Sql(e) => StoreError::Io {
                path,
                why: e.to_string(),
            },
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(e: rusqlite::Error) -> Self {
        Self::Sql(e)
    }
}

/// Whether the file rather than the system is at fault.
fn is_damage(e: &rusqlite::Error) -> bool {
    match e {
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..) => true,
        _ => matches!(
            e.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        ),
    }
}
