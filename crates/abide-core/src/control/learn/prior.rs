//! Which figures providers choose: round ones.
//!
//! Costs are natural logarithms of odds, roughly: a limit of 50 is to be expected over one of 47
//! twenty to one. Off the grid nothing is excluded, it only takes more evidence.

/// What a count costs.
pub(super) fn count(n: f64) -> f64 {
    if n < 0.5 || (n - n.round()).abs() > 1e-6 * n.max(1.0) {
        return 4.0;
    }
    let mut m = n.round();
    while m >= 100.0 && m % 10.0 == 0.0 {
        m /= 10.0;
    }
    let mantissa = if m % 10.0 == 0.0 { m / 10.0 } else { m };
    match mantissa {
        1.0 | 2.0 | 5.0 => 0.0,
        3.0 | 4.0 | 6.0 | 12.0 | 15.0 | 25.0 => 0.8,
        8.0 | 7.0 | 9.0 => 1.5,
        x if x % 5.0 == 0.0 => 1.5,
        _ => 3.0,
    }
}

/// What a rate costs, in units a second: round by the second, or by the minute.
pub(super) fn rate(r: f64) -> f64 {
    count(r).min(0.7 + count(r * 60.0)).min(4.0)
}

/// What the length of a window costs, in seconds.
pub(super) fn span(s: f64) -> f64 {
    const USUAL: [(f64, f64); 16] = [
        (1.0, 0.0),
        (60.0, 0.2),
        (10.0, 0.7),
        (2.0, 0.7),
        (5.0, 0.7),
        (30.0, 0.9),
        (15.0, 0.9),
        (20.0, 0.9),
        (3.0, 1.0),
        (120.0, 1.0),
        (300.0, 1.0),
        (600.0, 1.0),
        (900.0, 1.0),
        (3600.0, 0.5),
        (86_400.0, 0.5),
        (0.5, 1.2),
    ];
    let usual = USUAL.iter().find(|(u, _)| (u - s).abs() < 1e-6 * u);
    match usual {
        Some((_, cost)) => *cost,
        None if (s - s.round()).abs() < 1e-6 => 1.8,
        None => 3.2,
    }
}

/// The lengths worth trying up to `most` seconds.
pub(super) fn spans(most: f64) -> impl Iterator<Item = f64> {
    let tenths = (1..=100).map(|t| f64::from(t) / 10.0);
    let long = [
        11, 12, 13, 14, 15, 20, 25, 30, 45, 60, 90, 120, 180, 300, 600, 900, 1_800, 3_600,
    ];
    let all = tenths.chain(long.into_iter().map(f64::from));
    all.take_while(move |s| *s <= most)
}

/// The likeliest count from `low` to `high`, the smaller of two alike; `None` where there is none.
pub(super) fn likeliest_count(low: f64, high: f64) -> Option<(f64, f64)> {
    let (first, last) = (low.ceil().max(1.0), high.floor());
    let mut best: Option<(f64, f64)> = None;
    let mut n = first;
    // A wide range has round figures near its beginning too.
    while n <= last && n < first + 200.0 {
        let cost = count(n);
        if best.is_none_or(|(_, c)| cost < c) {
            best = Some((n, cost));
        }
        // None is likelier.
        if cost <= 0.0 {
            break;
        }
        n += 1.0;
    }
    best
}

/// The likeliest rate from `low` to `high`: a round one, or else one in the lower part of what is
/// possible, since a refusal costs more than the difference.
pub(super) fn likeliest_rate(low: f64, high: f64) -> (f64, f64) {
    let safe = low + 0.4 * (high - low);
    // The wider the range, the less a round figure in it means.
    let wide = 2.0 * (high / low.max(1e-9)).ln().max(0.0);
    let mut best = (safe, 3.0);
    for step in [
        0.1, 0.2, 0.25, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1_000.0,
    ] {
        let mut n = (low / step).ceil() * step;
        let mut tries = 0;
        while n <= high && tries < 40 {
            let cost = rate(n) + wide;
            if cost < best.1 {
                best = (n, cost);
            }
            n += step;
            tries += 1;
        }
    }
    best
}
