//! The server, spoken to over plain sockets.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread::yield_now;
use std::time::Duration;

use abide_core::Instant;
use abide_sim::http::{Server, ServerOptions};
use abide_sim::policy::{
    Bodies, Concurrency, Failure, Hint, Outage, Plain, Route, Routes, Service, TokenBucket,
};
use abide_sim::{Drip, Policy, Provider};
use fastrand::Rng;

const HOUR: Duration = Duration::from_secs(3_600);

fn serve(policy: impl Policy + 'static) -> Server {
    serve_with(policy, ServerOptions::default())
}

fn serve_with(policy: impl Policy + 'static, options: ServerOptions) -> Server {
    Server::start(Provider::new(policy), options).unwrap()
}

/// One connection.
struct Wire(BufReader<TcpStream>);

#[derive(Debug)]
struct Seen {
    status: u16,
    head: String,
    body: Vec<u8>,
    /// The body ended before its announced length.
    cut: bool,
}

impl Wire {
    fn to(server: &Server) -> Self {
        Self(BufReader::new(
            TcpStream::connect(server.address()).unwrap(),
        ))
    }

    fn write(&mut self, text: &str) -> &mut Self {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
        self
    }

    fn get(&mut self, path: &str) -> &mut Self {
        self.write(&format!("GET {path} HTTP/1.1\r\nHost: sim.test\r\n\r\n"))
    }

    /// The next answer; `None` when the connection ends first.
    fn read(&mut self) -> Option<Seen> {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            if line == "\r\n" {
                break;
            }
            head += &line.to_ascii_lowercase();
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |text| text.trim().parse().unwrap());
        let mut body = vec![0; length];
        let mut got = 0;
        while got < length {
            match self.0.read(&mut body[got..]) {
                Ok(0) | Err(_) => break,
                Ok(n) => got += n,
            }
        }
        body.truncate(got);
        let status = head[9..12].parse().unwrap();
        Some(Seen {
            status,
            head,
            body,
            cut: got < length,
        })
    }

    fn ask(&mut self, path: &str) -> Option<Seen> {
        self.get(path).read()
    }
}

fn until(done: impl Fn() -> bool) {
    while !done() {
        yield_now();
    }
}

#[test]
fn a_connection_is_kept_and_its_items_are_counted() {
    let server = serve(Plain::sized(1_024));
    let mut wire = Wire::to(&server);
    for path in ["/item/1", "/item/2?q=1", "/item/1"] {
        let seen = wire.ask(path).unwrap();
        assert_eq!((seen.status, seen.body.len()), (200, 1_024));
        assert_eq!(seen.head.matches("\r\ndate: ").count(), 1);
    }
    drop(wire);
    let truth = server.shutdown();
    assert_eq!((truth.requests, truth.accepted), (3, 3));
    assert_eq!(
        (
            truth.item("/item/1").accepted,
            truth.item("/item/2?q=1").accepted
        ),
        (2, 1)
    );
    assert!(truth.never_accepted(["/item/1", "/item/3"]) == ["/item/3"]);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = serve(
        Routes::new()
            .with(Route::path("/one"), Plain::sized(1))
            .with(Route::host("sim.test").below("/two"), Plain::sized(2)),
    );
    let mut wire = Wire::to(&server);
    wire.get("/one").get("/two").get("/three");
    assert_eq!(wire.read().unwrap().body.len(), 1);
    assert_eq!(wire.read().unwrap().body.len(), 2);
    assert_eq!(wire.read().unwrap().status, 404);
}

#[test]
fn writes_are_effects_of_the_item_their_header_names() {
    let server = serve(Plain::new());
    let mut wire = Wire::to(&server);
    let post = "POST /orders HTTP/1.1\r\nHost: x\r\nSim-Item: 17\r\nContent-Length: 3\r\n\r\nabc";
    for _ in 0..2 {
        assert_eq!(wire.write(post).read().unwrap().status, 200);
    }
    let chunked = "POST /orders HTTP/1.1\r\nHost: x\r\nSim-Item: 18\r\n\
                   Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(wire.write(chunked).read().unwrap().status, 200);
    let truth = server.truth();
    assert_eq!(truth.effects, 3);
    assert_eq!(truth.written_twice(), ["17"]);
}

#[test]
fn a_body_that_is_too_long_never_arrives() {
    let mut options = ServerOptions::default();
    options.max_body = 2;
    let server = serve_with(Plain::new(), options);
    let post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
    assert!(Wire::to(&server).write(post).read().is_none());
    assert_eq!(server.truth().requests, 0);
}

#[test]
fn a_closed_connection_says_nothing() {
    let down = Outage::over(
        Plain::new(),
        Instant::ORIGIN,
        Instant::FAR,
        Rng::with_seed(1),
    );
    let server = serve(down.failing([Failure::Close]));
    assert!(Wire::to(&server).ask("/").is_none());
    assert_eq!(server.truth().failed, 1);
}

#[test]
fn silence_lasts_until_the_client_leaves() {
    let down = Outage::over(
        Plain::new(),
        Instant::ORIGIN,
        Instant::FAR,
        Rng::with_seed(1),
    );
    let server = serve(down.failing([Failure::Silence]));
    let mut wire = Wire::to(&server);
    wire.get("/");
    until(|| server.truth().requests == 1);
    wire.0
        .get_ref()
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    assert!(
        wire.0.get_mut().read(&mut [0]).is_err(),
        "neither a byte nor an end"
    );
    assert_eq!(server.truth().last, None);
    drop(wire);
    until(|| server.truth().last.is_some());
}

#[test]
fn a_cut_body_announces_more_than_it_brings() {
    let server = serve(Bodies::over(Plain::sized(4_000), Rng::with_seed(5)).cutting(1.0));
    for _ in 0..10 {
        let mut wire = Wire::to(&server);
        let seen = wire.ask("/").unwrap();
        assert!(seen.cut && seen.status == 200 && seen.head.contains("content-length: 4000"));
        assert!(wire.read().is_none());
    }
    assert_eq!(server.truth().failed, 10);
}

#[test]
fn a_cut_body_brings_what_comes_before_the_cut() {
    let server = serve(Bodies::over(Plain::sized(4_000), Rng::with_seed(5)).cutting(1.0));
    let lengths: Vec<_> = (0..10)
        .map(|_| Wire::to(&server).ask("/").unwrap().body.len())
        .collect();
    let mut rng = Rng::with_seed(5);
    let expected: Vec<_> = (0..10)
        .map(|_| {
            // Whether to cut, and whether to be slow.
            rng.f64();
            rng.f64();
            rng.usize(..4_000)
        })
        .collect();
    assert_eq!(lengths, expected);
}

#[test]
fn a_slow_body_comes_whole_and_late() {
    let drip = Drip {
        piece: 30,
        gap: Duration::from_millis(5),
    };
    let server = serve(Bodies::over(Plain::sized(100), Rng::with_seed(5)).dripping(1.0, drip));
    let mut wire = Wire::to(&server);
    let start = server.moment().now;
    for _ in 0..2 {
        let seen = wire.ask("/").unwrap();
        assert!(!seen.cut && seen.body.len() == 100);
    }
    assert!(server.moment().now.since(start) >= 6 * drip.gap);
}

#[test]
fn a_client_that_leaves_gives_its_place_back() {
    let server = serve(Concurrency::new(1, Service::constant(HOUR)));
    let mut first = Wire::to(&server);
    first.get("/");
    until(|| server.truth().requests == 1);
    assert_eq!(Wire::to(&server).ask("/").unwrap().status, 503);
    drop(first);
    until(|| {
        let before = server.truth().requests;
        let mut wire = Wire::to(&server);
        wire.get("/");
        until(|| server.truth().requests > before);
        server.truth().accepted == 2
    });
}

#[test]
fn a_request_inside_a_hold_is_seen_after_the_grace() {
    let rude = |grace| {
        let bucket = TokenBucket::new(1, HOUR, 1).hinting(Hint::True);
        let server = serve_with(bucket, ServerOptions::default().with_grace(grace));
        let mut wire = Wire::to(&server);
        let statuses: Vec<_> = (0..4).map(|_| wire.ask("/").unwrap().status).collect();
        assert_eq!(statuses, [200, 429, 429, 429]);
        server.truth().sent_inside_hold
    };
    assert_eq!(rude(Duration::ZERO), 2);
    assert_eq!(rude(HOUR), 0);
}

#[test]
fn clients_are_told_apart_by_their_header() {
    let bucket = TokenBucket::new(1, HOUR, 1).hinting(Hint::True);
    let server = serve_with(bucket, ServerOptions::default().with_grace(Duration::ZERO));
    let mut wire = Wire::to(&server);
    let mut ask = |client: &str| {
        let text = format!("GET / HTTP/1.1\r\nHost: x\r\nSim-Client: {client}\r\n\r\n");
        wire.write(&text).read().unwrap().status
    };
    assert_eq!([ask("1"), ask("1"), ask("2")], [200, 429, 429]);
    assert_eq!(server.truth().sent_inside_hold, 0);
}

#[test]
fn latency_is_added_each_way() {
    let latency = Duration::from_millis(20);
    let options = ServerOptions::default()
        .with_latency(latency, 0.5)
        .with_seed(4);
    let server = serve_with(Plain::new(), options);
    let start = server.moment().now;
    Wire::to(&server).ask("/").unwrap();
    assert!(server.moment().now.since(start) >= latency);
}

#[test]
fn nonsense_harms_nobody_else() {
    let server = serve(Plain::new());
    let mut wire = Wire::to(&server);
    let seen = wire.write("\u{1}\u{2} nonsense\r\n\r\n").read();
    assert!(seen.is_none_or(|seen| seen.status == 400));
    assert_eq!(Wire::to(&server).ask("/").unwrap().status, 200);
    assert_eq!(server.truth().requests, 1);
}

#[test]
fn after_shutdown_nobody_answers() {
    let server = serve(Plain::new());
    let address = server.address();
    assert_eq!(server.url(), format!("http://{address}"));
    let mut wire = Wire::to(&server);
    wire.ask("/").unwrap();
    server.shutdown();
    assert!(wire.read().is_none());
    assert!(TcpStream::connect(address).is_err());
}
