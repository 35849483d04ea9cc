//! What came of a job: kept for a time, on the disk where it is large.
//!
//! A body of up to 64 KiB stands in the database, sealed; a larger one in a file beside it, for its
//! owner only, sealed too; one above the cap is cut off and says so. A queue without a folder keeps
//! what it may in the database.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abide::core::WallTime;

use crate::db::{Args, Fault, Row};
use crate::error::QueueError;
use crate::record::JobId;
use crate::seal::Seal;

/// How results are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keeping {
    /// How long. Default 24 h: whoever asked for it comes back within a day, or asks again.
    pub ttl: Duration,
    /// The largest body. Default 16 MiB: an answer, not a download.
    pub cap: u64,
    /// The largest body in the database itself. Default 64 KiB: larger ones would be written
    /// several times by its journal.
    pub inline: usize,
}

impl Default for Keeping {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(24 * 3600),
            cap: 16 * 1024 * 1024,
            inline: 64 * 1024,
        }
    }
}

/// What came of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobResult {
    /// The status of the answer, where there was one.
    pub status: Option<u16>,
    /// The headers of the answer, without cookies.
    pub headers: Vec<(String, String)>,
    /// The body; of a handler, its value as JSON.
    pub body: Vec<u8>,
    /// The body's own size: more than is there where it was above the cap.
    pub size: u64,
    /// When it is forgotten.
    pub expires: Option<WallTime>,
}

/// The same, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredResult {
    status: Option<i64>,
    headers: Option<String>,
    body: Option<Vec<u8>>,
    file: Option<String>,
    size: i64,
    expires: WallTime,
}

impl StoredResult {
    pub(crate) fn args(&self, job: JobId) -> Args {
        vec![
            job.0.into(),
            self.status.into(),
            self.headers.as_deref().into(),
            self.body.clone().into(),
            self.file.as_deref().into(),
            self.size.into(),
            self.expires.into(),
        ]
    }

    pub(crate) fn read(row: &Row) -> Result<Self, Fault> {
        Ok(Self {
            status: row.opt_int(0)?,
            headers: row.opt_text(1)?,
            body: row.opt_blob(2)?,
            file: row.opt_text(3)?,
            size: row.int(4)?,
            expires: row.time(5)?,
        })
    }

    /// Makes it ready to be stored, as the `claim`-th try of a job brought it.
    pub(crate) fn make(
        result: JobResult,
        (job, claim): (JobId, i64),
        expires: WallTime,
        (keeping, seal): (&Keeping, &Seal),
        dir: Option<&Path>,
    ) -> Result<Self, String> {
        let mut body = result.body;
        let size = result.size.max(body.len() as u64);
        body.truncate(usize::try_from(keeping.cap).unwrap_or(usize::MAX));
        let large = body.len() > keeping.inline;
        let sealed = seal.seal(&body).ok_or("it cannot be sealed")?;
        let mut made = Self {
            status: result.status.map(i64::from),
            headers: (!result.headers.is_empty())
                .then(|| serde_json::to_string(&result.headers).unwrap_or_default()),
            body: None,
            file: None,
            size: i64::try_from(size).unwrap_or(i64::MAX),
            expires,
        };
        match dir.filter(|_| large) {
            Some(dir) => {
                let name = format!("{job}-{claim}");
                write(dir, &name, &sealed)
                    .map_err(|e| format!("{} cannot be written: {e}", dir.display()))?;
                made.file = Some(name);
            }
            None => made.body = Some(sealed),
        }
        Ok(made)
    }

    /// Reads it.
    pub(crate) fn open(
        self,
        job: JobId,
        seal: &Seal,
        dir: Option<&Path>,
    ) -> Result<JobResult, QueueError> {
        let sealed = match (self.file, dir) {
            (Some(file), Some(dir)) => {
                let path = dir.join(file);
                fs::read(&path).map_err(|e| QueueError::Database {
                    place: path.display().to_string(),
                    why: e.to_string(),
                })?
            }
            _ => self.body.unwrap_or_default(),
        };
        let body = match sealed.is_empty() {
            true => Vec::new(),
            false => seal.open(&sealed).ok_or(QueueError::Sealed(job))?,
        };
        let headers = self.headers.and_then(|h| serde_json::from_str(&h).ok());
        Ok(JobResult {
            status: self.status.and_then(|s| u16::try_from(s).ok()),
            headers: headers.unwrap_or_default(),
            body,
            size: self.size.max(0).unsigned_abs(),
            expires: Some(self.expires),
        })
    }
}

/// Writes a file whole, for its owner only.
fn write(dir: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let part = dir.join(format!("{name}.part"));
    let mut file = options.open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(part, dir.join(name))
}

/// Removes the files of results that were forgotten.
pub(crate) fn remove(dir: Option<&PathBuf>, files: &[String]) {
    for file in files {
        if let Some(dir) = dir
            && let Err(e) = fs::remove_file(dir.join(file))
            && e.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(file, error = %e, "the file of a result cannot be removed");
        }
    }
}
