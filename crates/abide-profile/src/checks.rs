//! What must hold in a profile beside what is read of its parts.

use std::time::Duration;

use http::Method;

use crate::format::{Gate, Profile, WindowKind};
use crate::problem::{Place, Problem};
use crate::units::duration;

/// The most gates one request passes.
const MOST: usize = abide_core::gate::MAX_GATES;

const DAY: Duration = Duration::from_secs(86_400);

/// Finds what does not hold. `gates` is how many there are, those that every provider has among
/// them.
pub(crate) fn run(told: &Profile, gates: usize, problems: &mut Vec<Problem>) {
    let top = Place::default();
    name(&told.name, top.key("name"), problems);
    for (i, r) in told.reads.iter().enumerate() {
        if r.paths.is_empty() && !r.graphql {
            let what = "calls every request a read: name the paths, or graphql = true";
            problems.push(Problem::new(top.key("reads").item(i), what));
        }
    }
    for (i, gate) in told.gates.iter().enumerate() {
        limits(gate, &top.key("gate").item(i), problems);
    }
    let plain = gates.saturating_sub(told.gates.len());
    if coincide(&told.gates, plain) {
        let what = format!(
            "a request passes at most {MOST} gates, and more of these may let one through: \
             tell them apart by methods or paths, or count with fewer"
        );
        problems.push(Problem::new(top.key("gate"), what));
    }
}

/// A name appears in paths, in output and in the names of files.
fn name(name: &str, place: Place, problems: &mut Vec<Problem>) {
    let fit = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.is_empty() {
        problems.push(Problem::new(place, "is missing: give the profile a name"));
    } else if !name.bytes().all(fit) {
        let what = format!("{name:?} is no name: it is lower-case letters, digits and dashes");
        problems.push(Problem::new(place, what));
    }
}

fn limits(gate: &Gate, place: &Place, problems: &mut Vec<Problem>) {
    let dearest = gate.dearest();
    for (n, limit) in gate.limits.iter().enumerate() {
        let place = place.key("limits").item(n);
        if limit.zone.is_some() && duration(&limit.per).is_ok_and(|per| per != DAY) {
            let what = "is for windows of a day only (per = \"24h\"): others begin on whole \
                        multiples of their length";
            problems.push(Problem::new(place.key("zone"), what));
        }
        // A bucket is made large enough for the dearest request; these have no room for it, ever.
        if limit.window != WindowKind::Bucket && limit.count > 0 && limit.count < dearest {
            let what = format!(
                "is less than what one request costs here ({dearest}), which could never be \
                 sent: raise the count, or lower the cost"
            );
            problems.push(Problem::new(place.key("count"), what));
        }
    }
}

/// Whether more gates than one request may pass can let the same one through, as far as that
/// shows: of so many each must go with so many others.
fn coincide(gates: &[Gate], plain: usize) -> bool {
    let mut left: Vec<&Gate> = gates.iter().collect();
    loop {
        let before = left.len();
        if before + plain <= MOST {
            return false;
        }
        let all = left.clone();
        left.retain(|gate| all.iter().filter(|other| together(gate, other)).count() + plain > MOST);
        if left.len() == before {
            return true;
        }
    }
}

/// Whether one request may pass both; a gate goes with itself.
fn together(a: &Gate, b: &Gate) -> bool {
    let any = |a: &[String], b: &[String], fits: fn(&str, &str) -> bool| {
        a.is_empty() || b.is_empty() || a.iter().any(|x| b.iter().any(|y| fits(x, y)))
    };
    let same = |x: &str, y: &str| x.parse::<Method>().ok() == y.parse::<Method>().ok();
    any(&a.methods, &b.methods, same) && any(&a.paths, &b.paths, overlap)
}

/// Whether two path templates fit one path, as far as their words tell.
fn overlap(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.split('/'), b.split('/'));
    loop {
        match (a.next(), b.next()) {
            (Some("**"), _) | (_, Some("**")) | (None, None) => return true,
            (None, _) | (_, None) => return false,
            (Some(x), Some(y)) if x == y || x == "*" || y == "*" => {}
            _ => return false,
        }
    }
}
