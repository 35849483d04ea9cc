//! What a person said of a hold.
//!
//! Kept apart from holds: those are a few words of fixed size which every answer may change, and a
//! reason is a text that only somebody who looks at the list wants to read.

use abide_core::WallTime;
use abide_core::hold::HoldId;

/// The most notes kept; of more, those whose holds end first are forgotten. More holds than that
/// no person has set by hand.
pub(crate) const NOTES: usize = 1_024;

/// A person placed or lengthened this hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldNote {
    /// The hold.
    pub hold: HoldId,
    /// When the hold ends, and nobody needs the note any more.
    pub until: WallTime,
    /// Why, in the person's words.
    pub reason: Option<String>,
}

impl HoldNote {
    /// With what was said of the hold before: a reason stays until another is given, and a hold only
    /// lengthens.
    pub(crate) fn after(mut self, before: Option<Self>) -> Self {
        if let Some(before) = before {
            self.until = self.until.max(before.until);
            self.reason = self.reason.or(before.reason);
        }
        self
    }
}
