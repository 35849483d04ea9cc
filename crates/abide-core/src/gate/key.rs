//! How gates are named.
//!
//! A gate's key is a tuple the profile names (provider, account, route, …). The core never sees
//! the parts: the shell hashes them with a seeded SipHash, so that neither a credential nor a
//! path can be read out of memory dumps of the tables, and nobody outside can choose keys that
//! collide. 64 seeded bits make an accidental collision among 100,000 gates a matter of one in
//! three billion.

use std::hash::{BuildHasherDefault, Hasher};

use siphasher::sip::SipHasher13;

use crate::verdict::{GateClass, Scope};

/// The hashed tuple that names a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateKey(pub u64);

/// Makes [`GateKey`]s from the parts of a tuple, under a seed drawn once a process.
#[derive(Clone, Copy, Debug)]
pub struct KeyHasher {
    seed: (u64, u64),
}

impl KeyHasher {
    /// A hasher with this seed; the shell draws it at start.
    pub const fn new(seed: (u64, u64)) -> Self {
        Self { seed }
    }

    /// The key of a tuple. Parts are length-prefixed: `("ab", "c")` and `("a", "bc")` differ.
    pub fn key(&self, scope: Scope, parts: &[&[u8]]) -> GateKey {
        let mut h = SipHasher13::new_with_keys(self.seed.0, self.seed.1);
        h.write_u8(scope as u8);
        for p in parts {
            h.write_usize(p.len());
            h.write(p);
        }
        GateKey(h.finish())
    }
}

/// Passes an already hashed key through: hashing it again would only take time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*b);
        }
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }

    fn write_u128(&mut self, n: u128) {
        self.0 = (n >> 64) as u64;
    }
}

/// A map from an already hashed key.
pub type HashedMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Hashed>>;

/// What the shell says of one gate a request passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateSpec {
    /// Its name.
    pub key: GateKey,
    /// What it stands for.
    pub scope: Scope,
    /// Which of the provider's own gates it is; with the scope it picks the policy.
    pub class: GateClass,
    /// How many of this gate's units one unit of the request's cost is: a write may count five
    /// times where a read counts once.
    pub weight: u32,
    /// Gates of one family may turn out to be one bucket: what they are keyed by, the bucket
    /// aside. The same bucket's name under two credentials means two buckets.
    pub family: u64,
    /// The server will name the bucket this route belongs to: until then the gate is provisional
    /// and lets one request out at a time.
    pub provisional: bool,
}

impl GateSpec {
    /// A gate whose key is final.
    pub const fn new(key: GateKey, scope: Scope) -> Self {
        Self {
            key,
            scope,
            class: GateClass::PLAIN,
            weight: 1,
            family: 0,
            provisional: false,
        }
    }
}

/// A resolved gate: cheap to pass around, checked by generation when used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
    /// What it stands for, should it be forgotten before it is used.
    pub(crate) scope: Scope,
    pub(crate) weight: u32,
}

/// The most gates one request may pass.
pub const MAX_GATES: usize = 8;

/// The gates one request passes: all or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateSet {
    ids: [GateId; MAX_GATES],
    len: u8,
    /// No gate is named twice, and all count alike.
    plain: bool,
}

impl GateSet {
    pub(crate) const fn empty() -> Self {
        Self {
            ids: [GateId {
                index: 0,
                generation: 0,
                scope: Scope::Account,
                weight: 1,
            }; MAX_GATES],
            len: 0,
            plain: true,
        }
    }

    pub(crate) fn push(&mut self, id: GateId) {
        if (self.len as usize) < MAX_GATES {
            self.plain &= id.weight == 1;
            self.plain &= self.ids().iter().all(|other| other.index != id.index);
            self.ids[self.len as usize] = id;
            self.len += 1;
        }
    }

    /// Whether no gate is named twice, and all count alike.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.plain
    }

    /// How much each gate counts, where they do not count alike.
    pub(crate) fn weights(&self) -> Option<[u32; MAX_GATES]> {
        let ids = self.ids();
        ids.iter().any(|id| id.weight != 1).then(|| {
            let mut weights = [1; MAX_GATES];
            for (w, id) in weights.iter_mut().zip(ids) {
                *w = id.weight;
            }
            weights
        })
    }

    /// The gates, in the order in which they were named.
    #[inline]
    pub fn ids(&self) -> &[GateId] {
        &self.ids[..self.len as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_together() {
        let h = KeyHasher::new((1, 2));
        assert_ne!(
            h.key(Scope::Route, &[b"ab", b"c"]),
            h.key(Scope::Route, &[b"a", b"bc"])
        );
        assert_ne!(h.key(Scope::Route, &[b"a"]), h.key(Scope::Account, &[b"a"]));
        assert_eq!(h.key(Scope::Route, &[b"a"]), h.key(Scope::Route, &[b"a"]));
    }
}
