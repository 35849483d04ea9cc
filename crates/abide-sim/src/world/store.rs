//! A store that the clients of one provider share: it knows the limit and lends it out, and passes
//! holds on.
//!
//! It is as far away as the provider is. Who asks first is served first, with what there is at
//! that instant, up to a batch; where there is nothing the next permit goes to who has waited
//! longest.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use abide_core::Instant;
use abide_core::gate::GateKey;
use abide_core::hold::Hold;
use abide_core::lease::LeaseId;
use abide_core::provider::News;

use super::driver::{Ask, told};
use crate::policy::TokenBucket;

/// How long a permit may be spent: longer than anybody waits for the wire, short beside a limit's
/// window.
const LASTS: Duration = Duration::from_secs(1);

/// A store that knows a limit.
#[derive(Debug)]
pub struct Store {
    limit: TokenBucket,
    batch: u32,
    trip: Duration,
    mail: BTreeMap<(Instant, u64), Mail>,
    posted: u64,
    line: VecDeque<Waiting>,
    /// When there is a permit for the first in line.
    due: Option<Instant>,
}

#[derive(Debug)]
enum Mail {
    /// On its way to the store.
    Asked(Waiting),
    /// On its way to a client.
    News(Delivery),
}

/// News for a gate of a site.
pub(super) type Delivery = (usize, GateKey, News);

#[derive(Debug)]
struct Waiting {
    site: usize,
    key: GateKey,
    cost: u32,
    id: LeaseId,
    got: u32,
}

impl Store {
    /// Lends what `limit` lets in, at most `batch` at once, over a wire of `trip` there and back.
    pub fn new(limit: TokenBucket, batch: u32, trip: Duration) -> Self {
        Self {
            limit,
            batch: batch.max(1),
            trip,
            mail: BTreeMap::new(),
            posted: 0,
            line: VecDeque::new(),
            due: None,
        }
    }

    fn post(&mut self, at: Instant, mail: Mail) {
        self.posted += 1;
        self.mail.insert((at, self.posted), mail);
    }

    /// A client asks; `others` are those that it shares the store with.
    pub(super) fn take(&mut self, now: Instant, site: usize, ask: Ask, others: &[usize]) {
        match ask {
            Ask::Acquire { key, cost, id } => {
                let asked = Waiting {
                    site,
                    key,
                    cost,
                    id,
                    got: 0,
                };
                self.post(now.after(self.trip / 2), Mail::Asked(asked));
            }
            Ask::Announce { key, hold } => self.pass_on(now, key, hold, others),
        }
    }

    fn pass_on(&mut self, now: Instant, key: GateKey, hold: Option<Hold>, others: &[usize]) {
        let news = || hold.map_or(News::Lifted { id: None }, told);
        for other in others {
            let mail = Mail::News((*other, key, news()));
            self.post(now.after(self.trip), mail);
        }
    }

    /// When anything happens here.
    pub(super) fn next(&self) -> Option<Instant> {
        let mail = self.mail.first_key_value().map(|((at, _), _)| *at);
        [mail, self.due].into_iter().flatten().min()
    }

    /// Everything that happens up to `now`, and the news that arrive.
    pub(super) fn run(&mut self, now: Instant) -> Vec<Delivery> {
        let mut arrived = Vec::new();
        while let Some(entry) = self.mail.first_entry()
            && entry.key().0 <= now
        {
            match entry.remove() {
                Mail::Asked(asked) => self.line.push_back(asked),
                Mail::News(news) => arrived.push(news),
            }
        }
        self.lend(now);
        arrived
    }

    fn lend(&mut self, now: Instant) {
        self.due = None;
        while let Some(first) = self.line.front_mut() {
            let most = self.batch.max(first.cost);
            while first.got < most {
                if let Err(wait) = self.limit.take(now) {
                    self.due = Some(now.after(wait));
                    break;
                }
                first.got += 1;
            }
            if first.got < first.cost {
                return;
            }
            self.due = None;
            let (site, key, id, permits) = (first.site, first.key, first.id, first.got);
            self.line.pop_front();
            let until = now.after(self.trip / 2).after(LASTS);
            let news = News::Leased {
                id,
                permits,
                until,
                probes: None,
            };
            self.post(now.after(self.trip / 2), Mail::News((site, key, news)));
        }
    }
}
