//! The knobs of the gateway: what `[gateway]` may say.
//!
//! Their keys begin with `gateway.`, in variables too (`ABIDE_GATEWAY_LISTEN`); in the section they
//! stand without it.

use std::time::Duration;

use crate::kind::Kind;
use crate::knob::Knob;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
const ZERO: Duration = Duration::ZERO;

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

/// In front of every key of the gateway.
pub(crate) const PREFIX: &str = "gateway.";

/// Every knob of the gateway.
pub const GATEWAY: &[Knob] = &[
    knob(
        "gateway.listen",
        Kind::TextOr,
        "127.0.0.1:4180",
        "Where it listens: an address and port, or unix:/PATH. Off this machine it needs \
         `client_token` or `allow_from`.",
    ),
    knob(
        "gateway.admin_listen",
        Kind::TextOr,
        "none",
        "Where /-/ is answered, apart from what is proxied; `none` answers it where it listens.",
    ),
    knob(
        "gateway.admin_token",
        Kind::TextOr,
        "none",
        "What changes through the admin API must show; without one a token is made at the first \
         start and kept beside the state.",
    ),
    knob(
        "gateway.admin_hosts",
        Kind::Texts,
        "",
        "Names by which the admin API is asked, beside localhost and the address listened at: any \
         other could be a web page's own, pointed here.",
    ),
    knob(
        "gateway.origins",
        Kind::Texts,
        "",
        "Web pages that may use it without a token, as http://localhost:3000: any other page that is \
         open on this machine could send what its user may.",
    ),
    knob(
        "gateway.client_token",
        Kind::TextOr,
        "none",
        "What callers must show, of 16 characters or more; on this machine nobody needs one.",
    ),
    knob(
        "gateway.client_token_file",
        Kind::TextOr,
        "none",
        "A file with the callers' token, for those who keep secrets out of configurations.",
    ),
    knob(
        "gateway.allow_from",
        Kind::Texts,
        "",
        "Networks whose callers need no token, as 10.0.0.0/8.",
    ),
    knob(
        "gateway.allow_unlisted",
        Kind::Switch,
        "false",
        "Whether hosts that nothing names may be asked through it as a proxy: an open proxy is \
         found within hours.",
    ),
    knob(
        "gateway.name",
        Kind::TextOr,
        "abide",
        "Its name in Via and Proxy-Status: the name of a machine is nobody's business outside.",
    ),
    knob(
        "gateway.rewrite",
        Kind::Switch,
        "true",
        "Whether Location, Content-Location and Link of a provider lead through the gateway: page 2 \
         would pass it by.",
    ),
    knob(
        "gateway.forwarded",
        Kind::Switch,
        "false",
        "Whether Forwarded tells providers who asks: it names machines behind the gateway.",
    ),
    knob(
        "gateway.advertise_cap",
        Kind::DurationOr(SECOND, HOUR, "none"),
        "none",
        "The longest Retry-After of its own refusals; the body keeps the truth. Whoever is told less \
         comes back too early.",
    ),
    knob(
        "gateway.threads",
        Kind::Count(1, 256),
        "2",
        "Worker threads, at most one a processor: one alone hands on more than ten thousand requests \
         a second.",
    ),
    knob(
        "gateway.access_log",
        Kind::TextOr,
        "-",
        "The file of the access log; `-` is the standard output, `none` writes no log.",
    ),
    knob(
        "gateway.log_format",
        Kind::Choice(&["text", "json"]),
        "text",
        "How a line of the access log looks: text is for people.",
    ),
    knob(
        "gateway.log_sample",
        Kind::Count(1, 1_000_000),
        "1",
        "One success of so many is written into the access log; refusals always are.",
    ),
    knob(
        "gateway.connections",
        Kind::Count(1, 1_000_000),
        "20000",
        "Connections of callers in all; who comes beyond waits to be accepted. Each costs up to \
         20 KiB.",
    ),
    knob(
        "gateway.connections_per_client",
        Kind::CountOr(1, 1_000_000, "none"),
        "none",
        "Connections of one address; on this machine all callers have the same one.",
    ),
    knob(
        "gateway.head_read",
        Kind::Duration(SECOND, HOUR),
        "60s",
        "For the head of a request, and between two requests of a connection: longer than clients \
         keep an idle one.",
    ),
    knob(
        "gateway.body_idle",
        Kind::Duration(SECOND, HOUR),
        "60s",
        "How long a body may stand still, in either direction: longer than any provider thinks \
         between two pieces.",
    ),
    knob(
        "gateway.connect",
        Kind::Duration(SECOND, HOUR),
        "10s",
        "How long a connection to a provider may take, its name, a proxy on the way and TLS included: \
         three times a lost packet's repeat.",
    ),
    knob(
        "gateway.head",
        Kind::Duration(SECOND, HOUR),
        "120s",
        "From a request to the head of its answer, once it is sent: reports take a minute.",
    ),
    knob(
        "gateway.pool_idle",
        Kind::Duration(SECOND, HOUR),
        "60s",
        "How long an unused connection to a provider is kept: below what most servers allow.",
    ),
    knob(
        "gateway.pool_size",
        Kind::Count(0, 100_000),
        "256",
        "Unused connections kept to each host of a provider: more than a provider lets one client \
         have.",
    ),
    knob(
        "gateway.head_size",
        Kind::Size(8 * 1024, 1024 * 1024),
        "64KiB",
        "The largest head of a request: four times what servers take.",
    ),
    knob(
        "gateway.leave",
        Kind::Duration(ZERO, HOUR),
        "0s",
        "How long work is still taken after it was said that none is wanted: behind a balancer, twice \
         the interval at which it looks.",
    ),
    knob(
        "gateway.drain",
        Kind::Duration(ZERO, HOUR),
        "20s",
        "How long calls may go on waiting once nothing new is accepted: service managers kill after \
         30 s or more.",
    ),
    knob(
        "gateway.tls_cert",
        Kind::TextOr,
        "none",
        "A file with the certificates by which callers reach it over TLS; with `tls_key`.",
    ),
    knob(
        "gateway.tls_key",
        Kind::TextOr,
        "none",
        "A file with the key of `tls_cert`.",
    ),
];
