//! A request as a provider sees it.

use bytes::Bytes;
use http::Method;

/// Names one request for as long as its provider lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(u64);

impl RequestId {
    /// The id with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number behind the id.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// Which of a provider's limits a request falls under. A hold covers the requests of its gate only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gate(u32);

impl Gate {
    /// The gate of a provider that has one limit.
    pub const ONLY: Self = Self(0);

    /// The gate of the `index`-th part of a composed provider.
    pub const fn part(index: u32, inner: Self) -> Self {
        Self(
            inner
                .0
                .wrapping_mul(256)
                .wrapping_add(index)
                .wrapping_add(1),
        )
    }
}

/// What a client asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks. Each client is judged by the answers it has received itself.
    pub client: u32,
    /// The HTTP method.
    pub method: Method,
    /// The host it was sent to; empty when nobody cares.
    pub host: Box<str>,
    /// Path and query.
    pub path: Box<str>,
    /// The unit of work this request stands for, if it stands for one.
    pub item: Option<Box<str>>,
    /// The body, read to its end.
    pub body: Bytes,
}

impl Request {
    /// `GET path` by client 0, for no particular item.
    pub fn get(path: impl Into<Box<str>>) -> Self {
        Self {
            client: 0,
            method: Method::GET,
            host: Box::default(),
            path: path.into(),
            item: None,
            body: Bytes::new(),
        }
    }

    /// `GET /item/ID` for the item `ID`, by client 0.
    pub fn item(id: impl Into<Box<str>>) -> Self {
        let id = id.into();
        Self {
            item: Some(id.clone()),
            ..Self::get(format!("/item/{id}"))
        }
    }

    /// The same request with another method.
    #[must_use]
    pub fn with_method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// The same request by another client.
    #[must_use]
    pub fn by(self, client: u32) -> Self {
        Self { client, ..self }
    }

    /// The same request to a named host.
    #[must_use]
    pub fn to_host(self, host: impl Into<Box<str>>) -> Self {
        Self {
            host: host.into(),
            ..self
        }
    }
}
