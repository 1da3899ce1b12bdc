//! Implements the tools that read. Their output is bounded, so that no page fills the conversation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pages::{FilesError, Hit};

use super::{CallOutcome, Read, Search, Workbench};
use crate::editor::StepKind;
use crate::model::Profile;

const MAX_LIST_ENTRIES: usize = 200;
const MAX_BYTES: usize = 32 * 1024;
const MAX_LINE_BYTES: usize = 2_000;
const MAX_HITS: usize = 40;

/// Lines that a read shows by default, and at most.
pub(super) fn window(profile: Profile) -> (usize, usize) {
    match profile {
        Profile::Full => (200, 600),
        Profile::Small => (60, 100),
    }
}

impl Workbench<'_> {
    pub(super) fn list(&self, folder: Option<&str>) -> Result<CallOutcome, FilesError> {
        let folder = clean_folder(folder.unwrap_or_default());
        let under = |path: &&String| {
            folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        let paths = self.files.paths();
        let found: Vec<_> = paths.files.iter().filter(under).map(String::as_str).collect();
        if found.is_empty() {
            return Ok(CallOutcome::Failed(format!("there is no folder {folder:?}")));
        }
        let content =
            if found.len() <= MAX_LIST_ENTRIES { found.join("\n") } else { folder_counts(&found, folder) };
        Ok(read_done(content, format!("listed {}", if folder.is_empty() { "/" } else { folder })))
    }

    pub(super) fn read(&mut self, Read { path, from, lines }: Read) -> Result<CallOutcome, FilesError> {
        let path = self.clean_path(&path);
        let text = self.files.read(&path)?;
        let total = text.lines().count();
        let first = from.unwrap_or(1).max(1);
        if first > total.max(1) {
            return Ok(CallOutcome::Failed(format!("{path} has {total} lines")));
        }
        let count = lines.unwrap_or(self.default_lines).clamp(1, self.max_lines);
        let (shown, last) = numbered_lines(&text, first, count, self.max_shown.min(MAX_BYTES));
        // A model that read only a part would lose the rest in a rewrite.
        if first == 1 && last == total {
            self.read_files.insert(path.clone());
        }
        let content = if last < total { format!("{shown}({total} lines in all)\n") } else { shown };
        Ok(read_done(content, format!("read {path}, lines {first} to {last}")))
    }

    pub(super) fn search(&self, Search { text, path }: &Search) -> Result<CallOutcome, FilesError> {
        if text.trim().is_empty() {
            return Ok(CallOutcome::Failed("the text to search for is empty".into()));
        }
        let within = |hit: &Hit| path.as_deref().is_none_or(|path| hit.path.starts_with(clean_folder(path)));
        let max_hits = if path.is_some() { MAX_HITS * 50 } else { MAX_HITS };
        let hits: Vec<_> =
            self.files.search(text, max_hits)?.into_iter().filter(within).take(MAX_HITS).collect();
        let content = match hits.len() {
            0 => "nothing found".to_owned(),
            n => {
                let line = |hit: &Hit| format!("{}:{}: {}", hit.path, hit.line, hit.text.trim());
                let mut all = hits.iter().map(line).collect::<Vec<_>>().join("\n");
                if n == MAX_HITS {
                    all += "\n(there may be more)";
                }
                all
            }
        };
        let query: String = text.chars().take(60).collect();
        let lines = if hits.len() == 1 { "1 line".to_owned() } else { format!("{} lines", hits.len()) };
        Ok(read_done(content, format!("searched for {query:?}: {lines}")))
    }
}

/// Models write `.`, `./docs` and `/docs/` for folders.
fn clean_folder(folder: &str) -> &str {
    let folder = folder.trim();
    if folder == "." { "" } else { folder.trim_start_matches("./").trim_matches('/') }
}

fn read_done(content: String, step: String) -> CallOutcome {
    CallOutcome::Done { content, step: Some((StepKind::Read, step)) }
}

/// Returns up to `count` lines with their numbers, and the number of the last one.
fn numbered_lines(text: &str, first: usize, count: usize, max_bytes: usize) -> (String, usize) {
    let mut shown = String::new();
    let mut last = first - 1;
    for (number, line) in (1..).zip(text.lines()).skip(first - 1).take(count) {
        if shown.len() > max_bytes {
            break;
        }
        let cut = line.floor_char_boundary(MAX_LINE_BYTES.min(line.len()));
        let more = if cut < line.len() { "… (cut)" } else { "" };
        let _ = writeln!(shown, "{number}\t{}{more}", &line[..cut]);
        last = number;
    }
    (shown, last)
}

/// Lists the folders and files directly under `folder`, with the number of files in each folder.
fn folder_counts(found: &[&str], folder: &str) -> String {
    let skip = if folder.is_empty() { 0 } else { folder.len() + 1 };
    let mut under: BTreeMap<String, usize> = BTreeMap::new();
    for path in found {
        let rest = &path[skip..];
        let name = rest.split_once('/').map_or(rest.to_owned(), |(first, _)| format!("{first}/"));
        *under.entry(name).or_default() += 1;
    }
    let line = |(name, count): (&String, &usize)| match name.ends_with('/') {
        true => format!("{name} {count} files"),
        false => name.clone(),
    };
    under.iter().take(MAX_LIST_ENTRIES).map(line).collect::<Vec<_>>().join("\n")
}
