//! One question, several providers: who is asked next is the core's decision; each member is a call
//! under its own gates. A member's answer that is not the last word is read and put by before the
//! next one is asked, so that a call holds at most one pass.

use std::sync::Arc;
use std::time::Duration;

use abide::core::Verdict;
use abide::core::chain::{Chain as Machine, Ended, Next};
use abide::layer::Error;
use bytes::Bytes;
use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HOST, HeaderName, HeaderValue,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use super::through::{Back, dress, exchange, failed, hand_on, idle_of, named, passed};
use super::wish::Wish;
use super::{denied, own, plain};
use crate::answer::Problem;
use crate::body::{Answer, Outgoing};
use crate::door::Peer;
use crate::gateway::Gateway;
use crate::record::{Outcome, Record};
use crate::route::{Chain, Front, Route};
use crate::upstream::Reply;
use crate::via::came_before;
use crate::ways::Ways;

const PROVIDER: HeaderName = HeaderName::from_static("abide-provider");
const DEGRADED: HeaderName = HeaderName::from_static("abide-degraded");

/// What is kept of an answer that is not the last word: misses and refusals are short.
const KEPT: usize = 64 * 1024;

/// How one member ended, for the case that this is what the caller gets.
struct End {
    answer: Response<Bytes>,
    outcome: Outcome,
    provider: Arc<Route>,
    /// Sends, and all waiting; nothing where the answer is our own.
    spent: Option<(u32, Duration)>,
}

/// Asks a chain.
pub(super) async fn ask(
    gateway: &Arc<Gateway>,
    ways: &Ways,
    peer: &Peer,
    request: Request<Incoming>,
    (chain, asks): (Arc<Chain>, Vec<String>),
    mut record: Record,
) -> Response<Answer> {
    record.is_for(gateway.meters().of(&chain.name));
    let method = request.method().clone();
    if !matches!(method, Method::GET | Method::HEAD) {
        return own(
            gateway,
            denied::only_reads(&chain.name),
            Outcome::Denied,
            record,
        );
    }
    let parts = request.into_parts().0;
    let host = named(&parts.uri, &parts.headers).filter(|_| gateway.settings().rewrite);
    let mut headers = parts.headers;
    if came_before(&headers, gateway.pseudonym()) {
        return own(gateway, denied::looped(), Outcome::Denied, record);
    }
    let told = Wish::of(&headers, gateway.keys());
    let mut wish = told;
    headers.remove(HOST);
    hand_on(gateway, peer, &mut headers);
    let clock = gateway.governor().clock();
    // The caller's patience is one for all of them.
    let (began, patience) = (clock.now(), told.wait.unwrap_or_else(|| gateway.patience()));
    let back = Back {
        peer,
        // Whoever answered is asked by its own name from then on.
        front: host.map(|host| (host, Front::Name)),
        wish: told,
        upgrade: None,
    };
    let members = chain.members.iter().map(|m| m.member).collect();
    let mut machine = Machine::new(members);
    let mut ends: Vec<Option<End>> = chain.members.iter().map(|_| None).collect();
    let mut at = 0;
    loop {
        let member = chain.members.get(at).zip(asks.get(at));
        let Some((member, path)) = member else {
            return own(gateway, denied::bad_path(), Outcome::Denied, record);
        };
        wish.wait = Some(patience.saturating_sub(clock.now().since(began)));
        let route = gateway.routes().provider(&member.provider);
        let to = route.as_ref().ok().and_then(|r| r.base.uri(path));
        let (Ok(route), Some(to)) = (route, to) else {
            return own(gateway, denied::bad_path(), Outcome::Denied, record);
        };
        let mut asked = Request::new(Outgoing::Empty);
        *asked.method_mut() = method.clone();
        *asked.uri_mut() = to;
        asked.headers_mut().clone_from(&headers);
        asked.headers_mut().remove(CONTENT_LENGTH);
        if at > 0 {
            // Whom the caller shows itself to is the first; the others have credentials of their own.
            let uri = asked.uri().clone();
            gateway
                .governor()
                .drop_credentials(&uri, asked.headers_mut());
        }
        let provider = gateway.governor().listed(asked.uri());
        let came = exchange(ways, &route, asked, &wish).await;
        let is_down = || {
            // Its gates are under the name that its address has.
            let name = provider.as_ref().map_or(&*route.name, |l| &l.provider);
            gateway.governor().provider(name).is_down()
        };
        match came {
            Ok(response) => {
                let verdict = response.body().finding().verdict;
                let ended = Ended {
                    verdict,
                    is_down: verdict == Verdict::Unavailable && is_down(),
                };
                match machine.ended(ended) {
                    Next::Return { member, degraded } if member == at => {
                        let mut answer = passed(gateway, &route, response, back, record);
                        mark(&mut answer, &route, degraded);
                        return answer;
                    }
                    next => {
                        let idle = idle_of(gateway, &route);
                        let end = put_by(response, &route, idle).await;
                        if let Some(slot) = ends.get_mut(at) {
                            *slot = Some(end);
                        }
                        match next {
                            Next::Ask(next) => at = next,
                            Next::Return { member, degraded } => {
                                return last_word(
                                    gateway,
                                    &mut ends,
                                    member,
                                    degraded,
                                    (&back, record),
                                );
                            }
                        }
                    }
                }
            }
            Err(e) => {
                let ended = match &e {
                    Error::Turned(turned) => Ended::of(&turned.refusal, is_down()),
                    _ => Ended {
                        verdict: Verdict::Unavailable,
                        is_down: is_down(),
                    },
                };
                let (problem, outcome) = failed(gateway, &route, &e, &mut record);
                let end = End {
                    answer: problem.answer(&gateway.settings().name),
                    outcome,
                    provider: route,
                    spent: None,
                };
                if let Some(slot) = ends.get_mut(at) {
                    *slot = Some(end);
                }
                match machine.ended(ended) {
                    Next::Ask(next) => at = next,
                    Next::Return { member, degraded } => {
                        return last_word(gateway, &mut ends, member, degraded, (&back, record));
                    }
                }
            }
        }
    }
}

/// Reads an answer that is not the last word, so that its pass is given back.
async fn put_by(
    response: Response<abide::layer::Body<Reply>>,
    route: &Arc<Route>,
    idle: Duration,
) -> End {
    let (mut parts, body) = response.into_parts();
    let spent = Some((body.attempts(), body.waited()));
    let outcome = match body.finding().verdict.is_refusal() {
        true => Outcome::Refused,
        false => Outcome::Passed,
    };
    let read = tokio::time::timeout(idle, Limited::new(body, KEPT).collect()).await;
    let body = match read {
        Ok(Ok(whole)) => whole.to_bytes(),
        // What could not be kept is left out, and so is what is said of it.
        _ => {
            for of_body in [CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_TYPE, ETAG] {
                parts.headers.remove(of_body);
            }
            Bytes::new()
        }
    };
    End {
        answer: Response::from_parts(parts, body),
        outcome,
        provider: Arc::clone(route),
        spent,
    }
}

/// What an earlier member said is what the caller gets.
fn last_word(
    gateway: &Arc<Gateway>,
    ends: &mut [Option<End>],
    member: usize,
    degraded: bool,
    (back, mut record): (&Back<'_>, Record),
) -> Response<Answer> {
    let Some(end) = ends.get_mut(member).and_then(Option::take) else {
        let problem = Problem::new(
            StatusCode::BAD_GATEWAY,
            "Nobody of the chain answered",
            "proxy_internal_error",
            "no member of the chain was asked",
        );
        return own(gateway, problem, Outcome::Failed, record);
    };
    let mut answer = end.answer;
    if let Some(spent) = end.spent {
        record.took(spent.0, spent.1);
        let (mut parts, body) = answer.into_parts();
        dress(gateway, &end.provider, &mut parts, spent, back, end.outcome);
        answer = Response::from_parts(parts, body);
    }
    let mut answer = plain(answer, end.outcome, record);
    mark(&mut answer, &end.provider, degraded);
    answer
}

/// Whose answer it is, and whether somebody before it should have given it; that is ours to say.
fn mark(answer: &mut Response<Answer>, route: &Route, degraded: bool) {
    answer.headers_mut().remove(DEGRADED);
    if let Ok(name) = HeaderValue::try_from(&*route.name) {
        answer.headers_mut().insert(PROVIDER, name);
    }
    if degraded {
        let yes = HeaderValue::from_static("true");
        answer.headers_mut().insert(DEGRADED, yes);
    }
}
