//! Where the server is, and how to get there.

use std::fmt;

use ::redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use ::redis::{Client, ConnectionAddr, TlsCertificates, TlsMode};

use super::fault::Fault;
use super::options::Options;
use crate::StoreError;

/// The port on which Sentinels listen.
const SENTINEL: u16 = 26_379;

/// An address, as it is configured.
#[derive(Clone)]
pub(super) struct Place {
    /// It, without what it is secured by.
    pub(super) shown: String,
    how: How,
}

#[derive(Clone)]
enum How {
    Server(Box<Client>),
    Sentinels(Box<Sentinels>),
}

/// Those who know which server is the master.
#[derive(Clone)]
struct Sentinels {
    nodes: Vec<(String, u16)>,
    master: String,
    db: Option<i64>,
    user: Option<String>,
    password: Option<String>,
    tls: Option<TlsCertificates>,
}

/// Without what it is secured by.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Place {
    /// Reads `redis://`, `rediss://`, `redis+unix://`, `redis+sentinel://` and
    /// `rediss+sentinel://`; `valkey` in place of `redis` is the same.
    pub(super) fn read(url: &str, options: &Options) -> Result<Self, StoreError> {
        let shown = shown(url);
        let bad = |why: String| StoreError::Shared {
            store: shown.clone(),
            why,
        };
        let url = url.replacen("valkey", "redis", usize::from(url.starts_with("valkey")));
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(bad(
                "it is no address such as redis://host:6379/0".to_owned()
            ));
        };
        let tls = scheme.starts_with("rediss");
        let certificates = || -> Result<TlsCertificates, StoreError> {
            let read = |file: &std::path::PathBuf| {
                std::fs::read(file).map_err(|e| {
                    bad(format!(
                        "the CA file {} cannot be read: {e}",
                        file.display()
                    ))
                })
            };
            let root_cert = options.ca_file.as_ref().map(read).transpose()?;
            Ok(TlsCertificates {
                client_tls: None,
                root_cert,
            })
        };
        if tls {
            // Whichever is there already is the program's own choice.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let how = match scheme {
            "redis+sentinel" | "rediss+sentinel" => {
                let tls = tls.then(certificates).transpose()?;
                How::Sentinels(Box::new(Sentinels::read(rest, tls).map_err(bad)?))
            }
            "rediss" if options.ca_file.is_some() => {
                let client = Client::build_with_tls(url.as_str(), certificates()?);
                How::Server(Box::new(client.map_err(|e| bad(Fault::from(e).why))?))
            }
            "redis" | "rediss" | "redis+unix" | "unix" => {
                let client = Client::open(url.as_str());
                How::Server(Box::new(client.map_err(|e| bad(Fault::from(e).why))?))
            }
            other => {
                return Err(bad(format!(
                    "{other:?} is none of redis, rediss, redis+unix, redis+sentinel, rediss+sentinel"
                )));
            }
        };
        Ok(Self { shown, how })
    }

    /// A client of the server that takes words now: where there are Sentinels they are asked.
    pub(super) async fn client(&self) -> Result<Client, Fault> {
        match &self.how {
            How::Server(client) => Ok(client.as_ref().clone()),
            How::Sentinels(sentinels) => sentinels.client().await,
        }
    }
}

impl Sentinels {
    /// Reads `user:password@host:port,host:port/master/db`.
    fn read(rest: &str, tls: Option<TlsCertificates>) -> Result<Self, String> {
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, hosts) = match authority.rsplit_once('@') {
            Some((who, hosts)) => (Some(who), hosts),
            None => (None, authority),
        };
        let (user, password) = match who {
            Some(who) => {
                let (user, password) = who.split_once(':').unwrap_or((who, ""));
                (some(user)?, some(password)?)
            }
            None => (None, None),
        };
        let (master, db) = path.split_once('/').unwrap_or((path, ""));
        if master.is_empty() {
            return Err(
                "the name of the master is missing: redis+sentinel://host/master".to_owned(),
            );
        }
        let db = match db {
            "" => None,
            db => Some(db.parse().map_err(|_| format!("{db:?} is no database"))?),
        };
        let nodes: Result<Vec<_>, String> = hosts.split(',').map(node).collect();
        Ok(Self {
            nodes: nodes?,
            master: master.to_owned(),
            db,
            user,
            password,
            tls,
        })
    }

    async fn client(&self) -> Result<Client, Fault> {
        let address = |(host, port): &(String, u16)| match self.tls {
            None => ConnectionAddr::Tcp(host.clone(), *port),
            Some(_) => ConnectionAddr::TcpTls {
                host: host.clone(),
                port: *port,
                insecure: false,
                tls_params: None,
            },
        };
        let nodes = self.nodes.iter().map(address);
        let mut builder =
            SentinelClientBuilder::new(nodes, &self.master, SentinelServerType::Master)?;
        if let Some(db) = self.db {
            builder = builder.set_client_to_redis_db(db);
        }
        if let Some(user) = &self.user {
            builder = builder.set_client_to_redis_username(user);
        }
        if let Some(password) = &self.password {
            builder = builder.set_client_to_redis_password(password);
        }
        if let Some(tls) = &self.tls {
            builder = builder
                .set_client_to_redis_tls_mode(TlsMode::Secure)
                .set_client_to_redis_certificates(tls.clone())
                .set_client_to_sentinel_certificates(tls.clone());
        }
        Ok(builder.build()?.async_get_client().await?)
    }
}

/// A part of who asks, or nothing where it is empty.
fn some(part: &str) -> Result<Option<String>, String> {
    let part = percent_encoding::percent_decode_str(part).decode_utf8();
    let part = part.map_err(|_| "the name or password is no text".to_owned())?;
    Ok((!part.is_empty()).then(|| part.into_owned()))
}

fn node(host: &str) -> Result<(String, u16), String> {
    if host.is_empty() {
        return Err("a Sentinel's host is missing".to_owned());
    }
    // An IPv6 address has colons of its own.
    match host
        .rsplit_once(':')
        .filter(|(_, port)| !port.contains(']'))
    {
        Some((host, port)) => {
            let port = port.parse().map_err(|_| format!("{port:?} is no port"))?;
            Ok((host.trim_matches(['[', ']']).to_owned(), port))
        }
        None => Ok((host.trim_matches(['[', ']']).to_owned(), SENTINEL)),
    }
}

/// An address without name, password and query: the latter holds the password of a socket's.
fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", ""));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    // Whatever stands before the last @ of the authority or, in a malformed one, of the whole.
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    format!("{scheme}://{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let all = [
            "redis://user:hunter2@host:6379/1",
            "rediss://:hunter2@host",
            "redis+sentinel://u:hunter2@a,b:2/m",
            "redis+unix:///run/redis.sock?pass=hunter2",
            "redis://user:hunter2/@host",
            "user:hunter2@host",
            "ftp://user:hunter2@host",
        ];
        for url in all {
            let said = match Place::read(url, &Options::default()) {
                Ok(place) => format!("{place:?}"),
                Err(e) => format!("{e} {e:?}"),
            };
            assert!(!said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn an_address_of_sentinels_is_read() {
        let read = Sentinels::read("u%40x:p%3A@a,b:2,[::1]:3/mymaster/4", None);
        let s = read.expect("an address");
        let nodes = [("a", SENTINEL), ("b", 2), ("::1", 3)];
        assert_eq!(s.nodes, nodes.map(|(h, p)| (h.to_owned(), p)));
        assert_eq!((s.master.as_str(), s.db), ("mymaster", Some(4)));
        assert_eq!(s.user.as_deref(), Some("u@x"));
        assert_eq!(s.password.as_deref(), Some("p:"));
        assert!(Sentinels::read("a:x/m", None).is_err());
        assert!(Sentinels::read("a", None).is_err());
    }
}
