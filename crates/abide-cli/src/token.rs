//! The token that whoever changes something in a gateway shows.
//!
//! Made at the first start of `abide serve` where nobody names one, and kept beside the state in a
//! file that only its owner can read: who may write the state may lift its holds. A gateway without a
//! state tells its token once, since nobody could look it up.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use abide_gateway::Secret;
use anyhow::{Context, bail};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

use crate::state;

/// Its file in the folder of the state.
const FILE: &str = "admin.token";

/// The token of a gateway with this state, made where there is none yet.
pub(crate) fn made(dir: Option<&Path>) -> anyhow::Result<Secret> {
    let mut bytes = [0; 32];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        bail!("this machine gives no randomness to make a token from");
    }
    let fresh = BASE64_URL_SAFE_NO_PAD.encode(bytes);
    if state::is_memory(dir) {
        eprintln!("abide: the admin token, until this process ends: {fresh}");
        return secret(&fresh, "the token that was made");
    }
    let path = place(dir)?;
    secret(&stored(&path, &fresh)?, &path.display().to_string())
}

/// The token in the folder of a state; `None` where there is none.
pub(crate) fn kept(dir: Option<&Path>) -> anyhow::Result<Option<String>> {
    if state::is_memory(dir) {
        return Ok(None);
    }
    let path = place(dir)?;
    if !path.exists() {
        return Ok(None);
    }
    read(&path).map(Some)
}

/// The token in a file.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(text.trim().to_owned())
}

fn place(dir: Option<&Path>) -> anyhow::Result<PathBuf> {
    Ok(match dir {
        Some(dir) => dir.join(FILE),
        None => state::default_dir()?.join(FILE),
    })
}

/// What stands in the file; `fresh` where there was none. Two gateways may begin at once: the file
/// appears whole, and whoever comes second reads it.
fn stored(path: &Path, fresh: &str) -> anyhow::Result<String> {
    let shown = path.display();
    if path.exists() {
        return read(path);
    }
    let temporary = path.with_extension(format!("token.{}", std::process::id()));
    // Left by a process that had this number and was killed.
    let _ = fs::remove_file(&temporary);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = options.open(&temporary).and_then(|mut file| {
        writeln!(file, "{fresh}")?;
        file.sync_all()
    });
    made.with_context(|| format!("{shown} cannot be written"))?;
    // A link does not write over a token that is there already.
    if fs::hard_link(&temporary, path).is_err() && !path.exists() {
        // No links on this file system.
        fs::rename(&temporary, path).with_context(|| format!("{shown} cannot be made"))?;
    }
    let _ = fs::remove_file(&temporary);
    read(path)
}

fn secret(text: &str, place: &str) -> anyhow::Result<Secret> {
    let why =
        || format!("{place} holds no token of 16 characters or more; remove it for a new one");
    Secret::new(text).with_context(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(kept(Some(dir.path())).unwrap(), None);
        let first = made(Some(dir.path())).unwrap();
        assert!(first == made(Some(dir.path())).unwrap());
        let text = kept(Some(dir.path())).unwrap().unwrap();
        assert!(text.len() == 43 && Secret::new(&text).unwrap() == first);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(dir.path().join(FILE)).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
        }
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 1, "nothing else is left there");
        fs::write(dir.path().join(FILE), "short").unwrap();
        assert!(made(Some(dir.path())).is_err());
    }
}
