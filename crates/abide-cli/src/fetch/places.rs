//! Where the items of a run go. Most go to few places, so each place is kept once.

use std::collections::HashMap;
use std::time::Duration;

use abide::Target;
use abide::profile::format::Contact;
use abide::run::Bulk;

/// Where the items of a run go, in the order of the input.
#[derive(Default)]
pub(crate) struct Places {
    targets: Vec<Target>,
    known: HashMap<Target, u32>,
    items: Vec<Place>,
}

struct Place {
    item: u32,
    target: u32,
    priority: u8,
    patience: Option<Duration>,
}

impl Places {
    /// Notes where an item goes.
    pub(crate) fn put(
        &mut self,
        item: u32,
        target: Target,
        priority: u8,
        patience: Option<Duration>,
    ) {
        let next = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
        let target = *self.known.entry(target).or_insert_with_key(|target| {
            self.targets.push(target.clone());
            next
        });
        self.items.push(Place {
            item,
            target,
            priority,
            patience,
        });
    }

    /// Gives a run its pending items.
    pub(crate) fn add_to(self, bulk: &mut Bulk, pending: &[bool]) {
        for p in &self.items {
            if pending[p.item as usize] {
                let target = &self.targets[p.target as usize];
                bulk.add(target, p.item, p.priority, p.patience);
            }
        }
    }

    /// The providers that want to know whom they can write to, and whether they insist.
    pub(crate) fn wanting_contact(&self) -> Vec<(&str, bool)> {
        let profiles = self.targets.iter().map(Target::profile);
        let mut wanting: Vec<(&str, bool)> = profiles
            .filter(|p| p.told().contact != Contact::None)
            .map(|p| (p.name(), p.told().contact == Contact::Required))
            .collect();
        wanting.sort_unstable();
        wanting.dedup();
        wanting
    }
}
