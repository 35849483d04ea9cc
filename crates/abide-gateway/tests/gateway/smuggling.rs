//! Requests that can be read in two ways, or in none: refused, with not one byte of them handed on, and the
//! connection closed behind them.
//!
//! `smuggling/corpus.txt` has one a line: what it is, what may be answered, and its bytes.

use crate::rig::{Caller, Gate, Peer};

const CORPUS: &str = include_str!("smuggling/corpus.txt");

struct Case {
    what: &'static str,
    statuses: Vec<u16>,
    bytes: Vec<u8>,
}

fn corpus() -> Vec<Case> {
    let lines = CORPUS
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    let cases = lines.map(|line| {
        let mut parts = line.splitn(3, " | ");
        let (what, statuses, text) = (parts.next(), parts.next(), parts.next());
        Case {
            what: what.unwrap(),
            statuses: statuses
                .unwrap()
                .split(' ')
                .map(|s| s.parse().unwrap())
                .collect(),
            bytes: bytes(text.unwrap_or_else(|| panic!("{line}"))),
        }
    });
    cases.collect()
}

/// `\r`, `\n`, `\t`, `\0`, `\xFF` and `\\` as they are meant; `\{x*5000}` is so many of a character.
fn bytes(text: &str) -> Vec<u8> {
    let (mut out, mut chars) = (Vec::new(), text.chars());
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.extend(c.to_string().bytes());
            continue;
        }
        match chars.next().unwrap() {
            'r' => out.push(b'\r'),
            'n' => out.push(b'\n'),
            't' => out.push(b'\t'),
            '0' => out.push(0),
            '\\' => out.push(b'\\'),
            'x' => {
                let hex: String = chars.by_ref().take(2).collect();
                out.push(u8::from_str_radix(&hex, 16).unwrap());
            }
            '{' => {
                let told: String = chars.by_ref().take_while(|c| *c != '}').collect();
                let (c, n) = told.split_once('*').unwrap();
                out.extend(c.repeat(n.parse().unwrap()).bytes());
            }
            other => panic!("no escape: {other} in {text}"),
        }
    }
    out
}

/// The answers of a connection until it ends.
fn answers(caller: &mut Caller) -> Vec<u16> {
    let mut all = Vec::new();
    while let Some(answer) = caller.answered(false) {
        all.push(answer.status());
    }
    all
}

#[test]
fn gw_no_byte_of_a_request_that_can_be_read_in_two_ways_is_handed_on() {
    let peer = Peer::well();
    let gate = Gate::before(&peer);
    let corpus = corpus();
    assert!(corpus.len() > 60, "{}", corpus.len());
    let mut wrong = Vec::new();
    for case in &corpus {
        let before = peer.bytes();
        let mut caller = gate.caller();
        let _ = caller.wire.send(&case.bytes);
        let said = answers(&mut caller);
        if peer.bytes() != before {
            wrong.push(format!("{}: handed on ({said:?})", case.what));
        }
        match said.as_slice() {
            [] if case.statuses.contains(&0) => {}
            [status] if case.statuses.contains(status) => {}
            _ => wrong.push(format!("{}: answered {said:?}", case.what)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Byte by byte the head may be through before its body turns out bad: no whole request may come of it.
#[test]
fn gw_however_its_bytes_are_cut_no_request_comes_of_it() {
    let peer = Peer::well();
    let gate = Gate::before(&peer);
    for case in &corpus() {
        if case.bytes.len() > 2_000 {
            continue;
        }
        let mut caller = gate.caller();
        for piece in case.bytes.chunks(7) {
            if caller.wire.send(piece).is_err() {
                break;
            }
            std::thread::yield_now();
        }
        let said = answers(&mut caller);
        assert!(said.iter().all(|s| *s >= 400), "{}: {said:?}", case.what);
        let whole: Vec<_> = peer.seen().into_iter().filter(|s| s.whole).collect();
        assert!(whole.is_empty(), "{}: {whole:?}", case.what);
    }
}

/// A good request in front of a bad one is served, and what is hidden behind the bad one is not.
#[test]
fn gw_a_good_request_before_a_bad_one_is_served() {
    let peer = Peer::well();
    let gate = Gate::before(&peer);
    let good = "GET /shop/good HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let hidden = "GET /shop/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for case in &corpus() {
        let before = peer.requests();
        let mut caller = gate.caller();
        let mut all = good.as_bytes().to_vec();
        all.extend(&case.bytes);
        all.extend(hidden.as_bytes());
        let _ = caller.wire.send(&all);
        // Bytes that are not read may take answers back, the first one's too.
        let _ = answers(&mut caller);
        let seen = peer.seen().split_off(before);
        assert!(seen.len() <= 1, "{}: {seen:?}", case.what);
        assert!(
            seen.iter().all(|s| s.target() == "/good"),
            "{}: {seen:?}",
            case.what
        );
    }
}

/// A proxy goes by the address in the first line, and by no other name (RFC 9112 section 3.2.2).
#[test]
fn gw_the_address_counts_and_no_other_host() {
    let peer = Peer::well();
    let at = peer.at;
    let gate = Gate::of(&format!("[providers.shop]\nhosts = [\"{at}\"]\n"));
    let mut caller = gate.caller();
    caller.send(format!(
        "GET http://{at}/x HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!(caller.answer().status(), 200);
    assert_eq!(peer.last().all("host"), [at.to_string()]);
    let mut caller = gate.caller();
    caller.send(format!(
        "GET http://evil.example/x HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!(caller.answer().status(), 403);
    assert_eq!(peer.requests(), 1);
}
