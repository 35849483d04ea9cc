//! What a caller says an attempt of its own came to.
//!
//! A library's error is opaque here, so whoever knows it says what it means: a verdict and, where
//! the provider told, when to come back. Where the library hands out status and headers, the
//! provider's own profile judges them.

use std::time::Duration;

use abide_core::classify::{Answer, RequestView, Transport, classify};
use abide_core::finding::{Ask, AskSource};
use abide_core::{Finding, GateClass, Moment, Scope, Verdict, WallTime, signal};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

use crate::exchange::Read;
use crate::shard::Handle;

/// What an attempt came to.
#[derive(Clone, Debug)]
#[must_use]
pub struct Said {
    what: What,
    when: Option<When>,
    scope: Option<Scope>,
    again: Option<bool>,
}

#[derive(Clone, Debug)]
enum What {
    Answer(Box<Told>),
    Failure(Transport),
    Verdict(Verdict),
}

#[derive(Clone, Debug)]
struct Told {
    status: StatusCode,
    headers: HeaderMap,
    path: Option<String>,
    body: Option<Bytes>,
}

#[derive(Clone, Copy, Debug)]
enum When {
    After(Duration),
    At(WallTime),
}

/// What a saying means for a call.
pub(crate) struct Heard {
    pub(crate) read: Read,
    pub(crate) transport: Option<Transport>,
    pub(crate) status: Option<StatusCode>,
}

impl Said {
    const fn new(what: What) -> Self {
        Self {
            what,
            when: None,
            scope: None,
            again: None,
        }
    }

    /// This, whatever it was.
    pub const fn verdict(verdict: Verdict) -> Self {
        Self::new(What::Verdict(verdict))
    }

    /// Asked too often.
    pub const fn rate_limited() -> Self {
        Self::verdict(Verdict::RateLimited)
    }

    /// A quota of a day or more is used up: not waited for in a call.
    pub const fn quota_exhausted() -> Self {
        Self::verdict(Verdict::QuotaExhausted)
    }

    /// The provider is broken just now.
    pub const fn unavailable() -> Self {
        Self::verdict(Verdict::Unavailable)
    }

    /// What was asked for does not exist: an answer.
    pub const fn not_found() -> Self {
        Self::verdict(Verdict::NotFound)
    }

    /// The request itself is at fault.
    pub const fn client_error() -> Self {
        Self::verdict(Verdict::ClientError)
    }

    /// There was no answer, or it broke off.
    pub const fn failed(transport: Transport) -> Self {
        Self::new(What::Failure(transport))
    }

    /// An answer, to be judged by what is known of its provider.
    pub fn answer(status: StatusCode, headers: &HeaderMap) -> Self {
        Self::new(What::Answer(Box::new(Told {
            status,
            headers: headers.clone(),
            path: None,
            body: None,
        })))
    }

    /// The body of that answer, or its beginning.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        if let What::Answer(told) = &mut self.what {
            told.body = Some(body.into());
        }
        self
    }

    /// What was asked for, without its query: some rules of a profile are about one path only.
    /// The root when this is not said.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        if let What::Answer(told) = &mut self.what {
            told.path = Some(path.into());
        }
        self
    }

    /// The provider asked to stay away for so long.
    pub const fn after(mut self, wait: Duration) -> Self {
        self.when = Some(When::After(wait));
        self
    }

    /// The provider asked to stay away until then.
    pub const fn until(mut self, at: WallTime) -> Self {
        self.when = Some(When::At(at));
        self
    }

    /// What it covers; the verdict decides when this is not said.
    pub const fn covers(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Whether another try can help; the policy decides when this is not said.
    pub const fn again(mut self, again: bool) -> Self {
        self.again = Some(again);
        self
    }

    /// What it means to a provider.
    pub(crate) fn hear(&self, shard: &Handle, method: &Method, at: Moment) -> Heard {
        let (mut transport, mut status) = (None, None);
        let mut read = match &self.what {
            What::Answer(told) => {
                status = Some(told.status);
                Read::of_answer(shard, told.status, judged(told, shard, method, at))
            }
            What::Failure(t) => {
                transport = Some(*t);
                Read::of_failure(shard, t)
            }
            What::Verdict(verdict) => {
                let mut finding = Finding::of(*verdict);
                finding.scope = match verdict {
                    Verdict::RateLimited | Verdict::QuotaExhausted => Scope::Account,
                    Verdict::Banned | Verdict::Unavailable | Verdict::Offline => Scope::Provider,
                    _ => Scope::Request,
                };
                // A status that means the same, since lists of what is tried again speak of them.
                let alike = match verdict {
                    Verdict::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
                    _ => StatusCode::OK,
                };
                finding.holds = verdict.is_refusal() || shard.classify().hold_on.covers(alike);
                Read::of_answer(shard, alike, finding)
            }
        };
        self.complete(&mut read, at);
        Heard {
            read,
            transport,
            status,
        }
    }

    fn complete(&self, read: &mut Read, at: Moment) {
        let finding = &mut read.finding;
        if let Some(scope) = self.scope {
            finding.scope = scope;
            finding.class = GateClass::PLAIN;
        }
        if let Some(when) = self.when {
            let until = match when {
                When::After(wait) => at.now.after(wait),
                When::At(wall) => at.instant_at(wall),
            };
            finding.asks.push(Ask {
                until,
                source: AskSource::Body,
                scope: finding.scope,
                class: finding.class,
            });
            finding.holds |= finding.scope != Scope::Request
                && (finding.verdict.is_refusal() || finding.verdict == Verdict::Unavailable);
            read.retry_on |= finding.verdict == Verdict::Unavailable;
        }
        if let Some(again) = self.again {
            finding.again = Some(again);
            read.retry_on = again;
        }
    }
}

fn judged(told: &Told, shard: &Handle, method: &Method, at: Moment) -> Finding {
    let signal = shard.skewed(|skew| signal::read(told.status, &told.headers, at, skew));
    let request = RequestView {
        method,
        path: told.path.as_deref().unwrap_or("/"),
        accepts_json: shard.profile().expects_json(),
    };
    let answer = Answer {
        signal: &signal,
        headers: &told.headers,
        sample: told.body.as_deref(),
        complete: told.body.is_some(),
        trailers: None,
    };
    classify(
        &request,
        &answer,
        Some(&**shard.profile().rules()),
        &shard.classify(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governor::Governor;

    #[test]
    fn an_answer_is_judged_by_the_rules_of_its_path() {
        let governor = Governor::builder().build().unwrap();
        let shard = governor.provider("hardcover");
        let at = governor.clock().moment();
        let said = |path: &str| {
            let body = r#"{"errors":[{"message":"m","extensions":{"code":"rate-limit"}}]}"#;
            Said::answer(StatusCode::OK, &HeaderMap::new())
                .body(body)
                .path(path)
        };
        let meant = |said: Said| said.hear(&shard, &Method::POST, at).read.finding.verdict;
        assert_eq!(meant(said("/v1/graphql")), Verdict::RateLimited);
        assert_eq!(meant(said("/elsewhere")), Verdict::Success);
        let mut page = HeaderMap::new();
        page.insert("content-type", "text/html".parse().unwrap());
        let page = Said::answer(StatusCode::OK, &page).path("/v1/graphql");
        assert_eq!(meant(page), Verdict::Unavailable);
    }
}
