//! How a link to a file is written: in as many words as the author of the old one used.

use percent_encoding::{CONTROLS, utf8_percent_encode};

use super::spots::SpotKind;
use crate::destination::{decode, encode};
use crate::frontmatter::Value;
use crate::path;
use crate::repair;
use crate::route;
use crate::site::lead::{Lead, Target, Way};

/// The names of `wanted` that are worth trying, the one that is most like the old one first.
pub(super) fn names(lead: &Lead, wanted: &Target) -> Vec<String> {
    let (old, file) = match (&lead.target, wanted) {
        (Target::File(old), Target::File(file)) => (old, file),
        (_, Target::File(place) | Target::Folder(place) | Target::Unseen(place)) => {
            return vec![place.clone()];
        }
    };
    let mut names = match old == file {
        true => vec![lead.place.clone()],
        false => new_names(&lead.place, old, file),
    };
    names
        .extend([route::place(file), route::stem(file), Some(file)].into_iter().flatten().map(str::to_owned));
    names
}

/// A page may go by a name of its own, which it keeps in another folder; others go by that of their file.
fn new_names(place: &str, old: &str, file: &str) -> Vec<String> {
    let Some(new_place) = route::place(file).filter(|_| route::stem(old).is_some()) else {
        let without = file.rsplit_once('.').map_or(file, |(name, _)| name);
        return vec![if place == old { file } else { without }.to_owned()];
    };
    let styled = as_long_as(place, file);
    let numbered = |place: &str| route::without_numbers(place) != place;
    let kept = path::join(path::parent(new_place), path::name(place));
    let names = if route::stem(place).is_some() { vec![styled] } else { vec![kept, styled] };
    if numbered(old) && !numbered(place) {
        return names.iter().map(|name| route::without_numbers(name)).collect();
    }
    names
}

/// The name of a page with its extension, with `.html`, or without any, as `place` was.
fn as_long_as(place: &str, file: &str) -> String {
    let (Some(stem), Some(whole)) = (route::stem(file), route::place(file)) else { return file.to_owned() };
    let is_index = route::is_index(stem);
    let html = [".html", ".htm"].into_iter().find(|end| place.ends_with(end));
    match html {
        Some(end) if is_index => format!("{}{end}", path::join(whole, "index")),
        Some(end) => format!("{stem}{end}"),
        None if route::stem(place).is_some() => file.to_owned(),
        None if route::is_index(place) => stem.to_owned(),
        None => whole.to_owned(),
    }
}

/// The path to `name` from `page`; nothing when this way does not lead there.
pub(super) fn path_to(name: &str, way: &Way, page: &str) -> Option<String> {
    match way {
        Way::Beside => Some(relative(path::parent(page), name)),
        Way::Address => Some(relative(route::stem(page)?, name)),
        Way::From { prefix, base } if name == base => Some(prefix.clone()),
        Way::From { prefix, base } => Some(format!("{prefix}{}", path::below(name, base)?)),
    }
}

/// A folder above is written in dots: its own name may not be part of the site.
fn relative(folder: &str, name: &str) -> String {
    if folder == name {
        return ".".to_owned();
    }
    match path::below(folder, name) {
        Some(down) => vec![".."; down.split('/').count()].join("/"),
        None => repair::relative(folder, name),
    }
}

/// A path as it is written in the place of `old`: with its dot, its slash, and its way to encode.
pub(super) fn written(old: &str, new: &str, kind: SpotKind) -> String {
    let mut new = new.to_owned();
    let has_name = !new.ends_with('/') && route::stem(&new).is_none() && !new.ends_with(".html");
    if old.len() > 1 && old.ends_with('/') && has_name {
        new.push('/');
    }
    if matches!(kind, SpotKind::Entry(_)) {
        return new;
    }
    let first = new.split('/').next().unwrap_or_default();
    let needs_dot =
        kind != SpotKind::Link || old.starts_with("./") || first.contains(':') || first.starts_with('~');
    if needs_dot && !new.starts_with(['.', '/']) {
        new.insert_str(0, "./");
    }
    if new == "." {
        new.push('/');
    }
    if kind == SpotKind::Import { new } else { encoded(old, &new) }
}

/// Names that were there before stay as they were written; the others are encoded as those were.
fn encoded(old: &str, new: &str) -> String {
    let all_encoded = old.is_ascii() && !decode(old).is_ascii();
    let name = |name: &str| {
        if let Some(known) = old.split('/').find(|known| decode(known) == name) {
            return known.to_owned();
        }
        let mut raw = encode(name);
        for special in ['&', '{', '}', '$', '@', '='] {
            raw = raw.replace(special, &format!("%{:02X}", u32::from(special)));
        }
        if old.contains(' ') {
            raw = raw.replace("%20", " ");
        }
        if all_encoded { utf8_percent_encode(&raw, CONTROLS).to_string() } else { raw }
    };
    new.split('/').map(name).collect::<Vec<_>>().join("/")
}

/// Whether the text around the spot still reads it as one with `new` in it.
pub(super) fn fits(new: &str, kind: SpotKind) -> bool {
    let quote = match kind {
        SpotKind::Link | SpotKind::Dotted => return true,
        SpotKind::Import => return !new.contains(['"', '\'', '\\']),
        SpotKind::Entry(quote) => quote,
    };
    let value = Value { key: String::new(), top: String::new(), range: 0..0, quote };
    // Without quotes it may be an item of a list in brackets.
    let ends_item = quote.is_none() && new.contains([',', '[', ']', '{', '}']);
    !new.contains(['\\', '$']) && !ends_item && value.can_hold(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_above_are_dots() {
        assert_eq!(relative("docs/a/b", "docs"), "../..");
        assert_eq!(relative("docs", "docs"), ".");
        assert_eq!(relative("docs", ""), "..");
        assert_eq!(relative("docs/a", "docs/b.md"), "../b.md");
    }

    #[test]
    fn paths_are_written_as_the_old_ones() {
        #[track_caller]
        fn check(old: &str, new: &str, expected: &str) {
            assert_eq!(written(old, new, SpotKind::Link), expected);
        }
        check("a.md", "b c.md", "b%20c.md");
        check("x y/a.md", "x y/b c.md", "x y/b c.md");
        check("x%20y/a.md", "x y/b c.md", "x%20y/b%20c.md");
        check("%C3%A9/a.md", "é/ü.md", "%C3%A9/%C3%BC.md");
        check("é/a.md", "é/ü.md", "é/ü.md");
        check("a(1)/b.md", "a(1)/c(2).md", "a(1)/c%282%29.md");
        check("./a.md", "b/a.md", "./b/a.md");
        check("./a.md", "../a.md", "../a.md");
        check("/a/", "/b", "/b/");
        check("a.md", "b:c.md", "./b:c.md");
        check("a.md", "R&D@home.md", "R%26D%40home.md");
        assert_eq!(written("../a", "b", SpotKind::Dotted), "./b");
        assert_eq!(written("a", "b c", SpotKind::Entry(Some('"'))), "b c");
    }
}
