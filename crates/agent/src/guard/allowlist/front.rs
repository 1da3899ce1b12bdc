//! Front matter: titles and descriptions, and keys that the docs use already with values of the same shape.

use pages::{DataEntry, Shape, WordList};

use super::{Judge, Verdict, attributes, redirects, refused, short};

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
     format include jupyter kernelspec mode playground src iframe embed html markup banner",
);

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
    if key.split('.').any(|part| NEVER.contains(part)) {
        return no("which can load something or send readers elsewhere");
    }
    if !is_plain(&entry.value) {
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

fn is_plain(value: &str) -> bool {
    attributes::is_words(&value.replace(['{', '}', '`'], ""))
        && !value.contains("{{")
        && !value.contains("{%")
        && !value.contains("${")
}
