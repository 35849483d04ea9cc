//! Every state that can be reached, breadth first, so that what is found is found by a shortest way.

use std::collections::{HashSet, VecDeque};
use std::fmt::{self, Write as _};
use std::hash::{DefaultHasher, Hasher as _};

use crate::checks;
use crate::world::World;

/// A scenario with more states is too large for a test.
const MOST: usize = 1_000_000;

/// What happened, one after another: kept as a tree, each with the one before it.
struct Trail {
    before: usize,
    what: String,
}

/// Explores all that follows.
pub(crate) fn explore(first: World) {
    let mut seen = HashSet::from([print_of(&first)]);
    let mut trail = vec![Trail {
        before: 0,
        what: "the beginning".to_owned(),
    }];
    let mut next = VecDeque::from([(0, first)]);
    let mut sent = 0;
    while let Some((at, world)) = next.pop_front() {
        if let Err(broken) = checks::state(&world) {
            panic!("{broken}:\n{}\n{world:#?}", tell(&trail, at));
        }
        for (what, follows) in world.steps() {
            let follows = follows.unwrap_or_else(|broken| {
                panic!("{broken}, after {what}:\n{}\n{world:#?}", tell(&trail, at))
            });
            if !seen.insert(print_of(&follows)) {
                continue;
            }
            sent += usize::from(what.contains("sends"));
            trail.push(Trail { before: at, what });
            next.push_back((trail.len() - 1, follows));
        }
        assert!(trail.len() < MOST, "too many states");
    }
    assert!(
        sent > 0,
        "a scenario in which nothing is sent shows nothing"
    );
    println!("{} states", trail.len());
}

/// Two states are one when they look the same: doubles have no hash of their own.
fn print_of(world: &World) -> (u64, u64) {
    let mut print = Print(DefaultHasher::new(), DefaultHasher::new());
    print.1.write_u8(1);
    // A hasher takes whatever is written.
    let _ = write!(print, "{world:?}");
    (print.0.finish(), print.1.finish())
}

/// Hashes what is written, in two ways.
struct Print(DefaultHasher, DefaultHasher);

impl fmt::Write for Print {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        self.1.write(text.as_bytes());
        Ok(())
    }
}

fn tell(trail: &[Trail], mut at: usize) -> String {
    let mut lines = Vec::new();
    while at > 0 {
        lines.push(trail[at].what.clone());
        at = trail[at].before;
    }
    lines.reverse();
    lines.join("\n")
}
