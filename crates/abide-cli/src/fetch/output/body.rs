//! Bodies saved as files: named by their item, moved into place whole.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher13;

/// The longest name kept of an id, in bytes: file systems stop at 255.
const LONGEST: usize = 150;

/// A folder of bodies.
#[derive(Debug)]
pub(crate) struct Bodies {
    dir: PathBuf,
    fsync: bool,
}

impl Bodies {
    /// Opens the folder, making it if need be.
    pub(crate) fn open(dir: &Path, fsync: bool) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        Ok(Self {
            dir: dir.to_owned(),
            fsync,
        })
    }

    /// Saves a body; returns the name of its file. Half a body never has that name.
    pub(super) fn save(
        &self,
        id: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> io::Result<String> {
        let name = format!("{}{}", file_name(id), extension(content_type));
        let part = self.dir.join(format!("{name}.part"));
        let mut file = File::create(&part)?;
        file.write_all(body)?;
        if self.fsync {
            file.sync_all()?;
        }
        drop(file);
        fs::rename(&part, self.dir.join(&name))?;
        Ok(name)
    }

    /// Makes the names themselves survive power loss.
    pub(super) fn sync(&self) -> io::Result<()> {
        if self.fsync {
            File::open(&self.dir)?.sync_all()
        } else {
            Ok(())
        }
    }
}

/// A name that is safe everywhere and differs for different ids.
fn file_name(id: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut name: String = id
        .chars()
        .map(|c| if safe(c) { c } else { '_' })
        .take(LONGEST)
        .collect();
    let reserved =
        name.is_empty() || name.starts_with('.') || name.to_ascii_lowercase().ends_with(".part");
    if reserved {
        name.insert(0, '_');
    }
    // Case is lost on some file systems, so names that differ in it only are told apart too.
    if name != id || name.chars().any(|c| c.is_ascii_uppercase()) {
        let mut h = SipHasher13::new();
        h.write(id.as_bytes());
        let _ = write!(name, "-{:08x}", h.finish() >> 32);
    }
    name
}

fn extension(content_type: Option<&str>) -> &'static str {
    let media = content_type
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    match media.to_ascii_lowercase().as_str() {
        "application/json" => ".json",
        "application/pdf" => ".pdf",
        "application/xml" | "text/xml" => ".xml",
        "application/zip" => ".zip",
        "image/gif" => ".gif",
        "image/jpeg" => ".jpg",
        "image/png" => ".png",
        "image/svg+xml" => ".svg",
        "image/webp" => ".webp",
        "text/csv" => ".csv",
        "text/html" => ".html",
        "text/plain" => ".txt",
        m if m.ends_with("+json") => ".json",
        m if m.ends_with("+xml") => ".xml",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_and_differ() {
        assert_eq!(file_name("12"), "12");
        for id in [
            "../../etc/passwd",
            "a/b",
            "a b",
            "",
            ".hidden",
            "x.part",
            "Ä",
        ] {
            let name = file_name(id);
            assert!(
                !name.contains('/') && !name.starts_with('.') && !name.is_empty(),
                "{name}"
            );
        }
        assert_ne!(file_name("a/b"), file_name("a b"));
        assert_ne!(file_name("A"), file_name("a"));
        assert!(file_name(&"x".repeat(10_000)).len() < 200);
    }

    #[test]
    fn a_saved_body_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(dir.path(), true).unwrap();
        let name = bodies
            .save("7", Some("application/json; charset=utf-8"), b"{}")
            .unwrap();
        assert_eq!(name, "7.json");
        assert_eq!(fs::read(dir.path().join(name)).unwrap(), b"{}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
