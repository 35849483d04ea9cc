//! `abide jobs`: what was submitted, and what became of it.

pub(crate) mod place;
mod show;

use abide::clock::{Clock, System};
use abide_jobs::{Filter, Job, JobId, Queue, QueueError, State};
use serde_json::json;

use crate::exit::{Exit, Usage};
use crate::shown::{count, print};
use place::{Place, block_on, instant, length};

/// List, show, run, cancel, retry or forget jobs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Jobs, the youngest first
    List {
        /// In this state: queued, running, deferred, done, failed or cancelled
        #[arg(long, value_name = "STATE")]
        only: Option<String>,
        /// Of this queue
        #[arg(long)]
        queue: Option<String>,
        /// That ask this provider
        #[arg(long)]
        provider: Option<String>,
        /// Of this class
        #[arg(long)]
        class: Option<String>,
        /// Submitted before this one
        #[arg(long, value_name = "ID")]
        before: Option<JobId>,
        /// So many at most
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// How many jobs stand how, and which queues stand still
    Counts,
    /// One job: why it stands as it does, and what happened to it
    Show {
        /// Its number
        id: JobId,
    },
    /// What came of a job: the body of its answer
    Result {
        /// Its number
        id: JobId,
    },
    /// Run jobs now that wait; a gate that is held still holds, unless it is lifted too
    Run {
        /// Their numbers
        #[arg(required = true)]
        ids: Vec<JobId>,
    },
    /// Cancel jobs that are not over
    Cancel {
        /// Their numbers
        #[arg(required = true)]
        ids: Vec<JobId>,
    },
    /// Try jobs again that failed or were cancelled
    Retry {
        /// Their numbers
        #[arg(required = true)]
        ids: Vec<JobId>,
    },
    /// Say how urgent jobs are: 0 first, 7 last
    Urgency {
        /// How urgent
        #[arg(value_parser = clap::value_parser!(u8).range(0..=7))]
        urgency: u8,
        /// Their numbers
        #[arg(required = true)]
        ids: Vec<JobId>,
    },
    /// Begin nothing of a queue for a while
    Pause {
        /// The queue
        queue: String,
        /// Until when: an instant, or so long from now [default: until it is resumed]
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// Why, for whoever finds it later
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Let a queue go on
    Resume {
        /// The queue
        queue: String,
    },
    /// Forget jobs that are over, and give their room back
    Purge {
        /// In this state: done, failed or cancelled [default: all three]
        #[arg(long, value_name = "STATE")]
        only: Option<String>,
        /// Over for at least so long
        #[arg(long, value_name = "TIME", default_value = "0s")]
        older: String,
    },
    /// Print what webhooks are signed with that bring no secret of their own
    WebhookSecret,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let queue = args.place.plain()?;
    block_on(done(args, &queue))
}

async fn done(args: &Args, queue: &Queue) -> anyhow::Result<Exit> {
    let now = System.wall();
    let out = match &args.verb {
        Verb::List {
            only,
            queue: of,
            provider,
            class,
            before,
            limit,
        } => {
            let mut filter = Filter::default();
            filter.state = only.as_deref().map(word).transpose()?;
            filter.queue.clone_from(of);
            filter.provider.clone_from(provider);
            filter.class.clone_from(class);
            filter.before = *before;
            filter.most = Some(*limit);
            let jobs = queue.list(filter).await?;
            match args.json {
                true => format!("{}\n", serde_json::to_value(&jobs)?),
                false => show::lines(&jobs),
            }
        }
        Verb::Counts => {
            let (counts, paused) = (queue.counts().await?, queue.paused().await?);
            match args.json {
                true => format!("{}\n", show::counts_json(&counts, &paused)),
                false => show::counts(&counts, &paused),
            }
        }
        Verb::Show { id } => {
            let job = queue.get(*id).await.map_err(wrong)?;
            match args.json {
                true => format!("{:#}\n", serde_json::to_value(&job)?),
                false => show::whole(&job),
            }
        }
        Verb::Result { id } => return result(args, queue, *id).await,
        Verb::Run { ids } => each(args, ids, "runs now", |id| queue.run_now(id)).await?,
        Verb::Cancel { ids } => each(args, ids, "is cancelled", |id| queue.cancel(id)).await?,
        Verb::Retry { ids } => each(args, ids, "is tried again", |id| queue.retry(id)).await?,
        Verb::Urgency { urgency, ids } => {
            let set = |id| queue.prioritise(id, *urgency);
            each(args, ids, "has that urgency", set).await?
        }
        Verb::Pause {
            queue: of,
            until,
            reason,
        } => {
            let until = until
                .as_deref()
                .map(|t| instant("--until", t, now))
                .transpose()?;
            queue.pause(of, until, reason.as_deref()).await?;
            let until = until.map_or_else(|| "it is resumed".to_owned(), |t| t.to_string());
            format!("nothing of {of} is begun until {until}\n")
        }
        Verb::Resume { queue: of } => match queue.resume(of).await? {
            true => format!("{of} goes on\n"),
            false => format!("{of} did not stand\n"),
        },
        Verb::Purge { only, older } => {
            let all = [State::Done, State::Failed, State::Cancelled];
            let states = match only.as_deref().map(word).transpose()? {
                Some(state) if state.is_over() => vec![state],
                Some(state) => {
                    let why = format!("--only: a job that is {state} is not over; cancel it first");
                    return Err(Usage(why).into());
                }
                None => all.to_vec(),
            };
            let before = now.before(length("--older", older)?);
            let gone = queue.purge(&states, before).await?;
            queue.vacuum().await?;
            let gone = usize::try_from(gone).unwrap_or(usize::MAX);
            match args.json {
                true => format!("{}\n", json!({ "purged": gone })),
                false => format!("{} forgotten\n", count(gone, "job")),
            }
        }
        Verb::WebhookSecret => format!("{}\n", queue.webhook_secret()),
    };
    print(&out)?;
    Ok(Exit::Done)
}

/// Does the same to each of several jobs, and tells of each.
async fn each<F>(
    args: &Args,
    ids: &[JobId],
    what: &str,
    act: impl Fn(JobId) -> F,
) -> anyhow::Result<String>
where
    F: Future<Output = Result<Job, QueueError>>,
{
    let mut done = Vec::with_capacity(ids.len());
    for id in ids {
        done.push(act(*id).await.map_err(wrong)?);
    }
    Ok(match args.json {
        true => format!("{}\n", serde_json::to_value(&done)?),
        false => done
            .iter()
            .map(|job| format!("job {} {what}\n", job.id))
            .collect(),
    })
}

async fn result(args: &Args, queue: &Queue, id: JobId) -> anyhow::Result<Exit> {
    let job = queue.get(id).await.map_err(wrong)?;
    let Some(result) = queue.result(id).await? else {
        if !job.state.is_over() {
            eprintln!("abide: job {id} is {}: there is nothing yet", job.state);
            return Ok(Exit::Later);
        }
        let why = format!("nothing is kept of job {id} ({})", job.state);
        return Err(Usage(why).into());
    };
    if result.size > result.body.len() as u64 {
        eprintln!("abide: its body was cut off: it had {} bytes", result.size);
    }
    match args.json {
        true => print(&format!("{:#}\n", show::result_json(&result)))?,
        false => {
            use std::io::Write as _;
            std::io::stdout().lock().write_all(&result.body)?;
        }
    }
    Ok(match job.state {
        State::Done => Exit::Done,
        _ => Exit::Failed,
    })
}

fn word(state: &str) -> anyhow::Result<State> {
    state
        .parse()
        .map_err(|e| Usage(format!("--only: {e}")).into())
}

/// What a person asked for that makes no sense is no fault of the queue's.
fn wrong(e: QueueError) -> anyhow::Error {
    match e {
        QueueError::NoSuchJob(_) | QueueError::NotNow { .. } => Usage(e.to_string()).into(),
        e => e.into(),
    }
}
