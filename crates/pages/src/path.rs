//! Which paths may name a file of a repository.
//!
//! A path that is safe here is safe on every system that may check the commit out later: Windows and
//! macOS fold case, drop some characters and know other ways to spell `.git`.

const MAX_PATH_BYTES: usize = 1024;
const MAX_COMPONENT_BYTES: usize = 255;

/// Says why `path` cannot be used, or nothing when it can.
pub(crate) fn check(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("it is empty");
    }
    if path.len() > MAX_PATH_BYTES {
        return Err("it is longer than 1024 bytes");
    }
    if path.starts_with('/') {
        return Err("it must be relative to the root of the repository");
    }
    if path.chars().any(is_control) {
        return Err("it has a control character in it");
    }
    if path.contains('\\') {
        return Err("it has a backslash in it; folders are separated by `/`");
    }
    if has_drive_letter(path) {
        return Err("it begins with a drive letter");
    }
    path.split('/').try_for_each(check_component)
}

fn check_component(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("it has an empty part between two slashes");
    }
    if name == "." || name == ".." {
        return Err("it has `.` or `..` in it");
    }
    if name.ends_with(['.', ' ']) {
        return Err("a part of it ends with a dot or a space");
    }
    if name.len() > MAX_COMPONENT_BYTES {
        return Err("a part of it is longer than 255 bytes");
    }
    if is_git_folder(name) {
        return Err("it reaches into a `.git` folder");
    }
    Ok(())
}

/// Line and paragraph separators and direction marks count as control characters: they make a path look like another.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn has_drive_letter(path: &str) -> bool {
    let mut chars = path.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':')
}

/// `.git` as any file system may read it: HFS+ drops ignorable characters, NTFS knows short names
/// (`git~1`), stream suffixes (`.git::$INDEX_ALLOCATION`) and drops dots and spaces at the end.
fn is_git_folder(name: &str) -> bool {
    // Almost no name is worth folding.
    if name.is_ascii() && !name.starts_with(['.', 'g', 'G']) {
        return false;
    }
    let folded = fold(name);
    let base = folded.split(':').next().unwrap_or_default();
    let base = base.trim_end_matches(['.', ' ']);
    if base == ".git" {
        return true;
    }
    base.strip_prefix("git~").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The name two files share when a file system that folds case holds them to be one.
pub(crate) fn fold(name: &str) -> String {
    name.chars().filter(|c| !is_ignorable(*c)).flat_map(char::to_lowercase).collect()
}

fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The folders above `path`, nearest the root first: `a/b/c.md` gives `a` and `a/b`.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The folder that holds `path`, empty for the root.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of `path`.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// `path` below `folder`; the root is the empty string.
pub(crate) fn join(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

/// What is left of `path` below `folder`, or nothing when it lies elsewhere.
pub(crate) fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() {
        return Some(path);
    }
    path.strip_prefix(folder)?.strip_prefix('/')
}
