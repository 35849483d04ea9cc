//! What other clients get wrong, and what abide does there.
//!
//! Most programs handle refusals with a loop and a sleep. These are the faults that such loops
//! have, over and over, in every language. None of them shows up in a test with one caller and a
//! friendly server.
//!
//! # Waiting
//!
//! | fault | what comes of it | abide |
//! |---|---|---|
//! | every call sleeps alone | a thousand callers learn one fact a thousand times | one refusal is one hold, for everybody it covers; who waits there uses up no attempt |
//! | all wake together | the herd is refused at once, or banned | one probe goes first, then the pace that was last good |
//! | a longest wait that cuts the ask short | it asks again too early, each time | a wait longer than the patience fails at once, unsent, and says when |
//! | a wait too long to be believed is ignored | it falls back to a *shorter* wait | too long is not absent: the hold stays for all, and the true ask is told |
//! | a cap on each wait only | four waits of 30 s are two minutes | patience bounds the sum: in line, at holds, between attempts |
//! | the wait is outside the deadline | it sleeps 30 s and then fails | compared before waiting: it fails at once |
//! | a sleep after the last attempt | the caller waits for nothing | there is none |
//! | dice thrown on the provider's ask | half of the callers come early | dice are for our own backoff only |
//! | a hint of zero taken at its word | a hot loop | a floor of a second, unless another source says more |
//! | a negative or garbled hint | a crash, or no wait at all | it is absent; the ladder stands in |
//! | instants read by our own clock | a reset seen as past, or an hour away | read by the `Date` of the same answer |
//! | one unit for a field of many | milliseconds or an epoch slept as seconds | told by its size, and by what the profile knows |
//! | a used-up day waited for | a program that seems to hang | a quota is never waited for in a call |
//! | the first ask counts for ever | a second, longer one is missed | a hold grows to the longest of all that is said |
//!
//! # Holding
//!
//! | fault | what comes of it | abide |
//! |---|---|---|
//! | a late 200 reopens the gate | a request from before the refusal "proves" that it is over | only an answer to a request sent after the hold ends it |
//! | one refused route stops everything | a search limit stops all other calls | a refusal covers what its gate covers |
//! | one stopped provider stops the queue | the others are not asked | a line for each gate; a lane for each provider |
//! | the hold is only in memory | a restart asks again, into the ban | holds are kept in a store and restored with their true end |
//! | a hold that nobody can see | a program that seems to hang | [`Governor::held`](crate::Governor::held), [`ProviderState`](crate::ProviderState), events |
//! | a limiter without a floor | its rate falls to nothing and never comes back | the learned rate has a floor; an idle hour leaves it unchanged |
//! | a rate changed while running | a burst at the change | what was spent is taken over |
//! | several limits, checked one by one | a refused one still uses up the others | all gates or none |
//!
//! # Judging
//!
//! | fault | what comes of it | abide |
//! |---|---|---|
//! | refusals counted as failures | the breaker opens on a provider that is well | refusals are neutral |
//! | refusals counted as successes | they close the breaker, or reset its count | neutral, both ways |
//! | a probe without a verdict keeps its place | the breaker is open for ever | the place is given back, or its lease lapses |
//! | only the status is looked at | an error in a 200 is a success, stored as "there is none" | rules of the profile look at codes in the body |
//! | words in a body are matched | a user's own text looks like a refusal | codes set by the server first; text by expressions that a user cannot provoke |
//! | a page in place of data | "0 items", successfully | a failure, where only JSON is of use |
//! | a failed login with an empty quota | an hour's sleep | headers say when, never whether |
//! | not-found is an error | fallbacks and repeats for what is not there | not-found is an answer |
//! | our own outage is blamed on providers | all breakers open, all fallbacks flooded | told from theirs; what was counted is taken back |
//! | a refused connection taken for offline | everything stops for one dead host | it came from the other side, so it is no evidence |
//! | the caller left, and the provider is blamed | health falls with every closed tab | its place is freed, nobody is blamed |
//!
//! # Repeating
//!
//! | fault | what comes of it | abide |
//! |---|---|---|
//! | writes are repeated | two orders | a write is sent once, unless you say more |
//! | every failed connect is "safe" | the same | safe is only what never left |
//! | a timeout bounds all tries | the first slow one ends the call | one bound for an attempt, another for everything |
//! | each layer repeats | 4 × 3 attempts | only one layer does; attempts are told as they were on the wire |
//! | no shared budget | repeats keep a recovering provider down | a fifth of the successes, and three a second |
//! | a body that cannot be copied | the call fails, or goes out again without its body | it goes out once, whole |
//! | repeats after the first bytes | the caller reads the beginning twice | nothing is repeated then |
//! | failover on a refusal | the next provider is flooded in its turn | local stand-ins only, unless declared independent |
//! | a stand-in's answer stored as the real one's | wrong data, for good | it is marked as degraded |
//!
//! # Bulk
//!
//! | fault | what comes of it | abide |
//! |---|---|---|
//! | a refusal fails its row | half an import is missing | it is waited out; else the row is skipped, and says when to come back |
//! | every row fails on its own against a wall | hours of refusals | a streak stops the provider; the rest ends at once |
//! | waits counted for each item | ten items in one wait are ten waits | wall time counts once |
//! | what is missing cannot be seen | nobody asks again | every item ends exactly once, in one of four ways |
//! | a rerun begins anew | done work is done again | `--resume` goes on where it was |
//!
//! # Telling
//!
//! | fault | what comes of it | abide |
//! |---|---|---|
//! | an error without a time | callers guess | every refusal says when, if anyone knows |
//! | an error shows its URL | keys in logs | redacted in every level of the error, and in what is printed for debugging |
//! | redaction loses the kind | nobody can decide by it | kinds are values, not text |
//! | protections that are not installed | nobody notices | [`Governor::describe`](crate::Governor::describe) lists what is live |
//!
//! # Seen from outside
//!
//! A refusal says something about when to ask, and nothing about health:
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use std::time::Duration;
//!
//! use abide::core::{Scope, Verdict};
//! use abide::{Governor, Said};
//!
//! let governor = Governor::builder().build().unwrap();
//! // Another library of this program was refused; all of it is to know.
//! let said = Said::rate_limited().covers(Scope::Provider).after(Duration::from_secs(3600));
//! governor.report("shop.example", &said);
//!
//! let shop = governor.provider("shop.example").state();
//! assert!(shop.healthy && !shop.available);
//! assert_eq!((shop.cause, shop.failures), (Some(Verdict::RateLimited), 0));
//! assert!(shop.retry_at.is_some());
//! # });
//! ```
//!
//! # In your own tests
//!
//! A simulated provider (feature `testing`) knows what was done to it. Its clock stands still until
//! everybody waits, so an hour's hold is over at once:
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
//! use std::time::Duration;
//!
//! use abide::core::call::Safety;
//! use abide::sim::policy::TokenBucket;
//! use abide::testing::{self, Sim};
//!
//! let clock = testing::clock();
//! let governor = testing::governor(&clock).build().unwrap();
//! // Ten a second, one at once: far slower than this loop asks.
//! let shop = Sim::new(TokenBucket::new(10, Duration::from_secs(1), 1), &clock);
//! for n in 0..20 {
//!     let asked = governor.call("shop.example", Safety::Read, |_| shop.ask(format!("/{n}")));
//!     asked.await.unwrap();
//! }
//! shop.assert_no_send_inside_hold();
//! assert_eq!(shop.truth().accepted, 20);
//! # });
//! ```
