//! Reading all that the server knows, and telling it what it has lost.

use std::sync::Arc;

use ::redis::{cmd, pipe};

use super::fault::Fault;
use super::inner::{Inner, Up};
use super::keys::store_key;
use super::record::{self, FIELDS};
use crate::StoreKey;
use crate::kept::Kept;

/// So many gates are read together: a server serves others in between.
const TOGETHER: usize = 256;

/// Reads all gates, says again what only this process knows, and tells whoever listens what is news.
pub(super) async fn reconcile(inner: &Arc<Inner>, up: Up) -> Result<(), Fault> {
    inner.unlist();
    let truth = all(inner, up).await?;
    let now = inner.wall();
    let (lost, news) = {
        let mut mirror = inner.mirror();
        let lost = mirror.meets(truth, now);
        (lost, mirror.has_news())
    };
    for (key, word) in lost {
        inner.queue.put(key, word);
    }
    if news {
        inner.calls();
    }
    Ok(())
}

/// All gates of which something is known.
async fn all(inner: &Inner, mut up: Up) -> Result<Vec<(StoreKey, Kept)>, Fault> {
    let mut all = Vec::new();
    let mut providers = cmd("SMEMBERS");
    providers.arg(&inner.keys.providers);
    let providers: Vec<String> = providers.query_async(&mut up.connection).await?;
    for provider in providers {
        let mut gates = cmd("SMEMBERS");
        gates.arg(inner.keys.gates(&provider));
        let gates: Vec<String> = gates.query_async(&mut up.connection).await?;
        for names in gates.chunks(TOGETHER) {
            let gone = some(inner, &mut up, &provider, names, &mut all).await?;
            forget(inner, &mut up, &provider, &gone).await?;
        }
    }
    Ok(all)
}

/// Reads gates of a provider; those that are gone come back.
async fn some(
    inner: &Inner,
    up: &mut Up,
    provider: &str,
    names: &[String],
    all: &mut Vec<(StoreKey, Kept)>,
) -> Result<Vec<StoreKey>, Fault> {
    let keys: Vec<_> = names
        .iter()
        .filter_map(|name| store_key(provider, name))
        .collect();
    let mut read = pipe();
    for key in &keys {
        read.cmd("HMGET")
            .arg(inner.keys.gate(provider, &key.gate))
            .arg(&FIELDS);
    }
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let records: Vec<Vec<Option<String>>> = read.query_async(&mut up.connection).await?;
    let mut gone = Vec::new();
    for (key, record) in keys.into_iter().zip(records) {
        let fields: Vec<&str> = record
            .iter()
            .map(|f| f.as_deref().unwrap_or_default())
            .collect();
        match record::of_fields(&fields, inner.offset.get()) {
            Some(kept) => all.push((key, kept)),
            None => gone.push(key),
        }
    }
    Ok(gone)
}

async fn forget(
    inner: &Inner,
    up: &mut Up,
    provider: &str,
    gone: &[StoreKey],
) -> Result<(), Fault> {
    if gone.is_empty() {
        return Ok(());
    }
    let mut keys = vec![inner.keys.gates(provider)];
    keys.extend(gone.iter().map(|k| inner.keys.gate(provider, &k.gate)));
    let code = &inner.scripts.prune;
    let mut call = code.call(keys.iter().map(String::as_str));
    for key in gone {
        call.arg(super::keys::hex(&key.gate));
    }
    code.run::<u32>(&mut up.connection, &call).await.map(drop)
}
