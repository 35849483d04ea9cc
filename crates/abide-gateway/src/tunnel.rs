//! Connections that are handed through as bytes: another protocol than HTTP, or a proxy's tunnel.
//! What is inside is nobody's business here; only the connection was counted and paced.

use std::sync::Arc;
use std::time::Duration;

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};

use crate::gateway::Gateway;
use crate::life::drains;

/// Joins a caller, once it has left HTTP, with a provider that has left it too.
pub(crate) fn join(gateway: &Arc<Gateway>, caller: OnUpgrade, provider: OnUpgrade) {
    let (tunnels, gateway) = (gateway.tunnels().clone(), Arc::clone(gateway));
    tunnels.spawn(async move {
        match tokio::try_join!(caller, provider) {
            Ok((caller, provider)) => pipe(&gateway, caller, TokioIo::new(provider)).await,
            Err(e) => tracing::debug!(error = %e, "a change of protocol came to nothing"),
        }
    });
}

/// Joins a caller, once it has left HTTP, with a connection.
pub(crate) fn join_to<T>(gateway: &Arc<Gateway>, caller: OnUpgrade, to: T)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (tunnels, gateway) = (gateway.tunnels().clone(), Arc::clone(gateway));
    tunnels.spawn(async move {
        match caller.await {
            Ok(caller) => pipe(&gateway, caller, to).await,
            Err(e) => tracing::debug!(error = %e, "a tunnel came to nothing"),
        }
    });
}

/// Until either side is done, or the drain's limit is up.
async fn pipe<T>(gateway: &Gateway, caller: Upgraded, mut to: T)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut caller = TokioIo::new(caller);
    let mut phase = gateway.life().watch();
    let drained = async {
        drains(&mut phase).await;
        let drain: Duration = gateway.settings().limits.drain;
        tokio::time::sleep(drain).await;
    };
    tokio::select! {
        // A side that breaks off has said so to the other one by its end.
        _ = copy_bidirectional(&mut caller, &mut to) => {}
        () = drained => {}
    }
}
