//! Bulk: a thousand items, none of them lost.
//!
//! A single call would rather fail than keep a person waiting. A run would rather wait than fail an
//! item, and rather stop than hammer. `abide fetch` is such a run on the command line; here is how
//! it works, and [`run`](crate::run) is the same for a Rust program.
//!
//! # Ends
//!
//! Every item ends once, as one of four ([`Outcome`](crate::run::Outcome)):
//!
//! * `done`: the provider gave what was asked;
//! * `not_found`: it said that there is no such thing, which is an answer;
//! * `skipped`: refused, or not asked since its provider keeps refusing, with the time to come
//!   back;
//! * `failed`: wrong by itself, or no answer after all attempts.
//!
//! An item is skipped only after a refusal, never because the line is long.
//!
//! # Lanes
//!
//! Items of one provider and account stand in one **lane**. A held lane takes nothing in hand, and
//! the others go on at full speed. Concurrency counts requests on the wire, never waits: a hundred
//! items that wait at one provider take no place from another.
//!
//! # What is waited for
//!
//! Queueing is free. Waiting at holds is bounded three ways, for each lane:
//!
//! * **waits of one item**: after three in a row without any answer in its lane it is skipped. If
//!   others got through meanwhile, the count starts anew: the provider serves, so waiting makes
//!   sense. `patience` (5 min) bounds all waits of one item together.
//! * **the wait budget**: 10 min of wall time that the lane's holds may block the run. Time counts
//!   once, however many items waited in it.
//! * **the streak**: three items in a row that were still refused after their waits stop the lane.
//!   A used-up quota or a ban stops it at once. Its other items end as skipped, unsent. Any answer
//!   ends a streak.
//!
//! A failure of one item is that item's alone. It counts towards the streak only while the breaker
//! is open, since then the provider fails everyone.
//!
//! # Rows that are several calls
//!
//! A row of an import is seldom one request. [`Lookups`](crate::run::Lookups) runs closures by the
//! same rules: each makes whatever calls it needs, without waiting by itself, and the run waits
//! where the primary provider asked for it. Another provider's hold fails its own row at most.
//!
//! # Writes
//!
//! Before a write is sent, its sink is asked to commit that it will be
//! ([`Sink::intend`](crate::run::Sink)); what cannot be committed is not sent. If the process dies
//! in between, nobody but the provider knows what became of the write. So `abide fetch` does not
//! send it again: on `--resume` it ends as `failed`, its effect unknown.
//!
//! # Stop and go on
//!
//! Told to stop, a run lets what is on the wire end, for at most 20 s, and leaves the rest as it
//! was. `abide fetch` keeps a ledger: lines are written first, then the group is committed with the
//! output's length. `--resume` cuts the output back to that length and goes on: after Ctrl-C, a
//! kill or a crash nothing is lost and no item has two lines. `--resume --retry-skipped` asks again
//! for what was skipped. The library itself writes no file: where items come from and where answers
//! go is yours.
//!
//! ```sh
//! abide fetch urls.txt --out results.jsonl
//! abide fetch urls.txt --out results.jsonl --resume
//! ```
//!
//! # In a Rust program
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use abide::core::run::Item;
//! use abide::run::{Bulk, BulkPolicy, Outcome, Report, Sink, Source, Wanted};
//! use http::{HeaderMap, Method};
//! use tokio_util::sync::CancellationToken;
//! use url::Url;
//!
//! /// Where items come from.
//! struct List(Vec<Url>);
//!
//! impl Source for List {
//!     fn load(&self, item: Item) -> Result<Wanted, String> {
//!         let url = self.0.get(item as usize).ok_or("there is no such item")?;
//!         Ok(Wanted::get(url.clone()))
//!     }
//! }
//!
//! /// Where answers go.
//! #[derive(Default)]
//! struct Kept(Mutex<Vec<Report>>);
//!
//! impl Sink for Kept {
//!     async fn intend(&self, _write: Item) -> Result<(), String> {
//!         Ok(())
//!     }
//!
//!     async fn take(&self, report: Report) {
//!         self.0.lock().unwrap().push(report);
//!     }
//! }
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! # let provider = abide_sim::Provider::new(abide_sim::policy::Plain::new());
//! # let server = abide_sim::http::Server::start(provider, Default::default()).unwrap();
//! # let base = server.url();
//! let client = abide::Client::new().unwrap();
//! // `base` is where a small server of this example listens.
//! let urls: Vec<Url> = ["/a", "/b", "/c"]
//!     .iter()
//!     .map(|path| format!("{base}{path}").parse().unwrap())
//!     .collect();
//!
//! let mut bulk = Bulk::new(&client, BulkPolicy::default());
//! for (item, url) in (0..).zip(&urls) {
//!     let target = bulk.target(&Method::GET, url, &HeaderMap::new()).unwrap();
//!     bulk.add(&target, item, 3, None);
//! }
//! let kept = Arc::new(Kept::default());
//! let stop = CancellationToken::new();
//! let totals = bulk.work(Arc::new(List(urls)), Arc::clone(&kept), stop).await;
//!
//! let reports = kept.0.lock().unwrap();
//! assert_eq!((reports.len(), totals.requests), (3, 3));
//! assert!(reports.iter().all(|report| report.outcome == Outcome::Done));
//! # });
//! ```
//!
//! [`Totals`](crate::run::Totals) tells the rest: refusals met, how long holds blocked the run, and
//! which providers are not asked any more, why, and when to come back.
