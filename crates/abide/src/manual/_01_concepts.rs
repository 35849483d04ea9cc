//! Concepts: what stands between a program and a provider.
//!
//! # Provider, gate, hold
//!
//! A **provider** is a remote service with its own idea of how often it may be asked. Its
//! **profile** says what is known of it: hosts, limits, and how it says no. An origin that no
//! profile knows is a provider of its own, and is read by the headers that everybody uses.
//!
//! A **gate** is all that is known of one limit: whether it is closed, how fast it may be passed,
//! who waits there. Every request passes a *set* of gates, all of them or none. Two are always
//! there: `provider` (everything sent to it from here) and `account` (one credential). A profile
//! adds its own: a route, a bucket, a pool of points. So a search pool that is empty does not stop
//! the other calls.
//!
//! A **hold** closes a gate until an instant. It is the provider's word: *come back at 12:05*. A
//! hold is for everybody who passes the gate, not for the one call that was refused. It can only
//! get longer. An answer to a request that was sent before it proves nothing, so it never opens a
//! gate early. A person may lift a hold ([`Governor::lift`](crate::Governor::lift)).
//!
//! When a hold ends that a refusal has opened, one request goes first: the **probe**. The others
//! follow when it has come back well, at the pace that was last good. From the refusal to that
//! answer is one **episode**. A hold that only says that a window is used up ends without a probe:
//! nobody was refused.
//!
//! # Three machines, not one
//!
//! * The **hold** is what the provider said.
//! * The **breaker** is what we conclude from failures. A refusal is no failure: a provider that
//!   says "too often" is well. So refusals never open a breaker.
//! * The **pace** is our plan: known limits, spacing, and a rate that is learned from refusals. It
//!   keeps refusals from happening.
//!
//! # What an answer means
//!
//! Reading is done in two steps. The *signal* is what an answer said: status, headers, the
//! beginning of its body. The **verdict** is what it means ([`Verdict`](crate::core::Verdict)):
//!
//! | verdict | what follows |
//! |---|---|
//! | success, not found | an answer |
//! | client error, auth error | an answer too: waiting heals neither a mistake nor a credential |
//! | rate limited | a hold; waited for, within patience |
//! | quota exhausted | a hold; never waited for in a call, since a day is no wait |
//! | banned | a hold; not sent again |
//! | unavailable | tried again where `retry.on` says so; a hold if it names a time |
//! | offline | our own network is down: says nothing about the provider |
//!
//! Beside the verdict stands the *scope*: this request alone, or one of its gates. And the **ask**:
//! the instant the provider wants us to stay away until, with its source. Sources are believed in
//! this order: `Retry-After` and its finer forms, resets of quotas, the body, what the profile
//! knows. Where nobody says when, a *ladder* of growing waits stands in: 1 s, 2 s, up to a minute.
//! One rung is climbed for each refused probe, never for each of ten requests that were on the wire
//! together.
//!
//! Instants are read by the clock that wrote them: if an answer's `Date` is off from ours, so is
//! its reset. Rounding goes up. Dice are thrown for waits of our own only. So a wait that a
//! provider asked for never ends early.
//!
//! # A call
//!
//! A call waits for leave, sends, reads, and may do so again. All its waiting together is bounded
//! by its **patience** ([`Patience`](crate::Patience)): in line, at holds, between attempts. One
//! wait is bounded by `wait.max`, everything up to the final head by the **deadline**. What cannot
//! be served within these is turned away *at once and unsent*: nobody sleeps for 30 s to be told
//! then that it was 40 s too early.
//!
//! Who is turned away gets a refusal ([`TurnedAway`](crate::TurnedAway)): why, who decided, how
//! often it was sent, how long it waited, and `retry_at`, if anyone knows. The true ask travels
//! through every cap of ours: if a provider asks for two months, that is what you are told.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use std::time::Duration;
//!
//! use abide::core::call::Safety;
//! use abide::{Failed, Governor, Said};
//!
//! let governor = Governor::builder().build().unwrap();
//! // The provider asks to be left alone for an hour. A call has patience for 30 s: it ends now.
//! let refused = governor
//!     .call("shop.example", Safety::Read, |_| async {
//!         let said = Said::rate_limited().after(Duration::from_secs(3600));
//!         Err::<(), _>(Failed::new("429", said))
//!     })
//!     .await
//!     .unwrap_err();
//! assert!(refused.turned().is_rate_limited());
//! assert!(refused.turned().retry_at().is_some());
//!
//! // The hold is everybody's. This call is turned away without being sent.
//! let mut sent = 0;
//! let other = governor
//!     .call("shop.example", Safety::Read, |_| {
//!         sent += 1;
//!         async { Ok::<_, Failed<&str>>("an answer") }
//!     })
//!     .await;
//! assert!(other.is_err());
//! assert_eq!(sent, 0);
//! # });
//! ```
//!
//! # Four ways in
//!
//! * [`Client`](crate::Client): an HTTP client. Redirects pass the gates of each hop.
//! * [`Governor::call`](crate::Governor::call): any future, such as the call of an SDK. You say
//!   what its error means ([`Said`](crate::Said)); the error itself comes back as it was.
//! * `abide::Layer` (feature `layer`): a middleware around any tower service that speaks HTTP.
//! * [`run`](crate::run): many items at once.
//!
//! All of them go through one [`Governor`](crate::Governor). Its clones share everything, so give
//! the same one to all parts of a program. What was met elsewhere can be told to it
//! ([`Governor::report`](crate::Governor::report)).
//!
//! # Time and processes
//!
//! Waits are measured on a clock that counts suspended time where there is one: an hour is an hour
//! of the provider's time. With a store in a file (feature `sqlite`, [`store`](crate::store)) holds
//! and what was learned outlive the process. Processes of one machine share the holds in it, as
//! long as each keeps looking ([`Governor::keep_looking`](crate::Governor::keep_looking)). Each has
//! its own pace and its own probe.
