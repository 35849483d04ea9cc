//! abide-config
