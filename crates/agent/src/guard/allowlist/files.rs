//! Which files an editor of docs may change: pages in the docs folder, and data about them that is known.

use pages::{FileKind, FilesError};

use super::super::added::Place;
use super::super::paths::{fold, is_instruction};
use super::super::{Change, Finding, Policy, Rule};

/// The larger an image, the less it is compared.
const MAX_IMAGE_BYTES: usize = 16 * 1024 * 1024;
/// Pages of a code host, for people.
const HOST_FOLDERS: &[&str] =
    &[".github", ".github/issue_template", ".github/pull_request_template", ".github/discussion_template"];
/// Pages whose names are written in capitals.
const CAPITALS: &[&str] = &[
    "readme",
    "changelog",
    "contributing",
    "security",
    "code_of_conduct",
    "support",
    "install",
    "upgrading",
    "upgrade",
    "migration",
    "migrating",
    "history",
    "faq",
    "summary",
    "authors",
    "governance",
    "roadmap",
    "releasing",
    "release",
    "releases",
    "news",
    "changes",
    "usage",
    "api",
    "todo",
    "index",
    "glossary",
    "troubleshooting",
    "development",
    "hacking",
    "building",
    "quickstart",
    "tutorial",
    "cli",
    "notice",
    "credits",
    "maintainers",
    "contributors",
    "about",
    "guide",
    "overview",
    "docs",
    "documentation",
    "getting_started",
    "design",
    "architecture",
    "license",
];

pub(super) fn judge<'a>(change: &Change<'a>, policy: &Policy<'_>, found: &mut Vec<Finding<'a>>) {
    for (path, bytes) in change.edits.iter().filter(|(path, _)| !policy.allow.permits(path)) {
        let why = refusal(change, policy.docs_path, path, bytes.as_deref());
        found.extend(why.map(|why| {
            let what = format!("may not be changed, because {why}; an operator can allow it");
            Finding { rule: Rule::Path, place: Place::File(path), line: None, what, fatal: true }
        }));
    }
}

fn refusal(
    change: &Change<'_>,
    docs_path: Option<&str>,
    path: &str,
    bytes: Option<&[u8]>,
) -> Option<&'static str> {
    let folded = fold(path);
    let (folder, name) = folded.rsplit_once('/').unwrap_or(("", &folded));
    let kind = FileKind::of(path);
    if path.starts_with('/')
        || path.contains('\\')
        || path.split('/').any(|part| matches!(part, "" | "." | ".."))
    {
        return Some("its path is not one of the repository");
    }
    if is_instruction(path, change.asked.as_str()) {
        return Some("it tells agents what to do, which nobody asked for");
    }
    let is_hidden = folded.split('/').any(|part| part.starts_with('.'))
        && !(HOST_FOLDERS.contains(&folder) && kind.is_page() && !name.starts_with('.'));
    if is_hidden || FileKind::of(&folded) != kind {
        return Some("it is hidden, or its name is not what it seems");
    }
    if folded.split('/').any(|part| matches!(part, "node_modules" | "bower_components" | "__pycache__")) {
        return Some("it is of a package");
    }
    let stem = name.split('.').next().unwrap_or_default();
    let is_notes = (stem.starts_with("readme") || stem.starts_with("changelog"))
        && (kind.is_page() || matches!(kind, FileKind::Text) || !name.contains('.'));
    if is_notes || kind.is_data() {
        return None;
    }
    if kind.is_page() {
        let is_outside = docs_path.is_some_and(|docs| !is_below(path, docs));
        if is_outside {
            return Some("it is outside the docs folder");
        }
        return (!is_named_like_a_page(path, stem))
            .then_some("a page with a name in capitals is read by tools");
    }
    match (kind, bytes) {
        (FileKind::Image | FileKind::Svg | FileKind::Text, None) => None,
        (FileKind::Text, Some(_)) if has_text_pages(change, path) && !is_list_of_packages(stem) => None,
        (FileKind::Image | FileKind::Svg, Some(bytes)) if stood(change, bytes) => None,
        (FileKind::Image | FileKind::Svg, Some(_)) => {
            Some("an image can be moved or deleted, and not written")
        }
        _ => Some("it is no page, and no navigation or redirects of a known kind"),
    }
}

/// Whether the docs are of text files, as those of Django are: a folder above has an index of that kind.
fn has_text_pages(change: &Change<'_>, path: &str) -> bool {
    let above = path.match_indices('/').map(|(at, _)| &path[..=at]);
    above.into_iter().any(|folder| {
        !matches!(change.base.read(&format!("{folder}index.txt"), 0), Err(FilesError::NotFound(_)))
    })
}

fn is_list_of_packages(stem: &str) -> bool {
    ["requirements", "constraints", "robots", "llms", "cmakelists"].iter().any(|name| stem.contains(name))
}

/// `AGENTS.md`, `WARP.md`, `SKILL.md`: capitals are for tools, but for those that people read.
fn is_named_like_a_page(path: &str, stem: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let own = name.split('.').next().unwrap_or_default();
    let is_capital = own.len() > 1
        && own.chars().any(char::is_alphabetic)
        && !own.chars().any(|c| c.is_lowercase() || c.is_ascii_digit());
    let words = |known: &&&str| {
        stem == **known || stem.starts_with(**known) && !stem[known.len()..].starts_with(char::is_alphabetic)
    };
    !is_capital || CAPITALS.iter().find(words).is_some() || own.len() <= 3
}

fn is_below(path: &str, docs: &str) -> bool {
    let docs = docs.trim_start_matches("./").trim_matches('/');
    docs.is_empty() || docs == "." || path.strip_prefix(docs).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a touched file of the base had these very bytes: then the file was moved.
fn stood(change: &Change<'_>, bytes: &[u8]) -> bool {
    change.edits.keys().any(|path| match change.base.read(path, MAX_IMAGE_BYTES) {
        Ok(old) => old == bytes,
        Err(FilesError::NotFound(_) | _) => false,
    })
}
