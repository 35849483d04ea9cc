//! Medians of batches.

/// Nanoseconds since `began`.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock of the shell is not worth building the shell for"
)]
pub(crate) fn time(batch: impl FnOnce()) -> f64 {
    let began = std::time::Instant::now();
    batch();
    began.elapsed().as_nanos() as f64
}

/// The median of `batches` of `times` calls each, in nanoseconds a call.
pub(crate) fn median(batches: usize, times: u32, mut call: impl FnMut()) -> f64 {
    let batch = |_| time(|| (0..times).for_each(|_| call())) / f64::from(times);
    let mut all: Vec<f64> = (0..batches).map(batch).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
