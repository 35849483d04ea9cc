//! How gates are named in memory and in stores.
//!
//! In memory a gate is a seeded SipHash of its tuple; in a store it is an HMAC under the store's
//! own key. Neither lets a credential be read back.
//!
//! An HMAC costs as much as all else about a plain request together, and a program sends with a few
//! credentials again and again: those lately made are remembered, by a seeded hash of 128 bits.

use std::hash::Hasher as _;

use abide_core::Scope;
use abide_core::gate::{GateSpec, HashedMap, KeyHasher};
use abide_store::StoreKey;
use hmac::{Hmac, Mac};
use parking_lot::RwLock;
use sha2::Sha256;
use siphasher::sip128::{Hasher128, SipHasher13};

/// How many HMACs are remembered: more accounts than most programs have, in half a MiB.
const REMEMBERED: usize = 8192;

/// Names the gates of all providers of one governor.
#[derive(Debug)]
pub(crate) struct Names {
    hasher: KeyHasher,
    seed: (u64, u64),
    mac: Hmac<Sha256>,
    made: RwLock<HashedMap<u128, Credential>>,
}

impl Names {
    pub(crate) fn new(seed: (u64, u64), secret: [u8; 32]) -> Self {
        let mac = match Hmac::<Sha256>::new_from_slice(&secret) {
            Ok(mac) => mac,
            // HMAC takes keys of any length; kept total all the same.
            Err(_) => Hmac::new(&Default::default()),
        };
        Self {
            hasher: KeyHasher::new(seed),
            seed,
            mac,
            made: RwLock::default(),
        }
    }

    /// Where an address is remembered.
    pub(crate) fn origin(&self, host: &str, port: Option<u16>, effective: u16) -> u64 {
        let port = port.map_or([0; 3], |p| {
            let [high, low] = p.to_be_bytes();
            [1, high, low]
        });
        let parts: [&[u8]; 3] = [host.as_bytes(), &port, &effective.to_be_bytes()];
        self.hasher.key(Scope::Provider, &parts).0
    }

    /// The gate of a provider's own name and of nothing else.
    pub(crate) fn spec(&self, scope: Scope, provider: &str, part: &[u8]) -> GateSpec {
        GateSpec::new(self.hasher.key(scope, &[provider.as_bytes(), part]), scope)
    }

    /// What gates of one family share.
    pub(crate) fn family(&self, scope: Scope, part: &[u8]) -> u64 {
        self.hasher.key(scope, &[b"family", part]).0
    }

    /// A seeded hash of what must not be kept: it tells one from another, in this process only.
    pub(crate) fn short(&self, parts: &[&[u8]]) -> u128 {
        let mut short = SipHasher13::new_with_keys(self.seed.0, self.seed.1);
        for p in parts {
            short.write(&(p.len() as u64).to_be_bytes());
            short.write(p);
        }
        short.finish128().as_u128()
    }

    /// Hashes what must not be kept: a credential on its way into a gate's tuple.
    pub(crate) fn credential(&self, parts: &[&[u8]]) -> Credential {
        let short = self.short(parts);
        if let Some(made) = self.made.read().get(&short) {
            return *made;
        }
        let mut mac = self.mac.clone();
        for p in parts {
            mac.update(&(p.len() as u64).to_be_bytes());
            mac.update(p);
        }
        let credential = Credential(truncate(&mac.finalize().into_bytes()));
        let mut made = self.made.write();
        if made.len() >= REMEMBERED {
            made.clear();
        }
        made.insert(short, credential);
        credential
    }

    pub(crate) fn stored(&self, scope: Scope, provider: &str, part: &[u8]) -> StoreKey {
        let mut mac = self.mac.clone();
        mac.update(&[scope as u8]);
        mac.update(&(provider.len() as u64).to_be_bytes());
        mac.update(provider.as_bytes());
        mac.update(part);
        StoreKey {
            provider: provider.to_owned(),
            gate: truncate(&mac.finalize().into_bytes()),
        }
    }
}

/// The HMAC of a credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Credential([u8; 16]);

impl Credential {
    pub(crate) const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

fn truncate(mac: &[u8]) -> [u8; 16] {
    let mut out = [0; 16];
    for (o, b) in out.iter_mut().zip(mac) {
        *o = *b;
    }
    out
}

/// A gate's names: in memory and in the store.
#[derive(Clone, Debug)]
pub(crate) struct GateName {
    pub(crate) spec: GateSpec,
    pub(crate) stored: StoreKey,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_was_made() {
        let names = Names::new((1, 2), [7; 32]);
        let of = |n: usize| names.credential(&[b"key", &n.to_le_bytes()]);
        let first: Vec<_> = (0..10).map(of).collect();
        for n in 10..2 * REMEMBERED {
            assert_ne!(of(n), first[0]);
        }
        let again: Vec<_> = (0..10).map(of).collect();
        assert_eq!(first, again);
        assert!(names.made.read().len() <= REMEMBERED);
        assert_ne!(
            names.credential(&[b"ab", b"c"]),
            names.credential(&[b"a", b"bc"])
        );
    }
}
