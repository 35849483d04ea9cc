//! One recorded answer, judged from beginning to end: what `abide explain` shows, what the tests
//! of profiles and the recorded cases compare.
//!
//! The wait is that before the first repeat as a caller sees it, so what the core leaves to gates
//! and calls is added here: where nobody says, 60 s after a refusal, 30 s after an outage, the
//! next midnight UTC for a quota; nothing longer than 31 days.

use std::time::Duration;

use abide_core::classify::{Answer, ClassifyPolicy, RequestView, classify};
use abide_core::signal::{Note, explain, read};
use abide_core::{AskSource, Finding, Instant, Moment, Scope, Skew, Verdict, WallTime};
use http::{HeaderMap, Method, StatusCode};

use crate::boundary::Boundary;
use crate::gates::Choice;
use crate::profile::Profile;
use crate::rules::{Look, MAX_BODY};
use crate::scan::Scanner;

/// The longest wait that is believed.
pub const CEILING: Duration = Duration::from_secs(31 * 86_400);

const NOBODY_SAID_RATE_LIMITED: Duration = Duration::from_secs(60);
const NOBODY_SAID_UNAVAILABLE: Duration = Duration::from_secs(30);

/// A recorded answer.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The request's method.
    pub method: Method,
    /// The request's path, without the query.
    pub path: String,
    /// When the answer came.
    pub wall: WallTime,
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, complete; `None` where it was not recorded.
    pub body: Option<Vec<u8>>,
    /// The caller has no use for anything but JSON.
    pub json: bool,
}

/// What a recorded answer was found to mean.
#[derive(Clone, Debug)]
pub struct Judged {
    /// All that was found.
    pub finding: Finding,
    /// The rule that decided, and its reason; `None` where the status did.
    pub rule: Option<(String, String)>,
    /// Its place in [`Profile::told`], whose rules include those of its parents.
    pub rule_index: Option<usize>,
    /// Every header line that could say something, and what became of it.
    pub notes: Vec<Note>,
    /// What the profile's own readings and asks found in it.
    pub looks: Vec<Look>,
    /// When the answer came.
    pub at: Moment,
    /// How long to stay away before the first repeat; `None` where that is not called for.
    pub wait: Option<Duration>,
    /// The wait as the provider asked it, beyond every ceiling of ours.
    pub asked: Option<Duration>,
    /// Who said so.
    pub source: AskSource,
    /// What is to stay away.
    pub scope: Scope,
    /// Whether asking again after the wait can help, for this request's method.
    pub again: bool,
    /// Whether this answer is among those that are tried again, writes left aside.
    pub retry_on: bool,
}

/// Judges a recorded answer.
pub fn judge(profile: &Profile, recorded: &Recorded) -> Judged {
    let at = Moment::new(Instant::from_secs(1_000_000), recorded.wall);
    let signal = read(recorded.status, &recorded.headers, at, &mut Skew::new());
    let request = RequestView {
        method: &recorded.method,
        path: &recorded.path,
        accepts_json: recorded.json || profile.expects_json(),
    };
    let mut answer = Answer {
        signal: &signal,
        headers: &recorded.headers,
        sample: recorded.body.as_deref(),
        complete: recorded.body.is_some(),
        trailers: None,
    };
    let members = members(profile, &request, &answer);
    if members.is_some() {
        answer.sample = members.as_deref();
    }
    let mut policy = ClassifyPolicy::default();
    profile.apply(
        &mut abide_core::policy::ProviderPolicy::default(),
        &mut policy,
        &Choice::default(),
        at,
    );
    let finding = classify(&request, &answer, Some(&**profile.rules()), &policy);
    let (decided, _) = profile.rules().decide(&request, &answer);
    let ask = finding.ask();
    let asked = ask.map(|a| a.until.since(at.now));
    let wait = asked.or(finding.wait).or_else(|| nobody_said(&finding, at));
    let beyond = wait.is_some_and(|d| d > CEILING);
    Judged {
        rule: decided.map(|d| (d.name.to_owned(), d.why.to_owned())),
        rule_index: decided.map(|d| d.index),
        notes: explain(&recorded.headers, &signal),
        looks: profile.rules().looks(&request, &answer, profile.gates()),
        at,
        wait: wait.map(|d| d.min(CEILING)),
        asked,
        source: ask.map_or(AskSource::Policy, |a| a.source),
        scope: ask.map_or(finding.scope, |a| a.scope),
        retry_on: policy.retry_on.covers(recorded.status, &finding),
        again: !beyond && again(&request, &answer, &finding, &policy),
        finding,
    }
}

/// Of a body too large to be looked at as a whole, the members that rules look into, where they
/// say anything: as a client finds them while the body streams by.
fn members(profile: &Profile, request: &RequestView<'_>, answer: &Answer<'_>) -> Option<Vec<u8>> {
    let body = answer.sample.filter(|body| body.len() > MAX_BODY)?;
    let tops = profile.rules().tops(request, answer)?;
    let mut scanner = Scanner::new(tops.into_iter().map(str::to_owned).collect());
    scanner.feed(body);
    let found = scanner.found()?;
    let answer = Answer {
        sample: Some(&found),
        ..*answer
    };
    profile.rules().decide(request, &answer).1?;
    Some(found)
}

fn nobody_said(finding: &Finding, at: Moment) -> Option<Duration> {
    match finding.verdict {
        Verdict::RateLimited => Some(NOBODY_SAID_RATE_LIMITED),
        Verdict::Unavailable => Some(NOBODY_SAID_UNAVAILABLE),
        Verdict::QuotaExhausted if finding.again != Some(false) => {
            let midnight = Boundary::parse("midnight UTC")?.next(at)?;
            Some(midnight.since(at.now))
        }
        _ => None,
    }
}

/// Whether asking again can help: the provider's word, else what its answer's kind implies.
fn again(
    request: &RequestView<'_>,
    answer: &Answer<'_>,
    finding: &Finding,
    policy: &ClassifyPolicy,
) -> bool {
    if let Some(word) = finding.again {
        return word;
    }
    let timed = !finding.asks.is_empty() || finding.wait.is_some();
    match finding.verdict {
        // Their end is known, so it is worth coming back, though not in the same call.
        Verdict::QuotaExhausted => true,
        Verdict::Banned => timed,
        // It may be over after the wait, whether or not a call asks again by itself. What was
        // perhaps done may only go again if doing it twice does no harm, or the server invites it.
        Verdict::Unavailable => request.method.is_idempotent() || !finding.asks.is_empty(),
        verdict => {
            (request.method.is_safe() || verdict.is_refusal() || !finding.asks.is_empty())
                && policy.retry_on.covers(answer.signal.status, finding)
        }
    }
}
