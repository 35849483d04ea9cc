//! A refusal as data, for logs, queues and other programs.
//!
//! The words are those of the rest of abide; instants are RFC 3339, lengths are seconds. A caller
//! that only sees this can do everything right: it knows whether to come back, and when.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::error::{LastAnswer, TurnedAway};
use crate::transport;

/// What was asked for, as data.
#[derive(Serialize)]
struct Asked {
    at: String,
    source: &'static str,
}

impl Serialize for LastAnswer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut s = to.serialize_struct("LastAnswer", 2)?;
        s.serialize_field("status", &self.status.as_u16())?;
        s.serialize_field("sample", &String::from_utf8_lossy(&self.sample))?;
        s.end()
    }
}

impl Serialize for TurnedAway {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let r = &self.refusal;
        let ask = r.ask.map(|ask| Asked {
            at: self.at.wall_at(ask.until).to_string(),
            source: ask.source.as_str(),
        });
        let mut s = to.serialize_struct("TurnedAway", 14)?;
        s.serialize_field("kind", r.kind.as_str())?;
        s.serialize_field("provider", &*self.provider)?;
        s.serialize_field("scope", r.scope.as_str())?;
        s.serialize_field("cause", &r.cause.map(|c| c.as_str()))?;
        s.serialize_field("decided_by", r.decided_by.as_str())?;
        s.serialize_field("retry_at", &self.retry_at().map(|t| t.to_string()))?;
        s.serialize_field("ask", &ask)?;
        s.serialize_field("attempts", &r.attempts)?;
        s.serialize_field("waited_s", &r.waited.as_secs_f64())?;
        s.serialize_field("rate_limited", &self.is_rate_limited())?;
        s.serialize_field("retryable", &self.is_retryable())?;
        s.serialize_field("should_defer", &self.should_defer())?;
        s.serialize_field("last", &self.last)?;
        s.serialize_field("failure", &self.transport.as_ref().map(transport::describe))?;
        s.end()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use abide_core::finding::{Ask, AskSource};
    use abide_core::refusal::{DecidedBy, Refusal, RefusalKind};
    use abide_core::{GateClass, Instant, Moment, Scope, Verdict, WallTime};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_is_told_as_data() {
        let mut refusal = Refusal::new(RefusalKind::Held, DecidedBy::Provider);
        let until = Instant::from_secs(70);
        refusal.ask = Some(Ask {
            until,
            source: AskSource::RetryAfter,
            scope: Scope::Account,
            class: GateClass::PLAIN,
        });
        refusal.retry_at = Some(until);
        refusal.scope = Scope::Account;
        refusal.cause = Some(Verdict::RateLimited);
        refusal.attempts = 2;
        refusal.waited = Duration::from_millis(1500);
        let turned = TurnedAway {
            refusal,
            provider: "github".into(),
            last: Some(LastAnswer {
                status: http::StatusCode::TOO_MANY_REQUESTS,
                sample: "slow down".into(),
            }),
            transport: None,
            cause: None,
            at: Moment::new(
                Instant::from_secs(10),
                WallTime::from_unix_secs(1_773_144_000),
            ),
        };
        assert_eq!(
            serde_json::to_value(&turned).unwrap(),
            json!({
                "kind": "held",
                "provider": "github",
                "scope": "account",
                "cause": "rate_limited",
                "decided_by": "provider",
                "retry_at": "2026-03-10T12:01:00Z",
                "ask": { "at": "2026-03-10T12:01:00Z", "source": "retry-after" },
                "attempts": 2,
                "waited_s": 1.5,
                "rate_limited": true,
                "retryable": true,
                "should_defer": false,
                "last": { "status": 429, "sample": "slow down" },
                "failure": null,
            })
        );
    }
}
