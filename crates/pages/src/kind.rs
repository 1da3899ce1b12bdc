//! Determines the kind of a file by its path. This is the only list of file extensions and special names.

use crate::path;

/// How a file is read. Every kind except the last five is documentation, or data about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// Markdown of any generator. Some read it as MDX, and some run cells in it.
    Markdown,
    Mdx,
    /// Markdown whose code runs when the site is built.
    Quarto,
    Rst,
    AsciiDoc,
    Notebook,
    /// `docs.json` and `mint.json` of Mintlify.
    Mintlify,
    /// `mkdocs.yml`.
    MkDocs,
    /// `sidebars.js`, `_meta.ts`: a script that only lists pages.
    NavigationScript,
    /// `_meta.json`, `_category_.json`, `sidebars.json`.
    NavigationData,
    OpenApi,
    /// `vercel.json`.
    Vercel,
    /// `_redirects` of Netlify and Cloudflare.
    RedirectsFile,
    /// `netlify.toml`.
    Netlify,
    Html,
    Image,
    Svg,
    Text,
    Other,
}

const ENDINGS: &[(&str, FileKind)] = &[
    (".md", FileKind::Markdown),
    (".mdx", FileKind::Mdx),
    (".markdown", FileKind::Markdown),
    (".mdown", FileKind::Markdown),
    (".mkd", FileKind::Markdown),
    (".mkdn", FileKind::Markdown),
    (".qmd", FileKind::Quarto),
    (".rmd", FileKind::Quarto),
    (".rst", FileKind::Rst),
    (".rest", FileKind::Rst),
    (".adoc", FileKind::AsciiDoc),
    (".asciidoc", FileKind::AsciiDoc),
    (".asc", FileKind::AsciiDoc),
    (".ipynb", FileKind::Notebook),
    (".html", FileKind::Html),
    (".htm", FileKind::Html),
    (".xhtml", FileKind::Html),
    (".svg", FileKind::Svg),
    (".png", FileKind::Image),
    (".jpg", FileKind::Image),
    (".jpeg", FileKind::Image),
    (".gif", FileKind::Image),
    (".webp", FileKind::Image),
    (".avif", FileKind::Image),
    (".ico", FileKind::Image),
    (".bmp", FileKind::Image),
    (".txt", FileKind::Text),
];
const SCRIPT_ENDINGS: &[&str] = &["js", "jsx", "cjs", "mjs", "ts", "tsx", "cts", "mts"];

impl FileKind {
    pub fn of(path: &str) -> Self {
        let name = path::name(path);
        let ending = name.rfind('.').map_or("", |dot| &name[dot..]);
        // Most files have a known extension, and a tree can have many files.
        match ENDINGS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)) {
            Some((_, kind)) => *kind,
            None => Self::by_name(&name.to_ascii_lowercase()).unwrap_or(Self::Other),
        }
    }

    fn by_name(name: &str) -> Option<Self> {
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
        let is_yaml = matches!(ending, "yml" | "yaml");
        match stem {
            "docs" | "mint" if ending == "json" => Some(Self::Mintlify),
            _ if is_yaml
                && (stem == "mkdocs" || stem.starts_with("mkdocs.") || stem.starts_with("mkdocs-")) =>
            {
                Some(Self::MkDocs)
            }
            "sidebars" | "_meta" | "_meta.global" if SCRIPT_ENDINGS.contains(&ending) => {
                Some(Self::NavigationScript)
            }
            "sidebars" | "_meta" | "_category_" if ending == "json" || is_yaml => Some(Self::NavigationData),
            "openapi" | "swagger" if ending == "json" || is_yaml => Some(Self::OpenApi),
            "vercel" if ending == "json" => Some(Self::Vercel),
            "netlify" if ending == "toml" => Some(Self::Netlify),
            "_redirects" if ending.is_empty() => Some(Self::RedirectsFile),
            "readme" | "changelog" if ending.is_empty() => Some(Self::Text),
            _ => None,
        }
    }

    /// Whether files of this kind are pages of documentation.
    pub fn is_page(self) -> bool {
        matches!(
            self,
            Self::Markdown | Self::Mdx | Self::Quarto | Self::Rst | Self::AsciiDoc | Self::Notebook
        )
    }

    /// Whether the checks, a move and the offline editor read files of this kind as pages. Other kinds have another syntax
    /// for anchors and links.
    pub fn is_markdown(self) -> bool {
        matches!(self, Self::Markdown | Self::Mdx)
    }

    /// Whether a browser shows files of this kind as an image.
    pub fn is_image(self) -> bool {
        matches!(self, Self::Image | Self::Svg)
    }

    /// The extensions of the wanted kinds, with their dots.
    pub fn endings(is_wanted: fn(Self) -> bool) -> impl Iterator<Item = &'static str> {
        ENDINGS.iter().filter(move |(_, kind)| is_wanted(*kind)).map(|(ending, _)| *ending)
    }

    /// Whether a file is JavaScript or TypeScript, by its name.
    pub(crate) fn is_script(name: &str) -> bool {
        name.rsplit_once('.').is_some_and(|(_, ending)| SCRIPT_ENDINGS.contains(&ending))
    }

    /// Whether this is a known data file of a site: its navigation, its redirects, its API.
    pub fn is_data(self) -> bool {
        !self.is_page() && !matches!(self, Self::Html | Self::Image | Self::Svg | Self::Text | Self::Other)
    }
}
