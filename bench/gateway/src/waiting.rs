//! What callers that wait take of a gateway's memory.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::ensure;

use crate::cpu;
use crate::subject::{Plan, Subject};

/// Until what has come in is where it stays. The hold lasts longer than all of it.
const SETTLED: Duration = Duration::from_secs(2);

/// Measures and prints.
pub(crate) fn measure(
    plans: &[Plan],
    many: usize,
    dir: &Path,
    upstream: SocketAddr,
) -> anyhow::Result<()> {
    for plan in plans {
        let subject = Subject::start(plan, dir, upstream)?;
        // The one that is refused, and waits first.
        let mut callers = vec![ask(&subject)?];
        sleep(SETTLED);
        let before = cpu::resident(subject.pid());
        for _ in 0..many {
            callers.push(ask(&subject)?);
        }
        sleep(SETTLED);
        let after = cpu::resident(subject.pid());
        for caller in &callers {
            caller.set_nonblocking(true)?;
            ensure!(caller.peek(&mut [0; 1]).is_err(), "a caller does not wait");
        }
        let each = after.saturating_sub(before) as f64 / many as f64;
        println!(
            "{:<22} {each:.1} KiB for each of {many} who wait ({before} KiB before)",
            plan.label()
        );
    }
    Ok(())
}

fn ask(subject: &Subject) -> anyhow::Result<TcpStream> {
    let mut socket = TcpStream::connect(subject.listen)?;
    let (path, host) = (subject.path(), subject.listen);
    write!(
        socket,
        "GET /{path}pause HTTP/1.1\r\nHost: {host}\r\nUser-Agent: bench/1.0\r\n\
         Accept: application/json\r\nAccept-Encoding: gzip, br\r\nAccept-Language: en\r\n\
         Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n\
         X-Request-Id: 7f0c2f5e-38c1-4b59-9d0e-5a3d0a7a6f11\r\nCache-Control: no-cache\r\n\r\n"
    )?;
    Ok(socket)
}
