//! Everything that can be seen of the machine, against the model's own account.

use std::collections::HashMap;

use abide_core::Instant;
use abide_core::gate::GateKey;
use abide_core::provider::{Action, GateView};

use super::{Pair, at, told};
use crate::model::Out;

impl Pair {
    pub(super) fn compare(&mut self) {
        self.compare_actions();
        if self.trace {
            self.dump();
        }
        self.compare_gates();
        assert_eq!(self.machine.waiting(), self.model.waiting());
        let mine = self.machine.next_wake().map(Instant::as_nanos);
        assert!(
            mine.is_none_or(|t| t > self.now),
            "a wake in the past: {mine:?}"
        );
        if let Some(theirs) = self.model.next_wake(self.now) {
            assert!(
                mine.is_some_and(|t| t <= theirs),
                "the machine sleeps until {mine:?}, past {theirs}"
            );
        }
    }

    /// Who stands where, and what each gate waits for, as the model sees it.
    fn dump(&self) {
        for g in 0..self.model.gates.len() {
            for c in self.model.line(g) {
                let call = &self.model.calls[c];
                let wait = self.model.wait(self.now, g, call.price(), call.paced);
                self.note(format_args!("    at {g}: {c} {:?} {wait:?}", call.rank));
            }
        }
    }

    fn index_of(&self, key: GateKey) -> usize {
        let specs = &self.universe.specs;
        specs
            .iter()
            .position(|s| s.key == key)
            .expect("only known gates act")
    }

    fn call_of(&self, ticket: abide_core::provider::Ticket) -> usize {
        let calls = self.tickets.iter().rposition(|t| *t == ticket);
        calls.expect("only tickets that were handed out are named")
    }

    fn compare_actions(&mut self) {
        let (mut grants, mut refused, mut acquired) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(action) = self.machine.poll() {
            match action {
                Action::Grant(ticket, pass) => {
                    let c = self.call_of(ticket);
                    assert_eq!(pass.ticket(), ticket);
                    assert!(self.passes[c].is_none(), "{c} is granted twice");
                    self.passes[c] = Some(pass);
                    grants.push(c);
                }
                Action::Refuse(ticket, r) => refused.push((self.call_of(ticket), told(&r))),
                Action::Acquire { key, id, .. } => acquired.push((self.index_of(key), id.0)),
                _ => {}
            }
        }
        let (mut grants2, mut refused2, mut acquired2) = (Vec::new(), Vec::new(), Vec::new());
        for out in std::mem::take(&mut self.model.out) {
            match out {
                Out::Grant(c) => grants2.push(c),
                Out::Refuse(c, told) => refused2.push((c, told)),
                Out::Acquire(g) => acquired2.push(g),
            }
        }
        self.note(format_args!(
            "  grants {grants:?} refused {refused:?} asked {acquired:?}"
        ));
        if grants != grants2 {
            self.dump();
        }
        assert_eq!(grants, grants2, "grants, in order");
        refused.sort();
        refused2.sort();
        assert_eq!(refused, refused2, "refusals");
        let mut asked: Vec<usize> = acquired.iter().map(|(g, _)| *g).collect();
        asked.sort_unstable();
        acquired2.sort_unstable();
        assert_eq!(asked, acquired2, "requests for permits");
        for (g, id) in acquired {
            if let Some(l) = &mut self.model.gates[g].lease {
                l.asked = Some(Some(id));
            }
        }
    }

    fn compare_gates(&mut self) {
        let views: HashMap<GateKey, GateView> = self
            .machine
            .view(at(self.now))
            .into_iter()
            .map(|v| (v.key, v))
            .collect();
        for (g, spec) in self.universe.specs.iter().enumerate() {
            let view = views.get(&spec.key);
            assert_eq!(
                view.is_none(),
                self.model.gates[g].alias.is_some(),
                "aliases"
            );
            let Some(view) = view else { continue };
            let (out, line) = (self.model.out_at(g), self.model.line(g).len());
            let gate = &mut self.model.gates[g];
            assert_eq!(view.in_flight, out, "on the wire at {g}");
            assert_eq!(view.waiting, line, "waiting at {g}");
            assert_eq!(view.in_episode, gate.episode.is_some(), "episode at {g}");
            let closed = view.closed_until.map(Instant::as_nanos);
            assert_eq!(closed, gate.closed_until(self.now), "closed at {g}");
            let interval = view.interval.map(|i| i.as_nanos() as u64);
            assert_eq!(
                interval,
                gate.spacing.as_ref().map(|s| s.interval),
                "interval at {g}"
            );
            let now = self.now;
            let mine = gate.hold.as_mut().filter(|h| h.until > now);
            assert_eq!(view.hold.is_some(), mine.is_some(), "hold at {g}");
            if let (Some(a), Some(b)) = (view.hold, mine) {
                assert_eq!(a.until.as_nanos(), b.until);
                assert_eq!((a.cause, a.ask, a.probes), (b.cause, b.ask, b.probes));
                assert_eq!(
                    a.id,
                    *b.id.get_or_insert(a.id),
                    "the name of the hold at {g}"
                );
            }
        }
    }
}
