//! Front matter: titles and descriptions, and keys that the docs use already with values of the same shape.

use pages::{Construct, ConstructKind, DataEntry, Shape, WordList};

use super::super::url;
use super::{Judge, Verdict, attributes, redirects, refused, short, vocabulary};

/// Words for readers and for search.
const TITLES: WordList = WordList(
    "title subtitle description summary sidebar_label sidebar_title sidebartitle sidebar.label nav_title \
     linktitle label keywords tags excerpt lead tagline authors author date lastupdated last_updated updated \
     sidebar_position weight order nav_order position toc_max_heading_level toc_min_heading_level categories \
     og:title og:description navtitle sidebar.order pagination_label short_title hide_title \
     hide_table_of_contents draft unlisted deprecated",
);
/// Keys that load something, run something or send readers elsewhere, by their parts.
const NEVER: WordList = WordList(
    "layout template script scripts css style styles stylesheet head url uri canonical canonical_url redirect \
     redirect_to redirect_url redirectto external_url external openapi asyncapi api hooks plugins component \
     components extends import imports render engine type layoutclass permalink resource_path execute filters \
     format include include-in-header include-before-body include-after-body header-includes render_with_liquid \
     render_macros jupyter kernelspec mode playground src iframe embed html markup banner",
);

/// Of these, the ones that send readers elsewhere: they are right for their own page alone.
const SENDS: WordList = WordList(
    "redirect redirect_to redirect_url redirectto external_url external url canonical canonical_url permalink \
     render_with_liquid render_macros",
);

/// Elements that run or load something, or hide what follows.
const ELEMENTS: WordList = WordList(
    "script style iframe object embed svg math template link meta base form input button textarea select noscript \
     title plaintext xmp noembed noframes frame frameset applet audio video source track img image",
);

/// Keys that keep what stands in a page from being run or filled in.
const KEEPS: WordList = WordList(
    "format file_format render_macros render_with_liquid templateengineoverride execution_mode eval",
);

/// The key that a page loses, or that gets another value, and that kept its text from being run.
pub(super) fn lost_key(before: &[Construct], after: &[Construct]) -> Option<String> {
    let has = |entry: &DataEntry| {
        after
            .iter()
            .any(|construct| matches!(&construct.kind, ConstructKind::FrontMatter(other) if other == entry))
    };
    before.iter().find_map(|construct| match &construct.kind {
        ConstructKind::FrontMatter(entry) if !has(entry) => {
            let last = entry.key.rsplit('.').next().unwrap_or_default().to_lowercase();
            KEEPS.contains(&last).then(|| entry.key.clone())
        }
        _ => None,
    })
}

/// Whether a key means the same in another page.
pub(super) fn may_be_copied(entry: &DataEntry) -> bool {
    !entry.key.to_lowercase().split('.').any(|part| SENDS.contains(part))
}

pub(super) fn judge(judge: &Judge<'_, '_>, path: &str, entry: &DataEntry) -> Verdict {
    let key = entry.key.to_lowercase();
    let no = |why: &str| refused(format!("sets `{}` in the front matter, {why}", short(&entry.key)));
    if redirects::is_front_matter_key(&key) {
        return redirects::judge_alias(judge, path, &entry.value);
    }
    if key == "openapi"
        && is_endpoint(&entry.value)
        && judge.vocabulary().is_some_and(|docs| docs.has_key(&entry.key, entry.shape))
    {
        return Verdict::Passes;
    }
    let is_place = key == "permalink" && is_free(judge, &entry.value) && redirects::is_place(&entry.value);
    let is_used = || judge.vocabulary().is_some_and(|docs| docs.has_key(&entry.key, entry.shape));
    if is_place && is_used() {
        return Verdict::Passes;
    }
    if key.split('.').any(|part| NEVER.contains(part)) {
        return no("which can load something or send readers elsewhere");
    }
    if key == "slug" && !is_free(judge, &entry.value) {
        return no("which is the place of another page");
    }
    if !is_plain(&entry.value) && !is_plain(&without_placeholders(judge, &entry.value)) {
        return no("with an address or markup for a value");
    }
    if TITLES.contains(&key) || entry.shape == Shape::Nothing {
        return Verdict::Passes;
    }
    match judge.vocabulary() {
        Some(docs) if docs.has_key(&entry.key, entry.shape) => Verdict::Passes,
        _ => no("which no page of the docs does"),
    }
}

/// `GET /users`: one of the API that the docs describe already.
fn is_endpoint(value: &str) -> bool {
    let Some((method, path)) = value.split_once(' ') else { return false };
    matches!(method.to_ascii_uppercase().as_str(), "GET" | "POST" | "PUT" | "PATCH" | "DELETE")
        && path.starts_with('/')
        && !path.starts_with("//")
}

/// Whether no other page is there.
pub(super) fn is_free(judge: &Judge<'_, '_>, slug: &str) -> bool {
    !slug.trim_matches('/').is_empty() && judge.site().is_some_and(|site| !site.is_page(slug))
}

/// A title may have what those of other pages have: `run <command>`; and in code any word that is no element.
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
    let solid = url::solid(value).replace('\\', "/");
    let is_away = solid.starts_with("//") || value.contains("`{") || value.contains("{include");
    !is_away
        && attributes::is_words(&value.replace(['{', '}', '`'], ""))
        && !value.contains("{{")
        && !value.contains("{%")
        && !value.contains("${")
}
