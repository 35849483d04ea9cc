//! A gateway around an empty decision: what every request costs whatever is decided about it.

mod legacy;
mod log;
mod observed;
mod pool;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONNECTION, HeaderName, HeaderValue, VIA};
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use self::log::Log;
use self::observed::Observed;

/// The bodies of answers.
type Body = http_body_util::combinators::BoxBody<bytes::Bytes, hyper::Error>;

/// Which HTTP client is below.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Kind {
    Legacy,
    Pool,
}

enum Client {
    Legacy(Box<legacy::Client>),
    Pool(pool::Pool),
}

const ATTEMPTS: HeaderName = HeaderName::from_static("abide-attempts");
const WAITED: HeaderName = HeaderName::from_static("abide-waited");

/// Serves until the process ends.
pub(crate) fn serve(
    kind: Kind,
    listen: SocketAddr,
    upstream: SocketAddr,
    log: &Path,
    threads: usize,
) -> anyhow::Result<()> {
    let mut runtime = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(threads).enable_all().build()?;
    let log = Arc::new(Log::open(log)?);
    runtime.block_on(async move {
        let client = Arc::new(match kind {
            Kind::Legacy => Client::Legacy(Box::new(legacy::client())),
            Kind::Pool => Client::Pool(pool::Pool::default()),
        });
        let listener = TcpListener::bind(listen).await?;
        loop {
            let (socket, peer) = listener.accept().await?;
            let (client, log) = (Arc::clone(&client), Arc::clone(&log));
            tokio::spawn(connection(socket, peer, upstream, client, log));
        }
    })
}

async fn connection(
    socket: TcpStream,
    peer: SocketAddr,
    upstream: SocketAddr,
    client: Arc<Client>,
    log: Arc<Log>,
) {
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let (client, log) = (Arc::clone(&client), Arc::clone(&log));
        async move { hand_on(request, peer, upstream, &client, log).await }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(30))
        .serve_connection(TokioIo::new(socket), service);
    let _ = served.await;
}

async fn hand_on(
    mut request: Request<Incoming>,
    peer: SocketAddr,
    upstream: SocketAddr,
    client: &Client,
    log: Arc<Log>,
) -> anyhow::Result<Response<Observed<Body>>> {
    let began = log.now();
    let path = request.uri().path_and_query().map_or("/", |p| p.as_str());
    let line = log.line(peer, request.method(), path);
    *request.uri_mut() = format!("http://{upstream}{path}").parse()?;
    request.headers_mut().remove(CONNECTION);
    let via = HeaderValue::from_static("1.1 bench");
    request.headers_mut().append(VIA, via.clone());
    let answer = async {
        anyhow::Ok(match client {
            Client::Legacy(client) => client.request(request).await?.map(BodyExt::boxed),
            Client::Pool(pool) => pool.send(upstream, request).await?.map(BodyExt::boxed),
        })
    };
    let mut response = tokio::time::timeout(Duration::from_secs(90), answer).await??;
    let headers = response.headers_mut();
    headers.remove(CONNECTION);
    headers.append(VIA, via);
    headers.insert(ATTEMPTS, HeaderValue::from_static("1"));
    headers.insert(WAITED, HeaderValue::from_static("0"));
    let status = response.status();
    Ok(response.map(|body| Observed::new(body, log, line, status, began)))
}
