//! What an attempt asks admission with.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use abide_core::queue::Urgency;
use tokio::sync::Semaphore;

use crate::target::Target;

/// Something to be done after leave to send was given and before the send: the commitment of a
/// write's intent. An error says why nothing may be sent.
pub type BeforeStart =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// What an attempt asks admission with.
#[derive(Clone)]
pub struct Admission {
    /// Where it goes.
    pub target: Target,
    /// How many units it costs.
    pub cost: u32,
    /// How urgent it is.
    pub urgency: Urgency,
    /// Whom to be fair to.
    pub fair: u64,
    /// Places on the wire that several providers share; one is taken before the start.
    pub wire: Option<Arc<Semaphore>>,
    /// To be done before the send.
    pub before_start: Option<BeforeStart>,
    /// The longest closing waited for, within the call's own limits; no bound when absent.
    pub closing_max: Option<Duration>,
    /// Whether it keeps to the pace of its gates. One that is exempt (a token to be renewed, a
    /// question that costs nothing) still waits at holds, open breakers and for a place on the
    /// wire.
    pub paced: bool,
    /// Whoever asks has something to do between leave and start.
    pub(crate) two_steps: bool,
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl Admission {
    /// A plain request to a target.
    pub const fn to(target: Target) -> Self {
        Self {
            target,
            cost: 1,
            urgency: Urgency::NORMAL,
            fair: 0,
            wire: None,
            before_start: None,
            closing_max: None,
            paced: true,
            two_steps: false,
        }
    }
}
