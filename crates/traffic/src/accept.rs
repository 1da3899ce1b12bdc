//! Parses `Accept` headers: whether the reader prefers Markdown.

use crate::weighted::weighted_items;

/// Whether an `Accept` header prefers `text/markdown` over `text/html`.
///
/// Markdown must be named (`text/markdown` or `text/x-markdown`), because every browser and script sends a
/// wildcard. At equal weights, a named type wins over a wildcard, and the earlier over the later. A media
/// range with a malformed weight is ignored.
pub fn prefers_markdown(accept: &str) -> bool {
    let ranges = weighted_items(accept).take(MAX_RANGES).enumerate();
    let ranges: Vec<MediaRange> = ranges
        .filter(|(_, item)| item.name.contains('/'))
        .filter_map(|(position, item)| Some(MediaRange { name: item.name, weight: item.weight?, position }))
        .collect();
    let first_named = |names: &[&str]| {
        let has_name = |range: &&MediaRange| names.iter().any(|name| range.name.eq_ignore_ascii_case(name));
        ranges.iter().find(has_name)
    };
    let Some(markdown) = first_named(&["text/markdown", "text/x-markdown"]).filter(|range| range.weight > 0)
    else {
        return false;
    };
    match first_named(&["text/html"]) {
        Some(html) if html.weight == markdown.weight => markdown.position < html.position,
        Some(html) => html.weight < markdown.weight,
        // A wildcard includes HTML. At the same weight, the named type is preferred.
        None => first_named(&["text/*"])
            .or_else(|| first_named(&["*/*"]))
            .is_none_or(|any| any.weight <= markdown.weight),
    }
}

/// More than any client sends. Bounds the work on a hostile header.
const MAX_RANGES: usize = 64;

struct MediaRange<'a> {
    name: &'a str,
    weight: u16,
    position: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_preferred_if_named_with_the_higher_weight() {
        #[track_caller]
        fn check(accept: &str, expected: bool) {
            assert_eq!(prefers_markdown(accept), expected, "{accept}");
        }
        check("text/markdown", true);
        check("text/x-markdown", true);
        check("TEXT/Markdown", true);
        check("text/markdown; charset=utf-8", true);
        check("text/markdown, text/html;q=0.9", true);
        check("text/markdown, text/html", true);
        check("text/markdown, */*", true);
        check("text/markdown;q=0.9, */*;q=0.8", true);
        check("text/markdown, text/html;q=0.9, */*;q=0.1", true);
        check("text/plain, text/markdown, text/html;q=0.5", true);
        check("text/html;q=0.8, text/markdown;q=0.9", true);
        check("text/html;q=0, text/markdown;q=0.001", true);
        check("text/markdown ; Q=1.000 , text/html ; q=0.999", true);
        check("text/html, text/markdown", false);
        check("text/html, text/markdown;q=0.9", false);
        check("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false);
        check("*/*", false);
        check("text/*", false);
        check("", false);
        check(",,;;=,", false);
        check("text/markdown;q=0", false);
        check("text/markdown;q=0.000, */*", false);
        check("text/markdown;q=0.5, text/*;q=0.9", false);
        check("text/markdown;q=0.5, */*;q=0.9", false);
        check("text/markdown;q=high", false);
        check("text/markdown;q=1.5", false);
        check("text/markdown;q=0.1234", false);
        check("text/markdown;q=-1", false);
        check("text/markdown;q=", false);
        check("text/markdown, text/html;q=nonsense", true);
        check("markdown", false);
        check("text/markdownish", false);
    }
}
