//! Replaces one version with another.
//!
//! Prose, code and front matter change, because versions are there. In a link or an address, only a whole part of a
//! path on another site changes, such as `/releases/v1.4.2`: pages of this site keep their addresses. Tags and mentions
//! of past versions don't change. `1.4` and `v2` change only where a word says that they are versions.

use std::collections::BTreeSet;
use std::ops::Range;

use pages::{Page, pattern};

use super::command::Bump;
use super::history;
use super::report::{code, count};

/// The matches of a bump in one page.
#[derive(Debug, Default)]
pub(super) struct PageMatches {
    pub(super) ranges: Vec<Range<usize>>,
    /// The packages with the version, as in `acme@1.4.2`, and the ranges of the version.
    pub(super) packages: Vec<(String, Range<usize>)>,
    pub(super) skipped: Skipped,
}

impl PageMatches {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.skipped.historical == 0
    }
}

/// The numbers of occurrences that are not changed.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// Mentions that stay true, such as "added in 1.4.2".
    historical: usize,
    /// Numbers that might not be the version.
    ambiguous: usize,
    in_code: usize,
}

impl Skipped {
    pub(super) fn add(&mut self, other: &Self) {
        self.historical += other.historical;
        self.ambiguous += other.ambiguous;
        self.in_code += other.in_code;
    }

    /// One sentence for each kind of skipped occurrence.
    pub(super) fn notes(&self, bump: &Bump) -> Vec<String> {
        let old = code(&bump.old);
        let were = |count| if count == 1 { "was" } else { "were" };
        let places = |number| count(number, "place", "places");
        let mut notes = Vec::new();
        if self.historical > 0 {
            let (places, were) = (places(self.historical), were(self.historical));
            notes.push(format!(
                "{places} about past versions or a range of versions {were} not changed from {old}."
            ));
        }
        if self.ambiguous > 0 {
            let (places, were) = (places(self.ambiguous), were(self.ambiguous));
            notes.push(format!("{places} where {old} might be another number {were} not changed."));
        }
        if self.in_code > 0 {
            notes.push(format!("{} in code {} not changed.", places(self.in_code), were(self.in_code)));
        }
        notes
    }
}

/// Parses a version, and removes a `v` before it if the rest is unambiguous.
pub(super) fn parse(text: &str) -> Option<String> {
    let fits = text.len() <= 64 && version().is_some_and(|pattern| pattern.is_match(text));
    let bare = if text.contains('.') { text.trim_start_matches(['v', 'V']) } else { text };
    fits.then(|| bare.to_owned())
}

pattern!(version, r"^(?:[vV]?\d+(?:\.\d+)+(?:[-+][0-9A-Za-z][0-9A-Za-z.+-]*)?|[vV]\d+)$");

/// The packages that must not change: other packages than the named one, or all if it's not clear which one is meant.
pub(super) fn other_packages(bump: &Bump, mut names: BTreeSet<String>) -> BTreeSet<String> {
    let meant = bump.product.as_deref().or(names.first().map(String::as_str)).map(words_of);
    let is_other = |name: &String| Some(words_of(name)) != meant;
    // Without a product, a second name makes all of them ambiguous.
    match bump.product.is_some() {
        true => names.retain(is_other),
        false if !names.iter().any(is_other) => names.clear(),
        false => {}
    }
    names
}

/// The words of a package's name. `@acme/sdk` and `acme-sdk` have the same, because they are one package in two
/// registries.
fn words_of(name: &str) -> BTreeSet<String> {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Finds the ranges of a page to change.
pub(super) fn find(page: &Page, text: &str, bump: &Bump) -> PageMatches {
    let mut found = PageMatches::default();
    for (start, _) in text.match_indices(&bump.old) {
        let range = start..start + bump.old.len();
        if !is_whole(text, &range) || !may_change(page, text, &range) {
            continue;
        }
        let package = package(text, start);
        if history::must_keep_version(text, &range) {
            found.skipped.historical += 1;
        } else if !bump.code && containing_part(&page.code, |code| code, &range).is_some() {
            found.skipped.in_code += 1;
        } else if !is_version(text, start, bump, package.as_deref()) {
            found.skipped.ambiguous += 1;
        } else {
            found.packages.extend(package.map(|name| (name, range.clone())));
            found.ranges.push(range);
        }
    }
    found
}

/// Whether the version is not part of a longer one, of a number or of a word.
fn is_whole(text: &str, found: &Range<usize>) -> bool {
    let before = text[..found.start].trim_end_matches(['v', 'V']);
    let v_count = found.start - before.len();
    let mut back = before.chars().rev();
    let (last, second) = (back.next(), back.next());
    let joined_before = match last {
        Some(c) if c.is_alphanumeric() || c == '_' => true,
        Some('.' | '-' | '+') => last == Some('.') && second.is_some_and(|c| c.is_ascii_digit()),
        _ => false,
    };
    v_count <= 1
        && !joined_before
        && !is_continued().is_some_and(|pattern| pattern.is_match(&text[found.end..]))
}

pattern!(
    /// `1.4.2.1`, `1.4.20`, `1.4.2-rc.1` and `1.4.2+build` are other versions than `1.4.2`; `1.4.2-linux.tgz` is not.
    is_continued,
    r"^(?:[0-9A-Za-z_]|\.(?:\d|[xX*]\b)|\+[0-9A-Za-z]",
    r"|-(?:\d|(?i:alpha|beta|rc|pre|dev|preview|snapshot|canary|next|nightly)))",
);

/// Whether a number is a version. Three parts always are; fewer need a word before them that says so.
fn is_version(text: &str, start: usize, bump: &Bump, package: Option<&str>) -> bool {
    if bump.old.matches('.').count() > 1 {
        return true;
    }
    let before = last_bytes(&text[..start], 80);
    let is_major = !bump.old.contains('.');
    let by_product = bump.product.as_deref().is_some_and(|product| {
        let before = before.trim_end_matches(['v', 'V']).trim_end().trim_end_matches(['@', '=']);
        package == Some(product) || before.to_lowercase().ends_with(&product.to_lowercase())
    });
    // Packages with a path, such as `actions/checkout@v1`, are third-party.
    let by_package = !is_major && package.is_some_and(|name| !name.contains('/'));
    by_product || by_package || version_before().is_some_and(|pattern| pattern.is_match(before))
}

pattern!(
    /// Does not match `apiVersion: v1`.
    version_before,
    r"(?:^|[^\w./-])(?:(?i:version|release)[\x22']?(?:\s+|\s*[:=]\s*)[\x22'`*(]*[vV]?|[vV])$",
);

/// The name in `name@1.4.2` and `name==1.4.2`.
fn package(text: &str, start: usize) -> Option<String> {
    let before = last_bytes(&text[..start], 120);
    let before = before.strip_suffix(['v', 'V']).unwrap_or(before);
    let before = before.strip_suffix("==").or_else(|| before.strip_suffix('@'))?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-/@".contains(c);
    let name = &before[before.trim_end_matches(is_name).len()..];
    name.contains(|c: char| c.is_ascii_alphanumeric()).then(|| name.to_owned())
}

fn last_bytes(text: &str, count: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(count))..]
}

fn may_change(page: &Page, text: &str, found: &Range<usize>) -> bool {
    if found.start < page.front.body_start {
        let value = containing_part(&page.front.values, |value| &value.range, found);
        return value.is_some_and(|value| value.key == "version" || value.is_prose(text));
    }
    if let Some(link) = containing_part(&page.links, |link| &link.range, found) {
        return pages::is_external(&text[link.range.clone()]) && is_path_part(text, found);
    }
    if containing_part(&page.addresses, |address| address, found).is_some() {
        return is_path_part(text, found);
    }
    containing_part(&page.tags, |tag| tag, found).is_none()
}

/// The part that contains a range. `parts` must be in order.
fn containing_part<'a, T>(
    parts: &'a [T],
    range: impl Fn(&T) -> &Range<usize>,
    found: &Range<usize>,
) -> Option<&'a T> {
    let behind = parts.partition_point(|part| range(part).start <= found.start);
    parts[..behind].last().filter(|part| found.end <= range(part).end)
}

fn is_path_part(text: &str, found: &Range<usize>) -> bool {
    let before = &text[..found.start];
    let before = before.strip_suffix(['v', 'V']).unwrap_or(before);
    let next = text[found.end..].chars().next();
    before.ends_with('/') && next.is_none_or(|c| "/?#)>\"'".contains(c) || c.is_whitespace())
}
