//! What a queue does, in SQL, once for all engines: each in a transaction of its caller's.

pub(crate) mod act;
pub(crate) mod claim;
pub(crate) mod finish;
pub(crate) mod keep;
pub(crate) mod plan;
pub(crate) mod read;
pub(crate) mod submit;
pub(crate) mod tidy;
