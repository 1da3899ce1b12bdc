//! Judges redirects: they must lead from an unused address of this site to a page of this site.

use pages::FileKind;
use serde_json::Value;

use super::context::Judge;
use super::verdict::{Verdict, refuse_remote};

pub(super) fn is_front_matter_key(key: &str) -> bool {
    matches!(key, "aliases" | "redirect_from" | "redirectfrom" | "redirects_from")
}

/// Judges a redirect in the front matter of its target.
pub(super) fn judge_alias(judge: &Judge<'_, '_>, path: &str, from: &str) -> Verdict {
    match is_valid(judge, from, path) {
        true => Verdict::Passes,
        false => refuse_remote(
            "adds a redirect in the front matter that does not come from an unused address of this site",
        ),
    }
}

/// Whether a redirect can lead from `from` to the page `to`.
pub(super) fn is_valid(judge: &Judge<'_, '_>, from: &str, to: &str) -> bool {
    let Some(site) = judge.site() else { return false };
    is_path(from)
        && !is_file(from)
        && is_path(to)
        && from.trim_matches('/') != to.trim_matches('/')
        && site.is_page(to)
        && judge.is_served(from) == Some(false)
}

/// Whether a pattern covers an address. A pattern for the whole site is only for addresses without a page.
pub(super) fn covers(pattern: &str, address: &str) -> bool {
    pattern.find(['*', ':']).is_some_and(|at| at > 1 && address.starts_with(&pattern[..at]))
}

pub(super) fn is_path(path: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '#' | '~');
    !path.trim_matches('/').is_empty()
        && path.chars().all(plain)
        && !path.starts_with("//")
        && !path.contains("..")
        && !path.contains("/./")
        && !path.contains("//")
}

/// Whether a page can have this address.
pub(super) fn is_page_address(path: &str) -> bool {
    path.starts_with('/') && is_path(path) && !is_file(path)
}

/// Whether an address is that of a file for tools, such as `/robots.txt`.
fn is_file(path: &str) -> bool {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_extension = extension.len() <= 5 && extension.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_page = matches!(extension, "html" | "htm" | "php" | "aspx") || FileKind::of(path).is_page();
    stem == "404" || is_extension && !is_page
}

/// Splits a data file into its redirects, as pairs, and the rest. `None` if it can't be parsed.
pub(super) fn split(kind: FileKind, text: &str) -> Option<(Vec<(String, String)>, String)> {
    match kind {
        FileKind::RedirectsFile => {
            let rules = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            let mut pairs = Vec::new();
            for rule in rules {
                let words: Vec<&str> = rule.split_whitespace().collect();
                let is_plain =
                    words.len() == 2 || words.len() == 3 && matches!(words[2], "301" | "302" | "307" | "308");
                pairs.push(if is_plain {
                    (words[0].to_owned(), words[1].to_owned())
                } else {
                    (rule.to_owned(), String::new())
                });
            }
            Some((pairs, String::new()))
        }
        FileKind::Netlify => {
            let table: toml::Table = text.parse().ok()?;
            take_redirects(serde_json::to_value(table).ok()?, "from", "to", &["status"])
        }
        FileKind::Vercel | FileKind::Mintlify => take_redirects(
            serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?,
            "source",
            "destination",
            &["permanent", "statusCode"],
        ),
        _ => Some((Vec::new(), text.to_owned())),
    }
}

fn take_redirects(
    mut value: Value,
    from: &str,
    to: &str,
    more: &[&str],
) -> Option<(Vec<(String, String)>, String)> {
    let redirects = value.as_object_mut()?.remove("redirects");
    let mut pairs = Vec::new();
    for redirect in redirects.as_ref().and_then(Value::as_array).into_iter().flatten() {
        let entry = redirect.as_object()?;
        let is_plain = entry.iter().all(|(key, value)| {
            key == from
                || key == to
                || more.contains(&key.as_str())
                    && (value.is_boolean()
                        || value.as_u64().is_some_and(|status| (301..=308).contains(&status)))
        });
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        pairs.push(if is_plain { (text(from), text(to)) } else { (redirect.to_string(), String::new()) });
    }
    Some((pairs, value.to_string()))
}
