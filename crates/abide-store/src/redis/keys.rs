//! What keys are called.
//!
//! Keys that one script uses have one hash tag, so that they share a slot of a cluster: those of a
//! provider its name, those of the store itself the prefix.

use std::fmt::Write as _;

use crate::StoreKey;

/// The names below a prefix.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    prefix: String,
    /// What the store is: schema, secret, epoch.
    pub(super) about: String,
    /// Who is there.
    pub(super) peers: String,
    /// All providers that are known.
    pub(super) providers: String,
    /// What persons said of holds.
    pub(super) notes: String,
    /// Where news are told.
    pub(super) news: String,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            about: format!("{{{prefix}}}:about"),
            peers: format!("{{{prefix}}}:peers"),
            providers: format!("{{{prefix}}}:providers"),
            notes: format!("{{{prefix}}}:notes"),
            news: format!("{prefix}:news"),
        }
    }

    /// A gate.
    pub(super) fn gate(&self, provider: &str, gate: &[u8; 16]) -> String {
        let mut key = String::with_capacity(self.prefix.len() + provider.len() + 36);
        let _ = write!(key, "{}:{{{provider}}}:", self.prefix);
        hex_into(&mut key, gate);
        key
    }

    /// All gates of a provider of which something is known.
    pub(super) fn gates(&self, provider: &str) -> String {
        format!("{}:{{{provider}}}:gates", self.prefix)
    }
}

fn hex_into(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    hex_into(&mut text, bytes);
    text
}

pub(super) fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let mut out = [0; N];
    if hex.len() != 2 * N || !hex.is_ascii() {
        return None;
    }
    for (n, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * n..2 * n + 2)?, 16).ok()?;
    }
    Some(out)
}

/// The gate of a provider that a name stands for.
pub(super) fn store_key(provider: &str, gate: &str) -> Option<StoreKey> {
    Some(StoreKey {
        provider: provider.to_owned(),
        gate: bytes(gate)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_provider_share_a_tag() {
        let keys = Keys::new("abide");
        let gate = keys.gate("github", &[0xab; 16]);
        assert_eq!(gate, format!("abide:{{github}}:{}", "ab".repeat(16)));
        assert_eq!(keys.gates("github"), "abide:{github}:gates");
    }

    #[test]
    fn hex_goes_both_ways() {
        let some = [0, 1, 0xfe, 0xff];
        assert_eq!(bytes(&hex(&some)), Some(some));
        assert_eq!(bytes::<4>("00"), None);
        assert_eq!(bytes::<1>("é"), None);
    }
}
