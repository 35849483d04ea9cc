//! One worker: a thread that accepts, and serves what it accepted. Nothing is handed from one thread
//! to another, so twice the threads cost no more for each request.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::{connection, pulse};
use crate::door::{Listener, Peer, Socket};
use crate::front::{Front, Own};
use crate::life::drains;

/// How many tasks go on before the sockets are looked at: a look costs as much as a task, and there
/// is one whenever nothing is left to do.
const BETWEEN_LOOKS: u32 = 256;

/// After an accept that failed for want of something (files, memory): what there is may be freed.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn run(
    front: &Front,
    ways: &Arc<Own>,
    listener: Listener,
    together: &Barrier,
    count: Arc<AtomicU64>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .event_interval(BETWEEN_LOOKS)
        .build()?;
    runtime.block_on(async {
        tokio::spawn(pulse::count(count));
        let served = accept(front, ways, listener).await;
        let gateway = front.now();
        gateway.tunnels().close();
        gateway.tunnels().wait().await;
        // A provider's timer runs on the thread of whoever waited for it first: nobody leaves
        // before all are done.
        together.wait().await;
        served
    })
}

async fn accept(front: &Front, ways: &Arc<Own>, listener: Listener) -> io::Result<()> {
    let gateway = front.now();
    let mut phase = gateway.life().watch();
    let (scheme, place_of, tls) = (listener.scheme(), listener.place(), listener.tls);
    let tls = tls.map(TlsAcceptor::from);
    let door = listener.door.open()?;
    let mut connections = JoinSet::new();
    loop {
        // Those that ended are let go as they end.
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = gateway.callers().next(&door) => accepted,
            () = drains(&mut phase) => break,
        };
        let (socket, address, seat) = match accepted {
            Ok(accepted) => accepted,
            Err(e) if is_callers(&e) => continue,
            Err(e) => {
                tracing::warn!(error = %e, "no connection can be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let peer = Peer {
            address,
            scheme,
            named: socket
                .door()
                .map_or_else(Box::default, |at| at.to_string().into()),
            door: socket.door(),
            place: place_of,
            seat: Arc::new(seat),
        };
        let (front, ways, tls) = (front.clone(), Arc::clone(ways), tls.clone());
        connections.spawn(async move {
            match socket {
                Socket::Tcp(socket) => connection::begin(front, ways, socket, peer, tls).await,
                #[cfg(unix)]
                Socket::Unix(socket) => connection::begin(front, ways, socket, peer, tls).await,
            }
        });
    }
    drop(door);
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// The caller left before it was accepted.
fn is_callers(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
    )
}
