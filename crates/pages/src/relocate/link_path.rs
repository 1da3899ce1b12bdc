//! Writes the new path of a link in the style of the old one.

use percent_encoding::{CONTROLS, utf8_percent_encode};

use super::references::ReferenceKind;
use crate::destination::{decode, encode};
use crate::frontmatter::Value;
use crate::path;
use crate::route;
use crate::site::resolve::{LinkBase, ResolvedLink, Target};

/// The paths of `wanted` to try, the one most similar to the old one first.
pub(super) fn candidate_targets(resolved: &ResolvedLink, wanted: &Target) -> Vec<String> {
    let (old, file) = match (&resolved.target, wanted) {
        (Target::File(old), Target::File(file)) => (old, file),
        (_, Target::File(path) | Target::Folder(path) | Target::OutsideDocs(path)) => {
            return vec![path.clone()];
        }
    };
    let mut paths = match old == file {
        true => vec![resolved.path.clone()],
        false => moved_paths(&resolved.path, old, file),
    };
    paths.extend(
        [route::page_path(file), route::stem(file), Some(file)].into_iter().flatten().map(str::to_owned),
    );
    paths
}

/// The paths of a moved file, for a link to `linked`. A page can have a name of its own, which it keeps in another folder.
fn moved_paths(linked: &str, old: &str, file: &str) -> Vec<String> {
    let Some(new_path) = route::page_path(file).filter(|_| route::stem(old).is_some()) else {
        let without_extension = file.rsplit_once('.').map_or(file, |(name, _)| name);
        return vec![if linked == old { file } else { without_extension }.to_owned()];
    };
    let styled = with_extension_of(linked, file);
    let is_numbered = |path: &str| route::without_numbers(path) != path;
    let same_name = path::join(path::parent(new_path), path::name(linked));
    let paths = if route::stem(linked).is_some() { vec![styled] } else { vec![same_name, styled] };
    if is_numbered(old) && !is_numbered(linked) {
        return paths.iter().map(|path| route::without_numbers(path)).collect();
    }
    paths
}

/// The path of a page with its extension, with `.html`, or without any, like `linked`.
fn with_extension_of(linked: &str, file: &str) -> String {
    let (Some(stem), Some(whole)) = (route::stem(file), route::page_path(file)) else {
        return file.to_owned();
    };
    let is_index = route::is_index(stem);
    let html = [".html", ".htm"].into_iter().find(|end| linked.ends_with(end));
    match html {
        Some(end) if is_index => format!("{}{end}", path::join(whole, "index")),
        Some(end) => format!("{stem}{end}"),
        None if route::stem(linked).is_some() => file.to_owned(),
        None if route::is_index(linked) => stem.to_owned(),
        None => whole.to_owned(),
    }
}

/// The path to `target` in a link on `page`. `None` when no path with this base leads there.
pub(super) fn path_to(target: &str, base: &LinkBase, page: &str) -> Option<String> {
    match base {
        LinkBase::PageFolder => Some(relative(path::parent(page), target)),
        LinkBase::PageAddress => Some(relative(route::stem(page)?, target)),
        LinkBase::Prefix { prefix, folder } if target == folder => Some(prefix.clone()),
        LinkBase::Prefix { prefix, folder } => Some(format!("{prefix}{}", path::below(target, folder)?)),
    }
}

/// Like [`path::relative`], but a folder above is written with dots only, because its name is perhaps not part of the
/// site.
fn relative(folder: &str, target: &str) -> String {
    if folder == target {
        return ".".to_owned();
    }
    match path::below(folder, target) {
        Some(down) => vec![".."; down.split('/').count()].join("/"),
        None => path::relative(folder, target),
    }
}

/// A path in the style of `old`: with its leading dot, its trailing slash, and its encoding.
pub(super) fn in_old_style(old: &str, new: &str, kind: ReferenceKind) -> String {
    let mut new = new.to_owned();
    let takes_slash = !new.ends_with('/') && route::stem(&new).is_none() && !new.ends_with(".html");
    if old.len() > 1 && old.ends_with('/') && takes_slash {
        new.push('/');
    }
    if matches!(kind, ReferenceKind::Entry(_)) {
        return new;
    }
    let first = new.split('/').next().unwrap_or_default();
    let needs_dot =
        kind != ReferenceKind::Link || old.starts_with("./") || first.contains(':') || first.starts_with('~');
    if needs_dot && !new.starts_with(['.', '/']) {
        new.insert_str(0, "./");
    }
    if new == "." {
        new.push('/');
    }
    if kind == ReferenceKind::Import { new } else { encoded(old, &new) }
}

/// Encodes a path like the old one. Names that occur in the old path keep their spelling.
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

/// Whether `new` can replace the reference without changing the syntax around it.
pub(super) fn fits(new: &str, kind: ReferenceKind) -> bool {
    let quote = match kind {
        ReferenceKind::Link | ReferenceKind::ExplicitPath => return true,
        ReferenceKind::Import => return !new.contains(['"', '\'', '\\']),
        ReferenceKind::Entry(quote) => quote,
    };
    let value = Value { key: String::new(), top: String::new(), range: 0..0, quote };
    // Without quotes it can be an item of a list in brackets.
    let ends_item = quote.is_none() && new.contains([',', '[', ']', '{', '}']);
    !new.contains(['\\', '$']) && !ends_item && value.can_hold(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_above_are_written_with_dots() {
        assert_eq!(relative("docs/a/b", "docs"), "../..");
        assert_eq!(relative("docs", "docs"), ".");
        assert_eq!(relative("docs", ""), "..");
        assert_eq!(relative("docs/a", "docs/b.md"), "../b.md");
    }

    #[test]
    fn new_paths_keep_the_old_style() {
        #[track_caller]
        fn check(old: &str, new: &str, expected: &str) {
            assert_eq!(in_old_style(old, new, ReferenceKind::Link), expected);
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
        assert_eq!(in_old_style("../a", "b", ReferenceKind::ExplicitPath), "./b");
        assert_eq!(in_old_style("a", "b c", ReferenceKind::Entry(Some('"'))), "b c");
    }
}
