//! How gates are named in memory and in stores.
//!
//! In memory a gate is a seeded SipHash of its tuple; in a store it is an HMAC under the store's
//! own key. Neither lets a credential be read back.

use abide_core::Scope;
use abide_core::gate::{GateSpec, KeyHasher};
use abide_store::StoreKey;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Names the gates of all providers of one governor.
#[derive(Debug)]
pub(crate) struct Names {
    hasher: KeyHasher,
    secret: [u8; 32],
}

impl Names {
    pub(crate) const fn new(seed: (u64, u64), secret: [u8; 32]) -> Self {
        Self {
            hasher: KeyHasher::new(seed),
            secret,
        }
    }

    /// The gate of a provider's own name and of nothing else.
    pub(crate) fn spec(&self, scope: Scope, provider: &str, part: &[u8]) -> GateSpec {
        GateSpec::new(self.hasher.key(scope, &[provider.as_bytes(), part]), scope)
    }

    /// What gates of one family share.
    pub(crate) fn family(&self, scope: Scope, part: &[u8]) -> u64 {
        self.hasher.key(scope, &[b"family", part]).0
    }

    /// Hashes what must not be kept: a credential on its way into a gate's tuple.
    pub(crate) fn credential(&self, parts: &[&[u8]]) -> Credential {
        let mut mac = self.mac();
        for p in parts {
            mac.update(&(p.len() as u64).to_be_bytes());
            mac.update(p);
        }
        Credential(truncate(&mac.finalize().into_bytes()))
    }

    pub(crate) fn stored(&self, scope: Scope, provider: &str, part: &[u8]) -> StoreKey {
        let mut mac = self.mac();
        mac.update(&[scope as u8]);
        mac.update(&(provider.len() as u64).to_be_bytes());
        mac.update(provider.as_bytes());
        mac.update(part);
        StoreKey {
            provider: provider.to_owned(),
            gate: truncate(&mac.finalize().into_bytes()),
        }
    }

    fn mac(&self) -> Hmac<Sha256> {
        match Hmac::<Sha256>::new_from_slice(&self.secret) {
            Ok(mac) => mac,
            // HMAC takes keys of any length; kept total all the same.
            Err(_) => Hmac::new(&Default::default()),
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
