//! Which files an editor of docs may change: pages in the docs folder, and data about them that is known.

use pages::{FileKind, FilesError, WordList};

use super::super::added::Place;
use super::super::names::{fold, is_wanted_instruction, names_whole};
use super::super::{Change, Finding, Policy, Rule};
use super::{moves, svg};

/// The larger an image, the less it is compared.
const MAX_IMAGE_BYTES: usize = 16 * 1024 * 1024;
const NO_PAGE: &str = "it is no page, and no navigation or redirects of a known kind";
/// Folders with layouts and templates of a generator, wherever they are, and beside the folder with the pages.
const LAYOUTS: WordList = WordList("_layouts _templates _data _plugins _sass");
const LAYOUTS_BESIDE: WordList = WordList("layouts overrides theme themes archetypes _includes");
/// Folders of Hugo's layouts, which a site in the docs folder has there.
const LAYOUTS_WITHIN: WordList = WordList("shortcodes _shortcodes partials _partials _default _markup");
/// Folders with pages, in which any name may be one of a page.
const PAGE_FOLDERS: WordList = WordList("docs doc content pages src guide guides book site");
/// Names of pages that are put around other pages.
const LAYOUT_NAMES: WordList = WordList("_app _document _error layout mdx-components");
/// The same in the folder `app` of Next.
const APP_NAMES: WordList = WordList("template default error global-error loading not-found");
/// Folders of a plugin of an agent.
const PLUGIN_FOLDERS: WordList = WordList("commands agents skills output-styles hooks");
/// The folder with pages of a code host, for people.
const HOST_FOLDER: &str = ".github";
/// Files and folders with what a code host fills in for those who write to a project.
const HOST_TEMPLATES: WordList = WordList("issue_template pull_request_template discussion_template");
/// Pages whose names are written in capitals.
const CAPITALS: WordList = WordList(
    "readme changelog contributing security code_of_conduct support install upgrading upgrade migration \
     migrating history faq summary authors governance roadmap releasing release releases news changes usage \
     api todo index glossary troubleshooting development hacking building quickstart tutorial cli notice \
     credits maintainers contributors about guide overview docs documentation getting_started design \
     architecture license",
);

pub(super) fn judge<'a>(change: &Change<'a>, policy: &Policy<'_>, found: &mut Vec<Finding<'a>>) {
    for (path, bytes) in change.edits.iter().filter(|(path, _)| !policy.allow.permits(path)) {
        let follows = |bytes: &Vec<u8>| moves::is_settings(path) && moves::follows_in(change, path, bytes);
        if bytes.as_ref().is_some_and(follows) {
            continue;
        }
        let why = refusal(change, policy.docs_path, path, bytes.as_deref());
        found.extend(why.map(|why| {
            let what = format!("may not be changed, because {why}; an operator can allow it");
            Finding { rule: Rule::Path, place: Place::File(path), line: None, what, fatal: true }
        }));
    }
}

/// Why a file may not be changed, as far as its path tells. Nothing for images and text files: it depends on more.
pub(in crate::guard) fn refusal_of_path(
    docs_path: Option<&str>,
    asked: &str,
    path: &str,
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
    match is_wanted_instruction(path, asked) {
        Some(true) if kind.is_page() || !name.trim_start_matches('.').contains('.') => return None,
        Some(false) => return Some("it tells agents what to do, which nobody asked for"),
        _ => {}
    }
    let is_hidden = folded.split('/').any(|part| part.starts_with('.'))
        && !(folder == HOST_FOLDER && kind.is_page() && !name.starts_with('.'));
    if is_hidden || FileKind::of(&folded) != kind {
        return Some("it is hidden, or its name is not what it seems");
    }
    if folded.split('/').any(|part| matches!(part, "node_modules" | "bower_components" | "__pycache__")) {
        return Some("it is of a package");
    }
    if folded.split('/').any(|part| HOST_TEMPLATES.contains(stem_of(part))) {
        return Some("it is a template of the code host");
    }
    if is_layout(folder, name, kind) {
        return Some("it says how pages are laid out");
    }
    if is_notes(name, kind) || kind.is_data() {
        return None;
    }
    if kind.is_page() {
        return match docs_path.is_some_and(|docs| !is_below(path, docs)) {
            true => Some("it is outside the docs folder"),
            false => (!is_named_like_a_page(path, stem_of(name)))
                .then_some("a page with a name in capitals is read by tools"),
        };
    }
    (!matches!(kind, FileKind::Image | FileKind::Svg | FileKind::Text)).then_some(NO_PAGE)
}

fn refusal(
    change: &Change<'_>,
    docs_path: Option<&str>,
    path: &str,
    bytes: Option<&[u8]>,
) -> Option<&'static str> {
    if let Some(why) = refusal_of_path(docs_path, change.asked.as_str(), path) {
        return Some(why);
    }
    let is_new = || !exists(change, path);
    if is_wanted_instruction(path, change.asked.as_str()) == Some(true)
        && is_new()
        && !names_folder(&change.asked.as_str().to_lowercase(), &fold(path))
    {
        return Some("it tells agents what to do in a folder that nobody named");
    }
    if path.contains(['<', '>', '"', '&', '{', '}', '$', '|', '*', '?', '`']) && bytes.is_some() && is_new() {
        return Some("its name has signs that are markup or a pattern to some tools");
    }
    let folded = fold(path);
    let name = folded.rsplit('/').next().unwrap_or_default();
    let kind = FileKind::of(path);
    if is_of_plugin(change, path, &folded) {
        return Some("it tells agents what to do, which nobody asked for");
    }
    if folded.split('/').any(|part| part == "_includes") && exists(change, "_config.yml") {
        return Some("it says how pages are laid out");
    }
    let is_settings = matches!(
        kind,
        FileKind::Mintlify
            | FileKind::MkDocs
            | FileKind::Vercel
            | FileKind::Netlify
            | FileKind::RedirectsFile
    );
    if bytes.is_none() && (is_settings || !kind.is_page() && is_list_of_packages(stem_of(name))) {
        return Some("without it the site is built or served in another way");
    }
    match (kind, bytes?) {
        (FileKind::Text, _) if is_notes(name, kind) => None,
        (FileKind::Text, _) if has_text_pages(change, path) && !is_list_of_packages(stem_of(name)) => None,
        (FileKind::Text, _) => Some(NO_PAGE),
        (FileKind::Svg, bytes) if is_moved(change, bytes) => {
            let is_quiet = svg::is_quiet(bytes) || is_moved_within(change, path, bytes);
            (!is_quiet).then_some("it is a drawing with code or addresses in it, from another folder")
        }
        (FileKind::Image, bytes) if is_moved(change, bytes) => None,
        (FileKind::Image | FileKind::Svg, _) => Some("an image can be moved or deleted, and not written"),
        _ => None,
    }
}

fn is_layout(folder: &str, name: &str, kind: FileKind) -> bool {
    let parts: Vec<&str> = folder.split('/').collect();
    let mut beside = parts.iter().take_while(|part| !PAGE_FOLDERS.contains(part));
    let is_mdx_in = |names: &[&str]| kind == FileKind::Mdx && parts.iter().any(|part| names.contains(part));
    let is_of_hugo = |pair: &[&str]| pair[0] == "layouts" && LAYOUTS_WITHIN.contains(pair[1]);
    let is_of_theme = |three: &[&str]| three[0] == "themes" && three[2] == "layouts";
    parts.iter().any(|part| LAYOUTS.contains(part))
        || beside.any(|part| LAYOUTS_BESIDE.contains(part))
        || parts.windows(2).any(is_of_hugo)
        || parts.windows(3).any(is_of_theme)
        || is_mdx_in(&["app", "pages"]) && LAYOUT_NAMES.contains(stem_of(name))
        || is_mdx_in(&["app"]) && APP_NAMES.contains(stem_of(name))
}

/// Whether the words of a person name the folder of a file, or the file is at the root.
fn names_folder(asked: &str, path: &str) -> bool {
    let folder = path.rsplit_once('/').and_then(|(folder, _)| folder.rsplit('/').next());
    folder.is_none_or(|folder| names_whole(asked, folder))
}

fn stem_of(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// `README` and `CHANGELOG`, in whatever folder.
fn is_notes(name: &str, kind: FileKind) -> bool {
    let stem = stem_of(name);
    (stem.starts_with("readme") || stem.starts_with("changelog"))
        && (kind.is_page() || matches!(kind, FileKind::Text) || !name.contains('.'))
}

fn exists(change: &Change<'_>, path: &str) -> bool {
    !matches!(change.base.read(path, 0), Err(FilesError::NotFound(_)))
}

/// Whether a page belongs to a plugin or a skill of an agent, and no person named it.
fn is_of_plugin(change: &Change<'_>, path: &str, folded: &str) -> bool {
    let is_named = || names_whole(&change.asked.as_str().to_lowercase(), folded);
    let folders = || std::iter::once("").chain(path.match_indices('/').map(|(at, _)| &path[..=at]));
    let is_part = |folder: &&str| {
        let inside = folded.get(folder.len()..).unwrap_or_default();
        let is_plugin = PLUGIN_FOLDERS.iter().any(|part| inside.split('/').next() == Some(part));
        is_plugin && exists(change, &format!("{folder}.claude-plugin/plugin.json"))
            || exists(change, &format!("{folder}SKILL.md"))
    };
    folders().any(|folder| is_part(&folder)) && !is_named()
}

/// Whether the docs are of text files, as those of Django are: a folder above has an index of that kind.
fn has_text_pages(change: &Change<'_>, path: &str) -> bool {
    let above = path.match_indices('/').map(|(at, _)| &path[..=at]);
    above.into_iter().any(|folder| exists(change, &format!("{folder}index.txt")))
}

fn is_list_of_packages(stem: &str) -> bool {
    ["requirements", "constraints", "robots", "llms", "cmakelists"].iter().any(|name| stem.contains(name))
}

/// `AGENTS.md`, `WARP.md`, `SKILL.md`: capitals are for tools, but for those that people read.
fn is_named_like_a_page(path: &str, stem: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let own = name.split('.').next().unwrap_or_default();
    let is_capital = own.len() > 1
        && own.chars().any(char::is_uppercase)
        && !own.chars().any(|c| c.is_lowercase() || c.is_ascii_digit());
    let is_known =
        |known: &str| stem.strip_prefix(known).is_some_and(|rest| !rest.starts_with(char::is_alphabetic));
    !is_capital || CAPITALS.iter().any(is_known) || own.len() <= 3
}

fn is_below(path: &str, docs: &str) -> bool {
    let docs = docs.trim_start_matches("./").trim_matches('/');
    docs.is_empty() || docs == "." || path.strip_prefix(docs).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a touched file of the base had these very bytes: then the file was moved.
fn is_moved(change: &Change<'_>, bytes: &[u8]) -> bool {
    change.edits.keys().any(|path| had(change, path, bytes))
}

/// Whether it was moved from a place in the same outermost folder, which is published or not as a whole.
fn is_moved_within(change: &Change<'_>, path: &str, bytes: &[u8]) -> bool {
    let folder = |path: &str| path.split_once('/').map(|(folder, _)| folder.to_owned());
    let others = change.edits.keys().filter(|other| folder(other) == folder(path));
    others.into_iter().any(|other| had(change, other, bytes))
}

fn had(change: &Change<'_>, path: &str, bytes: &[u8]) -> bool {
    match change.base.read(path, MAX_IMAGE_BYTES) {
        Ok(old) => old == bytes,
        Err(FilesError::NotFound(_) | _) => false,
    }
}
