//! Retries and writes: what is sent again, and what never is.
//!
//! Before anything is sent again, four questions are asked. All must be answered with yes.
//!
//! # 1. Can waiting help?
//!
//! `retry.on` says so. Tried again are, by default:
//!
//! * refusals of the rate, whatever their status was;
//! * 408, 425, 502, 503, 504 and 529;
//! * any outage that names a time: the server itself invites us back;
//! * exchanges that broke before the head of the answer came.
//!
//! Not tried again: a 500, which repeats far more often than it heals; a quota, since a day is no
//! wait; a ban; a failed login; a mistake of ours. A `Retry-After` on a 409 says when, not whether:
//! the status decides.
//!
//! # 2. May it be done twice?
//!
//! Each request has a [`Safety`](crate::core::call::Safety).
//!
//! | safety | may be sent again | who says so |
//! |---|---|---|
//! | `Read` | yes | GET, HEAD, OPTIONS, TRACE, QUERY; a profile (a search, a GraphQL query); you |
//! | `Idempotent` | yes | you, with a key by which the provider knows a repeat |
//! | `Checked` | after asking whether it happened | you, with a way to ask |
//! | `Write` | no | everything else |
//!
//! PUT and DELETE are writes. HTTP calls them idempotent, but a PUT that merges a branch merges
//! twice. Say [`read`](crate::RequestBuilder::read) or
//! [`idempotent`](crate::RequestBuilder::idempotent) where you know better.
//!
//! A write *is* sent again when no byte of it went out: nobody listened, the name was not found. A
//! timeout after the send is not that case: its effect is unknown. With `retry.write =
//! "refused-only"` a write is also repeated after a refusal of the rate. That is an opt-in, since
//! few providers promise that what they refused was not done.
//!
//! ```no_run
//! # async fn example(client: abide::Client) -> Result<(), abide::Error> {
//! // The provider knows a repeat by its key. The header is the one its profile names.
//! let order = client.post("https://api.shop.example/orders").body("{\"sku\": 7}");
//! order.idempotent("order-7").send().await?;
//!
//! // No key, but a way to ask. What the check finds is returned in place of the write's answer;
//! // `None` sends the write again; an error ends it, since its effect is unknown.
//! let label = "https://api.shop.example/labels/7";
//! let asks = client.clone();
//! client
//!     .put(label)
//!     .body("{\"name\": \"seven\"}")
//!     .check_then_write(move || {
//!         let asks = asks.clone();
//!         async move {
//!             let found = asks.get(label).send().await?;
//!             let is_there = found.status().is_success();
//!             Ok::<_, abide::Error>(is_there.then_some(found))
//!         }
//!     })
//!     .send()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! # 3. Is there time, and an attempt left?
//!
//! `attempts` counts sends, the first one included. After the last one nobody sleeps. A wait that
//! would end after the patience or the deadline is not begun: the call fails at once and says when
//! to come back. A hold is waited for in line, at its gate. A backoff is waited for apart.
//!
//! # 4. Is there budget?
//!
//! Repeats multiply the load of a provider that is failing already. So all calls to one provider
//! share a budget: a fifth of its successes, and three a second. A repeat after a timeout costs
//! two. A repeat after a *refusal* costs nothing: the hold bounds it. Waiting costs nothing either,
//! and no attempt.
//!
//! # The body
//!
//! To be sent again, a body must be at hand. One of at most `body.replay` bytes is kept. A larger
//! one, or a stream, is never refused for that: it goes out once, and if it should go again, the
//! refusal says that its body was not kept.
//!
//! # Redirects
//!
//! Every hop is a request of its own. It passes the gates of *its* provider, after the hop before
//! was given back. Credentials do not cross an origin. After a 301, 302 or 303 all but GET and HEAD
//! become a GET without a body; 307 and 308 keep both. A redirect to a known captcha wall is a ban,
//! and is not followed.
//!
//! # Answers that break off
//!
//! Once a byte of the answer has reached the caller, nothing is repeated. A run collects bodies
//! itself, so there an answer that broke off is asked for again.
//!
//! # The difference, in numbers
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
//! use abide::core::call::Safety;
//! use abide::testing;
//! use abide::{Failed, Said};
//!
//! // With this clock and tokio's time paused no test really waits.
//! let clock = testing::clock();
//! let governor = testing::governor(&clock).build().unwrap();
//! for (safety, expected) in [(Safety::Read, 4), (Safety::Write, 1)] {
//!     let mut sends = 0;
//!     let ended = governor
//!         .call("shop.example", safety, |_| {
//!             sends += 1;
//!             async { Err::<(), _>(Failed::new("503", Said::unavailable())) }
//!         })
//!         .await;
//!     assert!(ended.is_err());
//!     assert_eq!(sends, expected);
//! }
//! # });
//! ```
//!
//! # Other layers
//!
//! If a library below repeats as well, four attempts become twelve, and its repeats pass no gate.
//! The client switches off those of its HTTP library. In an SDK under
//! [`Governor::call`](crate::Governor::call), set retries to none.
