//! Medians of what the rounds came to, and of the ratios to the first subject, with their spread.

use crate::measure::Figures;
use crate::subject::Plan;

/// Prints one line a subject.
pub(crate) fn print(plans: &[Plan], all: &[Vec<Figures>]) {
    println!(
        "{:<22} {:>9} {:>9} {:>9}   {:<22} {:<22}",
        "", "CPU us", "p99 ms", "req/s", "CPU ratio", "p99 ratio"
    );
    for (plan, rounds) in plans.iter().zip(all) {
        let of = |f: fn(&Figures) -> f64| spread(rounds.iter().map(f)).1;
        let ratio = |f: fn(&Figures) -> f64| {
            let pairs = rounds.iter().zip(&all[0]);
            let (low, middle, high) = spread(pairs.map(|(own, first)| f(own) / f(first)));
            format!("{middle:.3} ({low:.3}-{high:.3})")
        };
        println!(
            "{:<22} {:>9.1} {:>9.2} {:>9.0}   {:<22} {:<22}",
            plan.label(),
            of(|f| f.cpu.as_secs_f64() * 1e6),
            of(|f| f.p99.as_secs_f64() * 1e3),
            of(|f| f.rate),
            ratio(|f| f.cpu.as_secs_f64()),
            ratio(|f| f.p99.as_secs_f64()),
        );
    }
}

/// The first quarter, the middle and the third quarter.
pub(crate) fn spread(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let last = values.len().saturating_sub(1) as f64;
        values.get((last * share).round() as usize).copied()
    };
    let at = |share| at(share).unwrap_or(f64::NAN);
    (at(0.25), at(0.5), at(0.75))
}
