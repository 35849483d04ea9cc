//! `abide explain`: what one answer means, and why.

mod cases;
mod har;
mod http;
mod input;
mod json;
mod lines;
mod report;
mod show;
mod source;
pub(crate) mod time;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::http::{Method, StatusCode, header};
use abide::clock::{Clock as _, System};
use abide::core::WallTime;
use abide::profile::judge::{Recorded, judge};
use abide::profile::{Catalogue, Profile};
use anyhow::bail;
use url::Url;

use self::input::Given;
use self::report::Report;
use crate::exit::{Exit, Usage};
use crate::own_profiles::OwnProfiles;
use crate::shown::print;

/// Explain an answer: what it means, whom it covers, how long to wait and why.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The answer as `curl -i` prints it, or a HAR file or an entry of one; - is standard input
    #[arg(default_value = "-", conflicts_with_all = ["status", "cases"], hide_default_value = true)]
    file: PathBuf,
    /// The answer's status, in place of a file
    #[arg(long, value_name = "CODE", conflicts_with = "cases")]
    status: Option<String>,
    /// A header of the answer; may be given several times
    #[arg(long, value_name = "NAME: VALUE", requires = "status")]
    header: Vec<String>,
    /// The file with its body; - is standard input
    #[arg(
        long,
        value_name = "FILE",
        requires = "status",
        conflicts_with = "body_text"
    )]
    body: Option<PathBuf>,
    /// Its body
    #[arg(long, value_name = "TEXT", requires = "status")]
    body_text: Option<String>,
    /// The provider it comes from [default: that of the URL, else any]
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The URL that was asked
    #[arg(long)]
    url: Option<String>,
    /// The method it was asked by [default: GET]
    #[arg(long)]
    method: Option<String>,
    /// When the answer came, as 2026-03-10T12:00:00Z [default: what the HAR file or the answer's
    /// Date says, else now]
    #[arg(long, value_name = "TIME")]
    now: Option<String>,
    /// The entry of the HAR file, counted from 1 [default: the last that was turned away]
    #[arg(long, value_name = "N", conflicts_with_all = ["status", "cases"])]
    entry: Option<usize>,
    /// Run recorded cases, one JSON object a line, and print each that differs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["provider", "url", "method", "now", "json"])]
    cases: Option<PathBuf>,
    /// Cases that are believed to be wrong, as id = "argument", beside those known
    #[arg(long, value_name = "FILE", requires = "cases")]
    disputed: Option<PathBuf>,
    /// Print the arguments of disputed cases
    #[arg(long, requires = "cases")]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: OwnProfiles,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let all = args.from.load()?;
    if let Some(cases) = &args.cases {
        return cases::run(&all, cases, args.disputed.as_deref(), args.verbose);
    }
    let asked = Asked::of(args)?;
    let (mut given, also) = match &args.status {
        Some(status) => (flags(args, status)?, None),
        None => from_file(args, &all, &asked)?,
    };
    given.remarks.extend(also);
    let remarks = std::mem::take(&mut given.remarks);
    let (profile, chosen) = asked.profile(&all, &given)?;
    let request_body = given.request_body.take();
    let recorded = asked.recorded(given);
    let report = Report::new(&profile, chosen, recorded, request_body.as_deref(), remarks);
    if args.json {
        print(&format!("{:#}\n", json::value(&report)))?;
    } else {
        print(&show::text(&report))?;
    }
    Ok(Exit::Done)
}

/// What the command line says of the request.
struct Asked {
    provider: Option<String>,
    url: Option<Url>,
    method: Option<Method>,
    now: Option<WallTime>,
}

impl Asked {
    fn of(args: &Args) -> anyhow::Result<Self> {
        // A URL may hold a key, so it is not repeated.
        let url = |text: &str| match Url::parse(text) {
            Ok(url) if url.has_host() => Ok(url),
            Ok(_) => Err(Usage("--url has no host".into())),
            Err(e) => Err(Usage(format!("--url is no URL: {e}"))),
        };
        let method = |text: &str| {
            let read = text.to_ascii_uppercase().parse();
            read.map_err(|_| Usage(format!("--method: {text:?} is no method")))
        };
        let now = |text: &str| {
            let wrong = || format!("--now: {text:?} is no time (as 2026-03-10T12:00:00Z)");
            input::time(text).ok_or_else(|| Usage(wrong()))
        };
        Ok(Self {
            provider: args.provider.clone(),
            url: args.url.as_deref().map(url).transpose()?,
            method: args.method.as_deref().map(method).transpose()?,
            now: args.now.as_deref().map(now).transpose()?,
        })
    }

    /// The profile that the answer is judged by, and why it is this one.
    fn profile(&self, all: &Catalogue, given: &Given) -> anyhow::Result<(Arc<Profile>, String)> {
        if let Some(name) = &self.provider {
            let found = all.get(name);
            let unknown = || Usage(format!("--provider: {}", all.unknown(name)));
            return Ok((found.ok_or_else(unknown)?, "as told".to_owned()));
        }
        let Some(url) = self.url.as_ref().or(given.url.as_ref()) else {
            let why = "no --provider and no --url: what holds for any";
            return Ok((all.generic(), why.to_owned()));
        };
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(443);
        Ok(match all.find(host, port, url.path()) {
            Some(profile) => (profile, format!("by its host {host}")),
            None => (
                all.generic(),
                format!("no profile names {host}: what holds for any"),
            ),
        })
    }

    fn recorded(&self, given: Given) -> Recorded {
        let url = self.url.as_ref().or(given.url.as_ref());
        let method = self.method.clone().or(given.method);
        Recorded {
            method: method.unwrap_or(Method::GET),
            path: url.map_or_else(|| "/".to_owned(), |u| u.path().to_owned()),
            wall: self.now.or(given.now).unwrap_or_else(|| {
                let clock = System.moment();
                date(&given.headers, given.status).unwrap_or(clock.wall)
            }),
            status: given.status,
            headers: given.headers,
            body: given.body,
            json: given.json,
        }
    }
}

/// The answer's own Date.
fn date(headers: &::http::HeaderMap, status: StatusCode) -> Option<WallTime> {
    headers.get(header::DATE)?;
    let mut skew = abide::core::Skew::new();
    abide::core::signal::read(status, headers, System.moment(), &mut skew).date
}

/// The answer that flags tell of.
fn flags(args: &Args, status: &str) -> anyhow::Result<Given> {
    let wrong = || Usage(format!("--status: {status:?} is no status (100 to 999)"));
    let mut given = Given {
        status: status.parse().map_err(|_| wrong())?,
        ..Given::default()
    };
    for (i, header) in args.header.iter().enumerate() {
        let at = i + 1;
        let (name, value) = header
            .split_once(':')
            .ok_or_else(|| Usage(format!("--header number {at} is not NAME: VALUE")))?;
        input::put(&mut given.headers, name.trim().as_bytes(), value.as_bytes())
            .map_err(|why| Usage(format!("--header number {at} {why}")))?;
    }
    given.body = match (&args.body, &args.body_text) {
        (Some(path), _) => Some(input::read(path)?),
        (None, Some(text)) => Some(text.clone().into_bytes()),
        (None, None) => None,
    };
    Ok(given)
}

/// The answer in a file, and how it was picked out of several.
fn from_file(
    args: &Args,
    all: &Catalogue,
    asked: &Asked,
) -> anyhow::Result<(Given, Option<String>)> {
    if args.file == Path::new("-") && std::io::stdin().is_terminal() {
        let what =
            "there is no answer to explain: name a file, pipe `curl -i` in, or give --status";
        return Err(Usage(what.into()).into());
    }
    let text = input::read(&args.file)?;
    let name = input::name(&args.file);
    let begins = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    if !matches!(begins.trim_ascii_start().first(), Some(b'{' | b'[')) {
        if args.entry.is_some() {
            return Err(Usage(format!("{name} is no HAR file, so it has no entries")).into());
        }
        return match http::parse(&text) {
            Ok(given) => Ok((given, None)),
            Err(wrong) => bail!("{name}:{}: {}", wrong.line, wrong.what),
        };
    }
    let mut entries = har::parse(begins).map_err(|why| anyhow::anyhow!("{name}: {why}"))?;
    let count = entries.len();
    let at = match args.entry {
        Some(n) if (1..=count).contains(&n) => n - 1,
        Some(n) => {
            return Err(Usage(format!("{name} has {count} entries, and no entry {n}")).into());
        }
        None => last_turned_away(&entries, all, asked),
    };
    let also = (args.entry.is_none() && count > 1).then(|| {
        let number = at + 1;
        format!("entry {number} of {count}, the last that was turned away; --entry picks another")
    });
    match entries.swap_remove(at) {
        Ok(given) => Ok((given, also)),
        Err(why) => bail!("{name}: entry {}: {why}", at + 1),
    }
}

/// The last entry whose answer is none; failing that, the last one with an answer at all.
fn last_turned_away(entries: &[Result<Given, String>], all: &Catalogue, asked: &Asked) -> usize {
    let away = |given: &Given| {
        let Ok((profile, _)) = asked.profile(all, given) else {
            return false;
        };
        let recorded = Recorded {
            method: given.method.clone().unwrap_or(Method::GET),
            path: given.url.as_ref().map_or("/", Url::path).to_owned(),
            wall: given.now.unwrap_or_default(),
            status: given.status,
            headers: given.headers.clone(),
            body: given.body.clone(),
            json: given.json,
        };
        !judge(&profile, &recorded).finding.verdict.is_answer()
    };
    let is_away = |e: &Result<Given, String>| e.as_ref().is_ok_and(away);
    let found = entries.iter().rposition(is_away);
    let any = || entries.iter().rposition(Result::is_ok);
    found.or_else(any).unwrap_or(entries.len() - 1)
}
