//! The table of knobs: the one place where their names, kinds, defaults and reasons stand.
//!
//! `config show`, the starter file and docs/policy.md all come from here. The order is the order
//! in which they are shown.

use std::time::Duration;

use crate::kind::Kind;
use crate::knob::Knob;

const MILLI: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);
const MONTH: Duration = Duration::from_secs(31 * 86_400);
const YEAR: Duration = Duration::from_secs(366 * 86_400);
const ZERO: Duration = Duration::ZERO;
const MANY: u64 = 1_000_000;

const fn knob(key: &'static str, kind: Kind, default: &'static str, why: &'static str) -> Knob {
    Knob {
        key,
        kind,
        default,
        fetch_default: None,
        fetch_only: false,
        shared: false,
        why,
    }
}

/// A knob whose default differs in a bulk run.
const fn both(
    key: &'static str,
    kind: Kind,
    default: &'static str,
    fetch: &'static str,
    why: &'static str,
) -> Knob {
    let mut knob = knob(key, kind, default, why);
    knob.fetch_default = Some(fetch);
    knob
}

/// A knob of all providers together.
const fn shared(key: &'static str, kind: Kind, default: &'static str, why: &'static str) -> Knob {
    let mut knob = knob(key, kind, default, why);
    knob.shared = true;
    knob
}

/// A knob that only a bulk run has.
const fn fetch(key: &'static str, kind: Kind, default: &'static str, why: &'static str) -> Knob {
    let mut knob = knob(key, kind, default, why);
    knob.fetch_only = true;
    knob
}

/// Every knob there is.
pub const KNOBS: &[Knob] = &[
    both(
        "attempts",
        Kind::Count(1, 100),
        "4",
        "8",
        "Sends of one call, the first one included: the fourth is seldom luckier than the third, \
         but a run would rather try on than fail an item.",
    ),
    both(
        "patience",
        Kind::Duration(ZERO, YEAR),
        "30s",
        "5m",
        "All waiting of one call together (queue, holds, backoff): what a person waits at most; \
         a run has nobody at the screen, and five minutes cover every limit counted by the minute.",
    ),
    knob(
        "wait.max",
        Kind::DurationOr(ZERO, YEAR, "patience"),
        "patience",
        "The longest single wait; by default one wait may use all the patience up.",
    ),
    knob(
        "deadline",
        Kind::DurationOr(MILLI, YEAR, "none"),
        "none",
        "Everything up to the final head, sending included; none, since how long an answer may \
         take is the caller's to know.",
    ),
    knob(
        "backoff.base",
        Kind::Duration(MILLI, HOUR),
        "250ms",
        "The first ceiling of our own waits (drawn evenly below it): longer than a hiccup, \
         shorter than a person notices.",
    ),
    knob(
        "backoff.factor",
        Kind::Count(1, 10),
        "2",
        "What each attempt multiplies that ceiling by: doubling halves the load of those who fail \
         together with every round.",
    ),
    knob(
        "backoff.max",
        Kind::Duration(MILLI, DAY),
        "8s",
        "The highest ceiling: what is broken longer is the breaker's business.",
    ),
    knob(
        "backoff.jitter",
        Kind::Choice(&["full", "none"]),
        "full",
        "Whether those waits are drawn below their ceiling, or are the ceiling (none); full, so \
         that callers that failed together do not come back together.",
    ),
    knob(
        "retry.on",
        Kind::RetryOn,
        "rate_limited, asked, 408, 425, 502, 503, 504, 529, connect, send, head",
        "What is tried again: what waiting heals, any outage that names a time (asked), and \
         connections that broke before the head; not 500, which repeats more often than it heals.",
    ),
    knob(
        "retry.write",
        Kind::Choice(&["never", "refused-only"]),
        "never",
        "Whether a write is sent again; never, since only the caller knows what a second one \
         would do (refused-only: after a refusal, which says that nothing was done).",
    ),
    knob(
        "rate",
        Kind::RateOr,
        "none",
        "The pace to a provider, evenly spaced; none, since a guessed limit wastes most of what \
         is allowed.",
    ),
    knob(
        "burst",
        Kind::Count(1, MANY),
        "1",
        "How many may go at once under `rate` after a pause; one, since not every provider \
         allows a burst.",
    ),
    knob(
        "limits",
        Kind::Rates,
        "",
        "Limits as the provider states them, each kept in any stretch of its length; none until \
         you know them.",
    ),
    knob(
        "concurrency",
        Kind::Count(1, 100_000),
        "8",
        "The most requests on the wire to one provider: a little more than a browser opens to \
         a host.",
    ),
    knob(
        "mode",
        Kind::Choice(&["enforce", "shadow", "observe"]),
        "enforce",
        "Whether what is decided is done: `shadow` decides, records what it would have done and sends \
         at once; `observe` only reads answers. Both are for trying out.",
    ),
    knob(
        "pace.gentle",
        Kind::Switch,
        "true",
        "Begin with at most two unanswered requests more than have come back well together: a \
         ban counts the siblings on the wire.",
    ),
    knob(
        "pace.reserve",
        Kind::PartOr,
        "none",
        "What bulk (urgency 6 and 7) leaves of each limit to whoever is more urgent: a part, of places \
         on the wire too, or so many units of each window and bucket; none but one unit of a bucket, \
         which costs bulk nothing, since what is kept of a window is lost to a run for good.",
    ),
    knob(
        "pace.spread",
        Kind::Spread,
        "none",
        "How what an answer says is left of a quota is spent until it ends: all at once (none), \
         evenly (even), or a part at once and the rest evenly; none, since a run is done the \
         soonest by it and whoever pauses loses nothing.",
    ),
    knob(
        "pace.except",
        Kind::Paths,
        "",
        "Paths whose requests keep to no pace or limit and are not counted there, holds and places \
         on the wire aside; none: only you know which of them cost nothing (a token to be renewed).",
    ),
    knob(
        "pace.adaptive",
        Kind::Choice(&["auto", "on", "aimd", "cubic", "interval", "off"]),
        "auto",
        "Learn a pace from refusals: on infers the limit and keeps to it, aimd (slower by a part at \
         each refusal, faster by steps) and cubic (as TCP does) look for the highest rate, to compare \
         with, interval backs away in the known steps of `pace.interval`; auto is on where neither \
         `rate` nor `limits` is known, nor a limit that the provider itself documents: a learned pace \
         on top of one only wastes what is allowed.",
    ),
    knob(
        "pace.interval.start",
        Kind::Duration(MILLI, DAY),
        "1s",
        "Under pace.adaptive = \"interval\", the time between two requests after the first \
         refusal: what most providers mean when they do not say how often is too often.",
    ),
    knob(
        "pace.interval.factor",
        Kind::Number(1.0, 100.0),
        "2",
        "What each further refusal multiplies that interval by: doubling, the rate halved, finds \
         any limit in a few refusals.",
    ),
    knob(
        "pace.interval.max",
        Kind::Duration(MILLI, DAY),
        "8s",
        "The longest such interval: beyond it callers run out of patience, and a pace turns into \
         timeouts.",
    ),
    knob(
        "pace.interval.decay_after",
        Kind::Count(1, MANY),
        "20",
        "Answers in a row that shorten it: fewer would be back at the refused rate within the \
         window that refused it.",
    ),
    knob(
        "pace.interval.decay",
        Kind::Number(0.0, 0.99),
        "0.5",
        "What such a row multiplies it by: the way back takes as many steps as the way there.",
    ),
    knob(
        "pace.interval.off_below",
        Kind::Duration(ZERO, DAY),
        "500ms",
        "Below this it is off: a shorter interval slows nobody who waits for answers.",
    ),
    knob(
        "account.rate",
        Kind::RateOr,
        "none",
        "The pace of each credential, beside the provider's own; none, since a guessed limit \
         wastes most of what is allowed.",
    ),
    knob(
        "account.burst",
        Kind::Count(1, MANY),
        "1",
        "How many may go at once under `account.rate`; one, since not every provider allows a burst.",
    ),
    knob(
        "account.limits",
        Kind::Rates,
        "",
        "Limits of each credential, in any stretch of their length; none until you know them.",
    ),
    knob(
        "account.concurrency",
        Kind::CountOr(1, 100_000, "none"),
        "none",
        "The most requests on the wire for one credential; none, since the provider's bound \
         already holds.",
    ),
    knob(
        "route.rate",
        Kind::RateOr,
        "none",
        "The pace of each route or bucket; none, since a guessed limit wastes most of what is allowed.",
    ),
    knob(
        "route.burst",
        Kind::Count(1, MANY),
        "1",
        "How many may go at once under `route.rate`; one, since not every provider allows a burst.",
    ),
    knob(
        "route.limits",
        Kind::Rates,
        "",
        "Limits of each route or bucket, in any stretch of their length; none until you know them.",
    ),
    knob(
        "route.concurrency",
        Kind::CountOr(1, 100_000, "none"),
        "none",
        "The most requests on the wire for one route; none, since the provider's bound already holds.",
    ),
    knob(
        "ladder.base",
        Kind::Duration(MILLI, DAY),
        "1s",
        "The first hold after a refusal that names no time: a second is what most providers mean \
         when they say nothing.",
    ),
    knob(
        "ladder.factor",
        Kind::Count(1, 10),
        "2",
        "What each refused probe multiplies that hold by: doubling finds any window in a few steps.",
    ),
    knob(
        "ladder.max",
        Kind::Duration(MILLI, MONTH),
        "1m",
        "The longest such hold: a minute is the longest window in common use.",
    ),
    knob(
        "ladder.steps",
        Kind::Durations(MILLI, MONTH),
        "",
        "Such holds one by one, the last one repeating, instead of base, factor and max; none, \
         since few need a shape of their own.",
    ),
    knob(
        "hold.on",
        Kind::HoldOn,
        "",
        "Outages that hold everybody though nobody said until when (transport: no answer at all); \
         none, since one broken server behind a balancer must not stop the rest.",
    ),
    knob(
        "hold.ban",
        Kind::Duration(ZERO, MONTH),
        "24h",
        "The shortest hold after a ban of which nobody knows how long it lasts: whoever asks again \
         sooner makes it longer, and most are lifted within a day. A person may lift the hold.",
    ),
    knob(
        "hold.floor",
        Kind::Duration(ZERO, DAY),
        "0s",
        "The shortest hold after a refusal, whatever was asked; none, since the provider's word \
         counts and a zero has its own rule.",
    ),
    knob(
        "hold.margin",
        Kind::Duration(ZERO, HOUR),
        "0s",
        "How much longer a hold lasts than the provider asked for; nothing, since its word is kept \
         and never early: for a provider whose penalty grows with each request that is a little too \
         soon.",
    ),
    knob(
        "hold.max",
        Kind::Duration(SECOND, MONTH),
        "31d",
        "The longest hold believed: longer asks are mistakes of unit; the true ask is told to \
         callers all the same.",
    ),
    knob(
        "hint.zero",
        Kind::HintZero,
        "1s",
        "What Retry-After 0 means when nothing else says more: taken at its word it makes a hot \
         loop, so it is a floor of a second.",
    ),
    knob(
        "quota.from",
        Kind::Duration(SECOND, YEAR),
        "6h",
        "An ask this long is a quota, never waited for in a call: longer than any burst window in \
         use and than anyone waits.",
    ),
    knob(
        "quota.to",
        Kind::Duration(SECOND, YEAR),
        "31d",
        "An ask beyond this is a mistake of unit and no quota: nobody counts one over more than a \
         month.",
    ),
    knob(
        "ban.redirects",
        Kind::Texts,
        "google.com/sorry",
        "Redirects to these places (host/path, subdomains too) are bans: following one only \
         proves us a robot.",
    ),
    knob(
        "probe.lease",
        Kind::Duration(SECOND, HOUR),
        "1m",
        "How long a probe may be out before the next waiter becomes it: longer than any sane \
         answer takes, short enough that a lost probe costs a minute.",
    ),
    knob(
        "probe.gap",
        Kind::Duration(ZERO, HOUR),
        "1s",
        "The least time between two probes when one ended without a verdict: the ladder's first rung.",
    ),
    knob(
        "breaker.enabled",
        Kind::Switch,
        "true",
        "Whether failures in a row stop sending for a while: a broken provider heals sooner \
         unasked.",
    ),
    knob(
        "breaker.failures",
        Kind::Count(1, 10_000),
        "5",
        "Failures in a row that open the breaker: fewer are bad luck, more are a habit; refusals \
         never count.",
    ),
    knob(
        "breaker.ratio",
        Kind::Number(0.01, 1.0),
        "0.5",
        "The failed part of a window that opens it: half is no accident any more.",
    ),
    knob(
        "breaker.at_least",
        Kind::Count(1, MANY),
        "20",
        "The fewest outcomes of a window for which that part means anything.",
    ),
    knob(
        "breaker.window",
        Kind::Duration(SECOND, HOUR),
        "30s",
        "The window of that part: longer than the hiccup of a deploy.",
    ),
    both(
        "breaker.open",
        Kind::Duration(MILLI, DAY),
        "30s",
        "1s",
        "How long it opens first; a run asks sooner, since it would rather wait than fail items.",
    ),
    both(
        "breaker.growth",
        Kind::Number(1.0, 100.0),
        "2",
        "1.25",
        "How much longer it opens each time; a run has nothing else to do, and finds a provider \
         healed within a quarter of the time it was down.",
    ),
    both(
        "breaker.open_max",
        Kind::Duration(MILLI, DAY),
        "5m",
        "1m",
        "The longest it opens: nobody wants to miss for longer that a provider has healed.",
    ),
    knob(
        "breaker.probe_lease",
        Kind::Duration(SECOND, HOUR),
        "1m",
        "How long its probe may be out before another may go: as for a hold's probe.",
    ),
    shared(
        "outage.enabled",
        Kind::Switch,
        "true",
        "Whether failures of several hosts at once are taken for an outage of our own network, \
         and then held against no provider: what is down is more likely one network than all of \
         them.",
    ),
    shared(
        "outage.window",
        Kind::Duration(SECOND, HOUR),
        "30s",
        "Failures this close together are one outage: as long as a request takes to time out.",
    ),
    shared(
        "defer.floor",
        Kind::Duration(ZERO, DAY),
        "30s",
        "The earliest return of a job that was refused: whoever is refused without a word is kept \
         away for half a minute by the providers that document it, and a job has time.",
    ),
    shared(
        "defer.ceiling",
        Kind::Duration(SECOND, YEAR),
        "26h",
        "The longest ask that a job waits for: a quota of a day, counted in any time zone, and an \
         hour of delay. What asks for more is a person's business: the job ends as failed.",
    ),
    shared(
        "defer.in_a_row",
        Kind::Count(0, 10_000),
        "3",
        "How often in a row a job is put off; progress begins anew, 0 fails at the first refusal. \
         A provider that refuses four times what it asked to be sent later will refuse the fifth.",
    ),
    shared(
        "defer.max_age",
        Kind::DurationOr(SECOND, YEAR, "none"),
        "7d",
        "The age beyond which a job does not come back: three asks of a day fit, and what is older \
         has been forgotten by whoever submitted it.",
    ),
    shared(
        "defer.attempts",
        Kind::Count(1, 100),
        "4",
        "Tries of a job that may go wrong, the first one included, each a call of its own: as a \
         call has. Refusals use none up.",
    ),
    knob(
        "budget.ratio",
        Kind::Number(0.0, 10.0),
        "0.2",
        "Repeats after failures allowed per success: a fifth more load is what a recovering \
         provider bears.",
    ),
    knob(
        "budget.per_second",
        Kind::Number(0.0, 1_000_000.0),
        "3",
        "Repeats allowed a second whatever the traffic: a quiet program must be able to repeat at all.",
    ),
    knob(
        "budget.cap",
        Kind::Number(0.0, 1_000_000.0),
        "100",
        "The most repeats saved up: a long calm must not pay for a storm.",
    ),
    knob(
        "budget.failure_cost",
        Kind::Number(0.0, 1_000.0),
        "1",
        "What a repeat after a failure costs; a repeat after a refusal costs nothing, the hold \
         bounds it.",
    ),
    knob(
        "budget.timeout_cost",
        Kind::Number(0.0, 1_000.0),
        "2",
        "What a repeat after a timeout costs: it has already cost the provider the whole work.",
    ),
    knob(
        "gates.max",
        Kind::Count(10, 10_000_000),
        "100000",
        "The most gates remembered of one provider, at about a KiB each; when all are in use, new \
         accounts share one.",
    ),
    knob(
        "queue.max",
        Kind::Count(1, 10_000_000),
        "100000",
        "The most waiting calls of one provider: beyond it a caller is better served by a refusal.",
    ),
    knob(
        "body.sample",
        Kind::Size(0, 16 << 20),
        "64KiB",
        "How much of a body is looked at to classify it: errors are short, and memory is shared.",
    ),
    both(
        "body.replay",
        Kind::Size(0, 1 << 30),
        "64KiB",
        "64MiB",
        "How large a request's body may be that is kept to be sent again: most fit, and a larger \
         one is sent once; a run has its items at hand anyway.",
    ),
    fetch(
        "run.max_waits",
        Kind::Count(0, 1_000),
        "3",
        "Waits of one item in a row without any answer from its provider: after three it is put off.",
    ),
    fetch(
        "run.budget",
        Kind::Duration(ZERO, YEAR),
        "10m",
        "Wall time one provider's holds may block a run: without it, a thousand items against a \
         provider that refuses for ever take hours.",
    ),
    fetch(
        "run.streak",
        Kind::Count(1, 10_000),
        "3",
        "Items in a row still refused after their waits before a provider is asked no more: two \
         may be bad luck.",
    ),
    fetch(
        "timeout",
        Kind::Duration(MILLI, DAY),
        "30s",
        "How long one attempt may take up to its head, and how long a body may stand still: \
         twice what slow providers need.",
    ),
    fetch(
        "max_redirects",
        Kind::Count(0, 100),
        "10",
        "Redirects followed for one item, each through its own gates: more is a circle.",
    ),
    fetch(
        "max_body",
        Kind::Size(0, 1 << 40),
        "64MiB",
        "The largest body taken; beyond it the item fails and says so, so that one item cannot \
         fill memory or disk.",
    ),
    knob(
        "profile",
        Kind::TextOr,
        "none",
        "The profile of the catalogue that a section's provider has; none looks it up by the \
         section's name and its hosts, which is right for all but mirrors and private copies.",
    ),
    knob(
        "plan",
        Kind::TextOr,
        "none",
        "The plan whose limits of the profile apply, beside those that everybody has; none, since \
         the smallest allowance is the one that is safe for all.",
    ),
    knob(
        "override",
        Kind::Switch,
        "false",
        "Put this section's limits in the place of those the profile knows, instead of beside \
         them; off, since a limit loosened by mistake ends in a ban. The gates that a profile \
         names itself are changed by a profile only ([profiles.NAME] that extends it).",
    ),
    fetch(
        "user_agent",
        Kind::TextOr,
        "none",
        "What a run calls itself; none stands for abide and its version, since honest names get \
         better service.",
    ),
    fetch(
        "contact",
        Kind::TextOr,
        "none",
        "A mail address or page to put into the user agent: some providers serve those better \
         whom they can reach.",
    ),
];
