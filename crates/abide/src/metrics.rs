//! Counts for whatever metrics recorder the program installs.
//!
//! | metric | what it counts |
//! |---|---|
//! | `abide.events` | every event, by `provider` and `event` |
//! | `abide.turned_away` | calls turned away, by `provider` and `kind` |
//! | `abide.retries` | calls made again, by `provider` and `cause` |

use crate::events::{Event, What};

pub(crate) fn count(event: &Event) {
    let provider = event.provider.to_string();
    let what = event.what.as_str();
    metrics::counter!("abide.events", "provider" => provider.clone(), "event" => what).increment(1);
    match &event.what {
        What::TurnedAway { kind, .. } => {
            let kind = kind.as_str();
            metrics::counter!("abide.turned_away", "provider" => provider, "kind" => kind)
                .increment(1);
        }
        What::Retried { cause, .. } => {
            let cause = cause.as_str();
            metrics::counter!("abide.retries", "provider" => provider, "cause" => cause)
                .increment(1);
        }
        _ => {}
    }
}
