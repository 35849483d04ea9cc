//! What must hold in every state.

use abide_core::time::nanos;
use abide_store::lend::{Answer, Shape};

use crate::process::Leave;
use crate::steps::life;
use crate::world::{PROBE, World, first, wall};

/// What must hold when leave was given to a process.
pub(crate) fn lent(before: &World, after: &World, p: usize) -> Result<(), String> {
    let Some((_, Answer::Lent(_))) = &after.processes[p].coming else {
        return Ok(());
    };
    if before.is_held() {
        return Err("leave was given inside a hold".to_owned());
    }
    for (lent, shapes) in after.truth.lent.iter().zip(&after.gates) {
        for shape in shapes {
            within(lent, shape)?;
        }
    }
    Ok(())
}

/// What must hold when a request was sent with leave. Leave is given outside holds only, so what is
/// sent inside one was lent before the store was told of it, and not longer ago than leave lives.
pub(crate) fn sent(world: &World, leave: &Leave) -> Result<(), String> {
    if world.now >= leave.at + life(&leave.lent) {
        return Err("sent with leave that had lapsed".to_owned());
    }
    let sent: Vec<(i64, u32)> = world.truth.sent.iter().map(|at| (*at, 1)).collect();
    for shape in world.gates.iter().flatten() {
        if !matches!(shape, Shape::Bucket { .. }) {
            within(&sent, shape)?;
        }
    }
    Ok(())
}

/// What must hold in a state.
pub(crate) fn state(world: &World) -> Result<(), String> {
    for gate in world.store.told(&first(), wall(world.now)) {
        let open = gate.hold.filter(|h| !h.lifted).map(|h| h.id.0);
        if open.is_some_and(|id| world.truth.lifted.contains(&id)) {
            return Err("a lifted hold has come back".to_owned());
        }
    }
    let reach = world.processes.iter().filter(|p| p.reach);
    let out = |at: i64| at + PROBE > world.now;
    let probes = reach.filter(|p| p.probe().is_some_and(out)).count();
    if probes > 1 {
        return Err(format!("{probes} probes are out"));
    }
    // Every state goes over into one at the end of time: where those go on, all do.
    match world.now < world.left.horizon * 1_000 {
        true => Ok(()),
        false => progress(world),
    }
}

/// Whatever happened: once all is quiet and answers are good, every process is soon let through
/// without a probe.
fn progress(world: &World) -> Result<(), String> {
    let mut world = world.clone();
    (world.left.asks, world.left.backs) = (u32::MAX, u32::MAX);
    let mut through = vec![false; world.processes.len()];
    for _ in 0..20 {
        for (p, through) in through.iter_mut().enumerate() {
            world.now += 500;
            let mut step = |does: fn(&World, usize) -> Option<Result<World, String>>| {
                if let Some(next) = does(&world, p) {
                    world = next?;
                }
                let wire = &world.processes[p].wire;
                *through |= wire.as_ref().is_some_and(|w| w.probe.is_none());
                Ok::<_, String>(())
            };
            step(World::comes_back)?;
            step(|w, p| w.hears(p, false))?;
            step(|w, p| w.answered(p, false))?;
            step(World::asks)?;
            step(World::receives)?;
            step(World::sends)?;
            step(|w, p| w.answered(p, false))?;
            step(World::leaves)?;
            step(World::gives_back)?;
            step(World::tells)?;
            step(World::tells)?;
        }
        // The store keeps no queue: where windows are tight and others take ahead, whoever asks
        // when one opens has it.
        let is_enough = match world.left.ahead {
            0 => through.iter().all(|t| *t),
            _ => through.iter().any(|t| *t),
        };
        if is_enough {
            return Ok(());
        }
    }
    Err(format!("no way on for all: {through:?}\n{world:#?}"))
}

/// Whether units, each at its time, keep to a limit.
fn within(units: &[(i64, u32)], shape: &Shape) -> Result<(), String> {
    let millis = |d| i64::try_from(nanos(d) / 1_000_000).unwrap_or(i64::MAX);
    let sum = |of: &dyn Fn(i64) -> bool| {
        let of = units.iter().filter(|(at, _)| of(*at));
        of.map(|(_, n)| u64::from(*n)).sum::<u64>()
    };
    for (last, _) in units {
        let (lent, most) = match *shape {
            Shape::Bucket { interval, burst } => {
                // From any moment on: what was saved up, and what has come since.
                let over = |from: i64| {
                    let come = (last - from) / millis(interval);
                    let most = u64::from(burst) + come.unsigned_abs();
                    let lent = sum(&|at| at >= from && at <= *last);
                    (lent, most)
                };
                let from = units.iter().map(|u| u.0).filter(|from| from <= last);
                let worst = from
                    .map(over)
                    .max_by_key(|(lent, most)| lent.saturating_sub(*most));
                worst.unwrap_or((0, 0))
            }
            Shape::Fixed {
                limit,
                period,
                boundary,
            } => {
                let phase = crate::world::millis(boundary);
                let nth = |at: i64| (at - phase).div_euclid(millis(period));
                (sum(&|at| nth(at) == nth(*last)), limit)
            }
            Shape::Sliding { limit, period } => {
                let since = last - millis(period);
                (sum(&|at| at > since && at <= *last), limit)
            }
        };
        if lent > most {
            return Err(format!("{lent} of {most}, {shape:?}: {units:?}"));
        }
    }
    Ok(())
}
