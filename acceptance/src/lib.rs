//! What the suites share: programs set up by a text a user could write, and answers as the real
//! providers give them.
//!
//! Each suite in `tests/` holds the requirements of one program, a test each, named after its
//! number; `examples/` has each program's way to use abide, to be run.

pub mod log;
pub mod script;
pub mod wire;

use std::sync::Arc;

use abide::testing::{self, Virtual};
use abide::{Governor, GovernorBuilder};
use abide_config::{Setup, Use};

/// A program that is configured by this text, by a clock that can stand still.
#[derive(Debug)]
pub struct Program {
    /// What was configured.
    pub setup: Setup,
    /// Its clock.
    pub clock: Arc<Virtual>,
    /// Its governor.
    pub governor: Governor,
}

impl Program {
    /// A program for whose calls somebody waits.
    ///
    /// # Panics
    /// When the text is no configuration: what is wrong is told with its place.
    pub fn new(text: &str) -> Self {
        Self::with(text, Use::Call, |governor| governor)
    }

    /// A program with something more than a configuration: a store, an outage guard.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn with(
        text: &str,
        of: Use,
        more: impl FnOnce(GovernorBuilder) -> GovernorBuilder,
    ) -> Self {
        let setup = match Setup::from_text("abide.toml", text, of) {
            Ok(setup) => setup,
            Err(errors) => {
                let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                panic!("{}", lines.join("\n"));
            }
        };
        let clock = testing::clock();
        let by: Arc<dyn abide::clock::Clock> = Arc::<Virtual>::clone(&clock);
        let builder = more(setup.governor().clock(by).seed(1).neutral_name(None));
        match builder.build() {
            Ok(governor) => Self {
                setup,
                clock,
                governor,
            },
            Err(e) => panic!("{e}"),
        }
    }
}
