//! Where whoever makes calls has a say in them.

use abide_core::call::Call;
use abide_core::refusal::Refusal;
use abide_core::{Finding, Instant};

use crate::admission::Admission;
use crate::permit::Permit;
use crate::response::{BodyError, Response};
use crate::shard::Handle;

/// Where a bulk run has a say in its items' calls.
pub(crate) trait Hooks: Send {
    /// Asks for leave to send; the default waits for it.
    fn acquire(
        &mut self,
        shard: &Handle,
        admission: &Admission,
        call: &mut Call,
    ) -> impl Future<Output = Result<Permit, Refused>> + Send {
        async {
            Permit::acquire(shard, admission, call)
                .await
                .map_err(Refused::Turned)
        }
    }

    /// Reads the body as part of the attempt; the default leaves it to the caller.
    fn collect(
        &mut self,
        _response: &mut Response,
    ) -> impl Future<Output = Result<(), BodyError>> + Send {
        async { Ok(()) }
    }

    /// Whether an answer that broke off in its body may be asked for again: only while nothing of
    /// it has reached the caller.
    const REPEATS_BODIES: bool = false;

    /// An attempt was refused and a repeat is planned; `false` gives up.
    fn repeats_after(&mut self, _now: Instant, _finding: &Finding) -> bool {
        true
    }
}

/// Why there was no leave to send.
pub(crate) enum Refused {
    /// Turned away by the machine.
    Turned(Box<Refusal>),
    /// The caller itself left.
    Left,
}

/// A call without a run around it.
pub(crate) struct Plain;

impl Hooks for Plain {}
