//! Looking into bodies, where the rules of a provider ask for it.
//!
//! An answer that a rule may turn into a refusal is kept back until the rule decides, since only
//! what the caller has not seen can be asked for again. At most the sample is kept back, and for
//! a short while: a body that takes longer is judged by what came. A stream that never ends as
//! data does (server-sent events, JSON by lines) is handed on at once. Behind the sample only the
//! members of the top object that rules look into are picked out, and judged at the body's end.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;
use std::time::Duration;

use abide_core::classify::{Answer, ClassifyPolicy, RequestView, Transport, classify};
use abide_core::{Finding, Signal};
use abide_profile::{Profile, Scanner, Wants};
use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, Method, StatusCode, header};

use crate::shard::Handle;
use crate::transport;

/// How long an answer is kept back at most: long enough for any body that comes at all.
const KEPT_BACK: Duration = Duration::from_secs(5);

/// How long a refusal is: whom it covers is to be known soon.
const REFUSAL_KEPT_BACK: Duration = Duration::from_secs(2);

/// How long an answer is kept back at most.
pub(crate) const fn kept_back(status: StatusCode) -> Duration {
    match status.as_u16() {
        400.. => REFUSAL_KEPT_BACK,
        _ => KEPT_BACK,
    }
}

/// What was read of a body before the caller sees it: its pieces, and what it broke off with.
#[derive(Debug)]
pub(crate) struct Sampled<P = Bytes, F = Transport> {
    pub(crate) pieces: VecDeque<P>,
    /// It is all there is.
    pub(crate) ended: bool,
    /// It broke off after that.
    pub(crate) failure: Option<F>,
    read: usize,
    /// A piece does not show all that it holds.
    hidden: bool,
}

impl<P, F> Default for Sampled<P, F> {
    fn default() -> Self {
        Self {
            pieces: VecDeque::new(),
            ended: false,
            failure: None,
            read: 0,
            hidden: false,
        }
    }
}

impl Sampled {
    /// Reads at most so many bytes and a little more, for a while.
    pub(crate) async fn read(inner: &mut reqwest::Response, most: usize) -> Self {
        let mut sampled = Self::default();
        let most_time = kept_back(inner.status());
        let reading = async {
            while sampled.goes_on(most) {
                let piece = inner.chunk().await;
                sampled.take(piece.map_err(|e| transport::read(&e, true)).transpose());
            }
        };
        // Whatever came by then is judged; reading goes on where it stopped.
        let _ = tokio::time::timeout(most_time, reading).await;
        sampled
    }
}

impl<P: Buf, F> Sampled<P, F> {
    /// Whether there is more to be read before anything is judged.
    pub(crate) const fn goes_on(&self, most: usize) -> bool {
        self.read < most && !self.ended && self.failure.is_none()
    }

    /// Takes what came next.
    pub(crate) fn take(&mut self, next: Option<Result<P, F>>) {
        match next {
            Some(Ok(piece)) => {
                self.read = self.read.saturating_add(piece.remaining());
                self.hidden |= !show(&piece, |_| ());
                self.pieces.push_back(piece);
            }
            Some(Err(failure)) => self.failure = Some(failure),
            None => self.ended = true,
        }
    }

    /// Whether the first so many bytes are all there is.
    pub(crate) const fn is_whole(&self, most: usize) -> bool {
        self.ended && self.read <= most && !self.hidden
    }

    /// As one piece, at most so long.
    pub(crate) fn bytes(&self, most: usize) -> Cow<'_, [u8]> {
        if let [only] = self.pieces.as_slices().0
            && self.pieces.len() == 1
            && only.chunk().len() == only.remaining()
        {
            return Cow::Borrowed(&only.chunk()[..only.remaining().min(most)]);
        }
        let mut all = Vec::new();
        for piece in &self.pieces {
            let shown = show(piece, |part| {
                let room = most - all.len();
                all.extend_from_slice(&part[..part.len().min(room)]);
            });
            if !shown {
                break;
            }
        }
        Cow::Owned(all)
    }
}

/// Shows what a piece holds without using it up; `false` when it does not show all of it.
fn show(piece: &impl Buf, mut to: impl FnMut(&[u8])) -> bool {
    if piece.chunk().len() == piece.remaining() {
        to(piece.chunk());
        return true;
    }
    let mut parts = [IoSlice::new(&[]); 16];
    let n = piece.chunks_vectored(&mut parts);
    let mut shown = 0;
    for part in &parts[..n] {
        shown += part.len();
        to(part);
    }
    shown == piece.remaining()
}

/// What the body of an answer is needed for.
pub(crate) fn wants(profile: &Profile, request: &RequestView<'_>, answer: &Answer<'_>) -> Wants {
    match profile.rules().wants(request, answer) {
        Wants::Before if answer.signal.status.is_success() && is_stream(answer.headers) => {
            Wants::Beside
        }
        wants => wants,
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let Some(kind) = headers
        .get(header::CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
    else {
        return false;
    };
    let kind = kind.split(';').next().unwrap_or_default().trim();
    [
        "text/event-stream",
        "application/x-ndjson",
        "application/jsonl",
    ]
    .iter()
    .any(|stream| kind.eq_ignore_ascii_case(stream))
}

/// Rules that look at a body while it is read.
#[derive(Debug)]
pub(crate) struct Watch {
    profile: Arc<Profile>,
    signal: Signal,
    method: Method,
    path: String,
    accepts_json: bool,
    most: usize,
    sample: BytesMut,
    longer: bool,
    scanner: Option<Scanner>,
}

impl Watch {
    pub(crate) fn new<P: Buf, F>(
        profile: &Arc<Profile>,
        request: &RequestView<'_>,
        answer: &Answer<'_>,
        most: usize,
        sampled: &Sampled<P, F>,
    ) -> Self {
        let tops = profile.rules().tops(request, answer);
        let wanted = |tops: Vec<&str>| tops.into_iter().map(str::to_owned).collect();
        let mut watch = Self {
            profile: Arc::clone(profile),
            signal: answer.signal.clone(),
            method: request.method.clone(),
            path: request.path.to_owned(),
            accepts_json: request.accepts_json,
            most,
            sample: BytesMut::new(),
            longer: false,
            scanner: tops.map(wanted).map(Scanner::new),
        };
        for piece in &sampled.pieces {
            watch.feed(piece);
        }
        watch
    }

    pub(crate) fn feed(&mut self, piece: &impl Buf) {
        let shown = show(piece, |part| {
            let room = (self.most - self.sample.len()).min(part.len());
            self.sample.extend_from_slice(&part[..room]);
            self.longer |= room < part.len();
            if let Some(scanner) = &mut self.scanner {
                scanner.feed(part);
            }
        });
        if !shown {
            // What has a gap is not judged.
            self.longer = true;
            self.scanner = None;
        }
    }

    /// What the body says, as far as it was read; `None` when that is nothing beyond its head.
    /// `ended` tells whether it was read to its end.
    pub(crate) fn finding(
        self,
        headers: &HeaderMap,
        trailers: Option<&HeaderMap>,
        shard: &Handle,
        ended: bool,
    ) -> Option<Finding> {
        let sample = match self.longer {
            true => self.scanner?.found()?.into(),
            false => self.sample.freeze(),
        };
        let request = RequestView {
            method: &self.method,
            path: &self.path,
            accepts_json: self.accepts_json,
        };
        let answer = Answer {
            signal: &self.signal,
            headers,
            sample: Some(&sample),
            complete: ended,
            trailers,
        };
        self.profile.rules().decide(&request, &answer).1?;
        Some(judged(&self.profile, &request, &answer, &shard.classify()))
    }
}

/// What an answer means by the rules of its provider.
pub(crate) fn judged(
    profile: &Profile,
    request: &RequestView<'_>,
    answer: &Answer<'_>,
    policy: &ClassifyPolicy,
) -> Finding {
    classify(request, answer, Some(&**profile.rules()), policy)
}
