//! The tools that look: bounded, so that no page fills the conversation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pages::{FilesError, Hit};

use super::{Done, Read, Search, Workbench};
use crate::StepKind;

const MAX_LISTED: usize = 200;
const USUAL_LINES: usize = 200;
const MAX_LINES: usize = 600;
const MAX_BYTES: usize = 32 * 1024;
const MAX_LINE: usize = 2_000;
const MAX_HITS: usize = 40;

impl Workbench<'_> {
    pub(super) fn list(&self, folder: Option<&str>) -> Result<Done, FilesError> {
        let folder = folder.unwrap_or_default().trim_matches('/');
        let under = |path: &&String| {
            folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        let paths = self.files.paths();
        let found: Vec<_> = paths.files.iter().filter(under).map(String::as_str).collect();
        if found.is_empty() {
            return Ok(Done::Failed(format!("there is no folder {folder:?}")));
        }
        let content = if found.len() <= MAX_LISTED { found.join("\n") } else { folders(&found, folder) };
        Ok(told(content, format!("listed {}", if folder.is_empty() { "/" } else { folder })))
    }

    pub(super) fn read(&mut self, Read { path, from, lines }: Read) -> Result<Done, FilesError> {
        let text = self.files.read(&path)?;
        let total = text.lines().count();
        let first = from.unwrap_or(1).max(1);
        if first > total.max(1) {
            return Ok(Done::Failed(format!("{path} has {total} lines")));
        }
        let most = lines.unwrap_or(USUAL_LINES).clamp(1, MAX_LINES);
        let (shown, last) = numbered(&text, first, most);
        // Whoever has seen a part only would lose the rest by writing it anew.
        if first == 1 && last == total {
            self.seen.insert(path.clone());
        }
        let content = if last < total { format!("{shown}({total} lines in all)\n") } else { shown };
        Ok(told(content, format!("read {path}, lines {first} to {last}")))
    }

    pub(super) fn search(&self, Search { text, path }: &Search) -> Result<Done, FilesError> {
        if text.trim().is_empty() {
            return Ok(Done::Failed("the text to search for is empty".into()));
        }
        let within =
            |hit: &Hit| path.as_deref().is_none_or(|path| hit.path.starts_with(path.trim_matches('/')));
        let most = if path.is_some() { MAX_HITS * 50 } else { MAX_HITS };
        let hits: Vec<_> = self.files.search(text, most)?.into_iter().filter(within).take(MAX_HITS).collect();
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
        let what: String = text.chars().take(60).collect();
        let lines = if hits.len() == 1 { "1 line".to_owned() } else { format!("{} lines", hits.len()) };
        Ok(told(content, format!("searched for {what:?}: {lines}")))
    }
}

fn told(content: String, step: String) -> Done {
    Done::Told { content, step: Some((StepKind::Read, step)) }
}

/// Lines with their numbers, and the last one shown.
fn numbered(text: &str, first: usize, most: usize) -> (String, usize) {
    let mut shown = String::new();
    let mut last = first - 1;
    for (number, line) in (1..).zip(text.lines()).skip(first - 1).take(most) {
        if shown.len() > MAX_BYTES {
            break;
        }
        let cut = line.floor_char_boundary(MAX_LINE.min(line.len()));
        let more = if cut < line.len() { "… (cut)" } else { "" };
        let _ = writeln!(shown, "{number}\t{}{more}", &line[..cut]);
        last = number;
    }
    (shown, last)
}

/// The folders and files right under `folder`, with how many files each folder holds.
fn folders(found: &[&str], folder: &str) -> String {
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
    under.iter().take(MAX_LISTED).map(line).collect::<Vec<_>>().join("\n")
}
