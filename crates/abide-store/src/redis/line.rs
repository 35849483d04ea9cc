//! The way to the server: made, watched, and made again.
//!
//! Two connections: one for all that is asked and said, one on which news come. Each greeting looks
//! at both, so that a server that is there and does not answer is gone too.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use ::redis::aio::PubSub;
use ::redis::{AsyncConnectionConfig, Value, cmd};
use futures_util::StreamExt as _;

use super::fault::Fault;
use super::inner::{Inner, Line, Up};
use super::{hello, loading, queue};

/// How often a process says that it is there: three may be lost before it is taken to be gone.
const GREET: Duration = Duration::from_secs(2);
/// A greeting that is not answered within this means that the server is gone.
const ANSWER: Duration = Duration::from_secs(1);
/// What a server was asked is waited for so long, to give back what it lent to nobody.
const LATE: Duration = Duration::from_secs(10);
/// The least and the most between two tries.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// At the end, what is queued is written within this.
const ENDING: Duration = Duration::from_secs(1);
/// So many questions may wait for their turn on the connection.
const QUESTIONS: usize = 4_096;

/// Keeps the line until the store ends. How the first try went is told.
pub(super) async fn keep(inner: Arc<Inner>, first: SyncSender<Result<(), Fault>>) {
    inner.runtime.spawn(queue::send(Arc::clone(&inner)));
    let mut pause = PAUSE.0;
    while !*inner.quit.borrow() {
        let connected = tokio::select! {
            connected = connect(&inner) => connected,
            () = inner.quits() => break,
        };
        let why = match connected {
            Ok((up, news, epoch)) => {
                pause = PAUSE.0;
                inner.line.send_replace(Line::Up(up.clone()));
                // Only the first is waited for.
                let _ = first.try_send(Ok(()));
                serve(&inner, &up, news, epoch).await
            }
            Err(fault) => {
                let _ = first.try_send(Err(fault.clone()));
                fault.why
            }
        };
        inner.goes_down(&why);
        let _ = tokio::time::timeout(pause, inner.quits()).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}

/// A connection that does not come about in time is none.
async fn within<T>(
    within: Duration,
    does: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let done = tokio::time::timeout(within, does).await;
    done.unwrap_or_else(|_| Err(Fault::late(within)))
}

async fn connect(inner: &Arc<Inner>) -> Result<(Up, PubSub, String), Fault> {
    let limit = inner.options.connect_within;
    let (mut up, mut news) = within(limit, async {
        let client = inner.place.client().await?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(limit))
            .set_response_timeout(Some(LATE))
            .set_pipeline_buffer_size(QUESTIONS);
        let connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        let mut up = Up { connection };
        let about: String = cmd("INFO")
            .arg("server")
            .query_async(&mut up.connection)
            .await?;
        hello::is_new_enough(&about)?;
        let news = client.get_async_pubsub().await?;
        Ok((up, news))
    })
    .await?;
    // First listening, then reading: what is said in between comes twice rather than never.
    within(limit, async { Ok(news.subscribe(&inner.keys.news).await?) }).await?;
    let epoch = within(limit, async {
        inner.scripts.load(&mut up.connection).await?;
        hello::meet(inner, up.clone()).await
    })
    .await?;
    within(LATE, loading::reconcile(inner, up.clone())).await?;
    Ok((up, news, epoch))
}

/// Listens until something is wrong, and says what.
async fn serve(inner: &Arc<Inner>, up: &Up, news: PubSub, mut epoch: String) -> String {
    let (mut sink, mut stream) = news.split();
    let mut greeting = tokio::time::interval(GREET);
    loop {
        tokio::select! {
            message = stream.next() => {
                let Some(message) = message else {
                    return "the connection was closed".to_owned();
                };
                if let Ok(text) = message.get_payload::<String>() {
                    inner.hears(&text);
                }
                continue;
            }
            _ = greeting.tick() => {}
            () = inner.doubted.notified() => {}
            () = inner.quits() => {
                let _ = tokio::time::timeout(ENDING, inner.queue.drained()).await;
                return "this process is ending".to_owned();
            }
        }
        let looked = within(ANSWER, async {
            let met = hello::greet(inner, up.clone(), "").await?;
            sink.ping::<Value>().await?;
            Ok(met)
        });
        let looked = match looked.await {
            Ok(met) if met == epoch => Ok(()),
            Ok(met) => {
                epoch = met;
                within(LATE, loading::reconcile(inner, up.clone())).await
            }
            Err(fault) => Err(fault),
        };
        if let Err(fault) = looked {
            return fault.why;
        }
    }
}
