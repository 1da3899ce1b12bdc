//! Puts one version in the place of another.
//!
//! Prose, code and front matter are changed, since that is where versions are. In a link or an
//! address only a whole part of the path of another site is: `/releases/v1.4.2` follows the version,
//! while a page of this site stays where it is. Tags are not touched, nor is what tells of the past.
//! `1.4` and `v2` are changed only where a word says that they are versions.

use std::collections::BTreeSet;
use std::ops::Range;

use pages::Page;

use super::command::Bump;
use super::history;
use super::report::{code, count};
use crate::pattern::pattern;

/// What a bump finds in one page.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) places: Vec<Range<usize>>,
    /// The names of packages that carry the version, as in `acme@1.4.2`, and where they do.
    pub(super) packages: Vec<(String, Range<usize>)>,
    pub(super) left: Left,
}

impl Found {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty() && self.left.historic == 0
    }
}

/// Places that hold the version and were left.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// "Added in 1.4.2" stays true.
    historic: usize,
    /// A number that may be something else.
    doubtful: usize,
    in_code: usize,
}

impl Left {
    pub(super) fn add(&mut self, other: &Self) {
        self.historic += other.historic;
        self.doubtful += other.doubtful;
        self.in_code += other.in_code;
    }

    /// One sentence for each kind of place that was left.
    pub(super) fn notes(&self, bump: &Bump) -> Vec<String> {
        let old = code(&bump.old);
        let were = |count| if count == 1 { "was" } else { "were" };
        let places = |number| count(number, "place", "places");
        let mut notes = Vec::new();
        if self.historic > 0 {
            let tell = count(self.historic, "place that tells", "places that tell");
            notes.push(format!("{tell} of the past or of a range kept version {old}."));
        }
        if self.doubtful > 0 {
            let (places, were) = (places(self.doubtful), were(self.doubtful));
            notes.push(format!("{places} where {old} may be another number {were} left."));
        }
        if self.in_code > 0 {
            notes.push(format!("{} in code {} left.", places(self.in_code), were(self.in_code)));
        }
        notes
    }
}

/// A version as it is written, without the `v` in front when the rest is unmistakable.
pub(super) fn parse(text: &str) -> Option<String> {
    let fits = text.len() <= 64 && version().is_some_and(|pattern| pattern.is_match(text));
    let bare = if text.contains('.') { text.trim_start_matches(['v', 'V']) } else { text };
    fits.then(|| bare.to_owned())
}

pattern!(version, r"^(?:[vV]?\d+(?:\.\d+)+(?:[-+][0-9A-Za-z][0-9A-Za-z.+-]*)?|[vV]\d+)$");

/// Those of the packages that are not to be changed: others than the named one, or all when it
/// cannot be told which is meant.
pub(super) fn other_packages(bump: &Bump, mut names: BTreeSet<String>) -> BTreeSet<String> {
    let meant = bump.product.as_deref().or(names.first().map(String::as_str)).map(words_of);
    let is_other = |name: &String| Some(words_of(name)) != meant;
    // Without a product to go by, one name that differs puts all of them in doubt.
    match bump.product.is_some() {
        true => names.retain(is_other),
        false if !names.iter().any(is_other) => names.clear(),
        false => {}
    }
    names
}

/// The words of a package's name: `@acme/sdk` and `acme-sdk` are one thing in two registries.
fn words_of(name: &str) -> BTreeSet<String> {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The places of a page to change.
pub(super) fn find(page: &Page, text: &str, bump: &Bump) -> Found {
    let mut found = Found::default();
    for (start, _) in text.match_indices(&bump.old) {
        let place = start..start + bump.old.len();
        if !is_whole(text, &place) || !may_change(page, text, &place) {
            continue;
        }
        let package = package(text, start);
        if history::tells_of_the_past(text, &place) {
            found.left.historic += 1;
        } else if !bump.code && holder(&page.code, |code| code, &place).is_some() {
            found.left.in_code += 1;
        } else if !is_version(text, start, bump, package.as_deref()) {
            found.left.doubtful += 1;
        } else {
            found.packages.extend(package.map(|name| (name, place.clone())));
            found.places.push(place);
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
    v_count <= 1 && !joined_before && !goes_on().is_some_and(|pattern| pattern.is_match(&text[place.end..]))
}

pattern!(
    /// `1.4.2.1`, `1.4.20`, `1.4.2-rc.1` and `1.4.2+build` are other versions than `1.4.2`; `1.4.2-linux.tgz` is not.
    goes_on,
    r"^(?:[0-9A-Za-z_]|\.(?:\d|[xX*]\b)|\+[0-9A-Za-z]",
    r"|-(?:\d|(?i:alpha|beta|rc|pre|dev|preview|snapshot|canary|next|nightly)))",
);

/// Three numbers are a version wherever they stand; fewer need a word in front that says so.
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
    // `actions/checkout@v1` and the like are other people's.
    let by_package = !is_major && package.is_some_and(|name| !name.contains('/'));
    by_product || by_package || version_before().is_some_and(|pattern| pattern.is_match(before))
}

pattern!(
    /// `apiVersion: v1` is a word of its own.
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

fn may_change(page: &Page, text: &str, place: &Range<usize>) -> bool {
    if place.start < page.front.body {
        let value = holder(&page.front.values, |value| &value.range, place);
        return value.is_some_and(|value| value.key == "version" || value.is_prose(text));
    }
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
