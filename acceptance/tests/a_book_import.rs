//! What a book importer requires, requirement by requirement: `a01_…` to `a23_…`; `a2_…` for
//! what only its code says, `a3_…` for what its users complained of.
//!
//! The program asks six providers by one request loop and a seventh, which has a pace of its own
//! for each account. A request loop for whoever looks at a page, an import that waits holds out.
//!
//! Where it decides otherwise than abide does by itself, `abide.toml` says so ([`LOOP`]): an ask
//! is believed for 30 s at most (`hold.max`), bare 502, 503 and 504 hold everybody (`hold.on`),
//! a zero says nothing (`hint.zero`).
//!
//! Where the two differ all the same, and why:
//!
//! * our own waits are drawn evenly from nothing up to the same ceilings (full jitter), not from
//!   their upper half: callers that failed together come back further apart;
//! * a hold without an ask grows by the ladder, whose steps are those ceilings, without dice;
//! * a hold ends with one request, not with all who waited at once;
//! * a final answer (the day's quota) holds the gate: asking again before midnight is useless;
//! * a used-up quota is a rate limit too; what tells it apart is its cause;
//! * redaction is everybody's, not one provider's.
//!
//! Open:
//!
//! * a share of a quota kept for the foreground while the background works (a complaint about
//!   another program, whose own cure was such a reserve): urgency puts the foreground first in
//!   the queue, but what the background has spent of a day is spent.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "a_book_import/common.rs"]
mod common;
#[path = "a_book_import/day.rs"]
mod day;
#[path = "a_book_import/gate.rs"]
mod gate;
#[path = "a_book_import/hardcover.rs"]
mod hardcover;
#[path = "a_book_import/import.rs"]
mod import;
#[path = "a_book_import/lookups.rs"]
mod lookups;
#[path = "a_book_import/reports.rs"]
mod reports;
#[path = "a_book_import/request_loop.rs"]
mod request_loop;
#[path = "a_book_import/sockets.rs"]
mod sockets;
