//! Leave, asked of the server.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::redis::{Cmd, FromRedisValue, Value};
use abide_core::WallTime;
use abide_core::hold::HoldId;
use tokio::sync::oneshot;

use super::fault::Fault;
use super::inner::{Inner, Up};
use super::offset::moved;
use crate::lend::{
    ASK_AGAIN, Answer, Ask, GateAsk, Grant, Lent, Lost, NotNow, Shape, Why, instant, micros,
};
use crate::words;

/// An answer that somebody waits for. Whoever leaves gives back what was lent meanwhile.
pub(super) struct Asked {
    inner: Arc<Inner>,
    ask: Arc<Ask>,
    told: oneshot::Receiver<Result<Answer, Lost>>,
}

impl Future for Asked {
    type Output = Result<Answer, Lost>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let told = Pin::new(&mut self.told).poll(cx);
        told.map(|told| told.unwrap_or_else(|_| Err(Lost("this process is ending".to_owned()))))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.told.close();
        if let Ok(Ok(Answer::Lent(lent))) = self.told.try_recv() {
            self.inner.give_back(&self.ask, &lent);
        }
    }
}

/// Asks. The script that lends may run although nobody waits for its answer any more: then what it
/// lent goes back.
pub(super) fn ask(inner: &Arc<Inner>, up: Up, ask: Ask) -> Asked {
    let (tell, told) = oneshot::channel();
    let ask = Arc::new(ask);
    let (on, asked) = (Arc::clone(inner), Arc::clone(&ask));
    inner.runtime.spawn(async move {
        let within = on.options.ask_within;
        let mut call = std::pin::pin!(run(&on, up, &asked, ""));
        let Ok(answer) = tokio::time::timeout(within, &mut call).await else {
            let _ = tell.send(Err(Lost(Fault::late(within).why)));
            on.doubt();
            if let Ok(Answer::Lent(lent)) = call.await {
                on.give_back(&asked, &lent);
            }
            return;
        };
        if answer.is_err() {
            on.doubt();
        }
        let answer = answer.map_err(|fault| Lost(fault.why));
        if let Err(Ok(Answer::Lent(lent))) = tell.send(answer) {
            on.give_back(&asked, &lent);
        }
    });
    Asked {
        inner: Arc::clone(inner),
        ask,
        told,
    }
}

/// Asks once. `now` is empty for the server's own time.
pub(super) async fn run(inner: &Inner, mut up: Up, ask: &Ask, now: &str) -> Result<Answer, Fault> {
    let call = call(inner, ask, now);
    let asked = inner.wall();
    let code = &inner.scripts.ask;
    let reply: Vec<Value> = code.run(&mut up.connection, &call).await?;
    let reply = Reply(reply);
    inner.offset.meets(asked, reply.number(1)?, inner.wall());
    reply.answer(ask, inner.offset.get(), inner.peers())
}

fn call(inner: &Inner, ask: &Ask, now: &str) -> Cmd {
    let gates = ask.gates.iter();
    let keys: Vec<String> = gates
        .map(|g| inner.keys.gate(&ask.provider, &g.gate))
        .collect();
    let mut call = inner.scripts.ask.call(keys.iter().map(String::as_str));
    call.arg(now).arg(inner.who);
    for gate in &ask.gates {
        call.arg(gate.cost)
            .arg(gate.ahead)
            .arg(micros(gate.life))
            .arg(micros(gate.probe));
        shapes(&mut call, gate);
    }
    call
}

/// Gives back once: a script of which nobody knows whether it ran is not run again, since what is
/// given back twice would be lent twice.
pub(super) async fn take_back(
    inner: &Inner,
    mut up: Up,
    ask: &Ask,
    unused: &Lent,
    now: &str,
) -> Result<(), Fault> {
    let gates = ask.gates.iter();
    let keys: Vec<String> = gates
        .map(|g| inner.keys.gate(&ask.provider, &g.gate))
        .collect();
    let code = &inner.scripts.take_back;
    let mut call = code.call(keys.iter().map(String::as_str));
    call.arg(now).arg(inner.who).arg(unused.at);
    for (gate, grant) in ask.gates.iter().zip(&unused.grants) {
        call.arg(grant.permits)
            .arg(micros(grant.life))
            .arg(u8::from(grant.probe));
        shapes(&mut call, gate);
    }
    code.run::<String>(&mut up.connection, &call)
        .await
        .map(drop)
}

fn shapes(call: &mut Cmd, gate: &GateAsk) {
    call.arg(gate.windows.len());
    for shape in &gate.windows {
        match *shape {
            Shape::Bucket { interval, burst } => call.arg("b").arg(micros(interval)).arg(burst),
            Shape::Fixed {
                limit,
                period,
                boundary,
            } => call
                .arg("f")
                .arg(limit as f64)
                .arg(micros(period))
                .arg(instant(boundary)),
            Shape::Sliding { limit, period } => call.arg("s").arg(limit as f64).arg(micros(period)),
        };
    }
}

/// What a script answered.
struct Reply(Vec<Value>);

impl Reply {
    fn text(&self, n: usize) -> Result<&str, Fault> {
        match self.0.get(n) {
            Some(Value::BulkString(bytes)) => std::str::from_utf8(bytes).ok(),
            Some(Value::SimpleString(text)) => Some(text.as_str()),
            _ => None,
        }
        .ok_or_else(no_sense)
    }

    fn number(&self, n: usize) -> Result<f64, Fault> {
        self.text(n)?.parse().map_err(|_| no_sense())
    }

    fn whole(&self, n: usize) -> Result<u64, Fault> {
        let value = self.0.get(n).cloned().ok_or_else(no_sense)?;
        u64::from_redis_value(value).map_err(|_| no_sense())
    }

    fn spell(&self, n: usize) -> Result<Duration, Fault> {
        Ok(Duration::from_micros(self.number(n)? as u64))
    }

    fn answer(&self, ask: &Ask, offset: i64, peers: u32) -> Result<Answer, Fault> {
        let why = match self.text(0)? {
            "lent" => {
                let gates = 0..ask.gates.len();
                let grants: Result<Vec<_>, Fault> = gates.map(|n| self.grant(2 + 3 * n)).collect();
                return Ok(Answer::Lent(Lent {
                    grants: grants?,
                    at: self.number(1)? as i64,
                    peers,
                }));
            }
            "held" => {
                let id = u64::from_str_radix(self.text(4)?, 16).map_err(|_| no_sense())?;
                let until: i64 = self.text(6)?.parse().map_err(|_| no_sense())?;
                Why::Held {
                    id: HoldId(id),
                    cause: words::verdict(self.text(5)?).ok_or_else(no_sense)?,
                    until: moved(WallTime::from_unix_nanos(until), -offset),
                    probes: self.text(7)? == "1",
                }
            }
            "probing" => Why::Probing,
            _ => Why::Spent,
        };
        let after = self.spell(3)?;
        Ok(Answer::NotNow(NotNow {
            gate: usize::try_from(self.whole(2)?).map_err(|_| no_sense())?,
            why,
            after: match why {
                Why::Probing => after.min(ASK_AGAIN),
                _ => after,
            },
            peers,
        }))
    }

    fn grant(&self, n: usize) -> Result<Grant, Fault> {
        Ok(Grant {
            permits: self.number(n)? as u32,
            life: self.spell(n + 1)?,
            probe: self.whole(n + 2)? == 1,
        })
    }
}

fn no_sense() -> Fault {
    Fault::new("it answered what makes no sense: another program's keys, or another abide's?")
}
