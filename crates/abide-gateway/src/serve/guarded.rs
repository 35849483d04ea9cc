//! The bytes of one connection: framing that could be read in two ways is made unreadable, and a
//! caller that does not take its answer is let go.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::strict::Strict;
use crate::settings::Limits;

/// No request begins like this, and none goes on like this: the HTTP library answers 400.
const UNREADABLE: &[u8] = b"\0\r\n\r\n";

/// How a connection of HTTP/2 begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that is read along, and written with patience.
#[derive(Debug)]
pub(super) struct Guarded<T> {
    inner: T,
    strict: Strict,
    /// Runs until it is seen in which version the caller speaks: the HTTP library waits for that without an
    /// end. With it how much is read of what HTTP/2 begins with.
    opening: Option<(Pin<Box<Sleep>>, usize)>,
    /// Something was wrong: nothing more is read.
    wrong: bool,
    idle: Duration,
    /// Runs while the caller takes nothing.
    still: Option<Pin<Box<Sleep>>>,
}

impl<T> Guarded<T> {
    /// `body_idle` bounds how long the caller may take nothing of its answer, `head_read` how long it may
    /// say nothing at all, `head_size` a head.
    pub(super) fn new(inner: T, limits: &Limits) -> Self {
        Self {
            inner,
            strict: Strict::new(limits.head_size),
            opening: Some((Box::pin(tokio::time::sleep(limits.head_read)), 0)),
            wrong: false,
            idle: limits.body_idle,
            still: None,
        }
    }

    fn patiently<R>(
        &mut self,
        cx: &mut Context<'_>,
        done: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if done.is_ready() {
            self.still = None;
            return done;
        }
        let idle = self.idle;
        let still = self
            .still
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(idle)));
        let over = still.as_mut().poll(cx);
        over.map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Guarded<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.wrong {
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        if let Some((over, seen)) = &mut self.opening {
            let told = &buf.filled()[before..];
            let as_far = PREFACE.get(*seen..).unwrap_or_default();
            *seen += told.len();
            if *seen >= PREFACE.len() || !as_far.starts_with(told) {
                self.opening = None;
            } else if read.is_pending() && over.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        if matches!(read, Poll::Ready(Ok(()))) {
            let this = &mut *self;
            if let Err(wrong) = this.strict.see(&buf.filled()[before..]) {
                tracing::debug!(what = wrong.what, "a request is refused");
                this.wrong = true;
                buf.set_filled(before + wrong.begins);
                let room = buf.remaining().min(UNREADABLE.len());
                buf.put_slice(&UNREADABLE[..room]);
            }
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Guarded<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.patiently(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.patiently(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    // Over TLS the last part of an answer may lie there until it is flushed.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.patiently(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.patiently(cx, shut)
    }
}
