//! The driver of a bulk run: passes words between the run, its calls and the gates.
//!
//! An item is taken in hand, asks for admission, starts, goes on the wire; its answer is read,
//! classified, told to the gates and planned; then it asks again, or ends. Every decision on the
//! way is the core's.

mod answer;
mod site;

use std::collections::{BTreeSet, HashMap};

use abide_core::call::{Call, Safety};
use abide_core::hold::Hold;
use abide_core::provider::{Action, Admit, Event, Pass, Request, Start, Ticket};
use abide_core::refusal::{DecidedBy, Refusal, RefusalKind};
use abide_core::run::{End, Run, Turn};
use abide_core::{Instant, Verdict};

use super::ending::Ending;
use super::plan::Plan;
use super::timeline::{Mark, Seen};
pub(super) use site::{Ask, told};
use site::{Item, Site};

/// One item in hand.
#[derive(Debug)]
struct Hand {
    site: usize,
    call: Call,
    pass: Option<Pass>,
    ticket: Option<Ticket>,
}

/// The driver.
#[derive(Debug)]
pub(super) struct Driver {
    plan: Plan,
    seed: u64,
    run: Run,
    pub(super) sites: Vec<Site>,
    pub(super) items: Vec<Item>,
    /// Items that are not there yet.
    coming: BTreeSet<(Instant, u32)>,
    asks: Vec<(usize, Ask)>,
    hands: HashMap<u32, Hand>,
    sends: Vec<(u32, usize)>,
    pub(super) endings: Vec<Vec<Ending>>,
    pub(super) ended_at: Vec<Instant>,
    /// When each item ended first.
    pub(super) ended: HashMap<u32, Instant>,
    /// What was seen of holds, where somebody wants to know.
    pub(super) marks: Vec<Mark>,
    pub(super) wakeups: u64,
    pub(super) grants: u64,
}

impl Driver {
    pub(super) fn new(plan: &Plan, seed: u64) -> Self {
        Self {
            run: Run::new(plan.run.clone()),
            plan: plan.clone(),
            seed,
            sites: Vec::new(),
            items: Vec::new(),
            coming: BTreeSet::new(),
            asks: Vec::new(),
            hands: HashMap::new(),
            sends: Vec::new(),
            endings: Vec::new(),
            ended_at: Vec::new(),
            ended: HashMap::new(),
            marks: Vec::new(),
            wakeups: 0,
            grants: 0,
        }
    }

    /// Whether every item has ended.
    pub(super) fn is_done(&self) -> bool {
        self.run.pending() == 0 && self.run.in_hand() == 0 && self.coming.is_empty()
    }

    /// When something is due without anything coming in.
    pub(super) fn next_wake(&self, now: Instant) -> Option<Instant> {
        let gates = self.sites.iter().filter_map(|s| s.gates.next_wake());
        let comes = self.coming.first().map(|(at, _)| *at);
        gates.chain(self.run.next_opening(now)).chain(comes).min()
    }

    pub(super) fn wake(&mut self, now: Instant) {
        for site in &mut self.sites {
            if site.gates.next_wake().is_some_and(|at| at <= now) {
                site.gates.wake(now);
                self.wakeups += 1;
            }
        }
    }

    /// What goes on the wire now: items and their providers.
    pub(super) fn sends(&mut self) -> Vec<(u32, usize)> {
        std::mem::take(&mut self.sends)
    }

    /// Does everything that can be done at `now`.
    pub(super) fn work(&mut self, now: Instant) {
        while let Some(&(at, item)) = self.coming.first()
            && at <= now
        {
            self.coming.pop_first();
            self.run.add(self.items[item as usize].lane, item, 3);
        }
        loop {
            while self.act(now) {}
            if let Some((_, item)) = self.run.take(now) {
                let site = self.items[item as usize].site;
                let call = Call::new(self.plan.call.clone(), Safety::Read, now);
                let hand = Hand {
                    site,
                    call,
                    pass: None,
                    ticket: None,
                };
                self.hands.insert(item, hand);
                self.ask(now, item);
            } else if let Some((_, item, stop)) = self.run.take_stopped() {
                self.note(
                    now,
                    item,
                    Ending::Skipped {
                        cause: stop.cause,
                        retry_at: stop.retry_at,
                    },
                );
            } else {
                return;
            }
        }
    }

    /// Carries out one thing that some machine wants done; `false` when none does.
    fn act(&mut self, now: Instant) -> bool {
        let acting = |(i, site): (usize, &mut Site)| site.gates.poll().map(|a| (i, a));
        let Some((site, action)) = self.sites.iter_mut().enumerate().find_map(acting) else {
            return false;
        };
        match action {
            Action::Grant(ticket, pass) => {
                if let Some(item) = self.sites[site].waiting.remove(&ticket) {
                    self.grants += 1;
                    self.start(now, item, pass);
                }
            }
            Action::Refuse(ticket, refusal) => {
                if let Some(item) = self.sites[site].waiting.remove(&ticket) {
                    self.turned_away(now, item, *refusal);
                }
            }
            Action::Emit(event) => self.heard(now, site, &event),
            Action::Acquire { key, cost, id, .. } => {
                self.asks.push((site, Ask::Acquire { key, cost, id }));
            }
            Action::Announce { key, hold, .. } => {
                self.asks.push((site, Ask::Announce { key, hold }));
            }
            _ => {}
        }
        true
    }

    fn heard(&mut self, now: Instant, site: usize, event: &Event) {
        let lanes = self.sites[site].lanes.clone();
        match event {
            Event::HoldOpened { hold, .. } | Event::HoldLengthened { hold, .. } => {
                self.mark(now, Seen::Held { until: hold.until });
                let patience = self.plan.run.patience;
                let mut gives_up = false;
                for lane in lanes {
                    gives_up |= self.run.closed(now, lane, hold.until, patience) == Turn::GiveUp;
                }
                self.sites[site].unaffordable = gives_up.then_some(*hold);
                if gives_up {
                    self.give_up_waiting(now, site, hold);
                }
            }
            Event::LimitLearned { learned, .. } => {
                let limit = learned.limit;
                self.mark(now, Seen::Learned { limit });
            }
            Event::LimitForgotten { .. } => self.mark(now, Seen::Forgotten),
            Event::EpisodeEnded { .. } | Event::HoldLifted { .. } => {
                self.mark(now, Seen::Open);
                self.sites[site].unaffordable = None;
                for lane in lanes {
                    self.run.opened(now, lane);
                }
            }
            _ => {}
        }
    }

    fn mark(&mut self, at: Instant, seen: Seen) {
        if self.plan.watched {
            self.marks.push(Mark { at, seen });
        }
    }

    /// A hold is not worth waiting for: whoever waits leaves.
    fn give_up_waiting(&mut self, now: Instant, site: usize, hold: &Hold) {
        let mut waiting: Vec<(u32, Ticket)> = self.sites[site]
            .waiting
            .drain()
            .map(|(t, item)| (item, t))
            .collect();
        waiting.sort_unstable();
        for (item, ticket) in waiting {
            self.sites[site].gates.cancel(now, ticket);
            self.turned_away(now, item, not_worth(hold));
        }
    }

    fn ask(&mut self, now: Instant, item: u32) {
        let Some(hand) = self.hands.get_mut(&item) else {
            return;
        };
        let site = &mut self.sites[hand.site];
        if let Some(hold) = site.unaffordable {
            return self.turned_away(now, item, not_worth(&hold));
        }
        let limits = hand.call.asks(now);
        let mut request = Request::new(site.gates.gates(now, &site.specs));
        request.urgency = self.items[item as usize].urgency;
        request.not_before = limits.not_before;
        request.expires = limits.expires;
        request.hold_limit = limits.hold_limit;
        match site.gates.admit(now, &request) {
            Admit::Go(pass) => self.start(now, item, pass),
            Admit::Waiting(ticket) => self.wait(item, ticket),
            Admit::Refuse(refusal) => self.turned_away(now, item, *refusal),
        }
    }

    fn wait(&mut self, item: u32, ticket: Ticket) {
        if let Some(hand) = self.hands.get_mut(&item) {
            hand.ticket = Some(ticket);
            self.sites[hand.site].waiting.insert(ticket, item);
        }
    }

    fn start(&mut self, now: Instant, item: u32, pass: Pass) {
        let Some(hand) = self.hands.get_mut(&item) else {
            return;
        };
        match self.sites[hand.site].gates.start(now, pass) {
            Start::Go(pass) => {
                hand.call.sent(now);
                hand.pass = Some(pass);
                self.sends.push((item, hand.site));
            }
            Start::Back(ticket) => self.wait(item, ticket),
        }
    }

    fn turned_away(&mut self, now: Instant, item: u32, refusal: Refusal) {
        if let Some(hand) = self.hands.get_mut(&item) {
            let refusal = hand.call.turned_away(now, refusal);
            self.end(now, item, &End::Refused(Box::new(refusal)));
        }
    }

    fn end(&mut self, now: Instant, item: u32, end: &End) {
        let ending = match end {
            End::Refused(r) => Ending::Skipped {
                cause: r.cause.unwrap_or(Verdict::RateLimited),
                retry_at: r.retry_at,
            },
            _ => Ending::Failed,
        };
        self.let_go(now, item, end);
        self.note(now, item, ending);
    }

    fn let_go(&mut self, now: Instant, item: u32, end: &End) {
        if let Some(hand) = self.hands.remove(&item) {
            let site = &mut self.sites[hand.site];
            if let Some(ticket) = hand.ticket {
                site.waiting.remove(&ticket);
            }
            let lane = self.items[item as usize].lane;
            self.run.end(now, lane, item, end);
        }
    }

    fn note(&mut self, now: Instant, item: u32, ending: Ending) {
        self.endings[item as usize].push(ending);
        let site = self.items[item as usize].site;
        self.ended.entry(item).or_insert(now);
        self.ended_at[site] = now;
    }
}

fn not_worth(hold: &Hold) -> Refusal {
    let mut r = Refusal::new(RefusalKind::Held, DecidedBy::Provider);
    (r.cause, r.ask, r.retry_at) = (Some(hold.cause), hold.ask, Some(hold.retry_at()));
    r
}
