//! What is configured of the gateway, as plain values.

use std::time::Duration;

use crate::config::{Config, Use};
use crate::value::Value;

/// What is configured of the gateway. The keys of `[gateway]` say what each is for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the table of knobs says what each is for")]
pub struct GatewayPolicy {
    pub listen: String,
    pub admin_listen: Option<String>,
    pub admin_token: Option<String>,
    pub admin_hosts: Vec<String>,
    pub origins: Vec<String>,
    pub client_token: Option<String>,
    pub client_token_file: Option<String>,
    pub allow_from: Vec<String>,
    pub allow_unlisted: bool,
    pub name: String,
    pub rewrite: bool,
    pub forwarded: bool,
    pub advertise_cap: Option<Duration>,
    pub threads: usize,
    pub access_log: Option<String>,
    pub log_json: bool,
    pub log_sample: u32,
    pub connections: usize,
    pub connections_per_client: Option<usize>,
    pub head_read: Duration,
    pub body_idle: Duration,
    pub connect: Duration,
    pub head: Duration,
    pub pool_idle: Duration,
    pub pool_size: usize,
    pub head_size: usize,
    pub leave: Duration,
    pub drain: Duration,
    pub tls_cert: Option<String>,
    pub tls_key: Option<String>,
    /// A request body is kept up to here to be sent again (`body.replay`).
    pub replay: u64,
}

impl Config {
    /// What is configured of the gateway.
    pub fn gateway(&self) -> GatewayPolicy {
        let value = |key: &str| self.effective(Use::Call, None, key).map(|e| e.value);
        let text = |key| match value(key) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let texts = |key| match value(key) {
            Some(Value::Words(all)) => all.clone(),
            _ => Vec::new(),
        };
        let switch = |key| matches!(value(key), Some(Value::Switch(true)));
        let time = |key| match value(key) {
            Some(Value::Duration(d)) => Some(*d),
            _ => None,
        };
        let count = |key| match value(key) {
            Some(Value::Count(n) | Value::Size(n)) => usize::try_from(*n).ok(),
            _ => None,
        };
        // Every default is of its kind, which a test of the table sees to.
        let length = |key| time(key).unwrap_or_default();
        let number = |key| count(key).unwrap_or_default();
        GatewayPolicy {
            listen: text("gateway.listen").unwrap_or_default(),
            admin_listen: text("gateway.admin_listen"),
            admin_token: text("gateway.admin_token"),
            admin_hosts: texts("gateway.admin_hosts"),
            origins: texts("gateway.origins"),
            client_token: text("gateway.client_token"),
            client_token_file: text("gateway.client_token_file"),
            allow_from: texts("gateway.allow_from"),
            allow_unlisted: switch("gateway.allow_unlisted"),
            name: text("gateway.name").unwrap_or_default(),
            rewrite: switch("gateway.rewrite"),
            forwarded: switch("gateway.forwarded"),
            advertise_cap: time("gateway.advertise_cap"),
            threads: number("gateway.threads"),
            access_log: text("gateway.access_log"),
            log_json: value("gateway.log_format") == Some(&Value::Word("json")),
            log_sample: u32::try_from(number("gateway.log_sample")).unwrap_or(1),
            connections: number("gateway.connections"),
            connections_per_client: count("gateway.connections_per_client"),
            head_read: length("gateway.head_read"),
            body_idle: length("gateway.body_idle"),
            connect: length("gateway.connect"),
            head: length("gateway.head"),
            pool_idle: length("gateway.pool_idle"),
            pool_size: number("gateway.pool_size"),
            head_size: number("gateway.head_size"),
            leave: length("gateway.leave"),
            drain: length("gateway.drain"),
            tls_cert: text("gateway.tls_cert"),
            tls_key: text("gateway.tls_key"),
            replay: number("body.replay") as u64,
        }
    }
}
