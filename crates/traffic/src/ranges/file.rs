//! Reads a file with address ranges: a JSON array of prefixes, or the form that operators publish.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

use super::prefix::{Span, parse_prefix};

const MAX_FILE_BYTES: u64 = 4 << 20;
const MAX_PREFIXES: usize = 100_000;
/// Further problems of a file are not listed.
const MAX_PROBLEMS: usize = 10;

/// The valid content of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) spans: Vec<Span>,
    /// The day on which the operator published the list, if the file says it.
    pub(super) date: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Document {
    List(Vec<String>),
    Published {
        #[serde(rename = "creationTime", default)]
        created: Option<String>,
        prefixes: Vec<PublishedPrefix>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublishedPrefix {
    ipv4_prefix: Option<String>,
    ipv6_prefix: Option<String>,
}

/// Reads a file and the day of its last change. The errors are sentences for the operator.
pub(super) fn read(path: &Path) -> Result<(Content, Option<String>), Vec<String>> {
    let unreadable = |error: std::io::Error| vec![format!("The file can't be read: {error}.")];
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(vec!["It isn't a file.".into()]);
    }
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(vec![format!("The file is larger than {} MiB.", MAX_FILE_BYTES >> 20)]);
    }
    let changed = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
    Ok((parse(&text)?, changed.map(|time| day(&time.to_string()))))
}

pub(super) fn parse(text: &[u8]) -> Result<Content, Vec<String>> {
    let document: Document = serde_json::from_slice(text).map_err(|_| vec![explain_json(text)])?;
    let (texts, date) = match document {
        Document::List(texts) => (texts, None),
        Document::Published { created, prefixes } => {
            let texts = prefixes.into_iter().flat_map(|both| [both.ipv4_prefix, both.ipv6_prefix]);
            (texts.flatten().collect(), created.and_then(|created| date_of(&created)))
        }
    };
    match texts.len() {
        0 => return Err(vec!["The file has no prefixes.".into()]),
        1..=MAX_PREFIXES => {}
        count => {
            return Err(vec![format!("The file has {count} prefixes; at most {MAX_PREFIXES} are allowed.")]);
        }
    }
    let (mut spans, mut problems) = (Vec::new(), Vec::new());
    for text in &texts {
        match parse_prefix(text.trim()) {
            Ok(span) => spans.push(span),
            Err(problem) => problems.push(problem + "."),
        }
    }
    if problems.is_empty() {
        return Ok(Content { spans: merge(spans), date });
    }
    let more = problems.len().saturating_sub(MAX_PROBLEMS);
    problems.truncate(MAX_PROBLEMS);
    problems.extend((more > 0).then(|| format!("There are {more} more problems.")));
    Err(problems)
}

fn explain_json(text: &[u8]) -> String {
    match serde_json::from_slice::<serde::de::IgnoredAny>(text) {
        Err(error) => format!("The file isn't valid JSON: {error}."),
        Ok(_) => {
            "The file must be an array of prefixes, [\"20.125.66.80/28\"], or have the form that operators \
                  publish, {\"creationTime\": …, \"prefixes\": [{\"ipv4Prefix\": …}]}."
                .into()
        }
    }
}

/// The day at the beginning of a time such as `2025-11-06T19:00:00.000000`.
fn date_of(text: &str) -> Option<String> {
    let date = day(text);
    date.parse::<jiff::civil::Date>().ok().map(|_| date)
}

fn day(text: &str) -> String {
    text.chars().take("2026-03-11".len()).collect()
}

/// Sorts ranges and joins those that overlap, for a binary search.
pub(super) fn merge(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for (first, last) in spans {
        match merged.last_mut() {
            Some(before) if first <= before.1 => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        parse(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn both_forms_are_read() {
        let list = parse(br#"["20.125.66.80/28", "20.125.66.80/29", "2a03:2880::/32"]"#).unwrap();
        assert_eq!((list.spans.len(), &list.date), (2, &None), "overlapping ranges are joined");
        let published = br#"{"creationTime": "2025-11-06T19:00:00.000000", "syncToken": 1,
            "prefixes": [{"ipv4Prefix": "20.125.66.80/28"}, {"ipv6Prefix": "2a03:2880::/32"}]}"#;
        let published = parse(published).unwrap();
        assert_eq!((published.spans, published.date), (list.spans, Some("2025-11-06".into())));
        assert_eq!(
            parse(br#"{"creationTime": "soon", "prefixes": [{"ipv4Prefix": "20.1.1.1"}]}"#).unwrap().date,
            None
        );
    }

    #[test]
    fn junk_is_explained() {
        assert!(problems("<html>")[0].starts_with("The file isn't valid JSON: "));
        assert!(problems(&"[".repeat(100_000))[0].starts_with("The file isn't valid JSON: "));
        assert!(problems("{}")[0].starts_with("The file must be an array of prefixes"));
        assert!(problems("[1]")[0].starts_with("The file must be an array of prefixes"));
        assert_eq!(problems("[]"), ["The file has no prefixes."]);
        assert_eq!(problems(r#"{"prefixes": [{}]}"#), ["The file has no prefixes."]);
        let mistakes = problems(&format!("[{}]", ["\"x\""; 12].join(",")));
        assert_eq!((mistakes.len(), &*mistakes[10]), (11, "There are 2 more problems."));
        let many = format!("[{}]", vec!["\"20.1.1.1\""; 100_001].join(","));
        assert_eq!(problems(&many), ["The file has 100001 prefixes; at most 100000 are allowed."]);
    }

    #[test]
    fn huge_files_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("GPTBot.json");
        let file = File::create(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        assert_eq!(read(&path).unwrap_err(), ["The file is larger than 4 MiB."]);
        assert_eq!(read(folder.path()).unwrap_err(), ["It isn't a file."]);
    }
}
