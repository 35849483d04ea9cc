//! Settings from a configuration: names become addresses, files are read.

use std::fs;
use std::net::IpAddr;

use abide_config::{Config, GatewayPolicy};
use ipnet::IpNet;

use super::{Limits, Settings, Upstream};
use crate::access::{Access, Secret};

/// What of a configuration does not make sense: its key, and why.
#[derive(Debug, thiserror::Error)]
#[error("gateway.{key}: {what}")]
pub struct BadSetting {
    key: &'static str,
    what: String,
}

impl BadSetting {
    pub(crate) fn new(key: &'static str, what: impl ToString) -> Self {
        Self {
            key,
            what: what.to_string(),
        }
    }
}

impl Settings {
    /// What a configuration says of the gateway; the file of the token is read.
    ///
    /// # Errors
    /// What does not make sense, with its key.
    pub fn read(config: &Config) -> Result<Self, BadSetting> {
        let told = config.gateway();
        let mut upstreams = Vec::new();
        for (provider, upstream) in config.upstreams() {
            let base = upstream.url().as_str().parse();
            let base =
                base.map_err(|e| BadSetting::new("upstream", format!("{}: {e}", upstream.url())))?;
            upstreams.push(Upstream::new(provider, base));
        }
        Ok(Self {
            access: access(&told)?,
            limits: limits(&told),
            name: told.name,
            advertise_cap: told.advertise_cap,
            rewrite: told.rewrite,
            forwarded: told.forwarded,
            allow_unlisted: told.allow_unlisted,
            upstreams,
        })
    }
}

fn access(told: &GatewayPolicy) -> Result<Access, BadSetting> {
    let token = match (&told.client_token, &told.client_token_file) {
        (Some(token), _) => Some(("client_token", token.clone())),
        (None, Some(path)) => {
            let text = fs::read_to_string(path);
            let text = text.map_err(|e| {
                BadSetting::new("client_token_file", format!("{path} cannot be read: {e}"))
            })?;
            Some(("client_token_file", text.trim().to_owned()))
        }
        (None, None) => None,
    };
    let token = token.map(|(key, text)| {
        Secret::new(&text).ok_or_else(|| {
            BadSetting::new(
                key,
                "a token has 16 characters or more, and no spaces in it",
            )
        })
    });
    let nets = told.allow_from.iter().map(|net| {
        // An address alone is a network of one.
        let one = || net.parse::<IpAddr>().map(IpNet::from).ok();
        net.parse().ok().or_else(one).ok_or_else(|| {
            BadSetting::new("allow_from", format!("{net:?} is no network as 10.0.0.0/8"))
        })
    });
    Ok(Access {
        token: token.transpose()?,
        from: nets.collect::<Result<_, _>>()?,
    })
}

const fn limits(told: &GatewayPolicy) -> Limits {
    Limits {
        head_read: told.head_read,
        body_idle: told.body_idle,
        connect: told.connect,
        head: told.head,
        connections: told.connections,
        connections_per_client: told.connections_per_client,
        pool_size: told.pool_size,
        pool_idle: told.pool_idle,
        leave: told.leave,
        drain: told.drain,
        replay: told.replay,
        head_size: told.head_size,
    }
}
