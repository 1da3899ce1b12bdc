//! What runs in the reader's browser, or when the docs are built.
//!
//! It is new when the touched pages together have more of its kind than they had: a script may go from one page to
//! another, but nothing else becomes a script. A tag that loads what one of them loads already may be in every page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use regex::{Match, Regex};

use super::added::Text;
use super::markup::{Markup, Shown, may_load};
use super::{Finding, Rule};

/// One thing that runs.
struct Running {
    /// What it is: `script`, `onclick`, `fetch`.
    kind: String,
    at: usize,
    /// The whole of a tag that loads what runs, and the folder that its address counts from.
    loads: Option<(String, String)>,
}

pub(super) fn judge<'a>(shown: &Shown<'_, 'a>, found: &mut Vec<Finding<'a>>) {
    let before = shown.before.iter().map(|(path, markup)| (*path, running(path, markup)));
    let mut before: BTreeMap<&str, Vec<Running>> = before.collect();
    let after = shown.after.iter().map(|(path, text, markup)| (*path, *text, running(path, markup)));
    let mut after: Vec<(&str, &Text<'a>, Vec<Running>)> = after.collect();
    leave_out_common(before.values_mut().collect(), after.iter_mut().map(|(.., all)| all).collect());
    let everywhere = more(before.values().flatten(), after.iter().flat_map(|(.., all)| all));
    for (path, text, all) in &after {
        let here = more(before.get(path).into_iter().flatten(), all);
        let is_new = |running: &&Running| {
            let kind = running.kind.as_str();
            everywhere.get(kind) > Some(&0) && here.get(kind) > Some(&0)
        };
        found.extend(first_line(text, all.iter().filter(is_new)).map(|line| Finding {
            rule: Rule::Remote,
            place: text.place,
            line: Some(line),
            what: "adds something that runs in the reader's browser or when the docs are built".to_owned(),
            fatal: true,
        }));
    }
}

/// Takes away what is loaded by the same tag before and after, however often.
fn leave_out_common(before: Vec<&mut Vec<Running>>, after: Vec<&mut Vec<Running>>) {
    let tags = |pages: &[&mut Vec<Running>]| -> BTreeSet<(String, String)> {
        pages.iter().flat_map(|all| all.iter()).filter_map(|running| running.loads.clone()).collect()
    };
    let common: BTreeSet<_> = tags(&before).intersection(&tags(&after)).cloned().collect();
    for all in before.into_iter().chain(after) {
        all.retain(|running| running.loads.as_ref().is_none_or(|tag| !common.contains(tag)));
    }
}

/// By kind, how many more there are.
fn more<'r>(
    before: impl IntoIterator<Item = &'r Running>,
    after: impl IntoIterator<Item = &'r Running>,
) -> BTreeMap<&'r str, isize> {
    let mut more = BTreeMap::new();
    after.into_iter().for_each(|running| *more.entry(running.kind.as_str()).or_default() += 1);
    before.into_iter().for_each(|running| *more.entry(running.kind.as_str()).or_default() -= 1);
    more
}

/// Where it stands. A line may be as it was, and run now because the fence around it is gone.
fn first_line<'r>(text: &Text<'_>, mut new: impl Iterator<Item = &'r Running> + Clone) -> Option<usize> {
    let added = new.clone().filter_map(|running| text.added_line(running.at)).min();
    added.or_else(|| new.next().map(|running| text.line_of(running.at)))
}

/// Each pattern is looked for by itself and ends where it must: one that stays open to the end of a page would hide
/// others, and take time by the square of them.
fn running(path: &str, markup: &Markup) -> Vec<Running> {
    let Some(pattern) = tag().filter(|_| may_run(path)) else { return Vec::new() };
    let text = markup.visible.as_str();
    let running = |found: Match<'_>, start| {
        let at = start + found.start();
        Running { kind: kind(found.as_str()), at, loads: loading(path, &text[at..]) }
    };
    let mut all: Vec<_> = pattern.find_iter(text).map(|found| running(found, 0)).collect();
    for open in open_ended().into_iter().flat_map(|pattern| pattern.find_iter(text)) {
        let calls = call().into_iter().flat_map(|pattern| pattern.find_iter(open.as_str()));
        let before = all.len();
        all.extend(calls.map(|found| running(found, open.start())));
        if all.len() > before {
            all.push(Running { kind: "expression".to_owned(), at: open.start(), loads: None });
        }
    }
    all.sort_by_key(|running| running.at);
    all
}

/// The tag that `text` begins with, when what runs is not in the page but where the tag says.
fn loading(path: &str, text: &str) -> Option<(String, String)> {
    const MAX_TAG: usize = 300;
    let by = [
        ("<script", " src="),
        ("<iframe", " src="),
        ("<embed", " src="),
        ("<link", " href="),
        ("<object", " data="),
    ];
    let end = text.bytes().take(MAX_TAG).position(|byte| byte == b'>')?;
    let tag = text[..end].to_ascii_lowercase();
    let (_, attribute) = by.iter().find(|(name, _)| tag.starts_with(name))?;
    let (_, address) = tag.split_once(attribute)?;
    let is_absolute = address.trim_start_matches(['"', '\'']).starts_with('/');
    let folder = path.rsplit_once('/').filter(|_| !is_absolute).map_or("", |(folder, _)| folder);
    Some((text[..end].to_owned(), folder.to_owned()))
}

/// The last word, which tells it: what stands before are blanks, quotes and attributes.
fn kind(found: &str) -> String {
    let words = found.rsplit(|c: char| !c.is_ascii_alphabetic());
    words.into_iter().find(|word| word.len() >= 3).unwrap_or_default().to_ascii_lowercase()
}

/// Sources of programs run by their nature, and are not pages.
fn may_run(path: &str) -> bool {
    may_load(path) && !path.ends_with(".json") && !path.ends_with(".css")
}

fn tag() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = || {
        Regex::new(concat!(
            r"(?i)<script\b|<iframe\b|<object\b|<embed\b|<base\b|<form\b|<link\b",
            r"|[\s/\x22']on[a-z]{3,}\s*=\s*[\x22']|\b(?:javascript|vbscript)\s*:\s*[a-z(]|data:text/html",
            r"|(?m:^import\s[^\n]*[\x22']https?:)",
            r"|dangerouslySetInnerHTML"
        ))
        .ok()
    };
    PATTERN.get_or_init(pattern).as_ref()
}

/// What more may stand in: an expression, a statement, a tag that acts by one of its attributes.
fn open_ended() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    PATTERN.get_or_init(|| Regex::new(r"(?i)\{[^}\n]*|(?m:^export\s[^\n]*)|<meta\s[^>]*").ok()).as_ref()
}

fn call() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let words = "process\\.env|import\\.meta|require\\(|fetch\\(|eval\\(|child_process|globalThis|http-equiv";
    PATTERN.get_or_init(|| Regex::new(&format!("(?i){words}")).ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_what_runs() {
        let check = |text: &str, expected: &[&str]| {
            let all = running("a.md", &Markup::of("a.md", text));
            assert_eq!(
                all.iter().map(|running| running.kind.as_str()).collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        };
        check("<SCRIPT async> <iframe src=x>", &["script", "iframe"]);
        check("<img OnError = 'x'> <a href='javascript : a'>", &["onerror", "javascript"]);
        check("<meta charset=utf-8 http-equiv=refresh>", &["expression", "equiv"]);
        check("{await fetch(x)} {process.env.A}", &["expression", "fetch", "expression", "env"]);
        check("{<script>x()</script> fetch(a + process.env.B)}", &["expression", "script", "fetch", "env"]);
        check("export const a = require('b')", &["expression", "require"]);
        check("import x from 'https://e.example/x.js'", &["https"]);
        check("Plain words on pages = 'x'.", &[]);
    }
}
