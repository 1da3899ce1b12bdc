//! Runs `docwright import`: sends logs of web servers as page views.
//!
//! The server stores how far it has read each file, in the same transaction as the views. So each line counts once,
//! whenever an import is interrupted.

mod batch;
mod lines;
mod progress_bar;
mod projects;
mod source;
mod upload;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use serde::Serialize;
use traffic::Progress;
use traffic::import::Format;

use super::{Client, encode_segment};
use crate::args::Import;
use crate::output;
use crate::settings::Sources;
use batch::{Batch, LogFile, MAX_SHOWN_PROBLEMS, ReadEnd};
use lines::Comparison;
use progress_bar::ProgressBar;
use source::is_stdin;
use upload::Uploader;

/// Batches that are prepared while one is sent.
const MAX_QUEUED_BATCHES: usize = 2;
const RESUME_HINT: &str = "run the same command again to continue from there";

pub(crate) async fn run(sources: &Sources, args: Import) -> anyhow::Result<ExitCode> {
    let client = Client::from_settings(sources)?;
    let mut reports = Vec::new();
    // It can be dropped at any time: the server knows what it has stored.
    let all = async {
        for path in &args.files {
            let report = import_file(&client, &args, path).await?;
            if let Some(trouble) = &report.trouble {
                output::print_message(format!("error: {}: {trouble}", report.file));
            }
            reports.push(report);
        }
        anyhow::Ok(())
    };
    let done = tokio::select! {
        done = all => done,
        _ = tokio::signal::ctrl_c() => return Err(anyhow!("the import was stopped: {RESUME_HINT}")),
    };
    if let Err(error) = done {
        return Err(projects::add_known_projects(sources, &client, error).await);
    }
    let is_complete = reports.iter().all(|report| report.trouble.is_none());
    print(args.json, reports)?;
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How many lines of a file were imported, skipped or refused.
#[derive(Serialize, Default)]
struct ImportReport {
    file: String,
    format: Option<&'static str>,
    /// New views.
    added: u64,
    /// Lines that an earlier import read.
    before: u64,
    /// Views whose event ID the server already has.
    duplicates: u64,
    /// Valid lines that are not page views.
    other: u64,
    /// Lines that cannot be parsed, or that the server refused.
    malformed: u64,
    /// Why the file was not read to its end.
    trouble: Option<String>,
    #[serde(skip)]
    shown_problems: usize,
}

impl ImportReport {
    fn add_batch(&mut self, batch: &Batch, bar: &ProgressBar) {
        self.other += batch.other;
        self.malformed += batch.malformed;
        for (line, why) in batch.problems.iter().take(MAX_SHOWN_PROBLEMS.saturating_sub(self.shown_problems))
        {
            bar.print_message(format!("{}, line {line}: {why}", self.file));
            self.shown_problems += 1;
        }
        if let Some(line) = batch.unfinished_line {
            bar.print_message(format!("{}, line {line}: {UNFINISHED_LINE}", self.file));
        }
    }

    fn lines(&self) -> u64 {
        self.added + self.duplicates + self.other + self.malformed
    }
}

fn print(json: bool, files: Vec<ImportReport>) -> anyhow::Result<()> {
    if json {
        return output::print_json(&serde_json::json!({ "files": files }));
    }
    let row = |report: ImportReport| {
        let numbers = [report.added, report.before, report.duplicates, report.other, report.malformed];
        let [added, before, duplicates, other, malformed] = numbers.map(|number| number.to_string());
        let format = report.format.unwrap_or("-").to_owned();
        [report.file, format, added, before, duplicates, other, malformed]
    };
    let head = ["FILE", "FORMAT", "ADDED", "BEFORE", "DUPLICATES", "OTHER", "MALFORMED"];
    output::print_table(head, files.into_iter().map(row))
}

async fn import_file(client: &Client, args: &Import, path: &Path) -> anyhow::Result<ImportReport> {
    let mut report = ImportReport { file: path.display().to_string(), ..ImportReport::default() };
    match open_at_new_lines(client, args, path, &mut report).await? {
        Some((file, uploader)) => upload_file(file, uploader, report).await,
        None => Ok(report),
    }
}

/// Opens a file at its first new line. Returns `None` if it cannot be imported, and notes in the report why.
async fn open_at_new_lines<'a>(
    client: &'a Client,
    args: &Import,
    path: &Path,
    report: &mut ImportReport,
) -> anyhow::Result<Option<(LogFile, Uploader<'a>)>> {
    let mut uploader = Uploader::new(client, encode_segment(&args.project));
    loop {
        let mut file = match open(path, args.format).await? {
            Ok(file) => file,
            Err(trouble) => {
                report.trouble = Some(trouble);
                return Ok(None);
            }
        };
        report.format = Some(file.format.name());
        let known = uploader.next_progress(&file.fingerprint).await?;
        let (comparison, file) = blocking(move || (file.skip_imported(&known), file)).await?;
        let trouble = match comparison {
            Ok(Comparison::Same) => {
                report.before = file.line_number();
                return Ok(Some((file, uploader)));
            }
            Ok(Comparison::Shorter) if !args.distinct => OLDER_COPY.to_owned(),
            Ok(_) if is_stdin(path) => DIFFERENT_ON_STDIN.to_owned(),
            Ok(_) => continue, // Another file begins like this one: look for the next one that does.
            Err(error) => describe_damage(&error),
        };
        report.trouble = Some(trouble);
        return Ok(None);
    }
}

const UNFINISHED_LINE: &str = "it has no line end yet, so the next import reads it";
const OLDER_COPY: &str = "it begins like a longer file that was imported, so it seems to be an older copy and nothing \
    is added: if it is another file, add --distinct";
const DIFFERENT_ON_STDIN: &str = "it begins like something that was imported before, but continues differently: \
    write it to a file, and import the file";
const UNKNOWN_FORMAT: &str = "its first lines have no known format: name the format with --format";

async fn open(path: &Path, format: Option<Format>) -> anyhow::Result<Result<LogFile, String>> {
    let path = path.to_owned();
    let file = blocking(move || LogFile::open(&path, format)).await?;
    Ok(match file {
        Ok(file) => file.ok_or_else(|| UNKNOWN_FORMAT.to_owned()),
        Err(error) => Err(format!("it cannot be opened: {error}")),
    })
}

async fn upload_file(
    file: LogFile,
    mut uploader: Uploader<'_>,
    mut report: ImportReport,
) -> anyhow::Result<ImportReport> {
    let mut bar = ProgressBar::new(&report.file, &file.meter);
    let (sender, mut batches) = tokio::sync::mpsc::channel(MAX_QUEUED_BATCHES);
    let reading = tokio::task::spawn_blocking(move || file.read(&sender));
    while let Some(mut batch) = batches.recv().await {
        let result = uploader.upload(&batch).await.with_context(|| {
            let line = report.before + report.lines();
            format!("{} is imported up to line {line}: {RESUME_HINT}", report.file)
        })?;
        report.added += result.accepted.saturating_sub(result.duplicates);
        report.duplicates += result.duplicates;
        for rejection in result.rejected {
            let index = usize::try_from(rejection.line).unwrap_or_default().saturating_sub(1);
            batch.add_problem(batch.numbers.get(index).copied().unwrap_or_default(), rejection.message);
        }
        report.add_batch(&batch, &bar);
        bar.draw(report.lines(), batch.read);
    }
    let ReadEnd { batch, error } = reading.await.context("a line could not be read")?;
    report.add_batch(&batch, &bar);
    bar.clear();
    report.trouble = error.map(|error| describe_damage(&error));
    Ok(report)
}

fn describe_damage(error: &std::io::Error) -> String {
    let problem = match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
        _ => format!("it cannot be read to its end ({error})"),
    };
    format!("{problem}. The lines before that are imported. To add the rest, import the whole file")
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await.context("a file could not be read")
}

fn to_progress(known: wire::ImportProgress) -> Progress {
    Progress { bytes: known.bytes, hash: known.hash.unwrap_or_default() }
}
