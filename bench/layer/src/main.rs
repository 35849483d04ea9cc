//! What the layer costs a request that is let through at once, beside the bare service below.
//!
//! `cargo run --release -p bench-layer -- [--quick] [--json FILE]`. Figures are medians of batches,
//! since the machine is shared; compare ratios, not nanoseconds. Requests are made before the clock
//! runs, and answers are read to their end while it does.

mod below;
mod clock;

use std::hint::black_box;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use abide::clock::{Clock, System};
use abide::{Governor, Layer};
use clap::Parser;
use http::{Request, Response};
use serde_json::{Map, Value};
use tower_layer::Layer as _;
use tower_service::Service;

use self::below::Noop;
use self::clock::Hurried;

/// Times what the layer costs.
#[derive(Debug, Parser)]
struct Args {
    /// Write figures here, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// A tenth of the batches
    #[arg(long)]
    quick: bool,
}

/// What was promised, in nanoseconds and in allocations.
const BOUND_NS: f64 = 1000.0;
const BOUND_ALLOCATIONS: f64 = 0.0;

/// Requests a batch: few, so that most batches are not interrupted on a machine that is shared.
const OPS: u32 = 50;

/// What is asked for: a name, an address, and a credential.
const ASKED: [(&str, &str, Option<&str>); 4] = [
    ("generic", "https://api.example.org/items/1?page=2", None),
    (
        "generic_with_credential",
        "https://api.example.org/items/1?page=2",
        Some("Bearer 0123456789abcdef0123456789abcdef"),
    ),
    (
        "openlibrary",
        "https://openlibrary.org/isbn/9780140328721.json",
        None,
    ),
    (
        "github_with_credential",
        "https://api.github.com/repos/rust-lang/rust/issues",
        Some("Bearer 0123456789abcdef0123456789abcdef"),
    ),
];

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let batches = if args.quick { 401 } else { 4001 };
    let mut figures = Map::new();
    for (name, url, credential) in ASKED {
        let make = || request(url, credential);
        let mut bare = Noop;
        let (bare_ns, bare_allocations) = measure(batches, &make, &mut bare);
        let governor = Governor::builder()
            .clock(Arc::new(Hurried::default()))
            .seed(7)
            .build()?;
        let once = Layer::new(governor.clone());
        let copies = once.clone().repeating();
        let (ns, allocations) = measure(batches, &make, &mut once.layer(Noop));
        let (copies_ns, _) = measure(batches, &make, &mut copies.layer(Noop));
        put(&mut figures, format!("{name}.bare_ns"), bare_ns);
        put(&mut figures, format!("{name}.layer_ns"), ns);
        put(&mut figures, format!("{name}.overhead_ns"), ns - bare_ns);
        put(&mut figures, format!("{name}.repeating_ns"), copies_ns);
        put(
            &mut figures,
            format!("{name}.overhead_allocations"),
            allocations - bare_allocations,
        );
    }
    for (name, value) in &figures {
        let bound = match name.rsplit('.').next() {
            Some("overhead_ns") => Some(BOUND_NS),
            Some("overhead_allocations") => Some(BOUND_ALLOCATIONS),
            _ => None,
        };
        let told = match (bound, value.as_f64()) {
            (Some(bound), Some(figure)) if figure > bound => format!("  MORE than {bound}"),
            (Some(bound), _) => format!("  of {bound}"),
            _ => String::new(),
        };
        println!("{name:<44} {value}{told}");
    }
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(())
}

fn request(url: &str, credential: Option<&str>) -> Request<()> {
    let mut request = Request::get(url);
    if let Some(credential) = credential {
        request = request.header(http::header::AUTHORIZATION, credential);
    }
    request
        .header(http::header::ACCEPT, "application/json")
        .header(http::header::ACCEPT_ENCODING, "gzip, br")
        .header(http::header::USER_AGENT, "bench/1.0 (me@example.org)")
        .header("x-request-id", "0123456789abcdef")
        .body(())
        .unwrap_or_default()
}

/// Nanoseconds and allocations a request.
fn measure<S, B>(batches: usize, make: &impl Fn() -> Request<()>, service: &mut S) -> (f64, f64)
where
    S: Service<Request<()>, Response = Response<B>>,
    B: http_body::Body,
{
    let mut batch = || {
        let requests: Vec<_> = (0..OPS).map(|_| make()).collect();
        let mut ns = 0.0;
        let counted = allocation_counter::measure(|| {
            let began = System.now();
            for request in requests {
                send(service, request);
            }
            ns = System.now().since(began).as_nanos() as f64 / f64::from(OPS);
        });
        (ns, counted.count_total as f64 / f64::from(OPS))
    };
    // Whatever is remembered is remembered after this.
    batch();
    let mut all: Vec<_> = (0..batches).map(|_| batch()).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all[batches / 2]
}

fn send<S, B>(service: &mut S, request: Request<()>)
where
    S: Service<Request<()>, Response = Response<B>>,
    B: http_body::Body,
{
    let cx = &mut Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(())) = service.poll_ready(cx) else {
        panic!("the service below is always ready");
    };
    let mut future = pin!(service.call(black_box(request)));
    let Poll::Ready(Ok(answer)) = future.as_mut().poll(cx) else {
        panic!("something is in the way: what is timed is not the fast path");
    };
    let mut body = pin!(answer.into_body());
    while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(cx) {
        drop(black_box(frame));
    }
}

/// Puts a figure down.
fn put(figures: &mut Map<String, Value>, name: String, figure: f64) {
    figures.insert(name, Value::from((10.0 * figure).round() / 10.0));
}
