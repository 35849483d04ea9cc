//! GCRA in one key, as rate limiters in Redis do it.

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Script};
use std::sync::Arc;

const GCRA: &str = r"
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local next = full + interval
if next - now > interval * burst then
  return {0, string.format('%.17g', next - now - interval * burst)}
end
redis.call('SET', KEYS[1], string.format('%.17g', next), 'PX', math.ceil((next - now) / 1000) + 60000)
return {1, '0'}
";

/// A connection and the script.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    connection: MultiplexedConnection,
    script: Arc<Script>,
}

impl Plain {
    pub(crate) async fn connect(url: &str) -> anyhow::Result<Self> {
        let config = AsyncConnectionConfig::new().set_pipeline_buffer_size(4_096);
        let client = Client::open(url)?;
        Ok(Self {
            connection: client
                .get_multiplexed_async_connection_with_config(&config)
                .await?,
            script: Arc::new(Script::new(GCRA)),
        })
    }

    pub(crate) async fn ask(&mut self) -> anyhow::Result<()> {
        let mut asks = self.script.key("plain:{bench}");
        asks.arg(0.1).arg(1_000_000_000);
        let (lent, _): (u8, String) = asks.invoke_async(&mut self.connection).await?;
        anyhow::ensure!(lent == 1, "turned away");
        Ok(())
    }
}
