//! Knows the files in which a site can keep its redirects.

use crate::files::Files;
use crate::kind::FileKind;

use super::existing::Redirect;
use super::formats::{docusaurus, json_file, lines_file, mkdocs, netlify};
use super::layout::{Generator, Layout};

/// Where a site keeps its redirects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Store {
    /// A file with all of them.
    File(String, Format),
    /// The front matter of each target, under this key.
    FrontMatter(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Mintlify,
    Vercel,
    Lines,
    Netlify,
    MkDocs,
    Docusaurus,
}

impl Format {
    /// Whether a server compares the addresses with requests. The others are for generators, which know no prefix.
    pub(super) fn is_of_server(self) -> bool {
        match self {
            Self::Mintlify | Self::Vercel | Self::Lines | Self::Netlify => true,
            Self::MkDocs | Self::Docusaurus => false,
        }
    }

    pub(super) fn read(self, text: &str) -> Option<Vec<Redirect>> {
        match self {
            Self::Mintlify | Self::Vercel => json_file::read(text),
            Self::Lines => Some(lines_file::read(text)),
            Self::Netlify => netlify::read(text),
            Self::MkDocs => mkdocs::read(text),
            Self::Docusaurus => docusaurus::read(text),
        }
    }

    pub(super) fn add(self, text: &str, new: &[Redirect]) -> Option<String> {
        match self {
            Self::Mintlify => json_file::add(text, new, false),
            Self::Vercel => json_file::add(text, new, true),
            Self::Lines => lines_file::add(text, new),
            Self::Netlify => netlify::add(text, new),
            Self::MkDocs => mkdocs::add(text, new),
            Self::Docusaurus => docusaurus::add(text, new),
        }
    }
}

/// The files that can have redirects, with those nearest to the root first. Of each format, only the first one counts.
pub(super) fn store_files(files: &dyn Files, layout: &Layout) -> Vec<(String, Format)> {
    let paths = files.paths();
    let format_of = |file: &str| match FileKind::of(file) {
        FileKind::Mintlify => Some(Format::Mintlify),
        FileKind::Vercel => Some(Format::Vercel),
        FileKind::RedirectsFile => Some(Format::Lines),
        FileKind::Netlify => Some(Format::Netlify),
        FileKind::MkDocs => Some(Format::MkDocs),
        _ if layout.generator == Generator::Docusaurus && Some(file) == layout.settings.as_deref() => {
            Some(Format::Docusaurus)
        }
        _ => None,
    };
    let is_own = |file: &str| !file.split('/').any(|part| part == "node_modules");
    let found = paths.files.iter().filter(|file| is_own(file));
    let mut found: Vec<(String, Format)> =
        found.filter_map(|file| Some((file.clone(), format_of(file)?))).collect();
    // A site has either generator; its settings are the nearest ones.
    found.retain(|(file, format)| {
        !matches!(format, Format::Mintlify | Format::MkDocs) || Some(file) == layout.settings.as_ref()
    });
    found.sort_by_key(|(file, _)| (Some(file) != layout.settings.as_ref(), file.split('/').count()));
    let mut seen: Vec<Format> = Vec::new();
    found.retain(|(_, format)| {
        !seen.contains(format) && {
            seen.push(*format);
            true
        }
    });
    found
}
