//! Which headers an answer has, so far as it takes to know which it has not: rules ask for a dozen
//! that hardly any answer has, and each lookup hashes a name.

/// A set of header names that is never missing one it holds, and seldom holds one it should not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameSet(u128);

impl NameSet {
    /// The set of one name (in lower case).
    pub fn of(name: &[u8]) -> Self {
        // Names of one provider share their beginning; what tells them apart is at their end.
        let end = match name.last_chunk() {
            Some(end) => u64::from_le_bytes(*end),
            None => name.iter().fold(0, |all, b| all << 8 | u64::from(*b)),
        };
        let mixed = (end ^ name.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self(1 << (mixed >> 57))
    }

    /// Takes in another set.
    pub const fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether any name may be in both.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_whatever_was_put_into_it() {
        let names = ["", "a", "age", "x-ratelimit-limit", "x-ratelimit-reset"];
        let mut set = NameSet::default();
        for (n, name) in names.iter().enumerate() {
            assert!(!set.meets(NameSet::default()));
            set.join(NameSet::of(name.as_bytes()));
            let held = &names[..=n];
            assert!(held.iter().all(|h| set.meets(NameSet::of(h.as_bytes()))));
        }
        assert!(!set.meets(NameSet::of(b"cf-mitigated")));
    }
}
