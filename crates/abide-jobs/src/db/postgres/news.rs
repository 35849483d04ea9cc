//! Hearing of what other processes submitted.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_postgres::{AsyncMessage, Config, Error, NoTls};

use super::fault::words;
use super::{read, runtime};
use crate::db::Fault;

/// The name under which is told that something is to be had.
const CHANNEL: &str = "abide_jobs";

/// How often a listener looks whether anybody still wants to hear, and how long it waits where
/// there is no server.
const LOOK: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(500);

/// Wakes whoever waits for news whenever another process tells of some, as long as anybody may.
pub(crate) fn listen(config: &str, news: &Arc<Notify>) -> Result<(), Fault> {
    let (config, news) = (read(config)?, Arc::downgrade(news));
    let runtime = runtime()?;
    let thread = std::thread::Builder::new().name("abide-jobs-news".to_owned());
    let spawned = thread.spawn(move || {
        runtime.block_on(async {
            while news.strong_count() > 0 {
                if let Err(e) = hear(&config, &news).await {
                    tracing::debug!(error = %words(&e), "no news from the queue's server");
                }
                tokio::time::sleep(AGAIN).await;
            }
        });
    });
    spawned.map(drop).map_err(|e| Fault::Sql(e.to_string()))
}

async fn hear(config: &Config, news: &Weak<Notify>) -> Result<(), Error> {
    let (client, mut connection) = config.connect(NoTls).await?;
    let listening = client.batch_execute("LISTEN abide_jobs");
    tokio::pin!(listening);
    let mut asked = false;
    loop {
        let message = poll_fn(|cx| connection.poll_message(cx));
        tokio::select! {
            done = &mut listening, if !asked => {
                done?;
                asked = true;
                // What was told while nobody listened is looked for.
                if let Some(news) = news.upgrade() {
                    news.notify_waiters();
                }
            }
            message = message => match message {
                Some(Ok(AsyncMessage::Notification(n))) if n.channel() == CHANNEL => {
                    if let Some(news) = news.upgrade() {
                        news.notify_waiters();
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(e)) => return Err(e),
                None => return Ok(()),
            },
            () = tokio::time::sleep(LOOK) => {
                if news.strong_count() == 0 {
                    return Ok(());
                }
            }
        }
    }
}
