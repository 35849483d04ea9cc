//! Failover: several providers for one question, breakers, and our own network.
//!
//! # Chains
//!
//! A [`Chain`](crate::Chain) asks providers in order. Who is asked next follows from how the last
//! one ended, never from how long it took.
//!
//! | the last one | who is asked next |
//! |---|---|
//! | answered | nobody |
//! | does not have it | the next one |
//! | refused, or had no time for us | local members, and those declared independent |
//! | failed once | nobody: it is a failure of this call |
//! | is known to be down (breaker open, or held for an outage) | the next one |
//! | says that the request is wrong | nobody: it would be wrong anywhere |
//!
//! If nobody answers, the end is a confirmed miss if there was one, else the first refusal, else
//! the first that was down. A miss of a *local* member after a refusal is no miss: the one who
//! would know could not be asked. So you are told the refusal, and when to come back.
//!
//! A call that moves on when it is refused floods the next provider with traffic that was not meant
//! for it, until that one refuses too. That is why a refusal goes to what is at hand
//! ([`local`](crate::Chain::local)). Who shares nothing with those before it, neither vendor nor
//! quota nor address, may be declared [`independent`](crate::Chain::independent). It is asked then;
//! its own gates still bound it.
//!
//! An answer is [`degraded`](crate::Answer) if somebody before it was refused or down. Show it, but
//! never store it as the first one's: a stand-in does not know everything the real one does.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use abide::{Chain, Failed, Governor, Said};
//!
//! let governor = Governor::builder().build().unwrap();
//! let covers = Chain::new(&governor)
//!     .network("covers.example", |_, isbn: Arc<String>| async move {
//!         match isbn.as_str() {
//!             "1" => Ok("a cover"),
//!             _ => Err(Failed::new("404", Said::not_found())),
//!         }
//!     })
//!     .network("more-covers.example", |_, _| async {
//!         let said = Said::rate_limited().after(Duration::from_secs(3600));
//!         Err(Failed::new("429", said))
//!     })
//!     .patience(Duration::ZERO);
//!
//! let found = covers.ask("1".to_owned()).await.unwrap();
//! assert_eq!((found.value, &*found.by, found.degraded), ("a cover", "covers.example", false));
//!
//! // The first one does not have it. That stands, though the second one refuses to say.
//! let missing = covers.ask("2".to_owned()).await.unwrap_err();
//! assert!(missing.is_not_found());
//! # });
//! ```
//!
//! [`patience`](crate::Chain::patience) bounds the waiting of each member,
//! [`deadline`](crate::Chain::deadline) everything together. A member's leave is given back before
//! the next one asks. Members of a chain only read, unless its options say otherwise.
//!
//! # Why there is no hedging
//!
//! A hedge asks a second time when the first answer is slow, and takes whichever comes first. It
//! suits servers of your own. Here it would double the load of a provider that is slow already,
//! spend two units of its quota for one answer, and do a write twice. Slow is not down: wait, or
//! set a deadline.
//!
//! # Breakers
//!
//! A breaker opens after five failures in a row, or when half of at least twenty outcomes in 30 s
//! have failed. While it is open nothing is sent. Then one probe goes; if that fails, it opens
//! again, for twice as long. Where several hosts answer for one provider each has a breaker of its
//! own: one that fails closes none that is well.
//!
//! * Failures are outages and exchanges that broke. Refusals, not-found, mistakes of ours and
//!   callers who left are no failures.
//! * An outcome that says nothing gives the probe's place back, so a breaker cannot stay open for
//!   ever. So does a probe that never ends: its lease lapses.
//! * An answer to a request from before the opening does not close it.
//! * Breakers are of one process. One process with a broken route must not stop the others.
//!
//! # Our own network
//!
//! When a cable is pulled all providers fail at once, and none of them is to blame. What we look
//! for is positive evidence: two hosts that fail within 30 s in a way our own network may have
//! caused, and no answer of anyone in between. With one host only, there must be no way out of this
//! machine at all, or a neutral name that is not found either
//! ([`neutral_dns_failed`](crate::Governor::neutral_dns_failed)). A refused connection and a text
//! of a provider never count: both came from the other side.
//!
//! While offline, everybody waits within patience, and one real request at a time probes. The first
//! answer of anyone ends it, and all gates begin gently. Failures of the time before are taken
//! back, and breakers that they had opened are closed again. What is on this machine goes on
//! meanwhile. [`Governor::is_offline`](crate::Governor::is_offline) tells.
//!
//! # Choosing for people
//!
//! [`ProviderState`](crate::ProviderState) has two views. *Available*: nothing holds it now.
//! *Healthy*: nothing failed since its last success. A list that shows only the healthy ones would
//! hide a provider for ever after one failure, since nobody would ask it again. So that view
//! ([`View::Healthy`](crate::View)) is an error unless each of them has a
//! [`Prober`](crate::Prober), which tries again, behind everybody else, for as long as it is kept.
