//! Redirects in the front matter of their target: `aliases` of Hugo, `redirect_from` of Jekyll.

use super::{indent_at, line_ending};
use crate::frontmatter::FrontMatter;
use crate::splice::splice;

/// The page with one more address under `key`. `None` if its front matter can't be parsed, or has the key in a form
/// that a line can't extend.
pub(crate) fn add(text: &str, key: &str, address: &str) -> Option<String> {
    let before = FrontMatter::parse(text);
    if !before.is_readable {
        return None;
    }
    let (at, insertion) = insertion(text, &before, key, address)?;
    let after = splice(text, vec![(at..at, insertion)]);
    let found = FrontMatter::parse(&after);
    let mut expected = before.addresses.clone();
    expected.push(address.to_owned());
    expected.sort();
    let mut addresses = found.addresses.clone();
    addresses.sort();
    let body = |page: &FrontMatter, text: &str| text[page.body_start..].to_owned();
    (found.is_readable && addresses == expected && body(&found, &after) == body(&before, text))
        .then_some(after)
}

fn insertion(text: &str, front: &FrontMatter, key: &str, address: &str) -> Option<(usize, String)> {
    let block = &text[..front.body_start];
    let end = line_ending(text);
    let first = block.trim_start_matches('\u{feff}').lines().next().map(str::trim_end);
    let is_toml = match first {
        Some("---") => false,
        Some("+++") => true,
        _ => {
            // The block would take the place of front matter that only the generator knows.
            return (key == "aliases" && !FrontMatter::may_have_other(text))
                .then(|| (front.body_start, format!("---{end}{key}:{end}  - {address}{end}---{end}")));
        }
    };
    if let Some(at) = line_of(block, key, is_toml) {
        return extend(block, at, address, is_toml);
    }
    let first_line = block.find('\n')? + 1;
    if is_toml {
        return Some((first_line, format!("{key} = [\"{address}\"]{end}")));
    }
    let close = block.trim_end().rfind('\n')? + 1;
    Some((close, format!("{key}:{end}  - {address}{end}")))
}

/// The start of the line with the key.
fn line_of(block: &str, key: &str, is_toml: bool) -> Option<usize> {
    let separator = if is_toml { '=' } else { ':' };
    let is_key =
        |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(separator));
    crate::constructs::lines(block, 0).find(|(_, line)| is_key(line)).map(|(at, _)| at)
}

/// Extends a list: in brackets on one line, or with an item per line.
fn extend(block: &str, at: usize, address: &str, is_toml: bool) -> Option<(usize, String)> {
    let line = block[at..].lines().next()?;
    let separator = line.find([':', '='])?;
    let value = line[separator + 1..].trim();
    if value.starts_with('[') && value.ends_with(']') {
        let item = if is_toml || value.contains('"') { format!("\"{address}\"") } else { address.to_owned() };
        let close = at + line.rfind(']')?;
        let is_empty = value[1..value.len() - 1].trim().is_empty();
        return Some((close, if is_empty { item } else { format!(", {item}") }));
    }
    if !value.is_empty() || is_toml {
        return None;
    }
    let start = at + line.len();
    let rest = &block[start + block[start..].find('\n')? + 1..];
    let items = rest.lines().take_while(|line| line.trim_start().starts_with("- ")).count();
    let mut ends = rest.match_indices('\n').map(|(at, _)| at);
    let last = ends.nth(items.checked_sub(1)?)?;
    let begin = block.len() - rest.len();
    let last_line = begin + rest[..last].rfind('\n').map_or(0, |at| at + 1);
    let insertion = format!("{}- {address}{}", indent_at(block, last_line), line_ending(block));
    Some((begin + last + 1, insertion))
}
