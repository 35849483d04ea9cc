//! Opening an output: new, or where a run stopped.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Where lines go.
#[derive(Debug)]
pub(crate) enum Target {
    /// A file, and its name.
    File(File, PathBuf),
    /// Standard output.
    Stdout,
}

impl Target {
    pub(super) fn write(&mut self, bytes: &[u8], fsync: bool) -> io::Result<()> {
        match self {
            Self::File(file, _) => {
                file.write_all(bytes)?;
                if fsync { file.sync_data() } else { Ok(()) }
            }
            Self::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
        }
    }

    /// Whether the output is still what this process has written so far: a file that somebody
    /// shortened, replaced or deleted meanwhile would swallow results without a word.
    pub(super) fn check(&self, length: u64) -> io::Result<()> {
        let Self::File(file, _) = self else {
            return Ok(());
        };
        let now = file.metadata()?;
        if !now.is_file() {
            return Ok(());
        }
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&now) == 0 {
            return Err(io::Error::other(
                "it was deleted while the run was writing it",
            ));
        }
        if now.len() != length {
            let (has, had) = (now.len(), length);
            let why = format!("it has {has} bytes instead of {had}: somebody else changed it");
            return Err(io::Error::other(why));
        }
        Ok(())
    }

    /// Takes half-written lines back, so that a failed write can be tried again.
    pub(super) fn truncate(&mut self, length: u64) -> io::Result<()> {
        match self {
            Self::File(file, _) => {
                file.set_len(length)?;
                file.seek(SeekFrom::Start(length)).map(drop)
            }
            Self::Stdout => Ok(()),
        }
    }
}

/// Opens the output. A new run does not write over what is there; a resumed one cuts off what
/// was not committed.
pub(crate) fn open(
    path: Option<&Path>,
    resume: bool,
    committed: u64,
    fsync: bool,
) -> anyhow::Result<Target> {
    let Some(path) = path else {
        return Ok(Target::Stdout);
    };
    let shown = path.display();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options
        .open(path)
        .with_context(|| format!("the output {shown} cannot be opened"))?;
    own(&file, path)?;
    let length = file
        .metadata()
        .with_context(|| format!("the output {shown} cannot be read"))?
        .len();
    if !resume && length > 0 {
        bail!(
            "the output {shown} exists already; remove it, choose another with --out, or go on \
             with its run by --resume"
        );
    }
    let committed = committed.min(length);
    if !ends_with_a_line(&mut file, committed)
        .with_context(|| format!("the output {shown} cannot be read"))?
    {
        bail!(
            "the output {shown} is not what this run wrote: there is no result before byte \
             {committed}; it is left as it is"
        );
    }
    if fsync {
        sync_dir(path).with_context(|| format!("the output {shown} cannot be made durable"))?;
    }
    file.set_len(committed)
        .and_then(|()| file.seek(SeekFrom::Start(committed)))
        .with_context(|| format!("the output {shown} cannot be written"))?;
    Ok(Target::File(file, path.to_owned()))
}

/// Takes an output for this process, until it is closed: two runs must not write over each other.
fn own(file: &File, path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => bail!("another run is writing to the output {shown}"),
        // Some file systems have no locks; runs work there all the same.
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(e)) => {
            Err(e).with_context(|| format!("the output {shown} cannot be locked"))
        }
    }
}

fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."))
}

/// Makes a file's name survive power loss.
fn sync_dir(path: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened, nor need be.
    if cfg!(unix) {
        File::open(parent(path))?.sync_all()?;
    }
    Ok(())
}

/// Whether a result's line ends at `end`: a file where none does is not ours to cut.
fn ends_with_a_line(file: &mut File, end: u64) -> io::Result<bool> {
    let mut back = 4096;
    loop {
        let start = end.saturating_sub(back);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        (&*file).take(end - start).read_to_end(&mut bytes)?;
        let Some(body) = bytes.strip_suffix(b"\n") else {
            return Ok(end == 0);
        };
        let line = match body.iter().rposition(|b| *b == b'\n') {
            Some(at) => &body[at + 1..],
            None if start == 0 => body,
            None => {
                back *= 4;
                continue;
            }
        };
        return Ok(serde_json::from_slice::<Id>(line).is_ok());
    }
}

/// What every result's line has.
#[derive(serde::Deserialize)]
pub(super) struct Id {
    pub(super) id: String,
}

/// Drops the lines of skipped items from an output, so that asking again leaves one line an item.
/// Returns the new length.
pub(crate) fn without_skipped(target: &mut Target, fsync: bool) -> anyhow::Result<Option<u64>> {
    let Target::File(file, path) = target else {
        return Ok(None);
    };
    let what = format!(
        "the output {} cannot be rewritten without its skipped items",
        path.display()
    );
    file.seek(SeekFrom::Start(0))
        .with_context(|| what.clone())?;
    let mut length = 0;
    replacing(target, fsync, |old, new| {
        let mut reader = BufReader::new(old);
        let mut writer = BufWriter::new(new);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            if !is_skipped(&line) {
                writer.write_all(&line)?;
                length += line.len() as u64;
            }
            line.clear();
        }
        writer.flush()
    })
    .context(what)?;
    Ok(Some(length))
}

/// Writes an output anew beside the old one, and puts it into its place at once.
pub(super) fn replacing(
    target: &mut Target,
    fsync: bool,
    write: impl FnOnce(&File, &mut File) -> io::Result<()>,
) -> anyhow::Result<()> {
    let Target::File(file, path) = target else {
        return Ok(());
    };
    let mut next = tempfile::NamedTempFile::new_in(parent(path))?;
    write(file, next.as_file_mut())?;
    next.as_file().sync_all()?;
    own(next.as_file(), path)?;
    *file = next.persist(&*path)?;
    if fsync {
        sync_dir(path)?;
    }
    Ok(())
}

/// What an output itself says is finished.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The ids that have a line.
    pub(crate) ids: std::collections::HashSet<String>,
    /// The length up to the last whole line.
    pub(crate) length: u64,
}

/// Reads an output that is shorter than what was committed (it was replaced, or a rewrite was
/// interrupted). What has a line is finished; everything else is asked again.
pub(crate) fn rescan(path: &Path) -> anyhow::Result<Found> {
    let what = || format!("the output {} cannot be read", path.display());
    let mut reader = BufReader::new(File::open(path).with_context(what)?);
    let (mut found, mut line) = (Found::default(), Vec::new());
    while reader.read_until(b'\n', &mut line).with_context(what)? > 0 {
        let Ok(id) = serde_json::from_slice::<Id>(&line) else {
            break;
        };
        if !line.ends_with(b"\n") {
            break;
        }
        found.ids.insert(id.id);
        found.length += line.len() as u64;
        line.clear();
    }
    Ok(found)
}

fn is_skipped(line: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Outcome<'a> {
        outcome: &'a str,
    }
    serde_json::from_slice::<Outcome<'_>>(line).is_ok_and(|l| l.outcome == "skipped")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_output_is_cut_to_what_was_committed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        std::fs::write(&path, "{\"id\":\"1\"}\nhalf a li").unwrap();
        assert!(open(Some(&path), false, 0, false).is_err());
        let mut t = open(Some(&path), true, 11, true).unwrap();
        assert!(open(Some(&path), true, 11, false).is_err(), "one owner");
        t.write(b"three\n", true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"{\"id\":\"1\"}\nthree\n");
    }

    #[test]
    fn asking_again_leaves_one_line_an_item() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let lines = "{\"id\":\"1\",\"outcome\":\"done\"}\n{\"id\":\"2\",\"outcome\":\"skipped\"}\n";
        std::fs::write(&path, lines).unwrap();
        let mut t = open(Some(&path), true, lines.len() as u64, false).unwrap();
        let length = without_skipped(&mut t, true).unwrap().unwrap();
        t.write(b"{\"id\":\"2\",\"outcome\":\"done\"}\n", false)
            .unwrap();
        let now = std::fs::read_to_string(&path).unwrap();
        assert_eq!(now.lines().count(), 2);
        assert_eq!(length, 28);
    }
}
