//! The scripts beside [`Book`](crate::lend::Book), operation by operation, on a real server.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod differential;
mod keys;
#[path = "../../../tests/common/server.rs"]
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use abide_core::WallTime;

use super::hello;
use super::inner::{Inner, Up};
use super::options::Options;
use super::place::Place;
use server::Server;

/// Where the tests' time begins: some time in the present, so that keys do not expire meanwhile.
const BEGIN: i64 = 1_800_000_000_000_000_000;

/// A server, and processes that share it, all of which go by the clock of the test.
struct Bench {
    runtime: tokio::runtime::Runtime,
    server: Server,
    up: Up,
    processes: Vec<Inner>,
    now: Arc<AtomicI64>,
}

impl Bench {
    fn new(processes: u64) -> Self {
        let server = Server::start();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let now = Arc::new(AtomicI64::new(BEGIN));
        let process = |who| {
            let now = Arc::clone(&now);
            let wall = move || WallTime::from_unix_nanos(now.load(Ordering::Relaxed));
            let options = Options::default().wall(wall);
            let place = Place::read(&server.url(), &options).unwrap();
            let first = ([7; 32], "epoch".to_owned());
            Inner::new(place, options, runtime.handle().clone(), who, first)
        };
        let processes: Vec<_> = (1..=processes).map(process).collect();
        let up = runtime.block_on(async {
            let client = processes[0].place.client().await.unwrap();
            let connection = client.get_multiplexed_async_connection().await.unwrap();
            Up { connection }
        });
        Self {
            runtime,
            server,
            up,
            processes,
            now,
        }
    }

    fn now(&self) -> WallTime {
        WallTime::from_unix_nanos(self.now.load(Ordering::Relaxed))
    }

    /// Time goes on, or back, by microseconds.
    fn passes(&self, micros: i64) {
        self.now.fetch_add(micros * 1000, Ordering::Relaxed);
    }

    /// Now, as scripts are told.
    fn told(&self) -> String {
        (self.now.load(Ordering::Relaxed) / 1000).to_string()
    }

    fn greet(&self, p: usize) -> u32 {
        let process = &self.processes[p];
        let told = self.told();
        let greeted = hello::greet(process, self.up.clone(), &told);
        self.runtime.block_on(greeted).unwrap();
        process.peers()
    }
}
