//! The client for programs that are not asynchronous.
//!
//! Requests are built as for the asynchronous client and handed over to be sent; a thread of the
//! client's own waits, holds and sends. Not to be used within an asynchronous runtime.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//!
//! let client = abide::blocking::Client::new()?;
//! let books = client.get("https://openlibrary.org/isbn/9780140328721.json");
//! let answer = client.send(books.up_to(Duration::from_secs(5)))?;
//! println!("{}", answer.text()?);
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_core::Finding;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Runtime};

use crate::error::Error;
use crate::response::BodyError;
use crate::{Governor, RequestBuilder};

/// A client for programs that are not asynchronous. Clones share everything.
#[derive(Clone)]
pub struct Client {
    inner: crate::Client,
    runtime: Arc<Runtime>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("inner", &self.inner)
            .finish()
    }
}

impl Client {
    /// A client with the defaults.
    ///
    /// # Errors
    /// When the HTTP client or its thread cannot be set up.
    pub fn new() -> Result<Self, Error> {
        Self::over(crate::Client::new()?)
    }

    /// A client over an asynchronous one, sharing its governor.
    ///
    /// # Errors
    /// When its thread cannot be started.
    pub fn over(inner: crate::Client) -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("abide")
            .enable_all()
            .build()
            .map_err(|e| Error::Build(e.to_string()))?;
        Ok(Self {
            inner,
            runtime: Arc::new(runtime),
        })
    }

    /// Starts a GET.
    pub fn get(&self, url: &str) -> RequestBuilder {
        self.inner.get(url)
    }

    /// Starts a POST.
    pub fn post(&self, url: &str) -> RequestBuilder {
        self.inner.post(url)
    }

    /// Starts a request.
    pub fn request(&self, method: http::Method, url: &str) -> RequestBuilder {
        self.inner.request(method, url)
    }

    /// Makes a call.
    ///
    /// # Errors
    /// When it was turned away or its attempts are spent.
    pub fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let inner = self.runtime.block_on(request.send())?;
        Ok(Response {
            inner,
            runtime: Arc::clone(&self.runtime),
        })
    }

    /// The governor behind it.
    pub fn governor(&self) -> &Governor {
        self.inner.governor()
    }
}

/// An answer.
pub struct Response {
    inner: crate::Response,
    runtime: Arc<Runtime>,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

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
        self.inner.finding()
    }

    /// Sends it took, the first one included.
    pub const fn attempts(&self) -> u32 {
        self.inner.attempts()
    }

    /// All waiting it took.
    pub const fn waited(&self) -> Duration {
        self.inner.waited()
    }

    /// The whole body as text. At most 64 MiB.
    ///
    /// # Errors
    /// When the body breaks off or is larger.
    pub fn text(self) -> Result<String, BodyError> {
        self.runtime.block_on(self.inner.text())
    }

    /// The whole body as JSON. At most 64 MiB.
    ///
    /// # Errors
    /// When the body breaks off, is larger, or is not that.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, BodyError> {
        self.runtime.block_on(self.inner.json())
    }

    /// The whole body, at most `limit` bytes.
    ///
    /// # Errors
    /// When the body breaks off or is larger.
    pub fn bytes(self, limit: u64) -> Result<Bytes, BodyError> {
        self.runtime.block_on(self.inner.bytes(limit))
    }

    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// When the body breaks off.
    pub fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        self.runtime.block_on(self.inner.chunk())
    }
}
