//! `docwright import`: logs of web servers, sent as page views. How far each was read is noted by
//! the server, together with what it took, so that a line counts once whatever is cut off when.

mod bar;
mod batch;
mod lines;
mod projects;
mod send;
mod source;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use serde::Serialize;
use traffic::Progress;
use traffic::import::Format;

use super::{Client, segment};
use crate::args::Import;
use crate::output;
use crate::settings::Sources;
use bar::Bar;
use batch::{Batch, Opened, Rest, SHOWN};
use lines::Compared;
use send::Sending;
use source::is_stdin;

/// Batches that are made ready while one is sent.
const AHEAD: usize = 2;
const GOES_ON: &str = "the same command again goes on from there";

pub(crate) async fn run(sources: &Sources, args: Import) -> anyhow::Result<ExitCode> {
    let client = Client::from_settings(sources)?;
    let mut reports = Vec::new();
    // Dropping it in the middle does no harm: the server knows what it has.
    let all = async {
        for path in &args.files {
            let report = file(&client, &args, path).await?;
            if let Some(trouble) = &report.trouble {
                output::say(format!("error: {}: {trouble}", report.file));
            }
            reports.push(report);
        }
        anyhow::Ok(())
    };
    let done = tokio::select! {
        done = all => done,
        _ = tokio::signal::ctrl_c() => return Err(anyhow!("stopped; {GOES_ON}")),
    };
    if let Err(error) = done {
        return Err(projects::told(sources, &client, error).await);
    }
    let well = reports.iter().all(|report| report.trouble.is_none());
    print(args.json, reports)?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What became of the lines of a file.
#[derive(Serialize, Default)]
struct Report {
    file: String,
    format: Option<&'static str>,
    /// New views.
    added: u64,
    /// Lines that were read by an import before this one.
    before: u64,
    /// Views whose event id was known.
    duplicates: u64,
    /// Lines that rightly tell of no view.
    other: u64,
    /// Lines that could not be read, or that the server refused.
    malformed: u64,
    /// Why it was not read to its end.
    trouble: Option<String>,
    #[serde(skip)]
    shown: usize,
}

impl Report {
    fn take_up(&mut self, batch: &Batch, bar: &Bar) {
        self.other += batch.other;
        self.malformed += batch.malformed;
        for (line, why) in batch.problems.iter().take(SHOWN.saturating_sub(self.shown)) {
            bar.say(format!("{}, line {line}: {why}", self.file));
            self.shown += 1;
        }
        if let Some(line) = batch.left {
            bar.say(format!("{}, line {line}: {NO_END}", self.file));
        }
    }

    fn lines(&self) -> u64 {
        self.added + self.duplicates + self.other + self.malformed
    }
}

fn print(json: bool, files: Vec<Report>) -> anyhow::Result<()> {
    if json {
        return output::json(&serde_json::json!({ "files": files }));
    }
    let row = |report: Report| {
        let numbers = [report.added, report.before, report.duplicates, report.other, report.malformed];
        let [added, before, duplicates, other, malformed] = numbers.map(|number| number.to_string());
        let format = report.format.unwrap_or("-").to_owned();
        [report.file, format, added, before, duplicates, other, malformed]
    };
    let head = ["FILE", "FORMAT", "ADDED", "BEFORE", "DUPLICATES", "OTHER", "MALFORMED"];
    output::table(head, files.into_iter().map(row))
}

async fn file(client: &Client, args: &Import, path: &Path) -> anyhow::Result<Report> {
    let mut report = Report { file: path.display().to_string(), ..Report::default() };
    match begun(client, args, path, &mut report).await? {
        Some((opened, sending)) => sent(opened, sending, report).await,
        None => Ok(report),
    }
}

/// The file at the first line that is new, and who sends it; `None` when there is trouble with it.
async fn begun<'a>(
    client: &'a Client,
    args: &Import,
    path: &Path,
    report: &mut Report,
) -> anyhow::Result<Option<(Opened, Sending<'a>)>> {
    let mut sending = Sending::new(client, segment(&args.project));
    loop {
        let mut opened = match open(path, args.format).await? {
            Ok(opened) => opened,
            Err(trouble) => {
                report.trouble = Some(trouble);
                return Ok(None);
            }
        };
        report.format = Some(opened.format.name());
        let known = sending.progress_of(&opened.fingerprint).await?;
        let (compared, opened) = blocking(move || (opened.pass(&known), opened)).await?;
        let trouble = match compared {
            Ok(Compared::Same) => {
                report.before = opened.line_number();
                return Ok(Some((opened, sending)));
            }
            Ok(Compared::Shorter) if !args.distinct => SHORTER.to_owned(),
            Ok(_) if is_stdin(path) => ON_STDIN.to_owned(),
            Ok(_) => continue, // There is another file that begins like this one.
            Err(error) => damaged(&error),
        };
        report.trouble = Some(trouble);
        return Ok(None);
    }
}

const NO_END: &str = "it has no line end yet, so that it is left for the next time";
const SHORTER: &str = "it ends before where one that begins like it was read to, so that it is taken for \
    an older copy and nothing is added; with --distinct it is another file";
const ON_STDIN: &str = "it begins like something that was imported before and goes on differently; \
    write it to a file and import that";
const UNKNOWN: &str = "its first lines are of no format that is known; name it with --format";

async fn open(path: &Path, format: Option<Format>) -> anyhow::Result<Result<Opened, String>> {
    let path = path.to_owned();
    let opened = blocking(move || Opened::open(&path, format)).await?;
    Ok(match opened {
        Ok(opened) => opened.ok_or_else(|| UNKNOWN.to_owned()),
        Err(error) => Err(format!("it cannot be opened: {error}")),
    })
}

async fn sent(opened: Opened, mut sending: Sending<'_>, mut report: Report) -> anyhow::Result<Report> {
    let mut bar = Bar::new(&report.file, &opened.meter);
    let (tell, mut batches) = tokio::sync::mpsc::channel(AHEAD);
    let reading = tokio::task::spawn_blocking(move || opened.read(&tell));
    while let Some(mut batch) = batches.recv().await {
        let taken = sending.deliver(&batch).await.with_context(|| {
            let line = report.before + report.lines();
            format!("{} is imported up to line {line}, and {GOES_ON}", report.file)
        })?;
        report.added += taken.accepted.saturating_sub(taken.duplicates);
        report.duplicates += taken.duplicates;
        for refused in taken.rejected {
            let index = usize::try_from(refused.line).unwrap_or_default().saturating_sub(1);
            batch.problem(batch.numbers.get(index).copied().unwrap_or_default(), refused.message);
        }
        report.take_up(&batch, &bar);
        bar.draw(report.lines(), batch.read);
    }
    let Rest { batch, broken } = reading.await.context("a line could not be read")?;
    report.take_up(&batch, &bar);
    bar.clear();
    report.trouble = broken.map(|error| damaged(&error));
    Ok(report)
}

fn damaged(error: &std::io::Error) -> String {
    let what = match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
        _ => format!("it cannot be read to its end ({error})"),
    };
    format!("{what}; what came before that is imported, and the whole file, when there is one, adds the rest")
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await.context("a file could not be read")
}

/// What the server knows of a file, as its reader compares it.
fn progress(known: wire::ImportProgress) -> Progress {
    Progress { bytes: known.bytes, hash: known.hash.unwrap_or_default() }
}
