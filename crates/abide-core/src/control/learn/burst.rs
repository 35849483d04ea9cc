//! How large a bucket can be at a given rate: each rate has to be followed from send to send, and
//! several wait for each other's sums no longer than one does.

use super::history::Evidence;

/// How many rates are looked at together.
pub(super) const LANES: usize = 8;

/// What a burst is no less and no more than; `None` where that leaves no room.
pub(super) type Bounds = Option<(f64, f64)>;

/// The bounds of the burst at each of these rates, by the refusals that say something of it.
pub(super) fn bounds(
    seen: &Evidence,
    refused: impl Iterator<Item = f64>,
    varies: f64,
    rates: [f64; LANES],
) -> [Bounds; LANES] {
    let jitter = rates.map(|rate| (rate * varies).min(4.0));
    let (mut least, mut most) = ([1.0_f64; LANES], [f64::MAX; LANES]);
    let mut fits = [true; LANES];
    // What is owed at the time of the send before.
    let (mut owed, mut since) = ([0.0_f64; LANES], 0.0);
    let mut rest = &seen.good[..];
    let mut refused = refused.fuse();
    loop {
        let refusal = refused.next();
        let before = refusal.map_or(rest.len(), |r| rest.partition_point(|t| *t < r));
        let (good, after) = rest.split_at(before);
        for &t in good {
            let took = t - since;
            for n in 0..LANES {
                owed[n] = (owed[n] - rates[n] * took).max(0.0) + 1.0;
                least[n] = least[n].max(owed[n]);
            }
            since = t;
        }
        rest = after;
        let Some(refusal) = refusal else { break };
        let open = seen.open.partition_point(|t| *t < refusal) as f64;
        for n in 0..LANES {
            let owed = owed[n] - rates[n] * (refusal - since);
            match at_refusal(owed, open, jitter[n]) {
                Some(burst) => most[n] = most[n].min(burst),
                None => fits[n] = false,
            }
            fits[n] &= leaves_room(least[n], most[n], jitter[n]);
        }
        if !fits.contains(&true) {
            return [None; LANES];
        }
    }
    std::array::from_fn(|n| {
        // A burst that what arrivals vary by could make up is none.
        let tells = most[n] >= 1.0 + 2.0 * jitter[n];
        let margin = margin(jitter[n]);
        (fits[n] && tells && leaves_room(least[n], most[n], jitter[n]))
            .then_some(((least[n] - margin).max(1.0), most[n] + margin))
    })
}

fn margin(jitter: f64) -> f64 {
    0.3 + jitter
}

fn leaves_room(least: f64, most: f64, jitter: f64) -> bool {
    least - margin(jitter) <= most + margin(jitter)
}

/// What a burst is less than that was used up when `owed` units were out, and so many were not
/// answered yet; `None` where nothing was: a bucket that is full refuses nobody.
fn at_refusal(owed: f64, open: f64, jitter: f64) -> Option<f64> {
    let owed = if open > 0.0 { owed.max(0.0) } else { owed } + open;
    (owed + jitter.min(1.0) > 0.0).then_some(owed.max(0.0) + 1.0)
}
