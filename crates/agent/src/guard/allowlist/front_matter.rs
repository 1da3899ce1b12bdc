//! Judges added front matter: titles and descriptions pass, and keys that the docs already use with values of the same
//! shape.

use pages::{Construct, ConstructKind, DataEntry, ScalarType, WordList};

use super::context::Judge;
use super::plain_text::is_plain_words;
use super::redirects;
use super::verdict::{Verdict, refuse_remote, short_name};
use crate::guard::{url, vocabulary};

/// Keys with text for readers and for search.
const TEXT_KEYS: WordList = WordList(
    "title subtitle description summary sidebar_label sidebar_title sidebartitle sidebar.label nav_title \
     linktitle label keywords tags excerpt lead tagline authors author date lastupdated last_updated updated \
     sidebar_position weight order nav_order position toc_max_heading_level toc_min_heading_level categories \
     og:title og:description navtitle sidebar.order pagination_label short_title hide_title \
     hide_table_of_contents draft unlisted deprecated",
);
/// Parts of keys that load something, run something or redirect readers.
const REFUSED_KEYS: WordList = WordList(
    "layout template script scripts css style styles stylesheet head url uri canonical canonical_url redirect \
     redirect_to redirect_url redirectto external_url external openapi asyncapi api hooks plugins component \
     components extends import imports render engine type layoutclass permalink resource_path execute filters \
     format include include-in-header include-before-body include-after-body header-includes render_with_liquid \
     render_macros jupyter kernelspec mode playground src iframe embed html markup banner",
);

/// Parts of keys whose values are right only for their own page.
const PAGE_SPECIFIC_KEYS: WordList = WordList(
    "redirect redirect_to redirect_url redirectto external_url external url canonical canonical_url permalink \
     render_with_liquid render_macros",
);

/// Elements that run or load something, or hide the text after them.
const ELEMENTS: WordList = WordList(
    "script style iframe object embed svg math template link meta base form input button textarea select noscript \
     title plaintext xmp noembed noframes frame frameset applet audio video source track img image",
);

/// Keys that can keep text of a page from running or from being filled in.
const PROTECTING_KEYS: WordList = WordList(
    "format file_format render_macros render_with_liquid templateengineoverride execution_mode eval",
);

/// The first protecting key that the page loses, or that gets another value.
pub(super) fn lost_key(before: &[Construct], after: &[Construct]) -> Option<String> {
    let has = |entry: &DataEntry| {
        after
            .iter()
            .any(|construct| matches!(&construct.kind, ConstructKind::FrontMatter(other) if other == entry))
    };
    before.iter().find_map(|construct| match &construct.kind {
        ConstructKind::FrontMatter(entry) if !has(entry) => {
            let last = entry.key.rsplit('.').next().unwrap_or_default().to_lowercase();
            PROTECTING_KEYS.contains(&last).then(|| entry.key.clone())
        }
        _ => None,
    })
}

/// Whether an entry means the same in another page.
pub(super) fn is_copyable(entry: &DataEntry) -> bool {
    !entry.key.to_lowercase().split('.').any(|part| PAGE_SPECIFIC_KEYS.contains(part))
}

pub(super) fn judge(judge: &Judge<'_, '_>, path: &str, entry: &DataEntry) -> Verdict {
    let key = entry.key.to_lowercase();
    let refusal =
        |why: &str| refuse_remote(format!("sets `{}` in the front matter, {why}", short_name(&entry.key)));
    if redirects::is_front_matter_key(&key) {
        return redirects::judge_alias(judge, path, &key, &entry.value);
    }
    if key == "openapi"
        && is_endpoint(&entry.value)
        && judge.vocabulary().is_some_and(|docs| docs.has_key(&entry.key, entry.scalar))
    {
        return Verdict::Passes;
    }
    let is_permalink =
        key == "permalink" && is_unused(judge, &entry.value) && redirects::is_page_address(&entry.value);
    let is_used = || judge.vocabulary().is_some_and(|docs| docs.has_key(&entry.key, entry.scalar));
    if is_permalink && is_used() {
        return Verdict::Passes;
    }
    if key.split('.').any(|part| REFUSED_KEYS.contains(part)) {
        return refusal("which can load something or redirect readers");
    }
    if key == "slug" && !is_unused(judge, &entry.value) {
        return refusal("which is the address of another page");
    }
    if !is_plain(&entry.value) && !is_plain(&without_placeholders(judge, &entry.value)) {
        return refusal("with an address or markup as its value");
    }
    if TEXT_KEYS.contains(&key) || entry.scalar == ScalarType::Null {
        return Verdict::Passes;
    }
    match judge.vocabulary() {
        Some(docs) if docs.has_key(&entry.key, entry.scalar) => Verdict::Passes,
        _ => refusal("which no page of the docs does"),
    }
}

/// Whether a value names an endpoint of the API that the docs describe: `GET /users`.
fn is_endpoint(value: &str) -> bool {
    let Some((method, path)) = value.split_once(' ') else { return false };
    matches!(method.to_ascii_uppercase().as_str(), "GET" | "POST" | "PUT" | "PATCH" | "DELETE")
        && path.starts_with('/')
        && !path.starts_with("//")
}

/// Whether no page has this address.
pub(super) fn is_unused(judge: &Judge<'_, '_>, slug: &str) -> bool {
    !slug.trim_matches('/').is_empty() && judge.site().is_some_and(|site| !site.is_page(slug))
}

/// Removes placeholders that other pages have, such as `<command>`, and words in code spans that are no elements.
fn without_placeholders(judge: &Judge<'_, '_>, value: &str) -> String {
    let mut plain = value.to_owned();
    for word in vocabulary::placeholders(value) {
        let is_name = word[1..word.len() - 1].chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let is_code = is_name
            && !ELEMENTS.contains(&word[1..word.len() - 1].to_ascii_lowercase())
            && value.contains(&format!("`{word}`"));
        if is_code || is_name && judge.vocabulary().is_some_and(|docs| docs.has_placeholder(word)) {
            plain = plain.replace(word, " ");
        }
    }
    plain
}

fn is_plain(value: &str) -> bool {
    let address = url::strip_ignored(value).replace('\\', "/");
    let leads_away = address.starts_with("//") || value.contains("`{") || value.contains("{include");
    !leads_away
        && is_plain_words(&value.replace(['{', '}', '`'], ""))
        && !value.contains("{{")
        && !value.contains("{%")
        && !value.contains("${")
}
