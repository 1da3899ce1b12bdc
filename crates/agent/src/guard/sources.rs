//! Sources of programs. Most that are among docs are samples, and an editor's to change; some are what the site itself
//! is made of: those in a folder that generators take such from, and those that a page imports.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use pages::{FilesError, Kind as FileKind, MAX_TEXT_BYTES, Tree};

use super::MAX_TREE_BYTES;
use super::code::expressions;
use super::markup::{Markup, Shown};
use super::paths::fold;
use crate::pattern::pattern;

/// What a page can import.
const MODULES: &[&str] = &[
    ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".astro", ".es6",
    ".coffee",
];
/// What else a generator runs, when it finds it in a folder of its own.
const OTHERS: &[&str] = &[
    ".py", ".pyc", ".rb", ".lua", ".php", ".html", ".htm", ".njk", ".liquid", ".jinja", ".j2", ".erb",
    ".ejs", ".hbs", ".pug", ".tmpl", ".twig", ".gohtml",
];
const SITE: &[&str] = &[
    "_data",
    "_ext",
    "_extensions",
    "_includes",
    "_layouts",
    "_plugins",
    "_static",
    "_templates",
    "_theme",
    "component",
    "components",
    "ext",
    "extensions",
    "functions",
    "hooks",
    "javascripts",
    "js",
    "layouts",
    "lib",
    "netlify",
    "overrides",
    "pages",
    "partials",
    "plugins",
    "public",
    "scripts",
    "sphinxext",
    "src",
    "static",
    "theme",
    "themes",
    "widgets",
];
/// Of these, what is no module is a file to be downloaded.
const FILES: &[&str] = &["_static", "functions", "lib", "pages", "public", "scripts", "src", "static"];
/// Whatever is below one of these is shown and not run, unless a page imports it or the generator takes all there is.
const SAMPLES: &[&str] =
    &["_examples", "demos", "example", "examples", "sample", "samples", "snippets", "tutorials"];
const PART_OF_THE_SITE: &str = "it is a part of the site, which runs when the docs are built or read";
const IMPORTED: &str = "a page imports it, so that it runs when the docs are built or read";

/// What pages import.
pub(super) struct Imports<'a> {
    base: &'a dyn Tree,
    /// By those of the change.
    here: Names,
    /// By all that there were before; read when a source is changed, which is seldom.
    before: OnceCell<Names>,
}

#[derive(Default)]
struct Names {
    names: BTreeSet<String>,
    /// Whether there is one that cannot be read: it may be any.
    any: bool,
}

impl<'a> Imports<'a> {
    pub(super) fn of(shown: &Shown<'_, '_>, base: &'a dyn Tree) -> Self {
        let mut here = Names::default();
        for (_, _, markup) in shown.after.iter().filter(|(path, ..)| may_import(path)) {
            here.read(&markup.visible);
        }
        Self { base, here, before: OnceCell::new() }
    }

    /// Why `path` may not be changed, if it is a source that runs.
    pub(super) fn refusal(&self, path: &str) -> Option<&'static str> {
        let folded = fold(path);
        let is_module = ends_with(&folded, MODULES);
        let (folders, _) = folded.rsplit_once('/').unwrap_or(("", &folded));
        let outermost = folders.split('/').find(|folder| SITE.contains(folder) || SAMPLES.contains(folder));
        let is_run = match outermost.filter(|folder| !SAMPLES.contains(folder)) {
            Some(folder) => is_module || ends_with(&folded, OTHERS) && !FILES.contains(&folder),
            None => is_module && loads_every_script(path, self.base),
        };
        let is_imported = || is_module && names(&folded).any(|name| self.imports(name));
        if is_run { Some(PART_OF_THE_SITE) } else { is_imported().then_some(IMPORTED) }
    }

    fn imports(&self, name: &str) -> bool {
        let before = || self.before.get_or_init(|| Names::before(self.base));
        self.here.any || self.here.names.contains(name) || before().names.contains(name)
    }
}

fn may_import(path: &str) -> bool {
    ends_with(&path.to_ascii_lowercase(), &[".md", ".mdx", ".markdown"])
}

impl Names {
    fn read(&mut self, text: &str) {
        let puzzles = |code: &str| unreadable().is_some_and(|pattern| pattern.is_match(code));
        self.any |= expressions(text).any(|(_, code)| puzzles(code));
        for found in import().into_iter().flat_map(|pattern| pattern.captures_iter(text)) {
            let address = (1..=4).find_map(|group| found.get(group)).map_or("", |address| address.as_str());
            self.any |= address.contains(['\\', '$']);
            self.names.extend(imported(address));
        }
    }

    fn before(base: &dyn Tree) -> Self {
        let (mut names, mut room) = (Self::default(), MAX_TREE_BYTES);
        for entry in base.list().unwrap_or_default() {
            if entry.kind != FileKind::File || !may_import(&entry.path) {
                continue;
            }
            let bytes = base.read(&entry.path, MAX_TEXT_BYTES.min(room)).unwrap_or_default();
            room -= bytes.len();
            // Most pages have none of it, and need not be taken apart.
            let text = std::str::from_utf8(&bytes).unwrap_or_default();
            if ["import", "export", "require", "script"].iter().any(|word| text.contains(word)) {
                names.read(&Markup::of(&entry.path, text).visible);
            }
        }
        names
    }
}

/// Mintlify takes every script below its settings into each page.
fn loads_every_script(path: &str, base: &dyn Tree) -> bool {
    let there = |file: String| !matches!(base.read(&file, 0), Err(FilesError::NotFound(_)));
    let above = path.match_indices('/').map(|(at, _)| &path[..=at]).chain([""]);
    above.into_iter().any(|folder| there(format!("{folder}docs.json")) || there(format!("{folder}mint.json")))
}

fn ends_with(path: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| path.ends_with(ending))
}

/// What a module is imported by: its name without the ending, and its folder's if it is the folder's index.
fn names(folded: &str) -> impl Iterator<Item = &str> {
    let bare = MODULES.iter().find_map(|ending| folded.strip_suffix(ending)).unwrap_or(folded);
    let folder = bare.strip_suffix("/index").and_then(|folder| folder.rsplit('/').next());
    bare.rsplit('/').next().into_iter().chain(folder)
}

/// The name by which a source is known. What is imported as text does not run, and packages are not ours to change.
fn imported(address: &str) -> Option<String> {
    let (place, query) = address.split_once('?').unwrap_or((address, ""));
    // One that begins with it is an alias.
    let (place, rest) = match place.get(1..).and_then(|rest| rest.find('#')) {
        Some(at) => place.split_at(at + 1),
        None => (place, ""),
    };
    let is_raw =
        place.trim_start_matches('!').starts_with("raw-loader!") || query.split('&').any(|one| one == "raw");
    let is_text = is_raw && rest.is_empty() && !query.contains('#');
    let is_package = !place.contains('/') && !place.starts_with('.') || place.starts_with("@theme/");
    if is_text || is_package {
        return None;
    }
    let folded = fold(place.trim_end_matches('/'));
    let bare = MODULES.iter().find_map(|ending| folded.strip_suffix(ending)).unwrap_or(&folded);
    let bare = bare
        .strip_suffix("/index")
        .filter(|folder| !folder.trim_matches(['.', '/']).is_empty())
        .unwrap_or(bare);
    let last = bare.rsplit('/').next().filter(|last| !last.trim_matches('.').is_empty());
    Some(last.unwrap_or("index").to_owned())
}

/// Modules by which a program reaches the machine or the network.
const NODE: &[&str] = &[
    "async_hooks",
    "child_process",
    "cluster",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "execa",
    "fs",
    "fs-extra",
    "graceful-fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "perf_hooks",
    "process",
    "readline",
    "repl",
    "shelljs",
    "sqlite",
    "stream",
    "tls",
    "trace_events",
    "tty",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
];

/// The imports of a page that are neither its site's nor a package's, or that have a file run which is none to run.
pub(super) fn modules(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let found = import().into_iter().flat_map(move |pattern| pattern.captures_iter(text));
    // The others are a script's tag, and a call: it counts where it is code, and prose names it as well.
    let addresses = found.filter_map(|found| (1..=2).find_map(|group| found.get(group)));
    addresses
        .filter(|address| is_foreign(address.as_str()))
        .map(|address| (address.start(), address.as_str()))
}

fn is_foreign(address: &str) -> bool {
    let folded = address.trim().to_ascii_lowercase();
    let (loaders, place) = folded.rsplit_once('!').unwrap_or(("", &folded));
    let has_scheme = ["data:", "http:", "https:", "node:", "blob:", "file:", "npm:", "//"];
    loaders.split('!').any(|loader| !loader.is_empty() && loader != "raw-loader")
        || folded.contains('\\')
        || has_scheme.iter().any(|scheme| place.starts_with(scheme))
        || place.split('/').next().is_some_and(|package| NODE.contains(&package))
}

/// What may stand between two words, and an address.
const APART: &str = r"(?:\s|/\*[^*]*\*/)*";
const ADDRESS: &str = r"[\x22'`]([^\x22'`\n]+)[\x22'`]";
/// A call that imports, up to what it is given.
const CALLED: &str = r"\b(?:import|require)\b[\s?.)]{0,10}\(";

pattern!(
    import = [
        format!(r"(?im)(?:^\s*(?:(?:import|export|\}})[^\n]*?\b)?|\}}\s*)from{APART}{ADDRESS}"),
        format!(r"^\s*import{APART}{ADDRESS}"),
        format!(r"{CALLED}{APART}{ADDRESS}"),
        format!(r"<script\b[^<>]*?\ssrc\s*=\s*{ADDRESS}"),
    ]
    .join("|")
);

pattern!(
    /// Put together of pieces, or of a whole folder.
    unreadable = format!(
        r"(?i){CALLED}[^()\n]*[\x22'`]\s*\+|{CALLED}\s*[a-z_$]|\brequire\.context\b|\bimport\.meta\.glob"
    )
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_foreign() {
        for address in
            ["data:text/javascript,1", "node:fs", "fs/promises", "f\\u0073", "!!babel-loader!./a.txt"]
        {
            assert!(is_foreign(address), "{address}");
        }
        for address in ["react", "./fs", "@theme/Tabs", "!!raw-loader!./a.js", "path", "./a.js?raw"] {
            assert!(!is_foreign(address), "{address}");
        }
    }

    #[test]
    fn what_is_imported() {
        let check = |address: &str, expected: Option<&str>| {
            assert_eq!(imported(address).as_deref(), expected, "{address}")
        };
        check("./chart", Some("chart"));
        check("../parts/chart.jsx?x=1", Some("chart"));
        check("@site/src/chart/index.js", Some("chart"));
        check("./chart/index", Some("chart"));
        check("../chart/", Some("chart"));
        check("#parts/chart", Some("chart"));
        check("./index.js", Some("index"));
        check(".", Some("index"));
        check("./chart.js?x=raw-loader!", Some("chart"));
        check("./chart.js#?raw", Some("chart"));
        check("!!raw-loader!./chart.js", None);
        check("./chart.js?raw&lang=js", None);
        check("react", None);
        check("@theme/Tabs", None);
    }
}
