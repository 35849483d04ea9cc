//! Bulk runs.
