//! A provider that listens.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use abide_core::Moment;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::exchange::serve;
use super::options::ServerOptions;
use super::shared::Shared;
use crate::policy::Job;
use crate::provider::Provider;
use crate::truth::Truth;

/// A simulated provider on a socket, served by a thread of its own until it is shut down or
/// dropped. The instants of its policy count from its start.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Begins to listen. Connections are accepted as soon as this returns.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on, or the thread or its runtime cannot be had.
    pub fn start(provider: Provider, options: ServerOptions) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(options.listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let listener = {
            let _context = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let shared = Arc::new(Shared::new(provider, options));
        let (stop, stopped) = oneshot::channel();
        let accepting = accept(listener, Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("abide-sim".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = accepting => {}
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// A copy of the ground truth so far.
    pub fn truth(&self) -> Truth {
        self.read(Truth::clone)
    }

    /// Looks at the ground truth without copying it. The server waits meanwhile.
    pub fn read<T>(&self, look: impl FnOnce(&Truth) -> T) -> T {
        look(self.shared.provider().truth())
    }

    /// The time the fastest schedule takes that the policy permits.
    pub fn oracle(&self, job: Job) -> Duration {
        self.shared.provider().oracle(job)
    }

    /// The present moment on the server's own scale: where to start a [`Job`] for the oracle.
    pub fn moment(&self) -> Moment {
        self.shared.clock.read()
    }

    /// Closes all connections and returns the ground truth.
    pub fn shutdown(mut self) -> Truth {
        self.end();
        self.truth()
    }

    fn end(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Nobody listening means the thread has ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, Arc::clone(&shared)));
            }
            // Out of descriptors, most likely; they come back as connections close.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    // A socket that refuses the option still works, only slower.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| serve(Arc::clone(&shared), request));
    let served = http1::Builder::new()
        .pipeline_flush(false)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service);
    // Broken connections are this server's trade.
    let _ = served.await;
}
