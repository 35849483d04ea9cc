//! The scripts that run in the server: each is what one operation of the store is, in one step.
//!
//! They are known to the server by their hash, so a process of another version runs its own on the
//! same data; what the data look like is the schema's affair (see [`SCHEMA`]).

use ::redis::aio::MultiplexedConnection;
use ::redis::{Cmd, FromRedisValue, Script, cmd};

use super::fault::Fault;

/// What the data look like. Raised when older processes could not make sense of them; while
/// processes of both sides live, they share the older's.
pub(super) const SCHEMA: u32 = 1;

/// All scripts.
#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) ask: Code,
    pub(super) take_back: Code,
    pub(super) put: Code,
    pub(super) greet: Code,
    pub(super) note: Code,
    pub(super) prune: Code,
}

/// One script.
#[derive(Debug)]
pub(super) struct Code {
    text: String,
    hash: String,
}

impl Code {
    fn new(parts: &[&str]) -> Self {
        let text = parts.concat();
        let hash = Script::new(&text).get_hash().to_owned();
        Self { text, hash }
    }

    /// A call of it with keys; its arguments follow.
    pub(super) fn call<'a>(&self, keys: impl ExactSizeIterator<Item = &'a str>) -> Cmd {
        let mut call = cmd("EVALSHA");
        call.arg(&self.hash).arg(keys.len());
        for key in keys {
            call.arg(key);
        }
        call
    }

    /// Runs a call of it. A server that has forgotten it (it was restarted, or told to) has not
    /// run it: it is told and asked again.
    pub(super) async fn run<T: FromRedisValue>(
        &self,
        on: &mut MultiplexedConnection,
        call: &Cmd,
    ) -> Result<T, Fault> {
        match call.query_async(on).await.map_err(Fault::from) {
            Err(e) if e.unknown_script => {
                self.load(on).await?;
                Ok(call.query_async(on).await?)
            }
            result => result,
        }
    }

    async fn load(&self, on: &mut MultiplexedConnection) -> Result<(), Fault> {
        let mut load = cmd("SCRIPT");
        load.arg("LOAD").arg(&self.text);
        Ok(load.query_async(on).await?)
    }
}

impl Scripts {
    pub(super) fn new() -> Self {
        const COMMON: &str = include_str!("script/common.lua");
        const WINDOWS: &str = include_str!("script/windows.lua");
        Self {
            ask: Code::new(&[COMMON, WINDOWS, include_str!("script/ask.lua")]),
            take_back: Code::new(&[COMMON, WINDOWS, include_str!("script/take_back.lua")]),
            put: Code::new(&[COMMON, include_str!("script/put.lua")]),
            greet: Code::new(&[COMMON, include_str!("script/greet.lua")]),
            note: Code::new(&[COMMON, include_str!("script/note.lua")]),
            prune: Code::new(&[include_str!("script/prune.lua")]),
        }
    }

    /// Tells the server all of them.
    pub(super) async fn load(&self, on: &mut MultiplexedConnection) -> Result<(), Fault> {
        for code in [&self.ask, &self.take_back, &self.put, &self.greet] {
            code.load(on).await?;
        }
        Ok(())
    }
}
