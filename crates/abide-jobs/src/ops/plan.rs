//! Which lanes a claim takes from, and how much.
//!
//! The most urgent first; lanes of one urgency share alike, so that a provider (or a tenant) with a
//! million jobs does not keep out one with ten. Of ten jobs one comes from the less urgent that
//! wait: what is never urgent is done all the same.

use abide::core::WallTime;

/// One job of so many goes to those that are less urgent: as the gates themselves do it.
const ONE_IN: u64 = 10;

/// The jobs of one queue, provider, account and urgency that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) queue: String,
    pub(crate) name: String,
    pub(crate) urgency: i64,
    /// When the first of them may run.
    pub(crate) due: WallTime,
}

/// In which order lanes are taken from, and how much at most each time. `turn` counts the jobs that
/// were claimed before.
pub(crate) fn plan(lanes: &[Lane], most: usize, turn: u64) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..lanes.len()).collect();
    order.sort_by_key(|at| (lanes[*at].urgency, lanes[*at].due));
    let Some(first) = order.first().map(|at| lanes[*at].urgency) else {
        return Vec::new();
    };
    let mut planned = Vec::with_capacity(2 * lanes.len() + 1);
    let later: Vec<usize> = order
        .iter()
        .copied()
        .filter(|at| lanes[*at].urgency > first)
        .collect();
    let tenth = (turn + most as u64) / ONE_IN - turn / ONE_IN;
    let tenth = usize::try_from(tenth).unwrap_or(most).min(most);
    if !later.is_empty() && tenth > 0 {
        // Each of them in its turn.
        let whose = (turn / ONE_IN) as usize % later.len();
        planned.push((later[whose], tenth));
    }
    let mut at = 0;
    while at < order.len() {
        let urgency = lanes[order[at]].urgency;
        let level: Vec<usize> = order[at..]
            .iter()
            .copied()
            .take_while(|l| lanes[*l].urgency == urgency)
            .collect();
        at += level.len();
        let share = most.div_ceil(level.len());
        let begin = turn as usize % level.len();
        for n in 0..level.len() {
            planned.push((level[(begin + n) % level.len()], share));
        }
        // What one had too little of, the others may have.
        if level.len() > 1 {
            planned.extend(level.iter().map(|l| (*l, most)));
        }
    }
    planned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(name: &str, urgency: i64, due: i64) -> Lane {
        Lane {
            queue: "default".to_owned(),
            name: name.to_owned(),
            urgency,
            due: WallTime::from_unix_secs(due),
        }
    }

    /// What comes of a plan where each lane has as much as is asked for.
    fn taken(lanes: &[Lane], most: usize, turn: u64) -> Vec<usize> {
        let mut taken = vec![0; lanes.len()];
        let mut left = most;
        for (lane, cap) in plan(lanes, most, turn) {
            let take = cap.min(left);
            taken[lane] += take;
            left -= take;
        }
        taken
    }

    #[test]
    fn one_lane_has_all() {
        assert_eq!(taken(&[lane("a", 3, 0)], 100, 0), [100]);
        assert!(plan(&[], 100, 0).is_empty());
    }

    #[test]
    fn lanes_of_one_urgency_share() {
        let lanes = [lane("a", 3, 0), lane("b", 3, 5), lane("c", 3, 9)];
        assert_eq!(taken(&lanes, 9, 0), [3, 3, 3]);
    }

    #[test]
    fn d19_the_urgent_go_first_and_the_others_have_one_in_ten() {
        let lanes = [
            lane("bulk", 6, 0),
            lane("screen", 1, 5),
            lane("plain", 3, 0),
        ];
        let mut all = [0; 3];
        for claim in 0..1000 {
            for (n, took) in taken(&lanes, 1, claim).iter().enumerate() {
                all[n] += took;
            }
        }
        assert_eq!(all, [50, 900, 50]);
    }
}
