//! Whose turn it is to make room for another provider.
//!
//! Whether nobody needs a provider can only be told under its own lock, and it is forgotten under
//! that of the list. No two locks are held together: so whoever is given it between the two leaves
//! a mark here. All of it is read and written while the list is held.

use std::sync::atomic::{AtomicU8, Ordering};

/// Nobody was given the provider since it was its turn.
const UNASKED: u8 = 0;
/// Somebody was.
const ASKED: u8 = 1;
/// It made room: nobody may be given it any more.
const FORGOTTEN: u8 = 2;

/// Whether a provider was asked for since it was its turn to make room.
#[derive(Debug)]
pub(crate) struct Turn(AtomicU8);

impl Default for Turn {
    fn default() -> Self {
        Self(AtomicU8::new(ASKED))
    }
}

impl Turn {
    /// Somebody is given it; `false` where nobody may be.
    pub(crate) fn give(&self) -> bool {
        let asked = self.0.load(Ordering::Relaxed);
        // Hardly ever: a plain request writes nothing that others read.
        if asked == UNASKED {
            self.0.store(ASKED, Ordering::Relaxed);
        }
        asked != FORGOTTEN
    }

    /// Its turn comes; returns whether it was asked for since the last one.
    pub(crate) fn comes(&self) -> bool {
        self.0.swap(UNASKED, Ordering::Relaxed) == ASKED
    }

    /// It is to be forgotten; `false` where somebody asked for it since its turn.
    pub(crate) fn forget(&self) -> bool {
        let unasked = self.0.load(Ordering::Relaxed) == UNASKED;
        if unasked {
            self.0.store(FORGOTTEN, Ordering::Relaxed);
        }
        unasked
    }
}
