//! A gateway made with pingora: keep-alive on both sides, a buffered access log of the same facts,
//! counters, and the same fields added as the others of `bench/gateway` add.

mod log;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use clap::Parser;
use pingora_core::server::Server;
use pingora_core::server::configuration::ServerConf;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_http::{RequestHeader, ResponseHeader};
use pingora_proxy::{ProxyHttp, Session, http_proxy_service};

use crate::log::Log;

/// A gateway made with pingora.
#[derive(Debug, Parser)]
struct Args {
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    upstream: SocketAddr,
    #[arg(long)]
    log: PathBuf,
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

struct Proxy {
    upstream: SocketAddr,
    log: Arc<Log>,
}

#[async_trait]
impl ProxyHttp for Proxy {
    /// When the request came.
    type CTX = Instant;

    fn new_ctx(&self) -> Instant {
        Instant::now()
    }

    async fn upstream_peer(
        &self,
        _: &mut Session,
        _: &mut Instant,
    ) -> pingora_core::Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(self.upstream, false, String::new())))
    }

    async fn upstream_request_filter(
        &self,
        _: &mut Session,
        request: &mut RequestHeader,
        _: &mut Instant,
    ) -> pingora_core::Result<()> {
        request.append_header("Via", "1.1 bench")?;
        Ok(())
    }

    async fn response_filter(
        &self,
        _: &mut Session,
        response: &mut ResponseHeader,
        _: &mut Instant,
    ) -> pingora_core::Result<()> {
        response.append_header("Via", "1.1 bench")?;
        response.insert_header("Abide-Attempts", "1")?;
        response.insert_header("Abide-Waited", "0")?;
        Ok(())
    }

    async fn logging(
        &self,
        session: &mut Session,
        _: Option<&pingora_core::Error>,
        began: &mut Instant,
    ) {
        let status = session.response_written().map_or(0, |r| r.status.as_u16());
        let bytes = session.body_bytes_sent();
        let client = session.client_addr().and_then(|a| a.as_inet());
        let request = session.req_header();
        let (method, path) = (request.method.as_str(), request.uri.path());
        let client = client.map(SocketAddr::ip);
        self.log
            .line(client, method, path, status, bytes, began.elapsed());
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let conf = ServerConf {
        threads: args.threads,
        // Whoever waits for its end does not wait for others to take over.
        grace_period_seconds: Some(0),
        graceful_shutdown_timeout_seconds: Some(0),
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, conf);
    server.bootstrap();
    let proxy = Proxy {
        upstream: args.upstream,
        log: Arc::new(Log::open(&args.log)?),
    };
    let mut service = http_proxy_service(&server.configuration, proxy);
    service.add_tcp(&args.listen.to_string());
    server.add_service(service);
    server.run_forever();
}
