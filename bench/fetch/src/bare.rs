//! The bare loop: as many workers as requests at once, a line an item, nothing else.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) fn run(list: &Path, concurrency: u32) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(work(list, concurrency))
}

async fn work(list: &Path, concurrency: u32) -> anyhow::Result<()> {
    let tls = abide::tls_config(Vec::new())?;
    let http = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .pool_max_idle_per_host(concurrency as usize)
        .build()?;
    let lines = Arc::new(Mutex::new(BufReader::new(File::open(list)?).lines()));
    let out = Arc::new(Mutex::new(BufWriter::new(std::io::stdout())));
    let mut workers = Vec::new();
    for _ in 0..concurrency {
        let (http, lines, out) = (http.clone(), Arc::clone(&lines), Arc::clone(&out));
        workers.push(tokio::spawn(async move {
            loop {
                let next = lines.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(url) = next.transpose()? else {
                    return anyhow::Ok(());
                };
                let response = http.get(&url).send().await?;
                let status = response.status().as_u16();
                let body = response.text().await?;
                let line = serde_json::json!({ "url": url, "status": status, "body": body });
                writeln!(out.lock().unwrap_or_else(PoisonError::into_inner), "{line}")?;
            }
        }));
    }
    for worker in workers {
        worker.await??;
    }
    out.lock().unwrap_or_else(PoisonError::into_inner).flush()?;
    Ok(())
}
