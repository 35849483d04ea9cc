//! Timing, and what is printed of it.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

/// What was measured of one way to ask.
#[derive(Debug)]
pub(crate) struct Row {
    name: &'static str,
    together: usize,
    per_second: f64,
    p50: Duration,
    p999: Duration,
}

/// Since the bench began.
#[expect(
    clippy::disallowed_methods,
    reason = "a bench looks at the clock itself"
)]
pub(crate) fn now() -> Duration {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed()
}

impl Row {
    /// Asks again and again, so many together.
    pub(crate) async fn time<F>(
        name: &'static str,
        together: usize,
        lasts: Duration,
        does: impl Fn() -> F + Clone + Send + 'static,
    ) -> anyhow::Result<Self>
    where
        F: Future<Output = anyhow::Result<()>> + Send,
    {
        // What is met for the first time is not timed.
        does().await?;
        let began = now();
        let mut all = JoinSet::new();
        for _ in 0..together {
            let does = does.clone();
            all.spawn(async move {
                let mut took = Vec::with_capacity(1 << 20);
                loop {
                    let before = now();
                    if before - began > lasts {
                        return anyhow::Ok(took);
                    }
                    does().await?;
                    took.push(now() - before);
                    // What never waits lets others wait: each lets others have a turn at times.
                    if took.len() % 64 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            });
        }
        let mut took = Vec::new();
        while let Some(done) = all.join_next().await {
            took.extend(done??);
        }
        let lasted = now() - began;
        took.sort_unstable();
        let at = |part: f64| {
            let last = took.len().saturating_sub(1);
            took.get(((last as f64) * part) as usize)
                .copied()
                .unwrap_or_default()
        };
        Ok(Self {
            name,
            together,
            per_second: took.len() as f64 / lasted.as_secs_f64(),
            p50: at(0.5),
            p999: at(0.999),
        })
    }
}

/// How much more than the plain one of as many together.
fn ratio(rows: &[Row], row: &Row) -> f64 {
    let plain = rows
        .iter()
        .find(|r| r.name == "plain" && r.together == row.together);
    plain.map_or(f64::NAN, |plain| row.per_second / plain.per_second)
}

pub(crate) fn print(rows: &[Row]) {
    println!("| asked | together | permits/s | × plain | p50 | p99.9 |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        let micros = |d: Duration| format!("{:.1} µs", d.as_nanos() as f64 / 1000.0);
        println!(
            "| {} | {} | {:.0} | {:.2} | {} | {} |",
            row.name,
            row.together,
            row.per_second,
            ratio(rows, row),
            micros(row.p50),
            micros(row.p999)
        );
    }
}

pub(crate) fn json(rows: &[Row]) -> Value {
    let mut all = Map::new();
    for row in rows {
        let name = format!(
            "{}.{}",
            row.name.replace(", ", "_").replace(' ', "_"),
            row.together
        );
        let figures = json!({
            "per_second": row.per_second,
            "of_plain": ratio(rows, row),
            "p50_ns": row.p50.as_nanos() as u64,
            "p999_ns": row.p999.as_nanos() as u64,
        });
        all.insert(name, figures);
    }
    Value::Object(all)
}
