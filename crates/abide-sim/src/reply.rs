//! What a provider does with a request: what the client sees, and what is true.
//!
//! The two are kept apart on purpose. A 200 may be a refusal (GraphQL), a header may lie, and a
//! write may have taken effect although its answer never arrived.

use std::time::Duration;

use abide_core::Instant;
use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};

/// A provider's reaction to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    /// How long after its arrival the request is answered (service time).
    pub after: Duration,
    /// What the client gets to see.
    pub what: What,
    /// What truly became of the request.
    pub fate: Fate,
    /// Whether the provider did what was asked, whatever the client sees of it.
    pub acted: bool,
    /// The wait this reply asks for, as a client must understand it.
    pub announced: Option<Announced>,
    /// Whether this reply begins a ban.
    pub ban: bool,
}

impl Reply {
    /// Let in and answered in full.
    pub fn accepted(answer: Answer) -> Self {
        Self::new(What::Answer(answer), Fate::Accepted)
    }

    /// Turned away by a limit.
    pub fn refused(answer: Answer) -> Self {
        Self::new(What::Answer(answer), Fate::Refused)
    }

    /// Neither served nor refused: the provider could not.
    pub fn failed(what: What) -> Self {
        Self::new(what, Fate::Failed)
    }

    fn new(what: What, fate: Fate) -> Self {
        let acted = fate == Fate::Accepted;
        Self {
            after: Duration::ZERO,
            what,
            fate,
            acted,
            announced: None,
            ban: false,
        }
    }

    /// The same reply after `after` of service time.
    #[must_use]
    pub fn taking(self, after: Duration) -> Self {
        Self { after, ..self }
    }

    /// The same reply, asking for a wait.
    #[must_use]
    pub fn announcing(self, announced: Announced) -> Self {
        Self {
            announced: Some(announced),
            ..self
        }
    }

    /// The answer, when there is one.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.what {
            What::Answer(answer) => Some(answer),
            What::Close | What::Silence => None,
        }
    }

    pub(crate) fn answer_mut(&mut self) -> Option<&mut Answer> {
        match &mut self.what {
            What::Answer(answer) => Some(answer),
            What::Close | What::Silence => None,
        }
    }

    /// Asks for `wait` by `Retry-After`, in whole seconds rounded up.
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        let secs = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        if let Some(answer) = self.answer_mut() {
            answer.headers.insert(RETRY_AFTER, HeaderValue::from(secs));
        }
        self.announcing(Announced::For(Duration::from_secs(secs)))
    }
}

/// What the client gets to see.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum What {
    /// An HTTP answer.
    Answer(Answer),
    /// The connection is closed before any byte of an answer.
    Close,
    /// Nothing at all, on a connection that stays open.
    Silence,
}

/// An HTTP answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers; `Date` is added by the [`Provider`](crate::Provider) where it is missing.
    pub headers: HeaderMap,
    /// The whole body, cut or not.
    pub body: Bytes,
    /// Break the connection after this many bytes of the body.
    pub cut_after: Option<usize>,
    /// Send the body in small pieces.
    pub drip: Option<Drip>,
}

impl Answer {
    /// An answer without headers.
    pub fn new(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: HeaderMap::new(),
            body: body.into(),
            cut_after: None,
            drip: None,
        }
    }

    /// 200 with a few bytes of JSON.
    pub fn ok() -> Self {
        Self::new(StatusCode::OK, Bytes::from_static(br#"{"ok":true}"#))
    }

    /// `status` with a short text.
    pub fn refusal(status: StatusCode) -> Self {
        Self::new(status, Bytes::from_static(b"not now\n"))
    }
}

/// A body sent in small pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drip {
    /// Bytes a piece, at least one.
    pub piece: usize,
    /// The pause before each piece but the first.
    pub gap: Duration,
}

/// What truly became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fate {
    /// Let in and answered in full.
    Accepted,
    /// Neither served nor refused: an outage, or an answer that broke off.
    Failed,
    /// Turned away by a limit.
    Refused,
}

/// A wait that an answer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Announced {
    /// So long, counted from when the answer is received.
    For(Duration),
    /// Until this instant.
    Until(Instant),
}

impl Announced {
    /// When the wait ends for a client that received the answer at `received`.
    pub const fn end(self, received: Instant) -> Instant {
        match self {
            Self::For(wait) => received.after(wait),
            Self::Until(end) => end,
        }
    }
}
