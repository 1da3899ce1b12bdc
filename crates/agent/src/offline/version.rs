//! Puts one version in the place of another.
//!
//! Prose, code and front matter are changed, since that is where versions are. In a link or an
//! address only a whole part of the path of another site is: `/releases/v1.4.2` follows the version,
//! while a page of this site stays where it is. Tags are not touched, nor is what tells of the past.

use std::ops::Range;
use std::sync::OnceLock;

use pages::Page;
use regex::Regex;

use super::command::Bump;

/// What a bump finds in one page.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) places: Vec<Range<usize>>,
    /// "Added in 1.4.2" stays true.
    pub(super) historic: usize,
}

/// A version as it is written, without the `v` in front when the rest is unmistakable.
pub(super) fn parse(text: &str) -> Option<String> {
    static VERSION: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = VERSION.get_or_init(|| {
        Regex::new(r"^(?:[vV]?\d+(?:\.\d+)+(?:[-+][0-9A-Za-z][0-9A-Za-z.+-]*)?|[vV]\d+)$").ok()
    });
    let fits = text.len() <= 64 && pattern.as_ref().is_some_and(|pattern| pattern.is_match(text));
    let bare = if text.contains('.') { text.trim_start_matches(['v', 'V']) } else { text };
    fits.then(|| bare.to_owned())
}

/// Files that tell of past versions, which a new one does not change.
pub(super) fn is_history(file: &str) -> bool {
    let history = |part: &str| {
        let part = part.to_ascii_lowercase().replace(['_', ' '], "-");
        ["changelog", "history", "release-notes", "releases", "whats-new"]
            .iter()
            .any(|name| part.starts_with(name))
    };
    file.split('/').any(history)
}

/// The places of a page to change.
pub(super) fn find(page: &Page, text: &str, bump: &Bump) -> Found {
    let mut found = Found::default();
    for (start, _) in text.match_indices(&bump.old) {
        let place = start..start + bump.old.len();
        if !is_whole(text, &place) || !may_change(page, text, &place) {
            continue;
        }
        match tells_of_the_past(text, start) {
            true => found.historic += 1,
            false => found.places.push(place),
        }
    }
    found
}

/// Whether the version is not part of a longer one, of a number or of a word.
fn is_whole(text: &str, place: &Range<usize>) -> bool {
    let before = text[..place.start].trim_end_matches(['v', 'V']);
    let v_count = place.start - before.len();
    let mut back = before.chars().rev();
    let (last, second) = (back.next(), back.next());
    let joined_before = match last {
        Some(c) if c.is_alphanumeric() || c == '_' => true,
        Some('.' | '-' | '+') => last == Some('.') && second.is_some_and(|c| c.is_ascii_digit()),
        _ => false,
    };
    v_count <= 1 && !joined_before && !goes_on(&text[place.end..])
}

/// `1.4.2.1`, `1.4.20`, `1.4.2-rc.1` and `1.4.2+build` are other versions than `1.4.2`; `1.4.2-linux.tgz` is not.
fn goes_on(rest: &str) -> bool {
    static GOES_ON: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = GOES_ON.get_or_init(|| {
        Regex::new(r"^(?:[0-9A-Za-z_]|\.(?:\d|[xX*]\b)|\+[0-9A-Za-z]|-(?:\d|(?i:alpha|beta|rc|pre|dev|preview|snapshot|canary|next|nightly)))").ok()
    });
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(rest))
}

fn may_change(page: &Page, text: &str, place: &Range<usize>) -> bool {
    if let Some(link) = holder(&page.links, |link| &link.range, place) {
        return pages::is_external(&text[link.range.clone()]) && is_path_part(text, place);
    }
    if holder(&page.addresses, |address| address, place).is_some() {
        return is_path_part(text, place);
    }
    holder(&page.tags, |tag| tag, place).is_none()
}

/// The one of `parts`, which are in order, that a place lies in.
fn holder<'a, T>(parts: &'a [T], range: impl Fn(&T) -> &Range<usize>, place: &Range<usize>) -> Option<&'a T> {
    let behind = parts.partition_point(|part| range(part).start <= place.start);
    parts[..behind].last().filter(|part| place.end <= range(part).end)
}

fn is_path_part(text: &str, place: &Range<usize>) -> bool {
    let before = &text[..place.start];
    let before = before.strip_suffix(['v', 'V']).unwrap_or(before);
    let next = text[place.end..].chars().next();
    before.ends_with('/') && next.is_none_or(|c| "/?#)>\"'".contains(c) || c.is_whitespace())
}

fn tells_of_the_past(text: &str, start: usize) -> bool {
    static PAST: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = PAST.get_or_init(|| {
        Regex::new(concat!(
            r"(?i)\b(?:since|before|until|prior to|earlier than|older than|as of|(?:added|introduced|new|available|deprecated|removed|changed|fixed)",
            r" (?:in|since|with))\s+(?:the\s+)?(?:version\s+|release\s+)?[`*]*v?$",
        ))
        .ok()
    });
    let mut from = start.saturating_sub(80);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let line = text[from..start].rsplit('\n').next().unwrap_or_default();
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: usize) {
        let bump = Bump { old: "1.4.2".to_owned(), new: "1.5.0".to_owned() };
        let page = Page::parse("a.md", text);
        assert_eq!(find(&page, text, &bump).places.len(), expected, "{text}");
    }

    #[test]
    fn whole_versions() {
        for text in [
            "1.4.2",
            "v1.4.2",
            "(1.4.2)",
            "1.4.2.",
            "acme@1.4.2",
            "^1.4.2",
            "acme-1.4.2.tar.gz",
            "acme-1.4.2-linux.tgz",
            "`npm i acme@1.4.2`",
            "```\nFROM acme:1.4.2\n```\n",
            "---\ntitle: Acme 1.4.2\n---\n",
            "==1.4.2",
            "<https://a.b/releases/v1.4.2>",
            "[x](https://a.b/1.4.2/y)",
            "https://a.b/v1.4.2",
        ] {
            check(text, 1);
        }
    }

    #[test]
    fn other_versions_and_the_past() {
        for text in [
            "11.4.2",
            "1.4.20",
            "1.4.2.1",
            "0.1.4.2",
            "10.1.4.2",
            "1.4.2-rc.1",
            "1.4.2+5",
            "x1.4.2",
            "vv1.4.2",
            "1.4.2a",
            "[x](/docs/1.4.2/y)",
            "[x](https://a.b/acme-1.4.2.tgz)",
            "<img alt=\"1.4.2\">",
            "Added in 1.4.2",
            "Since version `1.4.2`",
            "deprecated since v1.4.2",
            "https://a.b/x?v=1.4.2",
        ] {
            check(text, 0);
        }
    }

    #[test]
    fn versions_in_prompts() {
        #[track_caller]
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(parse(text).as_deref(), expected, "{text}");
        }
        check("v1.4.2", Some("1.4.2"));
        check("1.4", Some("1.4"));
        check("2.0.0-rc.1", Some("2.0.0-rc.1"));
        check("v2", Some("v2"));
        check("2", None);
        check("latest", None);
        check("1.", None);
    }

    #[test]
    fn history_files() {
        for file in [
            "CHANGELOG.md",
            "docs/changelog/1.md",
            "HISTORY.md",
            "docs/Release Notes.md",
            "release_notes/a.md",
        ] {
            assert!(is_history(file), "{file}");
        }
        assert!(!is_history("docs/historical.md"));
        assert!(!is_history("docs/install.md"));
    }
}
