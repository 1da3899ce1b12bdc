//! Judges files of the repository that a page publishes by naming them: those it links to, shows or includes.
//!
//! Sphinx and Docusaurus copy a file that a page links to or shows to the site, wherever it is in the repository. So a
//! page can name pages, files of the docs folder that are made for readers, and files that the docs already name.

use pages::{AttributeValue, Element, FileKind, WordList};

use super::context::Judge;
use super::site::Site;
use super::verdict::{Verdict, refuse_remote, strictest};
use crate::guard::named_files::{included_file, is_condition};
use crate::guard::repo_files::{folder_of, is_hidden, is_inside, resolve};

/// Extensions of files that are made for readers of a site.
const ASSETS: WordList = WordList(
    "pdf zip gz tgz tar xz 7z csv tsv xls xlsx doc docx ppt pptx odt ods odp rtf epub txt mp3 mp4 m4a webm ogg wav \
     mov woff woff2 ttf stl bib drawio",
);
/// Folders that generators publish unchanged.
const PUBLIC_FOLDERS: WordList = WordList("static _static public");

impl Judge<'_, '_> {
    /// Judges a link of Markdown. Links of other markup copy nothing.
    pub(super) fn judge_linked_file(&self, page: &str, kind: FileKind, address: &str) -> Verdict {
        let is_markdown = matches!(kind, FileKind::Markdown | FileKind::Mdx | FileKind::Notebook);
        if !is_markdown || pages::is_external(address) {
            return Verdict::Passes;
        }
        match self.publishes_private_file(page, address) {
            true => refuse_remote("links to a file that is not a page, which publishes the file"),
            false => Verdict::Passes,
        }
    }

    /// Whether the generator copies a file for this address that is not made for readers.
    fn publishes_private_file(&self, page: &str, address: &str) -> bool {
        let Some(site) = self.site().filter(|site| site.copies_linked_files) else { return false };
        let is_private = |file: &str| {
            !is_public(site, page, file) && !self.vocabulary().is_some_and(|docs| docs.files.links_to(file))
        };
        site.files_at(page, address).into_iter().any(is_private)
    }

    /// Judges an image, which Sphinx copies to the site.
    pub(super) fn judge_image_file(&self, page: &str, kind: FileKind, address: &str) -> Verdict {
        if !pages::is_external(address) && self.publishes_private_file(page, address) {
            return refuse_remote("shows a file that is not an image, which publishes the file");
        }
        let is_copied = kind == FileKind::Rst || self.site().is_some_and(|site| site.is_sphinx);
        let root = self.site().and_then(|site| site.docs_folder(page));
        let (Some(root), true, false) = (root, is_copied, pages::is_external(address)) else {
            return Verdict::Passes;
        };
        let file = resolve(page, address);
        let is_used = || self.vocabulary().is_some_and(|docs| docs.files.shows_images_of(folder_of(&file)));
        match address.starts_with('/') || is_inside(&file, root) && !is_hidden(&file) || is_used() {
            true => Verdict::Passes,
            false => {
                refuse_remote("shows an image from a folder outside the docs that no page shows images from")
            }
        }
    }

    /// Judges an image in a tag, which MyST can be configured to copy.
    pub(super) fn judge_image_tag(&self, page: &str, kind: FileKind, element: &Element) -> Verdict {
        let sources =
            element.attributes.iter().filter(|attribute| attribute.name.eq_ignore_ascii_case("src"));
        strictest(sources.map(|source| match &source.value {
            AttributeValue::Text(address) if element.name == "img" => {
                self.judge_image_file(page, kind, address)
            }
            _ => Verdict::Passes,
        }))
    }

    /// Whether a page can include a file: one that the docs already include, or a page of the docs.
    pub(super) fn may_include(&self, page: &str, kind: FileKind, directive: &str) -> bool {
        if is_condition(directive) {
            return self.vocabulary().is_some_and(|docs| docs.files.has_condition(directive));
        }
        let Some(file) = included_file(page, directive) else { return false };
        let is_known = || self.vocabulary().is_some_and(|docs| docs.files.includes(&file));
        let is_page = || {
            let site = self.site()?;
            let is_inside = is_inside(&file, site.docs_folder(page)?) && !is_hidden(&file);
            Some(is_inside && FileKind::of(&file) == kind && site.has_file(&file))
        };
        is_known() || is_page() == Some(true)
    }
}

/// Whether a file is made for readers.
fn is_public(site: &Site, page: &str, file: &str) -> bool {
    let kind = FileKind::of(file);
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension).to_lowercase();
    let is_of_docs = site.docs_folder(page).is_some_and(|root| is_inside(file, root));
    let is_served = folder_of(file).split('/').any(|part| PUBLIC_FOLDERS.contains(part));
    let is_asset = is_of_docs && (ASSETS.contains(&extension) || kind == FileKind::OpenApi);
    !is_hidden(file) && (kind.is_page() || kind.is_image() || kind == FileKind::Html || is_served || is_asset)
}
