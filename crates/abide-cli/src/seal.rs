//! Sealing what a state file must not show: stored requests may carry literal credentials.
//!
//! The key lives in a file of its own beside the state, readable by its owner only, so that a
//! state file that is copied or handed in with a bug report shows no secret.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, bail};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

/// The key of fingerprints, for a keyed hash.
pub(crate) type Key = (u64, u64);

/// The install key.
pub(crate) struct Seal {
    key: LessSafeKey,
    random: SystemRandom,
}

impl Seal {
    /// Opens the key in a state folder, making it at first use. `None` keeps it in memory.
    pub(crate) fn open(dir: Option<&Path>) -> anyhow::Result<Self> {
        let random = SystemRandom::new();
        let key = install_key(dir)?;
        let Ok(key) = UnboundKey::new(&CHACHA20_POLY1305, &key) else {
            bail!("the install key has a length that no key has");
        };
        Ok(Self {
            key: LessSafeKey::new(key),
            random,
        })
    }

    /// Seals a record.
    pub(crate) fn seal(&self, plain: &[u8]) -> anyhow::Result<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        if self.random.fill(&mut nonce).is_err() {
            bail!("this machine gives no randomness to seal with");
        }
        let mut sealed = nonce.to_vec();
        let mut text = plain.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        if self
            .key
            .seal_in_place_append_tag(nonce, Aad::empty(), &mut text)
            .is_err()
        {
            bail!("a record of {} bytes is too large to seal", plain.len());
        }
        sealed.append(&mut text);
        Ok(sealed)
    }

    /// Opens a sealed record; `None` when it was sealed with another key, or is damaged.
    pub(crate) fn unseal(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, text) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut text = text.to_vec();
        let plain = self
            .key
            .open_in_place(nonce, Aad::empty(), &mut text)
            .ok()?
            .len();
        text.truncate(plain);
        Some(text)
    }
}

/// The install key of a state folder, made at first use; one of this process where there is none.
pub(crate) fn install_key(dir: Option<&Path>) -> anyhow::Result<[u8; 32]> {
    let mut key = [0; 32];
    if SystemRandom::new().fill(&mut key).is_err() {
        bail!("this machine gives no randomness to make a key from");
    }
    match dir {
        Some(dir) => stored(&dir.join("install.key"), key),
        None => Ok(key),
    }
}

/// Reads the key, or makes it. Two processes may do this at once: the file appears whole, and
/// whoever comes second reads it.
fn stored(path: &Path, fresh: [u8; 32]) -> anyhow::Result<[u8; 32]> {
    let shown = path.display();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    if !path.exists() {
        let temporary = path.with_extension(format!("key.{}", std::process::id()));
        // Left by a process that had this number and was killed.
        let _ = fs::remove_file(&temporary);
        let mut file = options
            .open(&temporary)
            .with_context(|| format!("{shown} cannot be made"))?;
        file.write_all(&fresh)
            .and_then(|()| file.sync_all())
            .with_context(|| format!("{shown} cannot be written"))?;
        drop(file);
        // A link does not write over a key that is there already.
        if fs::hard_link(&temporary, path).is_err() && !path.exists() {
            // No links on this file system.
            fs::rename(&temporary, path).with_context(|| format!("{shown} cannot be made"))?;
        }
        let _ = fs::remove_file(&temporary);
    }
    let mut key = [0; 32];
    let mut file = fs::File::open(path).with_context(|| format!("{shown} cannot be read"))?;
    file.read_exact(&mut key).with_context(|| {
        format!("{shown} is damaged; without it stored requests cannot be read, move it away")
    })?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_shows_nothing_and_opens_again() {
        let dir = tempfile::tempdir().unwrap();
        let sealed = Seal::open(Some(dir.path()))
            .unwrap()
            .seal(b"token=s3cr3t")
            .unwrap();
        assert!(!sealed.windows(6).any(|w| w == b"s3cr3t"));
        let again = Seal::open(Some(dir.path())).unwrap();
        assert_eq!(again.unseal(&sealed).unwrap(), b"token=s3cr3t");
        assert!(Seal::open(None).unwrap().unseal(&sealed).is_none());
        assert!(again.unseal(b"short").is_none());
    }
}
