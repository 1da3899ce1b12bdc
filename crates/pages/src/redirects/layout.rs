//! Recognizes the generator of a site, the folder with its pages, and the address of each page.

use crate::files::{Files, FilesError, read_text};
use crate::frontmatter::FrontMatter;
use crate::kind::FileKind;
use crate::path;
use crate::route;

use super::formats::mkdocs;
use super::prefix;

/// The generators whose addresses or redirects differ from those of other sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generator {
    Mintlify,
    MkDocs,
    Docusaurus,
    Hugo,
    Jekyll,
    VitePress,
    Other,
}

#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) generator: Generator,
    /// The settings of the generator.
    pub(crate) settings: Option<String>,
    /// The folder that `/` of the site stands for.
    pub(crate) root: String,
    /// The prefix that the settings say the site is served below.
    pub(crate) prefix: Option<String>,
}

impl Layout {
    /// The settings file nearest to the root decides.
    pub(crate) fn find(files: &dyn Files) -> Result<Self, FilesError> {
        let paths = files.paths();
        let settings = paths.files.iter().filter_map(|file| Some((file, generator_of(file)?)));
        let nearest = settings.min_by_key(|(file, _)| file.split('/').count());
        let Some((file, generator)) = nearest else {
            let root = files.root().to_owned();
            return Ok(Self { generator: Generator::Other, settings: None, root, prefix: None });
        };
        let text = read_text(files, file)?.unwrap_or_default();
        let root = root(generator, file, &text);
        let prefix = prefix::in_settings(generator, file, &text);
        Ok(Self { generator, settings: Some(file.clone()), root, prefix })
    }

    /// The address of a page. `None` for a file that the generator doesn't serve.
    pub(crate) fn address(&self, file: &str, text: &str, front: &FrontMatter) -> Option<String> {
        let address = route::route(file, &self.root)?;
        let get = |key: &str| front.get(text, key).filter(|value| !value.is_empty());
        let folder = address.rsplit_once('/').map_or("", |(folder, _)| folder);
        match self.generator {
            Generator::Docusaurus => self.docusaurus_address(&address, get("slug"), get("id")),
            Generator::Hugo => Some(match (get("url"), get("slug")) {
                (Some(url), _) => absolute(url),
                (None, Some(slug)) => format!("{folder}/{slug}"),
                (None, None) => address,
            }),
            Generator::Jekyll => Some(get("permalink").map_or(address, absolute)),
            _ => Some(address),
        }
    }

    /// Numbers in front of names are dropped, and a slug can be relative to the docs or to the folder.
    fn docusaurus_address(&self, address: &str, slug: Option<&str>, id: Option<&str>) -> Option<String> {
        let (base, rest) = match address.strip_prefix("/src/pages") {
            Some(page) => return Some(if page.is_empty() { "/".to_owned() } else { page.to_owned() }),
            None if path::name(&self.root) == "docs" => ("", address),
            None => (
                "/docs",
                address.strip_prefix("/docs").filter(|rest| rest.is_empty() || rest.starts_with('/'))?,
            ),
        };
        let page = route::without_numbers(rest);
        let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
        let page = match (slug, id) {
            (Some(slug), _) if slug.starts_with('/') => slug.trim_end_matches('/').to_owned(),
            (Some(name), _) | (None, Some(name)) => format!("{folder}/{name}"),
            (None, None) => page,
        };
        let whole = format!("{base}{page}");
        Some(if whole.is_empty() { "/".to_owned() } else { whole })
    }
}

fn absolute(address: &str) -> String {
    super::address::plain(address)
}

pub(super) fn generator_of(file: &str) -> Option<Generator> {
    let (folder, name) = (path::parent(file), path::name(file));
    if folder.split('/').any(|part| matches!(part, "node_modules" | "theme" | "themes" | "exampleSite")) {
        return None;
    }
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    Some(match (FileKind::of(file), name) {
        (FileKind::Mintlify, _) => Generator::Mintlify,
        (FileKind::MkDocs, "mkdocs.yml" | "mkdocs.yaml") => Generator::MkDocs,
        _ if stem == "docusaurus.config" => Generator::Docusaurus,
        _ if stem == "config" && path::name(folder) == ".vitepress" => Generator::VitePress,
        (_, "_config.yml" | "_config.yaml") => Generator::Jekyll,
        (_, "hugo.toml" | "hugo.yaml" | "hugo.yml" | "hugo.json" | "config.toml") => Generator::Hugo,
        _ => return None,
    })
}

fn root(generator: Generator, settings: &str, text: &str) -> String {
    let folder = path::parent(settings);
    match generator {
        Generator::MkDocs => path::join(folder, &mkdocs::docs_dir(text)),
        Generator::Hugo => path::join(folder, "content"),
        Generator::VitePress => path::parent(folder).to_owned(),
        Generator::Docusaurus if serves_docs_at_root(text) => path::join(folder, "docs"),
        _ => folder.to_owned(),
    }
}

/// Whether `routeBasePath` of the docs is `/`.
fn serves_docs_at_root(text: &str) -> bool {
    let mut values = text
        .match_indices("routeBasePath")
        .map(|(at, word)| text[at + word.len()..].trim_start_matches([':', ' ']));
    values.any(|value| ["'/'", "\"/\"", "''", "\"\""].iter().any(|root| value.starts_with(root)))
}
