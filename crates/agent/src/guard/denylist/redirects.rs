//! Pages whose front matter sends their readers to another host, without a word and before they see the page.

use super::added::{Added, Text};
use super::stood::is_page;
use super::unescape::unescape;
use super::{Finding, Rule, front, url};
use crate::guard::names::names_whole;
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
    let front = unescape(&text.text[..front::length(&text.text)]);
    let mut addresses = address()?.captures_iter(&front.text).filter_map(|found| {
        let (all, address) = (found.get(0)?, found.get(1)?);
        let host = url::host(address.as_str())?;
        let is_old = added.was_there(text, all.as_str());
        (!is_old && !names_whole(asked, &host)).then(|| text.line_of(front.origin(all.start())))
    });
    addresses.next()
}

pattern!(
    address,
    r"(?m)^[ \t]*[\x22']?(?i:redirect(?:[_-]?(?:to|url|link))?)[\x22']?\s*[:=][\s\x22'\[>|-]*([^\s\x22'\],]+)",
);
