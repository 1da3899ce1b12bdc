//! Reads the parts of an address of the site.

use crate::route;

/// Endings of built pages. The pages in a repository have others.
const ENDINGS: [&str; 4] = [".html", ".htm", ".php", ".aspx"];
/// Names of the first page of a folder.
const INDEX_NAMES: [&str; 3] = ["index", "_index", "readme"];

/// The address as sites write it: one leading slash, no trailing one, and no query or anchor.
pub(crate) fn plain(address: &str) -> String {
    let path = address.split(['#', '?']).next().unwrap_or_default();
    let names: Vec<&str> = segments(path).collect();
    format!("/{}", names.join("/"))
}

pub(crate) fn segments(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// The folder and the last name of an address.
pub(crate) fn split_name(path: &str) -> (&str, &str) {
    path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path))
}

/// An address without the ending of a file, without `index`, and without the punctuation that a link can drag along.
pub(crate) fn bare(path: &str) -> &str {
    let path = path.trim_end_matches([')', ']', '>', '"', '\'', '`', '.', ',', ';', ':', '*', '\\', '/']);
    let built = || {
        ENDINGS.iter().find_map(|ending| {
            let at = path.len().checked_sub(ending.len())?;
            path.get(at..).filter(|end| end.eq_ignore_ascii_case(ending)).map(|_| &path[..at])
        })
    };
    let stem = route::stem(path).or_else(built).unwrap_or(path);
    let (folder, name) = split_name(stem);
    if INDEX_NAMES.iter().any(|index| index.eq_ignore_ascii_case(name)) { folder } else { stem }
}

/// The letters and digits of a name in lowercase: `Google_AI` and `google-ai` are `googleai`.
pub(crate) fn squash(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// [`squash`] for every name of a path, so that the folders stay distinct.
pub(crate) fn squash_path(path: &str) -> String {
    segments(path).map(|name| format!("/{}", squash(name))).collect()
}

/// The words of a text in lowercase, without a plural `s`.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(|word| {
        let word = word.to_lowercase();
        match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
            _ => word,
        }
    })
}

/// The number of names at the end that two addresses have in common.
pub(crate) fn common_end(a: &str, b: &str) -> usize {
    segments(a).rev().zip(segments(b).rev()).take_while(|(a, b)| a == b).count()
}
