//! How many connections there are: in all, and of one address.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::listener::{Open, Socket};
use crate::settings::Limits;

/// How many connections each address has.
type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// How many connections there are.
#[derive(Debug)]
pub(crate) struct Callers {
    places: Arc<Semaphore>,
    each: Option<usize>,
    of: Counts,
}

/// A connection's place, free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    _place: OwnedSemaphorePermit,
    own: Option<(IpAddr, Counts)>,
}

impl Callers {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            places: Arc::new(Semaphore::new(
                limits.connections.min(Semaphore::MAX_PERMITS),
            )),
            each: limits.connections_per_client,
            of: Arc::default(),
        }
    }

    /// The next connection that has a place. One of an address that has too many is closed.
    pub(crate) async fn next(&self, door: &Open) -> io::Result<(Socket, Option<IpAddr>, Seat)> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(io::Error::other)?;
        loop {
            let (socket, address) = door.accept().await?;
            let own = match (self.each, address) {
                (Some(most), Some(address)) => match self.enters(address, most) {
                    true => Some((address, Arc::clone(&self.of))),
                    false => {
                        tracing::debug!(%address, "a connection too many of one address is closed");
                        continue;
                    }
                },
                _ => None,
            };
            return Ok((socket, address, Seat { _place: place, own }));
        }
    }

    fn enters(&self, address: IpAddr, most: usize) -> bool {
        let mut of = self.of.lock();
        let count = of.entry(address).or_default();
        if *count >= most {
            return false;
        }
        *count += 1;
        true
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some((address, of)) = &self.own {
            let mut of = of.lock();
            if let Some(count) = of.get_mut(address) {
                *count -= 1;
                if *count == 0 {
                    of.remove(address);
                }
            }
        }
    }
}
