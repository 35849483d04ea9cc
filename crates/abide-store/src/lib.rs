//! abide-store
