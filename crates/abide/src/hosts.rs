//! Holds of a provider whose hosts, or services, are counted apart (`aws@HOST`, `google+youtube`).
//!
//! A person holds `aws` and means all of it. Nothing is ever sent by that name alone, so its hold is
//! told to every part of it, by the same id: what is lifted or lengthened is lifted and lengthened
//! everywhere. A part that is met later is told when it is made.

use abide_core::hold::SetBy;
use abide_core::provider::News;
use abide_core::{Scope, Verdict};
use abide_store::{StoredGate, StoredHold};

use crate::governor::Governor;
use crate::shard::Handle;

/// What stands between a provider's name and its parts'.
const APART: [char; 2] = ['@', '+'];

/// The names of whom a provider is a part of, the nearest last.
pub(crate) fn wholes(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices(APART).map(|(at, _)| &name[..at])
}

/// Whether a provider is a part of another.
pub(crate) fn is_part(name: &str, of: &str) -> bool {
    let rest = name.strip_prefix(of);
    rest.is_some_and(|rest| rest.starts_with(APART))
}

impl Governor {
    /// The parts of a provider that were met.
    pub(crate) fn parts_of(&self, provider: &str) -> Vec<Handle> {
        let mut all = self.all();
        all.retain(|shard| is_part(shard.name(), provider));
        all
    }

    /// Tells every part of a provider of the hold that closes it.
    pub(crate) fn spread(&self, provider: &str) {
        let Some(news) = self.held_as_a_whole(provider) else {
            return;
        };
        for part in self.parts_of(provider) {
            part.tell(news.clone());
        }
    }

    /// Tells a provider that is new of the holds of those that it is a part of.
    pub(crate) fn joins(&self, part: &Handle) {
        for whole in wholes(part.name()) {
            let remembered = || self.shared().remembered.lock().contains_key(whole);
            if self.known(whole).is_none() && !remembered() {
                continue;
            }
            if let Some(news) = self.held_as_a_whole(whole) {
                part.tell(news);
            }
        }
    }

    /// Tells the parts of a provider what the store says of it as a whole.
    pub(crate) fn pass_on(&self, stored: &StoredGate) {
        let whole = &stored.key.provider;
        let placed = |h: &StoredHold| stored.scope == Scope::Provider && h.ask.is_none();
        let Some(hold) = stored.hold.filter(placed) else {
            return;
        };
        for part in self.parts_of(whole) {
            part.tell(match hold.lifted {
                true => News::Lifted { id: Some(hold.id) },
                false => self.told_of(&hold),
            });
        }
    }

    fn told_of(&self, hold: &StoredHold) -> News {
        News::Held {
            id: Some(hold.id),
            until: self.clock().moment().instant_at(hold.until),
            cause: hold.cause,
            ask: None,
            set_by: SetBy::Operator,
            probes: hold.probes,
        }
    }

    /// The hold of a provider's own gate, to be told to its parts.
    fn held_as_a_whole(&self, provider: &str) -> Option<News> {
        let now = self.clock().now();
        let gates = self.provider(provider).view();
        let own = gates.iter().filter(|g| g.scope == Scope::Provider);
        let hold = own
            .filter_map(|g| g.hold)
            .filter(|h| !h.lifted && h.until > now)
            // What one of its own answers said is of whoever answered.
            .filter(|h| h.set_by != SetBy::Answer && h.ask.is_none())
            .max_by_key(|h| h.until)?;
        Some(News::Held {
            id: Some(hold.id),
            until: hold.until,
            cause: Verdict::Unavailable,
            ask: None,
            set_by: SetBy::Operator,
            probes: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_part_it_is() {
        let of = |name| wholes(name).collect::<Vec<_>>();
        assert_eq!(of("google+aws@ec2.example"), ["google", "google+aws"]);
        assert_eq!(of("aws@ec2.example"), ["aws"]);
        assert!(of("aws").is_empty());
        assert!(is_part("aws@a.example", "aws"));
        assert!(!is_part("awsome", "aws"));
        assert!(!is_part("aws", "aws"));
    }
}
