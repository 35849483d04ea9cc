//! An answer whose place on the wire is freed when its body is read or dropped.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_core::Finding;
use abide_core::classify::{Transport, of_transport};
use abide_core::provider::Outcome;
use abide_profile::Profile;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::error::Error;
use crate::inspect::{Sampled, Watch};
use crate::permit::Permit;
use crate::secrets::redacted;
use crate::transport;

/// An answer.
pub struct Response {
    pub(crate) inner: reqwest::Response,
    /// What is known of its provider: where its URL carries secrets, among other things.
    pub(crate) profile: Arc<Profile>,
    /// What was read of its body before the caller saw it.
    pub(crate) sampled: Sampled,
    /// Its body was read to its end.
    pub(crate) ended: bool,
    /// The rules that look at the body while it is read.
    pub(crate) watch: Option<Watch>,
    pub(crate) permit: Option<Permit>,
    pub(crate) finding: Finding,
    /// The end of its body said something else than its head.
    pub(crate) late: bool,
    pub(crate) attempts: u32,
    pub(crate) waited: Duration,
}

/// Its URL is redacted and its headers are left out: a cookie is a credential too.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status())
            .field("url", &redacted(self.inner.url(), &self.profile))
            .field("finding", &self.finding)
            .field("attempts", &self.attempts)
            .field("waited", &self.waited)
            .finish_non_exhaustive()
    }
}

/// What may be read of a body that nobody wants, so that its connection can be used again.
const DRAIN: u64 = 1024 * 1024;

/// The largest body that is read where no bound is told: memory is shared.
const MAX_BODY: u64 = 64 * 1024 * 1024;

impl Response {
    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.inner.status()
    }

    /// Its headers.
    pub fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// What it means.
    pub const fn finding(&self) -> &Finding {
        &self.finding
    }

    /// Sends it took, the first one included.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// All waiting it took.
    pub const fn waited(&self) -> Duration {
        self.waited
    }

    /// The provider that answered.
    pub fn provider(&self) -> Option<&str> {
        self.permit.as_ref().map(|p| &**p.provider().name())
    }

    /// Its URL, after redirects, as it may be shown.
    pub fn url(&self) -> String {
        redacted(self.inner.url(), &self.profile)
    }

    /// The whole body as text, read as UTF-8, what is none replaced. At most 64 MiB.
    ///
    /// # Errors
    /// When the body breaks off or is larger.
    pub async fn text(self) -> Result<String, BodyError> {
        let bytes = self.bytes(MAX_BODY).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The whole body as JSON. At most 64 MiB.
    ///
    /// # Errors
    /// When the body breaks off, is larger, or is not that.
    pub async fn json<T: DeserializeOwned>(self) -> Result<T, BodyError> {
        let bytes = self.bytes(MAX_BODY).await?;
        serde_json::from_slice(&bytes).map_err(|e| BodyError::NotJson {
            line: e.line(),
            column: e.column(),
            what: e.classify(),
        })
    }

    /// The whole body, at most `limit` bytes.
    ///
    /// # Errors
    /// When the body breaks off or is larger.
    pub async fn bytes(mut self, limit: u64) -> Result<Bytes, BodyError> {
        self.collect(limit).await
    }

    /// As [`bytes`](Self::bytes), keeping the head.
    pub(crate) async fn collect(&mut self, limit: u64) -> Result<Bytes, BodyError> {
        let result = self.read(limit).await;
        self.settle(result.as_ref().err());
        result
    }

    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// When the body breaks off.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        match self.next().await {
            Ok(None) => {
                self.settle(None);
                Ok(None)
            }
            Ok(some) => Ok(some),
            Err(t) => {
                let e = BodyError::Broken(t);
                self.settle(Some(&e));
                Err(e)
            }
        }
    }

    /// The next piece, whoever read it.
    async fn next(&mut self) -> Result<Option<Bytes>, Transport> {
        if let Some(piece) = self.sampled.pieces.pop_front() {
            return Ok(Some(piece));
        }
        if let Some(failure) = self.sampled.failure.take() {
            return Err(failure);
        }
        if self.sampled.ended {
            self.ended = true;
            return Ok(None);
        }
        let piece = self.inner.chunk().await;
        let piece = piece.map_err(|e| transport::read(&e, true))?;
        self.ended |= piece.is_none();
        if let (Some(watch), Some(piece)) = (&mut self.watch, &piece) {
            watch.feed(piece);
        }
        Ok(piece)
    }

    async fn read(&mut self, limit: u64) -> Result<Bytes, BodyError> {
        if self.inner.content_length().is_some_and(|n| n > limit) {
            return Err(BodyError::TooLarge(limit));
        }
        let mut first: Option<Bytes> = None;
        let mut all: Option<BytesMut> = None;
        loop {
            let chunk = match self.next().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(t) => return Err(BodyError::Broken(t)),
            };
            let so_far =
                all.as_ref().map_or(0, BytesMut::len) + first.as_ref().map_or(0, Bytes::len);
            if (so_far + chunk.len()) as u64 > limit {
                return Err(BodyError::TooLarge(limit));
            }
            match (&mut all, first.take()) {
                (Some(all), _) => all.extend_from_slice(&chunk),
                (None, None) => first = Some(chunk),
                (slot, Some(one)) => {
                    let mut both = BytesMut::from(one.as_ref());
                    both.extend_from_slice(&chunk);
                    *slot = Some(both);
                }
            }
        }
        Ok(all.map(BytesMut::freeze).or(first).unwrap_or_default())
    }

    /// Reads away what is left, so that the connection can be used again; keeps the beginning.
    pub(crate) async fn drain(mut self, keep: usize) -> Bytes {
        let mut sample = BytesMut::new();
        let mut read = 0;
        while let Ok(Some(chunk)) = self.next().await {
            read += chunk.len() as u64;
            let room = keep.saturating_sub(sample.len()).min(chunk.len());
            sample.extend_from_slice(&chunk[..room]);
            if read > DRAIN {
                break;
            }
        }
        self.settle(None);
        sample.freeze()
    }

    fn settle(&mut self, failure: Option<&BodyError>) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        if let (None, Some(watch)) = (failure, self.watch.take())
            && let Some(late) =
                watch.finding(self.inner.headers(), None, permit.provider(), self.ended)
        {
            permit.observe(&late);
            self.late = late.verdict != self.finding.verdict;
            self.finding = late;
        }
        let outcome = match failure {
            None => self.finding.clone(),
            // Our own bound says nothing about the provider.
            Some(BodyError::TooLarge(_) | BodyError::NotJson { .. }) => self.finding.clone(),
            Some(BodyError::Broken(t)) => of_transport(t),
        };
        permit.settle(&Outcome::Answered(outcome));
    }
}

impl Drop for Response {
    fn drop(&mut self) {
        // The head was read, so the verdict is known, whatever became of the body.
        self.settle(None);
    }
}

/// A body could not be read whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyError {
    /// It broke off.
    Broken(Transport),
    /// It is not the JSON that was wanted.
    NotJson {
        /// Where, counted from 1.
        line: usize,
        /// Where in that line, counted from 1.
        column: usize,
        /// Whether it is no JSON, ends early, or is other JSON than wanted.
        what: Category,
    },
    /// It is larger than allowed, in bytes.
    TooLarge(u64),
}

impl From<BodyError> for Error {
    fn from(e: BodyError) -> Self {
        match e {
            BodyError::TooLarge(limit) => Self::BodyTooLarge { limit },
            BodyError::Broken(t) => Self::Request(transport::describe(&t).to_owned()),
            BodyError::NotJson { .. } => Self::Request(e.to_string()),
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(t) => f.write_str(transport::describe(t)),
            Self::TooLarge(limit) => write!(f, "the answer is larger than {limit} bytes"),
            Self::NotJson { line, column, what } => {
                let what = match what {
                    Category::Eof => "JSON that ends early",
                    Category::Data => "JSON of another shape than wanted",
                    Category::Syntax | Category::Io => "no JSON",
                };
                write!(f, "the answer is {what} (line {line}, column {column})")
            }
        }
    }
}

impl std::error::Error for BodyError {}
