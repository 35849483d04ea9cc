//! Start-time fair queueing, written down as plainly as it is defined.

use std::collections::BTreeMap;

/// A place in line: smaller goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NaiveRank {
    /// What is exempt from pace goes first.
    pub(crate) paced: bool,
    /// Whoever was passed over long enough is in line no more, and next.
    pub(crate) in_line: bool,
    pub(crate) urgency: u8,
    pub(crate) fair: u64,
    pub(crate) arrival: u64,
}

/// Fair time of each urgency, and where each key ends and was served to.
#[derive(Clone, Debug, Default)]
pub(crate) struct NaiveRanks {
    arrivals: u64,
    time: [u64; 8],
    ends: BTreeMap<(u8, u64), u64>,
    served: BTreeMap<(u8, u64), u64>,
}

impl NaiveRanks {
    pub(crate) fn next(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    pub(crate) fn newcomer(&mut self, urgency: u8) -> NaiveRank {
        NaiveRank {
            paced: true,
            in_line: true,
            urgency,
            fair: self.time[urgency as usize],
            arrival: self.next(),
        }
    }

    pub(crate) fn arrive(&mut self, urgency: u8, key: u64, cost: u64) -> NaiveRank {
        let end = self.ends.get(&(urgency, key)).copied().unwrap_or(0);
        let fair = end.max(self.time[urgency as usize]);
        self.ends.insert((urgency, key), fair + cost);
        NaiveRank {
            paced: true,
            in_line: true,
            urgency,
            fair,
            arrival: self.next(),
        }
    }

    /// Back to how it was, but no arrival number is used twice.
    pub(crate) fn undo(&mut self, before: Self) {
        let arrivals = self.arrivals;
        *self = before;
        self.arrivals = arrivals;
    }

    pub(crate) fn served(&mut self, rank: NaiveRank, key: u64, cost: u64) {
        let time = &mut self.time[rank.urgency as usize];
        *time = (*time).max(rank.fair);
        let served = self.served.entry((rank.urgency, key)).or_default();
        *served = (*served).max(rank.fair + cost);
    }

    pub(crate) fn backlog(&self, rank: NaiveRank) -> u64 {
        rank.fair.saturating_sub(self.time[rank.urgency as usize])
    }

    pub(crate) fn nobody_of(&mut self, urgency: u8, key: u64) {
        let served = self.served.get(&(urgency, key)).copied().unwrap_or(0);
        self.ends.insert((urgency, key), served);
    }

    pub(crate) fn nobody(&mut self) {
        self.ends.clear();
        self.served.clear();
    }
}
