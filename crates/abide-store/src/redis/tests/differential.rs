//! Thousands of random operations give equal answers.

use std::time::Duration;

use abide_core::control::{Learned, Limit};
use abide_core::hold::HoldId;
use abide_core::{AskSource, Scope, Verdict, WallTime};

use super::Bench;
use crate::kept::Kept;
use crate::lend::{Answer, Ask, Book, GateAsk, Lent, Shape, Why};
use crate::redis::asking;
use crate::{StoreKey, StoredGate, StoredHold};

const S: Duration = Duration::from_secs(1);

/// Two stores, and what was lent by both.
struct Both {
    bench: Bench,
    book: Book,
    dice: fastrand::Rng,
    lent: Vec<(usize, Ask, Lent)>,
    /// Holds of which something was said, so that more is said of the same.
    holds: Vec<StoredHold>,
    met: Met,
}

/// How often what happened: a run in which it did not shows nothing.
#[derive(Debug, Default)]
struct Met {
    lent: u32,
    probes: u32,
    held: u32,
    probing: u32,
    spent: u32,
    rungs: u32,
}

impl Both {
    fn new(seed: u64) -> Self {
        Self {
            bench: Bench::new(3),
            book: Book::default(),
            dice: fastrand::Rng::with_seed(seed),
            lent: Vec::new(),
            holds: Vec::new(),
            met: Met::default(),
        }
    }

    fn step(&mut self) {
        let passes = match self.dice.u32(..100) {
            0..30 => 0,
            30..60 => self.dice.i64(1..2_000),
            60..95 => self.dice.i64(1..900_000),
            95..99 => self.dice.i64(1..30_000_000),
            // Another server took over, whose clock is late.
            _ => -self.dice.i64(1..5_000_000),
        };
        self.bench.passes(passes);
        match self.dice.u32(..100) {
            0..55 => self.ask(),
            55..70 => self.gives_back(),
            70..95 => self.put(),
            _ => self.greet(),
        }
    }

    fn ask(&mut self) {
        let (p, ask) = (self.dice.usize(..3), self.any_ask());
        let who = self.bench.processes[p].who;
        let mut mine = self.book.ask(self.bench.now(), who, &ask);
        // Who is there is counted by greetings.
        let peers = self.bench.processes[p].peers();
        match &mut mine {
            Answer::Lent(lent) => lent.peers = peers,
            Answer::NotNow(no) => no.peers = peers,
        }
        let told = self.bench.told();
        let theirs = asking::run(&self.bench.processes[p], self.bench.up.clone(), &ask, &told);
        let theirs = self.bench.runtime.block_on(theirs).unwrap();
        assert_eq!(theirs, mine, "{p} asks {ask:?}");
        match theirs {
            Answer::Lent(lent) => {
                self.met.lent += 1;
                self.met.probes += u32::from(lent.grants.iter().any(|g| g.probe));
                self.lent.push((p, ask, lent));
            }
            Answer::NotNow(no) => match no.why {
                Why::Held { .. } => self.met.held += 1,
                Why::Probing => self.met.probing += 1,
                Why::Spent => self.met.spent += 1,
            },
        }
    }

    fn gives_back(&mut self) {
        if self.lent.is_empty() {
            return;
        }
        let (p, ask, mut lent) = self.lent.swap_remove(self.dice.usize(..self.lent.len()));
        for grant in &mut lent.grants {
            grant.permits = self.dice.u32(..=grant.permits);
        }
        let process = &self.bench.processes[p];
        self.book
            .take_back(self.bench.now(), process.who, &ask, &lent);
        let told = self.bench.told();
        let back = asking::take_back(process, self.bench.up.clone(), &ask, &lent, &told);
        self.bench.runtime.block_on(back).unwrap();
    }

    fn put(&mut self) {
        let (p, gate) = (self.dice.usize(..3), self.any_gate());
        let (key, mut word) = Kept::of(gate);
        // Words that waited for one another are said as one.
        while self.dice.u32(..4) == 0 {
            let mut more = self.any_gate();
            more.key = key.clone();
            word.absorb(Kept::of(more).1, true);
        }
        let process = &self.bench.processes[p];
        self.book
            .hears(self.bench.now(), process.who, key.clone(), word.clone());
        let told = self.bench.told();
        let said = process.say(self.bench.up.clone(), &key, &word, &told);
        let mut theirs = self.bench.runtime.block_on(said).unwrap();
        let mine = self.book.kept(&key).unwrap();
        theirs.revision = mine.revision;
        assert_eq!(&theirs, mine, "{p} says {word:?}");
        self.met.rungs += u32::from(theirs.rung > Some(1));
    }

    fn greet(&mut self) {
        let p = self.dice.usize(..3);
        let mine = self
            .book
            .greet(self.bench.now(), self.bench.processes[p].who);
        let theirs = self.bench.greet(p);
        // Whoever asks is there too, for the model.
        assert!(theirs <= mine, "{theirs} of {mine}");
    }

    fn any_ask(&mut self) -> Ask {
        let first = self.dice.u8(..4);
        let more = self.dice.u8(..3).min(3 - first);
        let dice = &mut self.dice;
        let gates = (first..=first + more).map(|n| GateAsk {
            gate: [n; 16],
            windows: windows(n, dice),
            cost: dice.u32(1..3),
            ahead: if dice.bool() { 0 } else { dice.u32(..12) },
            life: Duration::from_micros(dice.u64(..300_000)),
            probe: Duration::from_micros(dice.u64(..20_000_000)),
        });
        Ask {
            provider: "p".to_owned(),
            gates: gates.collect(),
        }
    }

    fn any_gate(&mut self) -> StoredGate {
        let now = self.bench.now();
        let hold = (self.dice.u32(..3) > 0).then(|| self.any_hold());
        let dice = &mut self.dice;
        let mut some = |chance: f64| dice.f64() < chance;
        let (rung, interval, learned, ok) = (some(0.6), some(0.1), some(0.1), some(0.7));
        let failures = if some(0.2) { self.dice.u32(..4) } else { 0 };
        let dice = &mut self.dice;
        let around = |dice: &mut fastrand::Rng| moved(now, dice.i64(-3_000_000..1_000));
        StoredGate {
            key: StoreKey {
                provider: "p".to_owned(),
                gate: [dice.u8(..4); 16],
            },
            scope: dice.choice([Scope::Provider, Scope::Account]).unwrap(),
            hold,
            rung: rung.then(|| dice.u32(1..4)),
            interval: interval.then(|| Duration::from_nanos(dice.u64(..1 << 40))),
            learned: learned.then(|| Learned {
                limit: Limit::AtOnce {
                    count: dice.u32(1..9),
                },
                refusals: dice.u32(..9),
                at: Some(around(dice)),
            }),
            failures,
            last_success: ok.then(|| around(dice)),
            counts: (0..dice.u8(..3))
                .map(|window| {
                    let end = moved(now, dice.i64(0..3) * 60_000_000);
                    (window, dice.u64(..1 << 60), end)
                })
                .collect(),
            revision: 0,
        }
    }

    fn any_hold(&mut self) -> StoredHold {
        let now = self.bench.now();
        let dice = &mut self.dice;
        if !self.holds.is_empty() && dice.bool() {
            let mut hold = self.holds[dice.usize(..self.holds.len())];
            hold.lifted |= dice.u32(..4) == 0;
            if dice.bool() {
                hold.until = moved(hold.until, dice.i64(-1_000_000..1_000_000));
            }
            return hold;
        }
        let since = moved(now, dice.i64(-500_000..10_000));
        let until = moved(since, dice.i64(1..4_000_000));
        let hold = StoredHold {
            id: HoldId(dice.u64(..)),
            cause: dice
                .choice([Verdict::RateLimited, Verdict::Unavailable])
                .unwrap(),
            until,
            ask: dice.bool().then_some((until, AskSource::RetryAfter)),
            since,
            probes: dice.bool(),
            lifted: dice.u32(..8) == 0,
        };
        if self.holds.len() > 12 {
            self.holds.swap_remove(dice.usize(..12));
        }
        self.holds.push(hold);
        hold
    }
}

fn moved(at: WallTime, micros: i64) -> WallTime {
    WallTime::from_unix_nanos(at.as_unix_nanos() + micros * 1000)
}

/// A gate's limits; now and then another configuration's.
fn windows(gate: u8, dice: &mut fastrand::Rng) -> Vec<Shape> {
    let bucket = |ms: u64, burst| Shape::Bucket {
        interval: Duration::from_micros(ms * 1000 + 7),
        burst,
    };
    let fixed = |limit, period, phase| Shape::Fixed {
        limit,
        period,
        boundary: WallTime::from_unix_secs(phase),
    };
    let sliding = |limit, period| Shape::Sliding { limit, period };
    match (gate, dice.u32(..12)) {
        (0, 0) => vec![bucket(40, 9)],
        (0, _) => vec![bucket(150, 5)],
        (1, 0) => vec![fixed(40, S * 9, 0), sliding(30, S * 4)],
        (1, _) => vec![fixed(60, S * 20, 3), sliding(30, S * 4)],
        (2, 0) => vec![],
        (2, _) => vec![sliding(500, S * 7), bucket(20, 30)],
        (_, 0) => vec![sliding(20, S)],
        (_, _) => vec![bucket(300, 3), fixed(1 << 40, S * 86_400, 0)],
    }
}

#[test]
fn the_scripts_do_what_the_book_does() {
    for seed in 0..3 {
        let mut both = Both::new(seed);
        for _ in 0..4_000 {
            both.step();
        }
        println!("{:?}", both.met);
        let Met {
            lent,
            probes,
            held,
            probing,
            spent,
            rungs,
        } = both.met;
        let all = [lent, probes, held, probing, spent, rungs];
        assert!(all.iter().all(|n| *n >= 20), "{:?}", both.met);
    }
}
