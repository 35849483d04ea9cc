//! Searching for what is near: most windows hold a few of a thousand sends.

/// Where the first part of `all` ends, of which this holds: near its beginning, mostly.
pub(super) fn soon(all: &[f64], holds: impl Fn(f64) -> bool) -> usize {
    let mut reach = 1;
    while all.get(reach - 1).is_some_and(|t| holds(*t)) {
        reach *= 2;
    }
    let from = reach / 2;
    from + all[from..all.len().min(reach - 1)].partition_point(|t| holds(*t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_soon_ends_where_a_search_finds_it() {
        let all: Vec<f64> = (0..40).map(f64::from).collect();
        for len in 0..all.len() {
            for end in 0..45 {
                let holds = |t: f64| t < f64::from(end);
                let wanted = all[..len].partition_point(|t| holds(*t));
                assert_eq!(soon(&all[..len], holds), wanted, "{len} {end}");
            }
        }
    }
}
