//! Settings from a configuration: names become addresses, files are read.

use std::fs;
use std::net::IpAddr;

use abide_config::{Config, GatewayPolicy};
use ipnet::IpNet;

use super::{Admin, Limits, Settings, Upstream};
use crate::access::{Access, Secret};

/// What of a configuration does not make sense: its key, and why.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {what}")]
pub struct BadSetting {
    key: String,
    what: String,
    outside: bool,
}

impl BadSetting {
    pub(crate) fn new(key: &'static str, what: impl ToString) -> Self {
        Self {
            key: format!("gateway.{key}"),
            what: what.to_string(),
            outside: false,
        }
    }

    /// Of a provider's upstream.
    pub(super) fn of(provider: &str, what: impl ToString) -> Self {
        Self {
            key: format!("providers.{provider}.upstream"),
            what: what.to_string(),
            outside: false,
        }
    }

    /// The setting is well, and what it names cannot be used: a file, a port.
    pub(crate) const fn because_of_outside(mut self) -> Self {
        self.outside = true;
        self
    }

    /// Whether the setting is well, and what it names cannot be used: a file that cannot be read, a
    /// port that is taken. It may be otherwise the next time.
    pub const fn is_from_outside(&self) -> bool {
        self.outside
    }
}

impl Settings {
    /// What a configuration says of the gateway; the file of the token is read.
    ///
    /// # Errors
    /// What does not make sense, with its key.
    pub fn read(config: &Config) -> Result<Self, BadSetting> {
        let told = config.gateway();
        let upstreams = config.upstreams();
        let upstreams = upstreams.map(|(provider, told)| Upstream::read(provider, told));
        let upstreams = upstreams.collect::<Result<_, _>>()?;
        Ok(Self {
            access: access(&told)?,
            origins: told.origins.clone(),
            admin: admin(&told)?,
            shown: abide_config::show_json(config),
            limits: limits(&told),
            name: told.name,
            advertise_cap: told.advertise_cap,
            rewrite: told.rewrite,
            forwarded: told.forwarded,
            allow_unlisted: told.allow_unlisted,
            reach_inner: false,
            upstreams,
            chains: config.chains().to_vec(),
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
                    .because_of_outside()
            })?;
            Some(("client_token_file", text.trim().to_owned()))
        }
        (None, None) => None,
    };
    let token = token.map(|(key, text)| secret(key, &text));
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

fn admin(told: &GatewayPolicy) -> Result<Admin, BadSetting> {
    let token = told.admin_token.as_ref();
    let token = token.map(|text| secret("admin_token", text)).transpose()?;
    let hosts = told.admin_hosts.iter().map(|h| h.to_ascii_lowercase());
    Ok(Admin {
        token,
        hosts: hosts.collect(),
    })
}

fn secret(key: &'static str, text: &str) -> Result<Secret, BadSetting> {
    let what = "a token has 16 characters or more, and no spaces in it";
    Secret::new(text).ok_or_else(|| BadSetting::new(key, what))
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
