//! Every default, and why it is that.
//!
//! Defaults are for a program that somebody waits for, and that knows nothing of its provider. A
//! bulk run has some of its own: it would rather wait than fail. A profile of the catalogue brings
//! what its provider documents. In `abide.toml` you tighten such a limit freely, and loosen it only
//! with `override = true`.
//!
//! The full table, with every key of `abide.toml` and the values it takes, is `docs/policy.md` in
//! the repository. `abide config show` prints what is in force and where each value came from.
//! [`Governor::describe`](crate::Governor::describe) says which protections are live in a running
//! program.
//!
//! # One call
//!
//! | knob | default | in a run | why |
//! |---|---|---|---|
//! | `attempts` | 4 | 8 | counts the first send; the fourth is seldom luckier than the third |
//! | `patience` | 30 s | 5 min | what a person waits; five minutes cover limits by the minute |
//! | `wait.max` | the patience | the patience | one wait may use all of it up |
//! | `deadline` | none | none | how long an answer may take is the caller's to know |
//! | `backoff.*` | 250 ms × 2 up to 8 s | the same | longer than a hiccup, shorter than noticed |
//! | `retry.on` | see the next chapter | the same | what waiting heals |
//! | `retry.write` | never | never | only the caller knows what a second write would do |
//! | `body.replay` | 64 KiB | 64 MiB | most bodies fit; a run has its items at hand anyway |
//! | `body.sample` | 64 KiB | the same | errors are short, and memory is shared |
//!
//! Waits of our own are drawn evenly between nothing and the ceiling (full jitter), so that callers
//! that failed together do not come back together. Waits that a provider asked for are kept to the
//! end.
//!
//! # Gates
//!
//! | knob | default | why |
//! |---|---|---|
//! | `rate`, `limits` | none | a guessed limit wastes most of what is allowed |
//! | `burst` | 1 | not every provider allows a burst |
//! | `concurrency` | 8 a provider | a little more than a browser opens to a host |
//! | `pace.gentle` | on | bans count what was on the wire together |
//! | `pace.adaptive` | auto | learns a rate from refusals, where no limit is known |
//! | `pace.interval.*` | 1 s × 2 up to 8 s | known steps, where `interval` is chosen |
//! | `pace.interval.decay_after` | 20 answers halve it | fewer would be back within its window |
//! | `pace.interval.off_below` | 500 ms | a shorter interval slows nobody who waits for answers |
//! | `ladder.*` | 1 s × 2 up to 1 min | the hold after a refusal that names no time |
//! | `hold.on` | none | one broken server behind a balancer must not stop the rest |
//! | `hold.floor` | 0 s | the provider's word counts |
//! | `hold.max` | 31 days | a longer ask is a mistake of unit; it is told all the same |
//! | `hold.ban` | 1 day | after a ban that names no end: asking sooner makes it longer, and a person may lift it |
//! | `hint.zero` | 1 s | `Retry-After: 0`, taken at its word, is a hot loop |
//! | `quota.from`, `quota.to` | 6 h, 31 days | an ask between them is a quota, not waited for |
//! | `probe.lease` | 1 min | longer than any answer takes; a lost probe costs no more |
//! | `probe.gap` | 1 s | between two probes when one ended without a verdict |
//! | `ban.redirects` | one captcha wall | following it only proves us a robot |
//! | `queue.max` | 100,000 | beyond it a caller is better served by a refusal |
//! | `gates.max` | 100,000 | memory is bounded; new accounts then share one gate |
//!
//! `account.*` and `route.*` set the limits of each credential and of each route or bucket. They
//! have none of their own. `profile` and `plan` are looked up and none: the smallest allowance is
//! the one that is safe for all.
//!
//! A gentle start lets out two requests for a quarter of a second, then three times as many as have
//! come back well together, and no more than fourteen until a hundred were served.
//! The learned rate does nothing until the first refusal: an account that was never refused is
//! never slowed. An idle hour leaves it where it was. It never falls to nothing.
//!
//! # Failures
//!
//! | knob | default | in a run | why |
//! |---|---|---|---|
//! | `breaker.enabled` | on | the same | a broken provider heals sooner unasked |
//! | `breaker.failures` | 5 in a row | the same | fewer are bad luck, more are a habit |
//! | `breaker.ratio` | half of at least 20 in 30 s | the same | half is no accident any more |
//! | `breaker.open` | 30 s, doubling up to 5 min | 1 s, a quarter longer each time, up to 1 min | a run asks sooner |
//! | `breaker.probe_lease` | 1 min | the same | as for a hold's probe |
//! | `budget.ratio` | 0.2 | the same | a fifth more load is what a recovering provider bears |
//! | `budget.per_second` | 3 | the same | a quiet program must be able to repeat at all |
//! | `budget.cap` | 100 | the same | a long calm must not pay for a storm |
//! | `budget.failure_cost` | 1 | the same | after a refusal nothing: the hold bounds it |
//! | `budget.timeout_cost` | 2 | the same | a timeout has cost the provider the whole work |
//! | `outage.enabled` | on | the same | rather one network is down than all providers |
//! | `outage.window` | 30 s | the same | as long as a request takes to time out |
//!
//! # A run
//!
//! | knob | default | why |
//! |---|---|---|
//! | `run.max_waits` | 3 | waits of one item in a row without any answer in its lane |
//! | `run.budget` | 10 min | wall time that one provider's holds may block the run |
//! | `run.streak` | 3 | items in a row still refused before a provider is asked no more |
//!
//! Of `abide fetch` alone: `timeout` 30 s for one attempt up to its head, and for a body that
//! stands still; `max_redirects` 10; `max_body` 64 MiB; `user_agent` abide and its version, since
//! honest names get better service. In [`BulkPolicy`](crate::run::BulkPolicy) one attempt may take
//! 10 min, head and body together.
//!
//! # The client
//!
//! Redirects followed: 10. Connecting, and a head or a body that stands still: 60 s each, where you
//! bring no HTTP client of your own.
//!
//! # Changing them
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use std::time::Duration;
//!
//! use abide::core::call::CallPolicy;
//! use abide::core::policy::ProviderPolicy;
//!
//! // For all providers that nobody said anything about.
//! let mut gates = ProviderPolicy::default();
//! gates.account.concurrency = 4;
//! let governor = abide::Governor::builder().policy(gates).build().unwrap();
//!
//! // For all calls of this client that bring none of their own.
//! let mut call = CallPolicy::default();
//! call.patience = Duration::from_secs(5);
//! let client = abide::Client::builder().governor(governor).call(call).build().unwrap();
//!
//! // For one provider, while the program runs. Holds and balances stay.
//! let shop = client.provider("shop.example");
//! shop.change(|policy| policy.provider.concurrency = 2);
//! let told = client.governor().describe().to_string();
//! assert!(told.contains("at most 2 on the wire"), "{told}");
//! # });
//! ```
//!
//! For one request there are the methods of [`RequestBuilder`](crate::RequestBuilder): `up_to`,
//! `fail_fast`, `deadline`, `attempts`.
//!
//! # Modes
//!
//! To find out what abide would do before it does it, a provider is put into another
//! [`Mode`](crate::core::policy::Mode): in `observe` answers are read and holds are kept, and
//! nothing waits for them; in `shadow` what would have waited is told as an event, too. The default
//! is `enforce`.
