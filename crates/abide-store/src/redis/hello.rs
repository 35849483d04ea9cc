//! Whether this is a server, and a store, that this process can use.

use std::time::Duration;

use super::fault::Fault;
use super::inner::{Inner, Up};
use super::keys::{bytes, hex};
use super::script::SCHEMA;
use crate::lend::{PEER_LIFE, micros};

/// The oldest server whose scripts and commands are known to do.
const OLDEST: (u32, u32) = (6, 2);

/// Those who knew a store that was emptied are given so long, and are asked so often, to fill it.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(50);

/// Whether a server that says this of itself is new enough. Valkey says which Redis it is like.
pub(super) fn is_new_enough(about: &str) -> Result<(), Fault> {
    let version = about.lines().find_map(|l| l.strip_prefix("redis_version:"));
    let Some(version) = version.map(str::trim) else {
        return Err(Fault::new("it does not say which version of Redis it is"));
    };
    let mut parts = version.split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < OLDEST => {
            let (least, minor) = OLDEST;
            Err(Fault::new(format!(
                "it is Redis {version}, and abide needs {least}.{minor} or newer, or Valkey"
            )))
        }
        _ => Ok(()),
    }
}

/// Greets for the first time. A store that is empty while others listen was emptied: those who knew
/// it are asked to fill it, and are given time for that.
pub(super) async fn meet(inner: &Inner, up: Up) -> Result<String, Fault> {
    for _ in 0..TRIES {
        if let Some(epoch) = hail(inner, up.clone(), "", false).await? {
            return Ok(epoch);
        }
        tokio::time::sleep(PAUSE).await;
    }
    greet(inner, up, "").await
}

/// Greets. What comes back is the store's epoch: another one after it was emptied, or on another
/// server.
pub(super) async fn greet(inner: &Inner, up: Up, now: &str) -> Result<String, Fault> {
    let met = hail(inner, up, now, true).await?;
    met.ok_or_else(|| Fault::new("its epoch makes no sense"))
}

/// `None` where the store is empty, others listen, and nobody is to fill it yet.
async fn hail(inner: &Inner, mut up: Up, now: &str, fills: bool) -> Result<Option<String>, Fault> {
    let code = &inner.scripts.greet;
    let mut call = code.call([inner.keys.about.as_str(), inner.keys.peers.as_str()].into_iter());
    // A store that was emptied is given the secret under which its gates are named already.
    let secret = inner.secret.get().unwrap_or(&inner.first.0);
    call.arg(now)
        .arg(inner.who)
        .arg(micros(PEER_LIFE))
        .arg(u8::from(fills || inner.secret.get().is_some()))
        .arg(&inner.keys.news)
        .arg(SCHEMA)
        .arg(hex(secret))
        .arg(&inner.first.1);
    let asked = inner.wall();
    type Met = (String, u32, String, String, String);
    let (at, peers, schema, secret, epoch): Met = code.run(&mut up.connection, &call).await?;
    if schema != SCHEMA.to_string() {
        return Err(Fault::new(format!(
            "what is below the prefix {:?} has schema version {schema}, and this abide knows {SCHEMA}: \
             use the same version of abide everywhere, or another prefix",
            inner.options.prefix
        )));
    }
    if epoch.is_empty() {
        return Ok(None);
    }
    let secret = bytes(&secret).ok_or_else(|| Fault::new("its secret makes no sense"))?;
    if *inner.secret.get_or_init(|| secret) != secret {
        return Err(Fault::new(
            "accounts are named by another secret there than this process began with: it was \
             emptied, and another process was first to fill it; restart this one",
        ));
    }
    inner.meets(asked, &at);
    inner.counts(peers);
    Ok(Some(epoch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_server_is_told_from_a_new_one() {
        let server = |v: &str| is_new_enough(&format!("# Server\r\nredis_version:{v}\r\nos:x\r\n"));
        for old in ["2.8.0", "5.0.14", "6.0.16"] {
            let e = server(old).expect_err("too old");
            assert!(e.why.contains(old) && e.why.contains("6.2"), "{}", e.why);
        }
        for new in ["6.2.0", "7.0.15", "8.0.1", "255.255.255"] {
            assert_eq!(server(new), Ok(()));
        }
        assert!(is_new_enough("hello").is_err());
    }
}
