//! What bulk leaves of every limit to whoever is more urgent.
//!
//! Somebody at the screen must not wait because a job has just used everything up. So bulk
//! ([`Urgency::BULK`](crate::queue::Urgency::BULK) and what is less urgent still) may use a limit up to
//! its reserve only, and all others all of it. What counts is what is left, whoever used the rest:
//! the reserve is a floor under it and no second budget, so it takes no memory, and it works for a
//! limit that others use too.

/// How much of each limit is left alone by bulk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reserve {
    /// One unit of a token bucket, and nothing of other limits. The default: a bucket gives back
    /// at once what was taken, so bulk is no slower for one less; of any other limit a reserve is
    /// lost to bulk for good, which only who knows of urgent calls can want.
    #[default]
    Unit,
    /// So many percent of each limit, places on the wire included; rounded up, never all of it.
    Share(u8),
    /// So many units of each window and bucket, but never all of it. Places on the wire are
    /// counted in other figures than units, and none is left.
    Units(u32),
}

impl Reserve {
    /// How much is left of a limit of that many units.
    pub(crate) fn of(self, size: u64) -> u64 {
        let kept = match self {
            Self::Unit => 0,
            Self::Share(percent) => {
                (size / 100).saturating_mul(u64::from(percent))
                    + (size % 100 * u64::from(percent)).div_ceil(100)
            }
            Self::Units(n) => u64::from(n),
        };
        kept.min(size.saturating_sub(1))
    }

    /// How many places on the wire are left, of so many; none where they are not bounded.
    pub(crate) fn of_places(self, places: u32) -> u32 {
        match self {
            Self::Share(_) if places < u32::MAX => {
                u32::try_from(self.of(u64::from(places))).unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// What must be there for a request of `cost` that leaves the reserve: no more than there can
    /// be, or it would never go.
    pub(crate) fn beside(self, cost: u32, size: u64) -> u32 {
        let wanted = u64::from(cost).saturating_add(self.of(size)).min(size);
        u32::try_from(wanted).unwrap_or(u32::MAX).max(cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_up_and_never_all() {
        assert_eq!(Reserve::Share(20).of(100), 20);
        assert_eq!(Reserve::Share(20).of(8), 2);
        assert_eq!(Reserve::Share(20).of(1), 0);
        assert_eq!(Reserve::Share(100).of(5), 4);
        assert_eq!(Reserve::Share(33).of(u64::MAX) / (u64::MAX / 100), 33);
        assert_eq!(Reserve::Units(7).of(100), 7);
        assert_eq!(Reserve::Units(7).of(3), 2);
        assert_eq!(Reserve::Unit.of(100), 0);
    }

    #[test]
    fn a_large_request_of_bulk_goes_when_the_limit_is_untouched() {
        assert_eq!(Reserve::Share(20).beside(1, 100), 21);
        assert_eq!(Reserve::Share(20).beside(90, 100), 100);
        assert_eq!(Reserve::Units(2).of_places(8), 0);
        assert_eq!(Reserve::Share(20).of_places(8), 2);
    }
}
