//! Connections that are handed through as bytes: another protocol than HTTP, or a proxy's tunnel.
//! What is inside is nobody's business here; only the connection was counted and paced. It keeps its
//! place among all connections, and its line in the log is written when it ends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional};

use crate::door::Seat;
use crate::gateway::Gateway;
use crate::life::drains;
use crate::record::Record;

/// A connection on which nothing moves ends after so long: far longer than any heartbeat, and
/// whoever left without a word does not keep its place for ever.
const STILL: Duration = Duration::from_secs(15 * 60);

/// One side of a tunnel, and what it takes up.
pub(crate) struct Caller {
    /// The connection, once it has left HTTP.
    pub(crate) upgrade: OnUpgrade,
    pub(crate) seat: Arc<Seat>,
    pub(crate) record: Record,
}

/// Joins a caller with a provider that leaves HTTP too.
pub(crate) fn join(gateway: &Arc<Gateway>, caller: Caller, provider: OnUpgrade) {
    let (tunnels, gateway) = (gateway.tunnels().clone(), Arc::clone(gateway));
    tunnels.spawn(async move {
        let Caller {
            upgrade,
            seat: _seat,
            record,
        } = caller;
        match tokio::try_join!(upgrade, provider) {
            Ok((caller, provider)) => pipe(&gateway, caller, TokioIo::new(provider), record).await,
            Err(e) => tracing::debug!(error = %e, "a change of protocol came to nothing"),
        }
    });
}

/// Joins a caller with a connection.
pub(crate) fn join_to<T>(gateway: &Arc<Gateway>, caller: Caller, to: T)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (tunnels, gateway) = (gateway.tunnels().clone(), Arc::clone(gateway));
    tunnels.spawn(async move {
        let Caller {
            upgrade,
            seat: _seat,
            record,
        } = caller;
        match upgrade.await {
            Ok(caller) => pipe(&gateway, caller, to, record).await,
            Err(e) => tracing::debug!(error = %e, "a tunnel came to nothing"),
        }
    });
}

/// Until either side is done, nothing moves any more, or the drain's limit is up.
async fn pipe<T>(gateway: &Gateway, caller: Upgraded, to: T, mut record: Record)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut caller = TokioIo::new(caller);
    let moved = Arc::new(Moved::default());
    let mut to = Counted {
        inner: to,
        moved: Arc::clone(&moved),
    };
    let mut phase = gateway.life().watch();
    let drained = async {
        drains(&mut phase).await;
        tokio::time::sleep(gateway.settings().limits.drain).await;
    };
    tokio::select! {
        // A side that breaks off has said so to the other one by its end.
        _ = copy_bidirectional(&mut caller, &mut to) => {}
        () = moved.stands_still() => record.breaks(),
        () = drained => record.breaks(),
    }
    record.carries(moved.back.load(Ordering::Relaxed));
}

/// What has moved so far.
#[derive(Default)]
struct Moved {
    there: AtomicU64,
    back: AtomicU64,
}

impl Moved {
    fn all(&self) -> (u64, u64) {
        let of = |n: &AtomicU64| n.load(Ordering::Relaxed);
        (of(&self.there), of(&self.back))
    }

    /// Waits until nothing has moved for too long.
    async fn stands_still(&self) {
        loop {
            let before = self.all();
            tokio::time::sleep(STILL).await;
            if before == self.all() {
                return;
            }
        }
    }
}

/// The provider's side, counted.
struct Counted<T> {
    inner: T,
    moved: Arc<Moved>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Counted<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let read = (buf.filled().len() - before) as u64;
        self.moved.back.fetch_add(read, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Counted<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(cx, buf))?;
        self.moved
            .there
            .fetch_add(written as u64, Ordering::Relaxed);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
