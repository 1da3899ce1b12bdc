//! Decides which files an editor can change: pages in the docs folder, and known data files of them.

use pages::{FileKind, FilesError, WordList};

use super::{moves, svg};
use crate::guard::change::{Change, Policy};
use crate::guard::file_names::{fold, is_requested_agent_file, names_whole};
use crate::guard::refusal::Violation;

/// Larger images are not compared, so they count as new.
const MAX_IMAGE_BYTES: usize = 16 * 1024 * 1024;
const NOT_A_PAGE: &str = "it is not a page, and not a known kind of navigation or redirects file";
const IS_LAYOUT: &str = "it is a layout or a template of the site";
const FOR_AGENTS: &str = "it contains instructions for agents, and no person asked to change it";
/// Folders with layouts and templates of a generator: anywhere, and outside the folder with the pages.
const LAYOUTS: WordList = WordList("_layouts _templates _data _plugins _sass");
const LAYOUTS_OUTSIDE_PAGES: WordList = WordList("layouts overrides theme themes archetypes _includes");
/// Folders of Hugo's layouts, also within the docs folder.
const HUGO_LAYOUTS: WordList = WordList("shortcodes _shortcodes partials _partials _default _markup");
/// Folders with pages. Inside them, any name can be that of a page.
const PAGE_FOLDERS: WordList = WordList("docs doc content pages src guide guides book site");
/// Names of files that wrap other pages.
const LAYOUT_NAMES: WordList = WordList("_app _document _error layout mdx-components");
/// More such names in the folder `app` of Next.js.
const APP_NAMES: WordList = WordList("template default error global-error loading not-found");
/// Folders of an agent's plugin.
const PLUGIN_FOLDERS: WordList = WordList("commands agents skills output-styles hooks");
/// The folder of a code host that can also contain pages.
const HOST_FOLDER: &str = ".github";
/// Files and folders with templates of a code host.
const HOST_TEMPLATES: WordList = WordList("issue_template pull_request_template discussion_template");
/// Names in capitals that pages for people have.
const PAGES_IN_CAPITALS: WordList = WordList(
    "readme changelog contributing security code_of_conduct support install upgrading upgrade migration \
     migrating history faq summary authors governance roadmap releasing release releases news changes usage \
     api todo index glossary troubleshooting development hacking building quickstart tutorial cli notice \
     credits maintainers contributors about guide overview docs documentation getting_started design \
     architecture license",
);

pub(super) fn judge<'a>(change: &Change<'a>, policy: &Policy<'_>, violations: &mut Vec<Violation<'a>>) {
    for (path, bytes) in change.edits.iter().filter(|(path, _)| !policy.allow.permits(path)) {
        let follows =
            |bytes: &Vec<u8>| moves::is_settings(path) && moves::only_updates_file(change, path, bytes);
        if bytes.as_ref().is_some_and(follows) {
            continue;
        }
        let why = refusal(change, policy.docs_path, path, bytes.as_deref());
        violations.extend(why.map(|why| {
            Violation::of_path(path, format!("can't be changed, because {why}; an operator can allow it"))
        }));
    }
}

/// Why a file can't be changed, judged by its path alone. `None` also for images and text files, which need more than
/// that.
pub(in crate::guard) fn refusal_of_path(
    docs_path: Option<&str>,
    instructions: &str,
    path: &str,
) -> Option<&'static str> {
    let folded = fold(path);
    let (folder, name) = folded.rsplit_once('/').unwrap_or(("", &folded));
    let kind = FileKind::of(path);
    if path.starts_with('/')
        || path.contains('\\')
        || path.split('/').any(|part| matches!(part, "" | "." | ".."))
    {
        return Some("its path is not a valid path of the repository");
    }
    match is_requested_agent_file(path, instructions) {
        Some(true) if kind.is_page() || !name.trim_start_matches('.').contains('.') => return None,
        Some(false) => return Some(FOR_AGENTS),
        _ => {}
    }
    let is_hidden = folded.split('/').any(|part| part.starts_with('.'))
        && !(folder == HOST_FOLDER && kind.is_page() && !name.starts_with('.'));
    if is_hidden || FileKind::of(&folded) != kind {
        return Some("it is hidden, or its name has misleading characters");
    }
    if folded.split('/').any(|part| matches!(part, "node_modules" | "bower_components" | "__pycache__")) {
        return Some("it belongs to an installed package");
    }
    if folded.split('/').any(|part| HOST_TEMPLATES.contains(stem_of(part))) {
        return Some("it is a template of the code host");
    }
    if is_layout(folder, name, kind) {
        return Some(IS_LAYOUT);
    }
    if is_readme_or_changelog(name, kind) || kind.is_data() {
        return None;
    }
    if kind.is_page() {
        return match docs_path.is_some_and(|docs| !is_below(path, docs)) {
            true => Some("it is outside the docs folder"),
            false => (!is_named_like_a_page(path, stem_of(name)))
                .then_some("its name is in capitals, as in files for tools"),
        };
    }
    (!matches!(kind, FileKind::Image | FileKind::Svg | FileKind::Text)).then_some(NOT_A_PAGE)
}

fn refusal(
    change: &Change<'_>,
    docs_path: Option<&str>,
    path: &str,
    bytes: Option<&[u8]>,
) -> Option<&'static str> {
    let instructions = change.instructions.as_str();
    if let Some(why) = refusal_of_path(docs_path, instructions, path) {
        return Some(why);
    }
    let is_new = || !exists(change, path);
    if is_requested_agent_file(path, instructions) == Some(true)
        && is_new()
        && !names_folder(&instructions.to_lowercase(), &fold(path))
    {
        return Some("it contains instructions for agents in a folder that no person named");
    }
    if path.contains(['<', '>', '"', '&', '{', '}', '$', '|', '*', '?', '`']) && bytes.is_some() && is_new() {
        return Some("its name has characters that are markup or a pattern for some tools");
    }
    let folded = fold(path);
    let name = folded.rsplit('/').next().unwrap_or_default();
    let kind = FileKind::of(path);
    if is_of_plugin(change, path, &folded) {
        return Some(FOR_AGENTS);
    }
    if folded.split('/').any(|part| part == "_includes") && exists(change, "_config.yml") {
        return Some(IS_LAYOUT);
    }
    let is_settings = matches!(
        kind,
        FileKind::Mintlify
            | FileKind::MkDocs
            | FileKind::Vercel
            | FileKind::Netlify
            | FileKind::RedirectsFile
    );
    if bytes.is_none() && (is_settings || !kind.is_page() && is_tool_text_file(stem_of(name))) {
        return Some("the site would be built or served differently without it");
    }
    match (kind, bytes?) {
        (FileKind::Text, _) if is_readme_or_changelog(name, kind) => None,
        (FileKind::Text, _) if has_text_pages(change, path) && !is_tool_text_file(stem_of(name)) => None,
        (FileKind::Text, _) => Some(NOT_A_PAGE),
        (FileKind::Svg, bytes) if is_moved(change, bytes) => {
            let is_safe = svg::is_inert(bytes) || is_moved_within(change, path, bytes);
            (!is_safe).then_some("it is an SVG with code or addresses in it, from another folder")
        }
        (FileKind::Image, bytes) if is_moved(change, bytes) => None,
        (FileKind::Image | FileKind::Svg, _) => Some("images can only be moved or deleted"),
        _ => None,
    }
}

fn is_layout(folder: &str, name: &str, kind: FileKind) -> bool {
    let parts: Vec<&str> = folder.split('/').collect();
    let mut outside = parts.iter().take_while(|part| !PAGE_FOLDERS.contains(part));
    let is_mdx_in = |names: &[&str]| kind == FileKind::Mdx && parts.iter().any(|part| names.contains(part));
    let is_of_hugo = |pair: &[&str]| pair[0] == "layouts" && HUGO_LAYOUTS.contains(pair[1]);
    let is_of_theme = |three: &[&str]| three[0] == "themes" && three[2] == "layouts";
    parts.iter().any(|part| LAYOUTS.contains(part))
        || outside.any(|part| LAYOUTS_OUTSIDE_PAGES.contains(part))
        || parts.windows(2).any(is_of_hugo)
        || parts.windows(3).any(is_of_theme)
        || is_mdx_in(&["app", "pages"]) && LAYOUT_NAMES.contains(stem_of(name))
        || is_mdx_in(&["app"]) && APP_NAMES.contains(stem_of(name))
}

/// Whether the instructions name the folder of a file, or the file is at the root.
fn names_folder(instructions: &str, path: &str) -> bool {
    let folder = path.rsplit_once('/').and_then(|(folder, _)| folder.rsplit('/').next());
    folder.is_none_or(|folder| names_whole(instructions, folder))
}

fn stem_of(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// Whether a file is a `README` or a `CHANGELOG`, in any folder.
fn is_readme_or_changelog(name: &str, kind: FileKind) -> bool {
    let stem = stem_of(name);
    (stem.starts_with("readme") || stem.starts_with("changelog"))
        && (kind.is_page() || matches!(kind, FileKind::Text) || !name.contains('.'))
}

fn exists(change: &Change<'_>, path: &str) -> bool {
    !matches!(change.base.read(path, 0), Err(FilesError::NotFound(_)))
}

/// Whether a page belongs to an agent's plugin or skill, and no person named it.
fn is_of_plugin(change: &Change<'_>, path: &str, folded: &str) -> bool {
    let is_named = || names_whole(&change.instructions.as_str().to_lowercase(), folded);
    let folders = || std::iter::once("").chain(path.match_indices('/').map(|(at, _)| &path[..=at]));
    let is_part = |folder: &&str| {
        let inside = folded.get(folder.len()..).unwrap_or_default();
        let is_plugin = PLUGIN_FOLDERS.iter().any(|part| inside.split('/').next() == Some(part));
        is_plugin && exists(change, &format!("{folder}.claude-plugin/plugin.json"))
            || exists(change, &format!("{folder}SKILL.md"))
    };
    folders().any(|folder| is_part(&folder)) && !is_named()
}

/// Whether the docs are text files, as those of Django: a folder above has an `index.txt`.
fn has_text_pages(change: &Change<'_>, path: &str) -> bool {
    let above = path.match_indices('/').map(|(at, _)| &path[..=at]);
    above.into_iter().any(|folder| exists(change, &format!("{folder}index.txt")))
}

fn is_tool_text_file(stem: &str) -> bool {
    ["requirements", "constraints", "robots", "llms", "cmakelists"].iter().any(|name| stem.contains(name))
}

/// Whether a name can be that of a page. Names in capitals are for tools, such as `WARP.md`, except those that pages
/// for people have.
fn is_named_like_a_page(path: &str, stem: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let own = name.split('.').next().unwrap_or_default();
    let is_capital = own.len() > 1
        && own.chars().any(char::is_uppercase)
        && !own.chars().any(|c| c.is_lowercase() || c.is_ascii_digit());
    let is_known =
        |known: &str| stem.strip_prefix(known).is_some_and(|rest| !rest.starts_with(char::is_alphabetic));
    !is_capital || PAGES_IN_CAPITALS.iter().any(is_known) || own.len() <= 3
}

fn is_below(path: &str, docs: &str) -> bool {
    let docs = docs.trim_start_matches("./").trim_matches('/');
    docs.is_empty() || docs == "." || path.strip_prefix(docs).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a touched file of the base had exactly these bytes, so that the file was moved.
fn is_moved(change: &Change<'_>, bytes: &[u8]) -> bool {
    change.edits.keys().any(|path| had_bytes(change, path, bytes))
}

/// Whether a file was moved within the same outermost folder, which is published as a whole or not at all.
fn is_moved_within(change: &Change<'_>, path: &str, bytes: &[u8]) -> bool {
    let folder = |path: &str| path.split_once('/').map(|(folder, _)| folder.to_owned());
    let others = change.edits.keys().filter(|other| folder(other) == folder(path));
    others.into_iter().any(|other| had_bytes(change, other, bytes))
}

fn had_bytes(change: &Change<'_>, path: &str, bytes: &[u8]) -> bool {
    change.base.read(path, MAX_IMAGE_BYTES).is_ok_and(|old| old == bytes)
}
