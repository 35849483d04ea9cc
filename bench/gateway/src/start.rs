//! How long a gateway takes from its start to the first byte it answers.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::subject::{Plan, Subject};
use crate::table::spread;

/// Longer than any start takes.
const LONGEST: Duration = Duration::from_secs(20);

/// Measures and prints.
pub(crate) fn measure(
    plans: &[Plan],
    rounds: u32,
    dir: &Path,
    upstream: SocketAddr,
) -> anyhow::Result<()> {
    for plan in plans {
        let all = (0..rounds).map(|_| once(plan, dir, upstream));
        let all: Vec<_> = all.collect::<Result<_, _>>()?;
        let (low, middle, high) = spread(all.iter().map(|t| t.as_secs_f64() * 1e3));
        println!(
            "{:<22} first byte after {middle:.1} ms ({low:.1}-{high:.1})",
            plan.label()
        );
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a measurement needs real time")]
fn once(plan: &Plan, dir: &Path, upstream: SocketAddr) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let subject = Subject::begin(plan, dir, upstream)?;
    let mut socket = loop {
        match TcpStream::connect(subject.listen) {
            Ok(socket) => break socket,
            Err(e) if began.elapsed() > LONGEST => return Err(e.into()),
            Err(_) => sleep(Duration::from_micros(200)),
        }
    };
    let (path, host) = (subject.path(), subject.listen);
    write!(socket, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n")?;
    let read = socket.read(&mut [0; 1])?;
    ensure!(read == 1, "{}: it answered nothing", subject.label);
    Ok(began.elapsed())
}
