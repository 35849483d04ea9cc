//! nginx, once as the provider and once as the gateway to compare with: keep-alive on both sides, a
//! buffered log of the same facts, and the same fields added.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command};

use anyhow::Context;

/// The address of one more provider, told from others by it alone.
pub(crate) fn address(n: usize, port: u16) -> SocketAddr {
    let low = |n: usize| u8::try_from(n % 250 + 1).unwrap_or(1);
    (Ipv4Addr::new(127, 1, low(n / 250), low(n)), port).into()
}

/// Answers every request with 1 KiB of JSON, but refuses whoever asks below `/long` (for an hour)
/// or `/pause` (for 25 seconds); at so many more addresses too.
pub(crate) fn origin(dir: &Path, listen: SocketAddr, more: usize) -> anyhow::Result<Child> {
    let body = format!("{{\"text\":\"{}\"}}", "x".repeat(1024 - 11));
    let more: String = (0..more)
        .map(|n| format!("listen {};", address(n, listen.port())))
        .collect();
    let http = format!(
        "access_log off;
  server {{
    listen {listen} backlog=4096 reuseport;
    {more}
    location / {{ default_type application/json; return 200 '{body}'; }}
    location /long {{ add_header Retry-After 3600 always; return 429; }}
    location /pause {{ add_header Retry-After 25 always; return 429; }}
  }}"
    );
    start(dir, "origin", 1, &http)
}

/// Hands every request on to `upstream`.
pub(crate) fn gateway(
    dir: &Path,
    listen: SocketAddr,
    upstream: SocketAddr,
    threads: usize,
) -> anyhow::Result<Child> {
    let log = dir.join("nginx.log");
    let log = log.display();
    let http = format!(
        "log_format facts escape=json '{{\"at\":\"$msec\",\"client\":\"$remote_addr\",\"method\":\"$request_method\",\
\"path\":\"$uri\",\"status\":$status,\"bytes\":$body_bytes_sent,\"took\":$request_time,\"upstream\":\"$upstream_addr\",\
\"upstream_status\":\"$upstream_status\",\"head\":\"$upstream_header_time\"}}';
  access_log {log} facts buffer=64k flush=1s;
  upstream provider {{ server {upstream}; keepalive 128; keepalive_requests 1000000; }}
  server {{
    listen {listen} backlog=4096;
    location / {{
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_set_header Via \"1.1 bench\";
      add_header Via \"1.1 bench\" always;
      add_header Abide-Attempts 1 always;
      add_header Abide-Waited 0 always;
    }}
  }}"
    );
    start(dir, "gateway", threads, &http)
}

fn start(dir: &Path, name: &str, workers: usize, http: &str) -> anyhow::Result<Child> {
    let at = dir.join(name);
    fs::create_dir_all(&at)?;
    let shown = at.display();
    let conf = at.join("nginx.conf");
    let text = format!(
        "worker_processes {workers};
daemon off;
pid {shown}/pid;
error_log {shown}/error.log;
events {{ worker_connections 20000; }}
http {{
  client_body_temp_path {shown}/body;
  proxy_temp_path {shown}/proxy;
  fastcgi_temp_path {shown}/fastcgi;
  uwsgi_temp_path {shown}/uwsgi;
  scgi_temp_path {shown}/scgi;
  keepalive_requests 100000000;
  {http}
}}
"
    );
    fs::write(&conf, text)?;
    Command::new("nginx")
        .arg("-e")
        .arg(at.join("error.log"))
        .arg("-c")
        .arg(&conf)
        .spawn()
        .context("nginx is not installed (apt-get install nginx)")
}
