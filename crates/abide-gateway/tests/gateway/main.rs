//! The gateway over real sockets: what its users ask for, row by row (`gw…` for a row of `docs/asks.md`,
//! `sc_…` for a scenario), and what a caller or a provider may do to it.
//!
//! One program, so that it is linked once; the suites are its modules.

#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    dead_code,
    reason = "test code; each suite uses its part of the rig"
)]

mod rig;

mod answers;
mod behaviour;
mod chains;
mod credentials;
mod disconnect;
mod heads;
mod holds;
mod life;
mod limits;
mod load;
mod modes;
mod proxy_mode;
mod real_clients;
mod reload;
mod smuggling;
mod ssrf;
mod wire_bodies;
mod wire_breaks;
mod wire_h2;
mod wire_upgrade;
