//! `CONNECT`: a tunnel through the gateway. Its connection waits at the provider's gates like a
//! request; inside it is whatever the two sides say, which nobody here can see, pace or repeat.

use std::io;
use std::sync::Arc;

use abide::core::call::Safety;
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::{CallError, CallOptions, Failed, Said};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpStream;

use super::proxied::Proxied;
use super::wish::Wish;
use super::{denied, own};
use crate::answer::{of_forbidden, of_transport, of_turned};
use crate::body::Answer;
use crate::door::Peer;
use crate::gateway::Gateway;
use crate::record::{Outcome, Record};
use crate::tunnel::{self, Caller};
use crate::upstream::{Forbidden, Unled, dial};

/// Opens one.
pub(super) async fn open(
    gateway: &Arc<Gateway>,
    peer: &Peer,
    mut request: Request<Incoming>,
    mut record: Record,
) -> Response<Answer> {
    let uri = request.uri();
    let place = uri
        .authority()
        .and_then(|a| Some((a.clone(), a.port_u16()?)));
    let listed = gateway.governor().listed(uri);
    let (Some((authority, port)), Some(listed)) = (place, listed) else {
        return own(gateway, denied::no_tunnel(), Outcome::Denied, record);
    };
    if !listed.named && !gateway.settings().allow_unlisted {
        let problem = denied::unlisted(authority.as_str());
        return own(gateway, problem, Outcome::Denied, record);
    }
    record.is_for(gateway.meters().of(&listed.provider));
    let Proxied { upstream, reach } = Proxied::of(gateway, &listed, &authority, port);
    let way = upstream.map(|u| u.transport.clone()).unwrap_or_default();
    let way = &way;
    let wish = Wish::of(request.headers(), gateway.keys());
    let mut options = CallOptions::default();
    // What is sent in it may be anything: it is opened once.
    (options.safety, options.attempts) = (Some(Safety::Write), Some(1));
    options.urgency = wish.urgency();
    options.fair = wish.fair;
    options.patience = wish.wait.map(Into::into);
    let within = way
        .connect
        .unwrap_or_else(|| gateway.settings().limits.connect);
    let connected = gateway
        .governor()
        .call_with(&listed.provider, &options, |_| {
            let host = authority.host();
            async move {
                let dialled = dial(host, port, reach, way, within).await;
                dialled.map_err(|e| {
                    // Where its name leads says nothing of how it is.
                    let said = match Forbidden::in_error(&e) {
                        Some(_) => Said::client_error(),
                        None => Said::failed(transport(&e)),
                    };
                    Failed::new(e, said)
                })
            }
        });
    match connected.await {
        Ok(socket) => opened(gateway, peer, &mut request, socket, record),
        Err(CallError::Failed { error, turned }) => {
            record.took(turned.refusal.attempts, turned.refusal.waited);
            let problem = match Forbidden::in_error(&error) {
                Some(forbidden) => of_forbidden(&listed.provider, forbidden),
                None => of_transport(&listed.provider, Some(&transport(&error))),
            };
            own(gateway, problem, Outcome::Failed, record)
        }
        Err(e) => {
            let turned = e.turned();
            record.took(turned.refusal.attempts, turned.refusal.waited);
            let problem = of_turned(turned, gateway.settings().advertise_cap);
            own(gateway, problem, Outcome::TurnedAway, record)
        }
    }
}

fn opened(
    gateway: &Arc<Gateway>,
    peer: &Peer,
    request: &mut Request<Incoming>,
    socket: TcpStream,
    mut record: Record,
) -> Response<Answer> {
    record.answers(StatusCode::OK, Outcome::Passed);
    let caller = Caller {
        upgrade: hyper::upgrade::on(request),
        seat: Arc::clone(&peer.seat),
        record,
    };
    tunnel::join_to(gateway, caller, socket);
    // A tunnel begins with a 2xx, which this is.
    Response::new(Answer::left())
}

fn transport(e: &io::Error) -> Transport {
    let kind = match e.kind() {
        io::ErrorKind::TimedOut => Some(TransportKind::Timeout),
        _ => {
            let unled = e.get_ref().is_some_and(|e| e.is::<Unled>());
            abide::transport_kind(e).or_else(|| unled.then_some(TransportKind::Other))
        }
    };
    Transport {
        phase: Phase::Connect,
        // The name was looked up by the same call, and its failures are no I/O errors of a kind.
        kind: kind.unwrap_or(TransportKind::Dns),
    }
}
