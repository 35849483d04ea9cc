//! Which answers are worth another try.
//!
//! This says only that a repetition could succeed. Whether the request may be repeated at all
//! (writes are sent once) and whether there is time for it is decided by the call.

use http::StatusCode;

use super::transport::{Phase, Transport, TransportKind};
use crate::finding::Finding;
use crate::verdict::Verdict;

/// The answers and failures that are tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryOn {
    /// Verdicts tried again. Default: rate limited only. A quota is never waited for in a call,
    /// and waiting heals neither a ban nor a credential.
    pub verdicts: Vec<Verdict>,
    /// Statuses tried again, unless they turned out to be a quota or a ban. Default: 502, 503,
    /// 504 and 529 (somebody is overloaded or restarting), 408 and 425 (this request came at a
    /// bad moment). Not 500: it repeats far more often than it heals.
    pub statuses: Vec<StatusCode>,
    /// Any outage that came with an ask. Default: yes, the server itself invites it.
    pub asked: bool,
    /// Phases of the exchange whose failures are tried again. Default: all before the head.
    pub phases: Vec<Phase>,
}

impl RetryOn {
    /// Nothing is tried again.
    pub const fn nothing() -> Self {
        Self {
            verdicts: Vec::new(),
            statuses: Vec::new(),
            asked: false,
            phases: Vec::new(),
        }
    }

    /// Whether an answer that was found to mean `finding` is tried again.
    ///
    /// An outage under any other status (a 200 whose content says so) counts as a 503 too.
    pub fn covers(&self, status: StatusCode, finding: &Finding) -> bool {
        match finding.again {
            Some(false) => return false,
            // The server itself invites it; what it says of itself outranks a list of ours.
            Some(true) if !matches!(finding.verdict, Verdict::Banned | Verdict::QuotaExhausted) => {
                return *self != Self::nothing();
            }
            _ => {}
        }
        if self.verdicts.contains(&finding.verdict) {
            return true;
        }
        match finding.verdict {
            Verdict::Banned | Verdict::Offline | Verdict::QuotaExhausted => false,
            Verdict::Unavailable => {
                let hidden = !status.is_server_error();
                self.statuses.contains(&status)
                    || hidden && self.statuses.contains(&StatusCode::SERVICE_UNAVAILABLE)
                    || self.asked && !finding.asks.is_empty()
            }
            _ => self.statuses.contains(&status),
        }
    }

    /// Whether failures of the exchange are tried again at all.
    pub fn repeats(&self) -> bool {
        !self.phases.is_empty()
    }

    /// Whether this failure of the exchange is tried again.
    pub fn covers_transport(&self, transport: &Transport) -> bool {
        // Two sides that could not agree on a secure channel will not agree a second later.
        self.phases.contains(&transport.phase) && transport.kind != TransportKind::Tls
    }
}

impl Default for RetryOn {
    fn default() -> Self {
        Self {
            verdicts: vec![Verdict::RateLimited],
            statuses: [408, 425, 502, 503, 504, 529]
                .into_iter()
                .filter_map(|s| StatusCode::from_u16(s).ok())
                .collect(),
            asked: true,
            phases: vec![Phase::Connect, Phase::Send, Phase::Head],
        }
    }
}
