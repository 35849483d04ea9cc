//! The way to a provider: proxies on it, what connecting may take, and what a reload may not do.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "test code")]

mod desk;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use abide::core::call::CallPolicy;
use abide::store::Memory;
use abide_config::{Setup, Use};
use abide_gateway::settings::Settings;
use abide_gateway::{Front, Gateway, GatewayError, Listener, Log, Secret, ServeError, Serving};
use desk::raw;

/// A gateway with this configuration.
fn front(text: &str) -> Front {
    let setup = Setup::from_text("abide.toml", text, Use::Gateway).unwrap();
    let settings = Settings::read(setup.config()).unwrap();
    let store = Arc::new(Memory::new([7; 32]));
    let governor = setup.governor().store(store).build().unwrap();
    Front::new(Gateway::new(settings, governor, CallPolicy::default(), Log::none()).unwrap())
}

fn served(front: &Front) -> (Serving, SocketAddr) {
    let listener = Listener::bind("127.0.0.1:0").unwrap();
    let at = listener
        .url()
        .trim_start_matches("http://")
        .parse()
        .unwrap();
    (Serving::start(front, &listener, 1).unwrap(), at)
}

/// A head, line by line.
fn head(socket: &TcpStream) -> String {
    let mut lines = BufReader::new(socket.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(lines.read_line(&mut head).unwrap(), 0, "{head}");
    }
    head
}

/// A proxy that lets everybody through to a provider that it is itself, and tells both heads.
fn proxy() -> (SocketAddr, Receiver<(String, String)>) {
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let (tell, told) = channel();
    let at = door.local_addr().unwrap();
    thread::spawn(move || {
        for socket in door.incoming() {
            let mut socket = socket.unwrap();
            let asked = head(&socket);
            socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let request = head(&socket);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            socket.write_all(answer).unwrap();
            if tell.send((asked, request)).is_err() {
                return;
            }
        }
    });
    (at, told)
}

const WITHIN: Duration = Duration::from_secs(20);

fn by_proxy(proxy: SocketAddr) -> String {
    format!(
        "[providers.shop]\nhosts = [\"*.shop.example\"]\n\
         [providers.shop.upstream]\nurl = \"http://shop.example\"\n\
         proxy = \"http://me:p%40w@{proxy}\"\ncredential = {{ env = \"PATH\" }}\n"
    )
}

#[test]
fn gw_a_proxy_is_told_the_right_port_and_who_we_are() {
    let (proxy, told) = proxy();
    let front = front(&by_proxy(proxy));
    assert!(!format!("{:?}", front.now()).contains("p%40w"));
    let (_serving, at) = served(&front);
    let got = raw(
        at,
        "GET /shop/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    assert_eq!((got.status, got.body.as_str()), (200, "ok"), "{got:?}");
    let (asked, request) = told.recv_timeout(WITHIN).unwrap();
    assert!(
        asked.starts_with("CONNECT shop.example:80 HTTP/1.1\r\n"),
        "{asked}"
    );
    // me:p@w
    assert!(
        asked
            .to_ascii_lowercase()
            .contains("proxy-authorization: basic bwu6ceb3\r\n"),
        "{asked}"
    );
    assert!(request.starts_with("GET /x HTTP/1.1\r\n"), "{request}");
    assert!(
        !request.to_ascii_lowercase().contains("proxy-authorization"),
        "{request}"
    );
}

#[test]
fn gw_a_proxys_caller_goes_the_providers_own_way() {
    let (proxy, told) = proxy();
    let front = front(&by_proxy(proxy));
    let (_serving, at) = served(&front);
    let ask = |url: &str| {
        let got = raw(
            at,
            &format!("GET {url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
        );
        assert_eq!(got.status, 200, "{got:?}");
        told.recv_timeout(WITHIN).unwrap()
    };
    let (asked, request) = ask("http://shop.example/x");
    assert!(asked.starts_with("CONNECT shop.example:80 "), "{asked}");
    assert!(request.contains("authorization: "), "{request}");
    let (asked, request) = ask("http://other.shop.example:8080/x");
    assert!(
        asked.starts_with("CONNECT other.shop.example:8080 "),
        "{asked}"
    );
    assert!(
        !request.contains("authorization: "),
        "a credential is for one address: {request}"
    );
    // A tunnel, too.
    let mut socket = TcpStream::connect(at).unwrap();
    socket.set_read_timeout(Some(WITHIN)).unwrap();
    let connect =
        b"CONNECT other.shop.example:443 HTTP/1.1\r\nHost: other.shop.example:443\r\n\r\n";
    socket.write_all(connect).unwrap();
    assert!(head(&socket).starts_with("HTTP/1.1 200"));
    socket.write_all(b"GET /inside HTTP/1.1\r\n\r\n").unwrap();
    let mut rest = [0; 12];
    socket.read_exact(&mut rest).unwrap();
    let (asked, inside) = told.recv_timeout(WITHIN).unwrap();
    assert!(
        asked.starts_with("CONNECT other.shop.example:443 "),
        "{asked}"
    );
    assert!(inside.starts_with("GET /inside "), "{inside}");
}

#[test]
fn gw_what_connecting_may_take_bounds_tls_too() {
    // It accepts, and says nothing.
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = door.local_addr().unwrap();
    let text = format!(
        "[gateway]\nconnect = \"1h\"\n[providers.mute.upstream]\nurl = \"https://{at}\"\nconnect = \"1s\"\n"
    );
    let front = front(&text);
    let (_serving, at) = served(&front);
    let began = Instant::now();
    let fields = "Host: localhost\r\nPrefer: wait=0\r\nConnection: close\r\n";
    let got = raw(at, &format!("GET /mute/x HTTP/1.1\r\n{fields}\r\n"));
    assert!(matches!(got.status, 502..=504), "{got:?}");
    assert!(
        began.elapsed() < Duration::from_secs(600),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn gw_no_reload_lets_everybody_in_from_other_machines() {
    let told = "[gateway]\nclient_token = \"0123456789abcdef\"\n";
    let front = front(told);
    let listener = Listener::bind("0.0.0.0:0").unwrap();
    let _serving = Serving::start(&front, &listener, 1).unwrap();
    let call = CallPolicy::default;
    let before = front.now();
    let open = front.renew(Settings::default(), call());
    assert!(matches!(open, Err(GatewayError::Open(_))), "{open:?}");
    assert!(Arc::ptr_eq(&before, &front.now()), "the old one stays");
    let mut closed = Settings::default();
    closed.access.token = Secret::new("fedcba9876543210");
    let prepared = front.prepare(closed, call()).unwrap();
    assert!(
        Arc::ptr_eq(&before, &front.now()),
        "nothing is in force yet"
    );
    front.enter(prepared);
    assert!(!Arc::ptr_eq(&before, &front.now()));
    let here = self::front("");
    let begun = Serving::start(&here, &listener, 1);
    assert!(matches!(
        begun,
        Err(ServeError::Gateway(GatewayError::Open(_)))
    ));
}

#[test]
fn gw_every_worker_shows_that_it_comes_round() {
    let front = front("");
    let (serving, _) = served(&front);
    let mut pulse = serving.pulse();
    let began = Instant::now();
    for _ in 0..2 {
        while !pulse.is_felt() {
            assert!(began.elapsed() < WITHIN);
            thread::yield_now();
        }
    }
}
