//! Provides what the judgment of a construct depends on: the change, the instructions, the docs and the site.

use std::cell::OnceCell;

use pages::redirects::{Sources, configured_prefix, rules, served_address};
use pages::{FileKind, FilesError, MAX_TEXT_BYTES};

use super::site::Site;
use super::site_roots::SiteAddresses;
use crate::guard::change::Change;
use crate::guard::repo_files::is_judged;
use crate::guard::vocabulary::DocsUsage;

pub(super) struct Judge<'j, 'a> {
    pub(super) change: &'j Change<'a>,
    /// The instructions in lowercase.
    pub(super) instructions: String,
    docs_path: Option<&'j str>,
    site: OnceCell<Option<Site>>,
    addresses: OnceCell<Option<SiteAddresses>>,
    redirect_sources: OnceCell<Option<Sources>>,
    prefixes: OnceCell<Vec<String>>,
}

impl<'j, 'a> Judge<'j, 'a> {
    pub(super) fn new(change: &'j Change<'a>, docs_path: Option<&'j str>) -> Self {
        let instructions = change.instructions.as_str().to_lowercase();
        Self {
            change,
            instructions,
            docs_path,
            site: OnceCell::new(),
            addresses: OnceCell::new(),
            redirect_sources: OnceCell::new(),
            prefixes: OnceCell::new(),
        }
    }

    /// The text of a file before the change. `None` if the file is new or of a kind that is not judged. An error means
    /// that the file must be refused.
    pub(super) fn read_base(&self, path: &str) -> Result<Option<String>, &'static str> {
        if !is_judged(FileKind::of(path)) {
            return Ok(None);
        }
        match self.change.base.read(path, MAX_TEXT_BYTES) {
            Ok(bytes) => {
                String::from_utf8(bytes).map(Some).map_err(|_| "was not UTF-8 text before the change")
            }
            Err(FilesError::NotFound(_)) => Ok(None),
            Err(_) => Err("can't be compared with its previous version"),
        }
    }

    /// What the docs already use. `None` if they can't be read.
    pub(super) fn vocabulary(&self) -> Option<&DocsUsage> {
        self.change.vocabulary.read(self.change.base)
    }

    /// The site after the change. `None` if its files can't be listed.
    pub(super) fn site(&self) -> Option<&Site> {
        self.site.get_or_init(|| Site::new(self.change)).as_ref()
    }

    /// Whether a page can be served at an address. Unlike [`Site::is_page`], the root of the site is one of the folders
    /// that generators use. `None` if a page can't be read, so that its address is not known. The first call reads every
    /// page: only a redirect needs that.
    pub(super) fn is_served(&self, address: &str) -> Option<bool> {
        Some(self.addresses()?.contains(&served_address(address)?))
    }

    /// The addresses of all pages. `None` if one of them can't be read.
    pub(super) fn addresses(&self) -> Option<&SiteAddresses> {
        let files = self.site()?.files();
        let read = || SiteAddresses::read(files, self.docs_path, self.change);
        self.addresses.get_or_init(read).as_ref()
    }

    /// The addresses that the redirects of all files lead from after the change. `None` if a file can't be read.
    pub(super) fn redirect_sources(&self) -> Option<&Sources> {
        let read = || {
            let mut sources = Sources::default();
            for file in self.site()?.files().iter().filter(|file| has_rules(file)) {
                let bytes = match self.change.edits.get(file) {
                    Some(edited) => edited.clone().unwrap_or_default(),
                    None => self.change.base.read(file, MAX_TEXT_BYTES).ok()?,
                };
                let text = String::from_utf8_lossy(&bytes);
                sources.add(&rules(FileKind::of(file), &text).unwrap_or_default());
            }
            Some(sources)
        };
        self.redirect_sources.get_or_init(read).as_ref()
    }

    /// The prefixes that the settings of generators name, such as `/repo`, before the change.
    pub(super) fn prefixes(&self) -> &[String] {
        let read = |file: &str| String::from_utf8(self.change.base.read(file, MAX_TEXT_BYTES).ok()?).ok();
        self.prefixes.get_or_init(|| {
            let files = self.site().into_iter().flat_map(|site| site.files());
            let prefixes = files.filter_map(|file| configured_prefix(file, || read(file)));
            prefixes.filter(|prefix| !prefix.is_empty()).collect()
        })
    }
}

/// Whether a file can have redirects of the site.
fn has_rules(file: &str) -> bool {
    let is_own = !file.split('/').any(|part| part == "node_modules");
    let kind = FileKind::of(file);
    let has_rules = matches!(
        kind,
        FileKind::Mintlify
            | FileKind::Vercel
            | FileKind::Netlify
            | FileKind::RedirectsFile
            | FileKind::MkDocs
    );
    is_own && has_rules
}
