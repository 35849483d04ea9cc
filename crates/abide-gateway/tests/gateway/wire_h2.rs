//! HTTP/2 in clear text by prior knowledge: by a client library, and frame by frame.

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Empty, Full, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::task::JoinSet;

use crate::rig::{Frames, Gate, Peer, ok, reply};

type Body = http_body_util::combinators::BoxBody<Bytes, std::convert::Infallible>;

async fn connected(gate: &Gate) -> http2::SendRequest<Body> {
    let socket = tokio::net::TcpStream::connect(gate.at).await.unwrap();
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .handshake(TokioIo::new(socket))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

fn to(gate: &Gate, path: &str) -> http::request::Builder {
    Request::builder().uri(format!("http://{}{path}", gate.at))
}

#[tokio::test]
async fn gw_requests_of_one_connection_are_served_side_by_side() {
    let peer = Peer::new(|request, _| ok(&format!("{} {}", request.target(), request.text())));
    let gate = Gate::with(&peer, "pace.gentle = false\nconcurrency = 32");
    let sender = connected(&gate).await;
    let mut asked = JoinSet::new();
    for n in 0..64 {
        let request = to(&gate, &format!("/shop/{n}"))
            .method("POST")
            .body(Full::from(format!("body {n}")).boxed())
            .unwrap();
        let mut sender = sender.clone();
        asked.spawn(async move {
            let got = sender.send_request(request).await.unwrap();
            assert_eq!(got.status(), 200);
            let text = got.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(text, format!("/{n} body {n}"));
        });
    }
    while let Some(done) = asked.join_next().await {
        done.unwrap();
    }
    assert_eq!(peer.requests(), 64);
}

#[tokio::test]
async fn gw_heads_and_trailers_pass_between_both_versions() {
    let peer = Peer::saying([
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5\r\n\
         Trailer: X-Sum\r\n\r\n4\r\nback\r\n0\r\nX-Sum: 42\r\n\r\n"
            .to_owned(),
    ]);
    let gate = Gate::before(&peer);
    let mut sender = connected(&gate).await;
    let mut trailers = HeaderMap::new();
    trailers.insert("x-check", "7".parse().unwrap());
    let frames = [
        Ok(Frame::data(Bytes::from("there"))),
        Ok(Frame::trailers(trailers)),
    ];
    let body = StreamBody::new(futures_util::stream::iter(frames)).boxed();
    let request = to(&gate, "/shop/x")
        .method("PUT")
        .header("te", "trailers")
        .header("trailer", "x-check")
        .header("priority", "u=1")
        .body(body)
        .unwrap();
    let got = sender.send_request(request).await.unwrap();
    assert_eq!(got.headers().get("keep-alive"), None);
    let whole = got.into_body().collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["x-sum"], "42");
    assert_eq!(whole.to_bytes(), "back");
    let asked = peer.last();
    assert_eq!(asked.text(), "there");
    assert_eq!(asked.trailers, [("x-check".to_owned(), "7".to_owned())]);
    // Whoever is asked is named by the host, not by the gateway.
    assert_eq!(asked.all("host"), [peer.at.to_string()]);
}

#[tokio::test]
async fn gw_a_refusal_and_a_head_only_are_as_in_the_other_version() {
    let peer = Peer::new(|request, _| match request.method() {
        "HEAD" => "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n".to_owned(),
        _ => reply(429, "Retry-After: 600\r\n", "no"),
    });
    let gate = Gate::before(&peer);
    let mut sender = connected(&gate).await;
    let head = to(&gate, "/shop/x").method("HEAD");
    let got = sender
        .send_request(head.body(Empty::new().boxed()).unwrap())
        .await
        .unwrap();
    assert_eq!(got.headers()["content-length"], "99");
    for _ in 0..2 {
        let get = to(&gate, "/shop/x").header("prefer", "wait=1");
        let got = sender
            .send_request(get.body(Empty::new().boxed()).unwrap())
            .await
            .unwrap();
        assert_eq!(got.status(), StatusCode::TOO_MANY_REQUESTS);
        let after: u64 = got.headers()["retry-after"]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!((590..=600).contains(&after));
    }
    assert_eq!(peer.requests(), 2);
}

const GET: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/shop/x"),
    (":authority", "127.0.0.1"),
];

/// Fields of one connection have no place in HTTP/2 (RFC 9113 section 8.2.2).
#[test]
fn gw_fields_of_one_connection_are_refused() {
    let peer = Peer::well();
    let gate = Gate::before(&peer);
    for (name, value) in [
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("upgrade", "websocket"),
        ("te", "gzip"),
        ("X-Upper", "y"),
        ("x-line", "a\r\nb: c"),
        ("x-null", "a\0b"),
        (":path", "/shop/second"),
        (":unknown", "z"),
    ] {
        let mut h2 = Frames::to(gate.at);
        let mut fields = GET.to_vec();
        fields.push((name, value));
        h2.headers(&fields, true);
        if let Some(frame) = h2.ended() {
            assert!(frame.kind == 3 || frame.kind == 7, "{name}: {frame:?}");
        }
        assert_eq!(peer.bytes(), 0, "{name}");
    }
    let mut h2 = Frames::to(gate.at);
    h2.headers(&GET, true);
    assert_eq!(h2.ended().unwrap().kind, 0, "without them it is served");
    assert_eq!(peer.requests(), 1);
}

/// A length that is not that of the data: whatever the provider was sent of it is no whole request.
#[test]
fn gw_a_length_that_is_none_of_the_data_is_refused() {
    for (length, data) in [("5", "longer than said"), ("50", "shorter")] {
        let peer = Peer::well();
        let gate = Gate::before(&peer);
        let mut h2 = Frames::to(gate.at);
        let mut fields = GET.to_vec();
        fields[0].1 = "POST";
        fields.push(("content-length", length));
        h2.headers(&fields, false);
        h2.data(data.as_bytes(), true);
        if let Some(frame) = h2.ended() {
            let refused = frame.kind == 3 || frame.kind == 7;
            assert!(refused, "{length}: {frame:?}");
        }
        assert!(peer.seen().iter().all(|s| !s.whole), "{length}");
    }
}

/// Two names of one request: only the one that routing reads may reach anybody.
#[test]
fn gw_a_host_beside_the_authority_names_nobody() {
    let peer = Peer::well();
    let gate = Gate::before(&peer);
    let mut h2 = Frames::to(gate.at);
    let mut fields = GET.to_vec();
    fields.push(("host", "evil.example"));
    h2.headers(&fields, true);
    let _ = h2.ended();
    for seen in peer.seen() {
        assert_eq!(seen.all("host"), [peer.at.to_string()]);
    }
}
