//! Pages whose front matter sends their readers to another host, without a word and before they see the page.

use super::added::{Added, Text};
use super::paths::names_whole;
use super::stood::is_page;
use super::unescape::unescape;
use super::{Finding, Rule, url};
use crate::pattern::pattern;

pub(super) fn judge<'a>(added: &Added<'a>, asked: &str, found: &mut Vec<Finding<'a>>) {
    let asked = asked.to_lowercase();
    for (_, text) in added.files().filter(|(path, _)| is_page(path)) {
        found.extend(redirect(added, text, &asked).map(|line| Finding {
            rule: Rule::Remote,
            place: text.place,
            line: Some(line),
            what: "sends readers of the page to another host, which nobody asked for".to_owned(),
            fatal: true,
        }));
    }
}

/// The line of the first address of another host that is new.
fn redirect(added: &Added<'_>, text: &Text<'_>, asked: &str) -> Option<usize> {
    let front = unescape(front_matter(&text.text)?);
    let mut addresses = address()?.captures_iter(&front.text).filter_map(|found| {
        let (all, address) = (found.get(0)?, found.get(1)?);
        let host = url::host(address.as_str())?;
        let is_old = added.was_there(text, all.as_str());
        (!is_old && !names_whole(asked, &host)).then(|| text.line_of(front.origin(all.start())))
    });
    addresses.next()
}

/// From the first line, which says how it is written, to the one that ends it.
fn front_matter(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}');
    let fence = ["---", "+++"].into_iter().find(|fence| text.starts_with(fence))?;
    let end = text[fence.len()..].find(&format!("\n{fence}"));
    Some(end.map_or(text, |end| &text[..fence.len() + end]))
}

pattern!(
    address,
    r"(?m)^[ \t]*[\x22']?(?i:redirect(?:[_-]?(?:to|url|link))?)[\x22']?\s*[:=][\s\x22'\[>|-]*([^\s\x22'\],]+)",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_ends() {
        assert_eq!(front_matter("---\na: b\n---\n\nText\n"), Some("---\na: b"));
        assert_eq!(front_matter("+++\na = 1\n+++\n"), Some("+++\na = 1"));
        assert_eq!(front_matter("---\na: b\n"), Some("---\na: b\n"));
        assert_eq!(front_matter("Text\n---\n"), None);
    }
}
