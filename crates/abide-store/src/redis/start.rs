//! The store's thread: begun with the store, ended with its last handle.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use ring::rand::{SecureRandom as _, SystemRandom};

use super::fault::Fault;
use super::inner::Inner;
use super::options::Options;
use super::place::Place;
use super::{keys, line};
use crate::StoreError;

/// Ends the store's thread with itself.
pub(super) struct Handle {
    pub(super) inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.inner.quit.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // The last clone may go in a call from there.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

/// Reads the address and begins; waits for the first try, unless that may fail.
pub(super) fn start(url: &str, options: Options) -> Result<Handle, StoreError> {
    let place = Place::read(url, &options)?;
    let shown = place.shown.clone();
    let cannot = |why: String| StoreError::Shared { store: shown, why };
    begin(place, options).map_err(cannot)
}

fn begin(place: Place, options: Options) -> Result<Handle, String> {
    if options.prefix.is_empty() || options.prefix.contains(['{', '}']) {
        return Err(format!("{:?} is no prefix of keys", options.prefix));
    }
    let first = (thrown()?, keys::hex(&thrown::<8>()?));
    let who = u64::from_le_bytes(thrown()?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("there is no runtime: {e}"))?;
    let may_fail = options.known_secret.is_some();
    // A connection, what is said on it at first, and a little for a machine that is busy.
    let patience = options.connect_within * 3 + Duration::from_secs(1);
    let handle = runtime.handle().clone();
    let inner = Arc::new(Inner::new(place, options, handle, who, first));
    let (tell, told) = sync_channel(1);
    let kept = Arc::clone(&inner);
    let thread = std::thread::Builder::new()
        .name("abide-redis".to_owned())
        .spawn(move || runtime.block_on(line::keep(kept, tell)))
        .map_err(|e| format!("there is no thread: {e}"))?;
    let handle = Handle {
        inner,
        thread: Some(thread),
    };
    let met = told.recv_timeout(patience);
    match met.unwrap_or_else(|_| Err(Fault::late(patience))) {
        Err(fault) if !may_fail => Err(fault.why),
        _ => Ok(handle),
    }
}

fn thrown<const N: usize>() -> Result<[u8; N], String> {
    let mut dice = [0; N];
    let filled = SystemRandom::new().fill(&mut dice);
    filled.map_err(|_| "there is no randomness".to_owned())?;
    Ok(dice)
}
