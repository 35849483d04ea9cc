//! Simulated providers on a real socket: HTTP/1.1 on a free port of the loopback.
//!
//! Everything a policy can do reaches the wire: service times, closed connections, silence, bodies
//! that trickle and bodies that break off. The ledger judges with less than virtual time knows: it
//! sees arrivals, not starts, so one maximal round trip ([`ServerOptions::grace`]) is allowed.
//!
//! One thread serves all connections. A plain answer costs two reads of the clock and two short
//! locks, so that the server is never the slow part of a measurement.

mod body;
mod clock;
mod exchange;
mod options;
mod server;
mod shared;

pub use options::ServerOptions;
pub use server::Server;
