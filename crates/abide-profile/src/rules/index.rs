//! Which rules may be about a status, as one word a status: most rules are about refusals, and
//! most answers are none.

use super::condition::{STATUSES, Statuses};

/// The bit of every rule that has none of its own.
const REST: u32 = u64::BITS - 1;

/// Which rules may be about a status.
#[derive(Debug)]
pub(super) struct Index {
    /// By status, from 100 on.
    words: Vec<u64>,
    rules: usize,
}

impl Index {
    pub(super) fn new<'a>(rules: impl ExactSizeIterator<Item = &'a Statuses>) -> Self {
        let mut index = Self {
            words: vec![0; usize::from(STATUSES)],
            rules: rules.len(),
        };
        for (n, statuses) in rules.enumerate() {
            let bit = u32::try_from(n).unwrap_or(REST).min(REST);
            for (status, word) in (100..).zip(&mut index.words) {
                *word |= u64::from(statuses.has(status)) << bit;
            }
        }
        index
    }

    /// The places of the rules that may be about a status, in order.
    pub(super) fn of(&self, status: u16) -> impl Iterator<Item = usize> + use<> {
        let at = usize::from(status).checked_sub(100);
        let mut word = at.and_then(|n| self.words.get(n)).copied().unwrap_or(0);
        let rest = match word >> REST {
            0 => 0..0,
            _ => REST as usize..self.rules,
        };
        word &= !(1 << REST);
        let own = std::iter::from_fn(move || {
            let n = word.trailing_zeros();
            word &= word.wrapping_sub(1);
            (n < u64::BITS).then_some(n as usize)
        });
        own.chain(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Rule, Status};
    use crate::problem::Place;
    use crate::rules::condition::Condition;

    #[test]
    fn every_rule_is_found_by_its_statuses() {
        let statuses = |n: usize| match n % 3 {
            0 => vec![],
            1 => vec![Status::One(429)],
            _ => vec![Status::Range("5xx".to_owned())],
        };
        let rules: Vec<Condition> = (0..150)
            .map(|n| {
                let rule = Rule {
                    status: statuses(n),
                    ..Rule::default()
                };
                Condition::new(&rule, &Place::default(), &mut Vec::new())
            })
            .collect();
        for count in [0, 1, 63, 64, 65, 150] {
            let rules = &rules[..count];
            let index = Index::new(rules.iter().map(Condition::statuses));
            for status in 100..=999 {
                let about = |n: &usize| rules[*n].statuses().has(status);
                let wanted: Vec<usize> = (0..count).filter(about).collect();
                // Those without a bit of their own are told by their head.
                let told: Vec<usize> = index.of(status).filter(about).collect();
                assert_eq!(told, wanted, "{count} rules, {status}");
                assert!(index.of(status).filter(|n| !about(n)).all(|n| n >= 63));
            }
        }
    }
}
