//! What can happen next.

use abide_store::lend::{Answer, Lent, NotNow, Why};

use crate::checks;
use crate::process::{Leave, Process, Sent};
use crate::world::{LIFE, TRIP, World, first, millis, wall};

/// What follows, or which property it breaks.
type Follows = Result<World, String>;

impl World {
    /// All that can happen in this state.
    pub(crate) fn steps(&self) -> Vec<(String, Follows)> {
        let mut all = Vec::new();
        if self.now < self.left.horizon * 1_000 {
            let mut next = self.clone();
            next.now += 1_000;
            all.push((format!("it is {}", next.now), Ok(next)));
        }
        for p in 0..self.processes.len() {
            let mut can = |what: &str, step: Option<Follows>| {
                all.extend(step.map(|next| (format!("{} {what}", p + 1), next)));
            };
            can("asks", self.asks(p));
            can("receives the answer", self.receives(p));
            can("gives back", self.leaves(p));
            can("is heard giving back", self.gives_back(p));
            can("sends", self.sends(p));
            can("sends alone", self.sends_alone(p));
            can("is answered", self.answered(p, false));
            can("is refused", self.answered(p, true));
            can("tells", self.tells(p));
            can("hears", self.hears(p, false));
            can("loses a message", self.hears(p, true));
            can("is cut off", self.is_cut_off(p));
            can("comes back", self.comes_back(p));
            can("is told to lift", self.lifts(p));
            can("is killed", self.is_killed(p));
        }
        all
    }

    /// This state, with one process to change.
    fn with(&self, p: usize, change: impl FnOnce(&mut Self, &mut Process)) -> Self {
        let mut next = self.clone();
        let mut process = next.processes[p].clone();
        change(&mut next, &mut process);
        next.processes[p] = process;
        next
    }

    pub(crate) fn asks(&self, p: usize) -> Option<Follows> {
        let me = &self.processes[p];
        if !me.reach || self.left.asks == 0 || !me.asks() || me.held(self.now) {
            return None;
        }
        let ask = self.ask();
        let next = self.with(p, |next, me| {
            next.left.asks -= 1;
            let answer = next.store.ask(wall(self.now), me.who, &ask);
            if let Answer::Lent(lent) = &answer {
                for (gate, grant) in next.truth.lent.iter_mut().zip(&lent.grants) {
                    gate.push((self.now, grant.permits));
                }
            }
            me.coming = Some((ask, answer));
        });
        Some(checks::lent(self, &next, p).map(|()| next))
    }

    pub(crate) fn receives(&self, p: usize) -> Option<Follows> {
        let (ask, answer) = self.processes[p].coming.clone()?;
        Some(Ok(self.with(p, |_, me| {
            me.coming = None;
            match answer {
                Answer::Lent(lent) => {
                    let left = lent.grants.iter().map(|g| g.permits).min().unwrap_or(0);
                    let at = lent.at / 1000;
                    me.leave = Some(Leave {
                        ask,
                        lent,
                        at,
                        left,
                    });
                }
                Answer::NotNow(NotNow {
                    why: Why::Held { id, until, .. },
                    ..
                }) => {
                    let known = me.known.entry(id.0).or_insert((0, false));
                    known.0 = known.0.max(millis(until));
                }
                Answer::NotNow(_) => {}
            }
        })))
    }

    /// What is left of a leave goes back. It is not sent then: that is the process's own promise.
    pub(crate) fn leaves(&self, p: usize) -> Option<Follows> {
        let leave = self.processes[p].leave.clone()?;
        if self.left.backs == 0 {
            return None;
        }
        Some(Ok(self.with(p, |next, me| {
            next.left.backs -= 1;
            me.leave = None;
            let Leave {
                ask,
                mut lent,
                left,
                ..
            } = leave;
            let used = lent.grants.iter().map(|g| g.permits).min().unwrap_or(0) - left;
            for grant in &mut lent.grants {
                grant.permits -= used;
                grant.probe &= used == 0;
            }
            me.back.push((ask, lent));
        })))
    }

    pub(crate) fn gives_back(&self, p: usize) -> Option<Follows> {
        let me = &self.processes[p];
        let (ask, lent) = me.back.first().filter(|_| me.reach)?.clone();
        Some(Ok(self.with(p, |next, me| {
            me.back.remove(0);
            next.store.take_back(wall(self.now), me.who, &ask, &lent);
            for (gate, grant) in next.truth.lent.iter_mut().zip(&lent.grants) {
                let loan = gate
                    .iter_mut()
                    .find(|l| l.0 == lent.at / 1000 && l.1 >= grant.permits);
                if let Some(loan) = loan {
                    loan.1 -= grant.permits;
                }
            }
        })))
    }

    pub(crate) fn sends(&self, p: usize) -> Option<Follows> {
        let me = &self.processes[p];
        let leave = me.leave.clone().filter(|l| l.left > 0)?;
        if me.wire.is_some() || me.held(self.now) || self.now >= leave.at + life(&leave.lent) {
            return None;
        }
        let next = self.with(p, |next, me| {
            let probe = leave.lent.grants[0].probe.then_some(leave.at);
            me.wire = Some(Sent {
                at: self.now,
                probe,
            });
            me.leave = (leave.left > 1).then(|| Leave {
                left: leave.left - 1,
                ..leave.clone()
            });
            next.truth.sent.push(self.now);
        });
        Some(checks::sent(&next, &leave).map(|()| next))
    }

    /// Where the store is gone, a share of the limit is spent without it.
    fn sends_alone(&self, p: usize) -> Option<Follows> {
        let me = &self.processes[p];
        if me.reach || self.left.alone == 0 || me.wire.is_some() || me.held(self.now) {
            return None;
        }
        Some(Ok(self.with(p, |next, me| {
            next.left.alone -= 1;
            me.wire = Some(Sent {
                at: self.now,
                probe: None,
            });
        })))
    }

    pub(crate) fn answered(&self, p: usize, refused: bool) -> Option<Follows> {
        let sent = self.processes[p].wire.clone()?;
        if refused && self.left.refusals == 0 {
            return None;
        }
        Some(Ok(self.with(p, |next, me| {
            me.wire = None;
            let at = self.now + TRIP;
            if refused {
                next.left.refusals -= 1;
                next.holds += 1;
                me.refused(next.holds, at, sent.probe.is_some());
            } else {
                me.answered(&sent, at);
            }
        })))
    }

    pub(crate) fn tells(&self, p: usize) -> Option<Follows> {
        let me = &self.processes[p];
        let word = me.unsaid.first().filter(|_| me.reach)?.clone();
        let mut next = self.with(p, |next, me| {
            me.unsaid.remove(0);
            if let Some(h) = word.hold {
                let told = next.truth.told.entry(h.id.0).or_default();
                *told = (*told).max(millis(h.until));
                if h.lifted {
                    next.truth.lifted.insert(h.id.0);
                }
            }
            next.store.put(wall(self.now), me.who, word);
        });
        let told = next.store.told(&first(), wall(self.now));
        for (n, other) in next.processes.iter_mut().enumerate() {
            // The answer to its own word tells it what the store made of it.
            match n == p {
                true => other.hears(&told),
                false if other.reach => other.inbox.push(told.clone()),
                false => {}
            }
        }
        Some(Ok(next))
    }

    pub(crate) fn hears(&self, p: usize, lost: bool) -> Option<Follows> {
        let told = self.processes[p].inbox.first()?.clone();
        if lost && self.left.losses == 0 {
            return None;
        }
        Some(Ok(self.with(p, |next, me| {
            me.inbox.remove(0);
            match lost {
                true => next.left.losses -= 1,
                false => me.hears(&told),
            }
        })))
    }

    fn is_cut_off(&self, p: usize) -> Option<Follows> {
        if self.left.cuts == 0 || !self.processes[p].reach {
            return None;
        }
        Some(Ok(self.with(p, |next, me| {
            next.left.cuts -= 1;
            // What is on its way in either direction is lost.
            (me.reach, me.coming) = (false, None);
            me.inbox.clear();
            me.back.clear();
        })))
    }

    pub(crate) fn comes_back(&self, p: usize) -> Option<Follows> {
        if self.processes[p].reach {
            return None;
        }
        Some(Ok(self.with(p, |next, me| {
            me.reach = true;
            me.hears(&next.store.told(&first(), wall(self.now)));
        })))
    }

    fn lifts(&self, p: usize) -> Option<Follows> {
        if self.left.lifts == 0 || !self.processes[p].held(self.now) {
            return None;
        }
        Some(Ok(self.with(p, |next, me| {
            next.left.lifts -= 1;
            me.lifts(self.now);
        })))
    }

    /// With all it has and all it has not told; another one begins in its place.
    fn is_killed(&self, p: usize) -> Option<Follows> {
        if self.left.kills == 0 {
            return None;
        }
        Some(Ok(self.with(p, |next, me| {
            next.left.kills -= 1;
            *me = Process::new(me.who + 10);
            me.hears(&next.store.told(&first(), wall(self.now)));
        })))
    }
}

/// How long all of what was lent is good, in milliseconds.
pub(crate) fn life(lent: &Lent) -> i64 {
    let lives = lent.grants.iter().map(|g| g.life.as_millis());
    lives
        .min()
        .map_or(LIFE, |l| i64::try_from(l).unwrap_or(LIFE))
}
