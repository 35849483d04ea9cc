//! Sealing what a database must not show: a stored request may carry a credential, a payload
//! anything.
//!
//! The install key lives outside the database; a database that is copied or handed in with a bug
//! report shows no secret. A stolen database without the key opens nothing.

use std::fmt;

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// The install key, ready for use.
pub struct Seal {
    key: LessSafeKey,
    names: hmac::Key,
    random: SystemRandom,
}

/// Without the key.
impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

impl Seal {
    /// A seal of that key; `None` where the machine's cryptography refuses it.
    pub fn new(key: [u8; 32]) -> Option<Self> {
        let sealing = UnboundKey::new(&CHACHA20_POLY1305, &key).ok()?;
        Some(Self {
            key: LessSafeKey::new(sealing),
            names: hmac::Key::new(hmac::HMAC_SHA256, &key),
            random: SystemRandom::new(),
        })
    }

    /// A seal of a key that is forgotten with the process.
    pub fn fresh() -> Option<Self> {
        let mut key = [0; 32];
        SystemRandom::new().fill(&mut key).ok()?;
        Self::new(key)
    }

    /// Seals; `None` where there is no randomness, or too much to seal.
    pub(crate) fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        let mut text = plain.to_vec();
        let once = Nonce::assume_unique_for_key(nonce);
        self.key
            .seal_in_place_append_tag(once, Aad::empty(), &mut text)
            .ok()?;
        let mut sealed = nonce.to_vec();
        sealed.append(&mut text);
        Some(sealed)
    }

    /// Opens; `None` when it was sealed with another key, or is damaged.
    pub(crate) fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = text.to_vec();
        let plain = self
            .key
            .open_in_place(nonce, Aad::empty(), &mut text)
            .ok()?;
        let plain = plain.len();
        text.truncate(plain);
        Some(text)
    }

    /// A short name for something secret: the same for the same, telling nothing of it.
    pub(crate) fn name(&self, secret: &[u8]) -> String {
        let tag = hmac::sign(&self.names, secret);
        hex(tag.as_ref().get(..6).unwrap_or_default())
    }
}

/// The signature of a body by a shared secret, as `sha256=…`.
pub(crate) fn signature(secret: &[u8], body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    format!("sha256={}", hex(hmac::sign(&key, body).as_ref()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_shows_nothing_and_opens_again() {
        let seal = Seal::new([7; 32]).unwrap();
        let sealed = seal.seal(b"Bearer s3cr3t").unwrap();
        assert!(!sealed.windows(6).any(|w| w == b"s3cr3t"));
        assert_eq!(seal.open(&sealed).unwrap(), b"Bearer s3cr3t");
        assert!(Seal::fresh().unwrap().open(&sealed).is_none());
        assert_eq!(seal.name(b"a"), seal.name(b"a"));
        assert_ne!(seal.name(b"a"), seal.name(b"b"));
    }

    #[test]
    fn a_signature_is_the_usual_one() {
        // RFC 4231, test case 2.
        let signed = signature(b"Jefe", b"what do ya want for nothing?");
        let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signed, format!("sha256={known}"));
    }
}
