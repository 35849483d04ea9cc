//! How many requests a second the server answers, and what a request costs its thread.
//!
//! `cargo run --release -p abide-sim --features http --example throughput -- [CONNECTIONS] [N]`

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use std::{env, fs, io, thread};

use abide_sim::Provider;
use abide_sim::http::{Server, ServerOptions};
use abide_sim::policy::Plain;

fn main() -> io::Result<()> {
    let mut figures = env::args().skip(1).map(|text| text.parse::<usize>());
    let connections = figures.next().and_then(Result::ok).unwrap_or(32);
    let each = figures.next().and_then(Result::ok).unwrap_or(200_000) / connections;
    let server = Server::start(Provider::new(Plain::sized(1_024)), ServerOptions::default())?;
    let address = server.address();
    let start = server.moment().now;
    let clients: Vec<_> = (0..connections)
        .map(|client| thread::spawn(move || ask(address, client, each)))
        .collect();
    for client in clients {
        client
            .join()
            .map_err(|_| io::Error::other("a client panicked"))??;
    }
    let wall = server.moment().now.since(start);
    let cpu = server_cpu().unwrap_or_default();
    let accepted = server.read(|truth| truth.accepted) as f64;
    println!(
        "{accepted} requests in {wall:?}: {:.0}/s",
        accepted / wall.as_secs_f64()
    );
    println!(
        "{:.0}/s of the server thread's own time",
        accepted / cpu.as_secs_f64()
    );
    Ok(())
}

fn ask(address: SocketAddr, client: usize, times: usize) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut buffer = [0; 4_096];
    for item in 0..times {
        let text = format!("GET /item/{client}-{item} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(text.as_bytes())?;
        let (mut got, mut whole) = (0, usize::MAX);
        while got < whole {
            got += stream.read(buffer.get_mut(got..).unwrap_or_default())?;
            if let Some(head) = buffer.windows(4).position(|end| end == b"\r\n\r\n") {
                whole = head + 4 + 1_024;
            }
        }
        buffer.fill(0);
    }
    Ok(())
}

/// The processor time of the server's thread, where the system tells (Linux, 100 ticks a second).
fn server_cpu() -> Option<Duration> {
    for task in fs::read_dir("/proc/self/task").ok()?.flatten() {
        let stat = fs::read_to_string(task.path().join("stat")).ok()?;
        let Some((_, rest)) = stat.split_once("(abide-sim)") else {
            continue;
        };
        let ticks = rest
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|t| t.parse::<u64>().ok());
        return Some(Duration::from_millis(ticks.sum::<u64>() * 10));
    }
    None
}
