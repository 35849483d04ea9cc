//! What came of one exchange, and whether it is sent again: what the client and the layer share.

use std::sync::Arc;

use abide_core::budget::RepeatCause;
use abide_core::call::{Attempt, Call, Plan};
#[cfg(feature = "layer")]
use abide_core::classify::of_unknown;
use abide_core::classify::{Answer, RequestView, Transport, TransportKind, of_failure};
use abide_core::provider::Outcome;
use abide_core::refusal::Refusal;
use abide_core::{Finding, Moment, Signal, signal};
use abide_profile::{MAX_BODY, Wants};
use bytes::Buf;
use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};

use crate::cause::Cause;
use crate::error::{LastAnswer, TurnedAway};
use crate::events::What;
use crate::inspect::{self, Sampled, Watch};
use crate::permit::Permit;
use crate::shard::Handle;
use crate::target::Target;

/// An exchange that failed.
#[derive(Clone, Debug)]
pub(crate) struct Broke {
    pub(crate) transport: Transport,
    pub(crate) cause: Option<Cause>,
}

impl From<Transport> for Broke {
    fn from(transport: Transport) -> Self {
        Self {
            transport,
            cause: None,
        }
    }
}

/// What was read of one exchange.
pub(crate) struct Read {
    pub(crate) finding: Finding,
    pub(crate) retry_on: bool,
    pub(crate) cause: RepeatCause,
    pub(crate) unsent: bool,
}

impl Read {
    /// What a finding about an answer means for the call.
    pub(crate) fn of_answer(shard: &Handle, status: StatusCode, finding: Finding) -> Self {
        let cause = match finding.verdict.is_refusal() {
            true => RepeatCause::Refusal,
            false => RepeatCause::Failure,
        };
        Self {
            retry_on: shard.classify().retry_on.covers(status, &finding),
            finding,
            cause,
            unsent: false,
        }
    }

    pub(crate) fn of_failure(shard: &Handle, t: &Transport) -> Self {
        Self {
            finding: of_failure(t, &shard.classify()),
            retry_on: shard.classify().retry_on.covers_transport(t),
            cause: match t.kind {
                TransportKind::Timeout => RepeatCause::Timeout,
                _ => RepeatCause::Failure,
            },
            unsent: t.phase.is_unsent(),
        }
    }

    pub(crate) const fn attempt(&self, kept: bool) -> Attempt<'_> {
        Attempt {
            finding: &self.finding,
            retry_on: self.retry_on,
            cause: self.cause,
            unsent: self.unsent,
            kept,
        }
    }

    /// What a failure means of which nobody knows what it was.
    #[cfg(feature = "layer")]
    pub(crate) fn of_unknown(shard: &Handle) -> Self {
        Self {
            finding: of_unknown(),
            retry_on: shard.classify().retry_on.repeats(),
            cause: RepeatCause::Failure,
            unsent: false,
        }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match self.unsent {
            true => Outcome::Unreached(self.finding.clone()),
            false => Outcome::Answered(self.finding.clone()),
        }
    }
}

/// An attempt goes out: whoever listens hears of it where it repeats another.
pub(crate) fn goes(shard: &Handle, call: &Call) {
    if let Some(cause) = call.repeats() {
        let attempts = call.attempts();
        shard
            .shared()
            .happened(shard.name(), || What::Retried { attempts, cause });
    }
}

/// May this be sent again? The core says.
pub(crate) fn plan(
    shard: &Handle,
    target: &Target,
    call: &mut Call,
    read: &Read,
    kept: bool,
) -> Plan {
    let dice = shard.shared().dice();
    let attempt = read.attempt(kept);
    let mut plan = shard.with(|s, now| call.plan(now, &attempt, s.machine.budget(), dice));
    if let Plan::Fail(r) = &mut plan
        && r.retry_at.is_none()
        && read.finding.holds
    {
        // Nobody said when, but the hold that was opened for it knows.
        r.retry_at = shard.held(target).map(|h| h.retry_at());
    }
    plan
}

/// Tells whoever listens that a call comes to nothing.
pub(crate) fn tell_turned(shard: &Handle, refusal: &Refusal, at: Moment) {
    let retry_at = refusal.retry_at.map(|t| at.wall_at(t));
    shard
        .shared()
        .happened(shard.name(), || match (refusal.should_defer(), retry_at) {
            (true, Some(until)) => What::Deferred { until },
            _ => What::TurnedAway {
                kind: refusal.kind,
                cause: refusal.cause,
                retry_at,
            },
        });
}

/// What a caller is told who is turned away.
pub(crate) fn turned(
    shard: &Handle,
    refusal: Refusal,
    at: Moment,
    last: Option<LastAnswer>,
    broke: Option<Broke>,
) -> Box<TurnedAway> {
    tell_turned(shard, &refusal, at);
    let (transport, cause) = broke.map_or((None, None), |b| (Some(b.transport), b.cause));
    Box::new(TurnedAway {
        refusal,
        provider: Arc::clone(shard.name()),
        last,
        transport,
        cause,
        at,
    })
}

/// The head of one answer.
pub(crate) struct Head {
    pub(crate) signal: Signal,
    /// What its body is needed for.
    pub(crate) wants: Wants,
}

impl Head {
    /// Reads it. What it says for sure holds at once.
    pub(crate) fn read(
        shard: &Handle,
        view: &RequestView<'_>,
        (status, headers): (StatusCode, &HeaderMap),
        at: Moment,
        permit: &mut Permit,
    ) -> Self {
        let signal = shard.skewed(|skew| signal::read(status, headers, at, skew));
        let answer = head(&signal, headers);
        let wants = inspect::wants(shard.profile(), view, &answer);
        if wants == Wants::Before {
            let by_head = inspect::judged(shard.profile(), view, &answer, &shard.classify());
            if by_head.holds && shard.profile().rules().head_decides(view, &answer) {
                permit.observe(&by_head);
            }
            // Should the caller leave meanwhile, this is what is known.
            permit.head = by_head.holds.then(|| Box::new(by_head));
        }
        Self { signal, wants }
    }

    /// What the answer means, as far as it was looked at.
    pub(crate) fn judge<P: Buf, F>(
        &self,
        shard: &Handle,
        view: &RequestView<'_>,
        (headers, trailers): (&HeaderMap, Option<&HeaderMap>),
        sampled: &Sampled<P, F>,
    ) -> Finding {
        let mut answer = head(&self.signal, headers);
        answer.trailers = trailers;
        let most = sample_size(shard);
        let sample;
        if self.wants == Wants::Before {
            sample = sampled.bytes(most);
            answer.sample = Some(&sample);
            answer.complete = sampled.is_whole(most);
        }
        inspect::judged(shard.profile(), view, &answer, &shard.classify())
    }

    /// The rules that go on looking while the caller reads.
    pub(crate) fn watch<P: Buf, F>(
        &self,
        shard: &Handle,
        view: &RequestView<'_>,
        headers: &HeaderMap,
        sampled: &Sampled<P, F>,
    ) -> Option<Watch> {
        let most = sample_size(shard);
        let unseen = match self.wants {
            Wants::Nothing => false,
            Wants::Before => !sampled.is_whole(most),
            Wants::Beside => true,
        };
        unseen.then(|| {
            let answer = head(&self.signal, headers);
            Watch::new(shard.profile(), view, &answer, most, sampled)
        })
    }
}

/// An answer of which only the head is known.
const fn head<'a>(signal: &'a Signal, headers: &'a HeaderMap) -> Answer<'a> {
    Answer {
        signal,
        headers,
        sample: None,
        complete: false,
        trailers: None,
    }
}

/// How much of a body rules look at.
pub(crate) fn sample_size(shard: &Handle) -> usize {
    let most = usize::try_from(shard.classify().body_sample).unwrap_or(usize::MAX);
    most.min(MAX_BODY)
}

/// Whether the caller takes nothing but JSON, whatever line of its Accept says so.
pub(crate) fn accepts_json(headers: &HeaderMap) -> bool {
    let json = |part: &str| {
        let media = part.split(';').next().unwrap_or_default().trim();
        media.eq_ignore_ascii_case("application/json")
            || (media.starts_with("application/") && media.ends_with("+json"))
    };
    let mut lines = headers.get_all(ACCEPT).iter().peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            // Most who want nothing else say it like this.
            line == "application/json"
                || line
                    .to_str()
                    .is_ok_and(|accept| accept.split(',').all(json))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_an_accept_counts() {
        let takes = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(ACCEPT, line.parse().unwrap());
            }
            accepts_json(&headers)
        };
        assert!(!takes(&[]));
        assert!(takes(&[
            "application/json",
            "application/problem+json;q=0.5"
        ]));
        assert!(!takes(&["application/json", "text/html"]));
        assert!(!takes(&["application/json, */*"]));
    }
}
