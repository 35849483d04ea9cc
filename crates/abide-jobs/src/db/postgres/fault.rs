//! What went wrong at a server, and whether it is worth another try.

use std::error::Error as _;

use tokio_postgres::Error;

use crate::db::Fault;

/// An error and everything below it: its own words say little.
pub(super) fn words(e: &Error) -> String {
    match (e.as_db_error(), e.source()) {
        (Some(db), _) => format!("{} ({})", db.message(), db.code().code()),
        (None, Some(source)) => format!("{e}: {source}"),
        (None, None) => e.to_string(),
    }
}

pub(super) fn fault(e: &Error) -> Fault {
    let why = words(e);
    let code = e.code().map(|c| c.code().to_owned()).unwrap_or_default();
    // The server ends, begins, or hung up; two that waited for each other may both go again.
    let lost = e.is_closed()
        || ["57P", "08", "40"]
            .iter()
            .any(|class| code.starts_with(class));
    match lost || e.as_db_error().is_none() && code.is_empty() && is_io(e) {
        true => Fault::Lost(why),
        false => Fault::Sql(why),
    }
}

fn is_io(e: &Error) -> bool {
    e.source().is_some_and(|s| s.is::<std::io::Error>())
}
