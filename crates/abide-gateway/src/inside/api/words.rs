//! The core's words in the API's answers and questions.

use abide::core::Verdict;
use abide::core::hold::{HoldId, SetBy};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What an answer means, as it is asked; answers have the core's own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Verdict)]
pub(super) enum Word {
    AuthError,
    Banned,
    ClientError,
    NotFound,
    Offline,
    QuotaExhausted,
    RateLimited,
    Success,
    Unavailable,
}

impl From<Word> for Verdict {
    fn from(word: Word) -> Self {
        match word {
            Word::AuthError => Self::AuthError,
            Word::Banned => Self::Banned,
            Word::ClientError => Self::ClientError,
            Word::NotFound => Self::NotFound,
            Word::Offline => Self::Offline,
            Word::QuotaExhausted => Self::QuotaExhausted,
            Word::RateLimited => Self::RateLimited,
            Word::Success => Self::Success,
            Word::Unavailable => Self::Unavailable,
        }
    }
}

/// Who set a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Setter {
    /// An answer this gateway received.
    Answer,
    /// A person.
    Operator,
    /// An earlier run of it.
    Restored,
    /// Another process that shares its state.
    Shared,
}

impl From<SetBy> for Setter {
    fn from(by: SetBy) -> Self {
        match by {
            SetBy::Operator => Self::Operator,
            SetBy::Restored => Self::Restored,
            SetBy::Shared => Self::Shared,
            // An answer, and whatever else an answer will have brought.
            _ => Self::Answer,
        }
    }
}

/// A hold's name as it is written: its numbers are too large for some readers of JSON.
pub(super) fn shown(id: HoldId) -> String {
    format!("{:016x}", id.0)
}

/// The hold of that name.
pub(super) fn hold_id(text: &str) -> Option<HoldId> {
    let fits = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let id = u64::from_str_radix(text, 16).ok().filter(|_| fits);
    id.map(HoldId)
}
