//! abide-sim
