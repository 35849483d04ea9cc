//! A pool of our own over `hyper::client::conn`: a connection is driven by the call that has it, so
//! nothing is handed from task to task, and lies still while it is idle.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpStream;

/// A connection and the handle to send on it.
struct Lent {
    sender: SendRequest<Incoming>,
    connection: Box<Connection<TokioIo<TcpStream>, Incoming>>,
}

/// Idle connections; the one used last goes first, since it is the likeliest to be alive.
#[derive(Clone, Default)]
pub(crate) struct Pool {
    idle: Arc<Mutex<Vec<Lent>>>,
}

impl Pool {
    pub(crate) async fn send(
        &self,
        upstream: SocketAddr,
        request: Request<Incoming>,
    ) -> anyhow::Result<Response<Held>> {
        let mut lent = self.take(upstream).await?;
        let (mut parts, body) = request.into_parts();
        let host = parts.uri.authority().map(|a| a.as_str().parse());
        if let Some(host) = host.transpose()? {
            parts.headers.insert(http::header::HOST, host);
        }
        if let Some(path) = parts.uri.path_and_query() {
            parts.uri = path.as_str().parse()?;
        }
        let mut answer = Box::pin(lent.sender.send_request(Request::from_parts(parts, body)));
        let response = poll_fn(|cx| {
            let _ = lent.drive(cx);
            answer.as_mut().poll(cx)
        });
        let response = response.await?;
        drop(answer);
        Ok(response.map(|body| Held {
            body,
            lent: Some(lent),
            pool: self.clone(),
        }))
    }

    async fn take(&self, upstream: SocketAddr) -> anyhow::Result<Lent> {
        loop {
            let Some(mut lent) = self.idle.lock().pop() else {
                break;
            };
            let over = poll_fn(|cx| Poll::Ready(lent.drive(cx).is_ready())).await;
            if !over && lent.sender.is_ready() {
                return Ok(lent);
            }
        }
        let socket = TcpStream::connect(upstream).await?;
        socket.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(socket)).await?;
        let mut lent = Lent {
            sender,
            connection: Box::new(connection),
        };
        poll_fn(|cx| {
            let _ = lent.drive(cx);
            lent.sender.poll_ready(cx)
        })
        .await?;
        Ok(lent)
    }
}

impl Lent {
    fn drive(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        Pin::new(&mut *self.connection).poll(cx)
    }
}

/// A body that drives its connection, and gives it back at its end.
pub(crate) struct Held {
    body: Incoming,
    lent: Option<Lent>,
    pool: Pool,
}

impl Held {
    fn give_back(&mut self, cx: &mut Context<'_>) {
        if let Some(mut lent) = self.lent.take()
            && lent.drive(cx).is_pending()
            && lent.sender.is_ready()
        {
            self.pool.idle.lock().push(lent);
        }
    }
}

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if let Some(lent) = &mut self.lent {
            let _ = lent.drive(cx);
        }
        let next = Pin::new(&mut self.body).poll_frame(cx);
        let over = matches!(next, Poll::Ready(None)) || self.body.is_end_stream();
        if over {
            self.give_back(cx);
        }
        next
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
