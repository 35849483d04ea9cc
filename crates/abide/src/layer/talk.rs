//! One call as the gates see it: all that does not depend on the types of service and bodies.

use std::time::Duration;

use abide_core::Verdict;
use abide_core::call::{Call, Plan, Safety};
use abide_core::classify::{RequestView, Transport};
use abide_core::refusal::Refusal;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, StatusCode, Uri};

use super::{Options, Told};
use crate::admission::Admission;
use crate::error::{LastAnswer, TurnedAway};
use crate::exchange::{self, Head, Read, accepts_json};
use crate::permit::{Permit, Step};
use crate::place::Place;
use crate::shard::Handle;

/// One call.
pub(super) struct Talk {
    shard: Handle,
    admission: Admission,
    call: Call,
    method: Method,
    /// Rules look at it.
    path: Option<PathAndQuery>,
    accepts_json: bool,
}

/// What a request shows of itself.
pub(super) struct Shown<'a> {
    pub(super) method: &'a Method,
    pub(super) uri: &'a Uri,
    pub(super) headers: &'a HeaderMap,
    pub(super) options: Option<Options>,
}

impl Talk {
    /// Begins one in its place: it is large, and moving it about costs more than most of what is
    /// decided. `None` for a request that names no host.
    pub(super) fn begin<'t, R, F>(
        told: &Told<R, F>,
        request: &Shown<'_>,
        at: &'t mut Option<Self>,
    ) -> Option<&'t mut Self> {
        let place = Place::of_uri(request.uri, request.headers)?;
        let (shard, found) = told.governor.whose(&place)?;
        let options = request.options.unwrap_or_default();
        let safety = options.safety;
        // A body is a stream that nobody has read: what only it shows is not known.
        let safety = match safety {
            // Nobody asks here whether it happened: it is a write like any other.
            Some(Safety::Checked) => Safety::Write,
            Some(safety) => safety,
            None => shard.safety(request.method, place.path, None),
        };
        let calls = shard.call();
        let base = calls.get().unwrap_or(&told.call);
        let call = Call::to_begin(options.call(base), safety);
        let mut admission = Admission::to(found.target(&shard));
        admission.cost = options.cost.max(1);
        admission.urgency = options.urgency;
        admission.fair = options.fair;
        admission.paced = shard.paces(place.path);
        let talk = at.insert(Self {
            accepts_json: shard.profile().expects_json() || accepts_json(request.headers),
            method: request.method.clone(),
            path: request.uri.path_and_query().cloned(),
            shard,
            admission,
            call,
        });
        let (gates, names) = (&mut talk.admission.target.gates, &talk.shard.shared().names);
        found.gates(names, request.method, &place, request.headers, None, gates);
        Some(talk)
    }

    /// How long an answer may be waited for; `None` without a bound.
    pub(super) fn time_left(&self) -> Option<Duration> {
        if !self.call.has_deadline() {
            return None;
        }
        self.call.time_left(self.shard.shared().clock.now())
    }

    /// Asks for leave to send. With a service that is ready it is stamped as sent at once.
    pub(super) fn ask(&mut self, readied: bool) -> Step {
        self.admission.two_steps = !readied;
        Permit::ask(&self.shard, None, &self.admission, &mut self.call)
    }

    pub(super) const fn call(&mut self) -> &mut Call {
        &mut self.call
    }

    /// Sends so far, and all waiting.
    pub(super) const fn spent(&self) -> (u32, Duration) {
        (self.call.attempts(), self.call.total_waited())
    }

    pub(super) const fn shard(&self) -> &Handle {
        &self.shard
    }

    /// An attempt goes out.
    pub(super) fn goes(&self) {
        exchange::goes(&self.shard, &self.call);
    }

    fn view(&self) -> RequestView<'_> {
        RequestView {
            method: &self.method,
            path: self.path.as_ref().map_or("", PathAndQuery::path),
            accepts_json: self.accepts_json,
        }
    }

    pub(super) fn head(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        permit: &mut Permit,
    ) -> Head {
        let at = self.shard.shared().clock.moment();
        permit.answered_at(at.now);
        Head::read(&self.shard, &self.view(), (status, headers), at, permit)
    }

    /// What an answer means, and the rules that go on looking at its body.
    pub(super) fn with_view<T>(&self, f: impl FnOnce(&Handle, &RequestView<'_>) -> T) -> T {
        f(&self.shard, &self.view())
    }

    /// What an answer means for the call.
    pub(super) fn answered(&mut self, read: &Read, kept: bool, permit: &mut Permit) -> Plan {
        permit.head = None;
        let finding = &read.finding;
        let plain =
            finding.verdict == Verdict::Success && !finding.holds && finding.readings.is_empty();
        if !plain {
            permit.observe(finding);
        }
        // A lock less on the way that most answers go.
        if !permit.enforced {
            return Plan::Return;
        }
        match self.call.returns(&read.attempt(kept)) {
            true => Plan::Return,
            false => self.plan(read, kept),
        }
    }

    /// What a failure means for the call.
    pub(super) fn failed(
        &mut self,
        failure: Option<&Transport>,
        kept: bool,
        mut permit: Permit,
    ) -> Plan {
        let read = match failure {
            Some(t) => {
                let mut read = Read::of_failure(&self.shard, t);
                if permit.failed(self.shard.name(), t) {
                    read.finding.be_offline();
                }
                read
            }
            None => Read::of_unknown(&self.shard),
        };
        permit.observe(&read.finding);
        let plan = match permit.enforced {
            true => self.plan(&read, kept),
            false => Plan::Return,
        };
        permit.settle(&read.outcome());
        plan
    }

    fn plan(&mut self, read: &Read, kept: bool) -> Plan {
        exchange::plan(
            &self.shard,
            &self.admission.target,
            &mut self.call,
            read,
            kept,
        )
    }

    /// Completes the refusal of one who waited.
    pub(super) fn turned_away(&mut self, refusal: Refusal) -> Refusal {
        self.call
            .turned_away(self.shard.shared().clock.now(), refusal)
    }

    /// Tells whoever listens that the call comes to nothing.
    pub(super) fn tell_turned(&self, refusal: &Refusal) {
        let at = self.shard.shared().clock.moment();
        exchange::tell_turned(&self.shard, refusal, at);
    }

    /// What the caller is told who is turned away.
    pub(super) fn turned(
        &self,
        refusal: Refusal,
        last: Option<LastAnswer>,
        transport: Option<Transport>,
    ) -> Box<TurnedAway> {
        let at = self.shard.shared().clock.moment();
        exchange::turned(&self.shard, refusal, at, last, transport.map(Into::into))
    }
}
