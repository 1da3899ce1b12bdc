//! Finds the redirects of a site and where it keeps them, and adds new ones there.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::files::{Files, FilesError, read_text};
use crate::frontmatter::FrontMatter;
use crate::markdown::Page;
use crate::page_list;
use crate::path;

use super::existing::Redirect;
use super::formats::{front_matter, json_file, mkdocs};
use super::layout::{Generator, Layout};
use super::prefix::{Prefix, Spelling};
use super::site_pages::{SitePage, SitePages};
use super::store::{Format, Store, store_files};

/// The front matter keys with the address of a page itself.
const OWN_ADDRESS: [&str; 4] = ["slug", "url", "permalink", "id"];

/// The pages and the redirects of a site, and where new redirects belong.
#[derive(Debug)]
pub struct SiteRedirects {
    /// The folder that `/` of the site stands for.
    pub root: String,
    /// What readers see in front of the addresses of all pages.
    pub prefix: Prefix,
    pub pages: SitePages,
    /// The redirects that the site has, in all formats, without the prefix.
    pub redirects: Vec<Redirect>,
    /// Files that were left alone, one sentence each.
    pub notes: Vec<String>,
    store: Option<Store>,
    files: BTreeMap<String, String>,
}

/// The files with new redirects.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Path, new text, and the redirects that were added to it.
    pub files: Vec<(String, String, Vec<Redirect>)>,
    /// Redirects that a person must add.
    pub left: Vec<Redirect>,
    /// Why files were left alone, one sentence each.
    pub notes: Vec<String>,
}

impl SiteRedirects {
    /// Reads the settings and the pages of a site.
    pub fn read(files: &dyn Files) -> Result<Self, FilesError> {
        Self::read_as_viewed(files, None)
    }

    /// `viewed` is the prefix at which readers reach the pages, if that is known.
    pub fn read_as_viewed(files: &dyn Files, viewed: Option<&str>) -> Result<Self, FilesError> {
        let layout = Layout::find(files)?;
        let mut site = Self {
            root: layout.root.clone(),
            prefix: Prefix::new(layout.prefix.clone(), viewed),
            pages: SitePages::default(),
            redirects: Vec::new(),
            notes: Vec::new(),
            store: None,
            files: BTreeMap::new(),
        };
        site.read_stores(files, &layout)?;
        site.read_pages(files, &layout)?;
        Ok(site)
    }

    fn read_stores(&mut self, files: &dyn Files, layout: &Layout) -> Result<(), FilesError> {
        let mut found: Vec<(bool, Store)> = Vec::new();
        for (file, format) in store_files(files, layout) {
            let Some(text) = read_text(files, &file)? else { continue };
            if format == Format::MkDocs && !mkdocs::has_plugin(&text)
                || format == Format::Docusaurus && !text.contains("plugin-client-redirects")
            {
                continue;
            }
            if format == Format::Vercel && json_file::has_routes(&text) {
                self.notes.push(format!(
                    "`{file}` was left alone, because it has `routes`, which Vercel doesn't accept together with `redirects`."
                ));
                continue;
            }
            match format.read(&text) {
                Some(redirects) => {
                    // The generator's own file is where its redirects belong.
                    let is_used = !redirects.is_empty()
                        || Some(&file) == layout.settings.as_ref()
                        || format == Format::Lines;
                    self.redirects.extend(match format.is_of_server() {
                        true => self.prefix.strip_all(redirects),
                        false => redirects,
                    });
                    found.push((is_used, Store::File(file, format)));
                }
                None => self
                    .notes
                    .push(format!("`{file}` was left alone, because its redirects can't be parsed.")),
            }
        }
        let key = self.front_matter_key(files, layout)?;
        found.extend(key.map(|key| (true, Store::FrontMatter(key))));
        found.sort_by_key(|(is_used, _)| !is_used);
        self.store = found.into_iter().next().map(|(_, store)| store);
        Ok(())
    }

    fn front_matter_key(
        &self,
        files: &dyn Files,
        layout: &Layout,
    ) -> Result<Option<&'static str>, FilesError> {
        let settings = layout.settings.as_deref().unwrap_or_default();
        Ok(match layout.generator {
            Generator::Hugo => Some("aliases"),
            Generator::Jekyll => {
                let text = read_text(files, settings)?.unwrap_or_default();
                text.contains("jekyll-redirect-from").then_some("redirect_from")
            }
            _ => None,
        })
    }

    fn read_pages(&mut self, files: &dyn Files, layout: &Layout) -> Result<(), FilesError> {
        let mut pages = Vec::new();
        for file in page_list::pages(files) {
            let Some(text) = read_text(files, &file)? else { continue };
            let page = Page::parse(&file, &text);
            let Some(route) = layout.address(&file, &text, &page.front) else { continue };
            if matches!(self.store, Some(Store::FrontMatter(_))) {
                let aliases = aliases(&page.front, &text, &route);
                self.redirects.extend(aliases.map(|from| Redirect::new(from, route.clone())));
            }
            let headings = page.headings.iter().map(|heading| heading.text.clone()).collect();
            pages.push(SitePage { route: route.clone(), title: page.title(&text), headings });
            self.files.entry(route).or_insert(file);
        }
        self.pages = SitePages::new(pages);
        Ok(())
    }

    /// The pages with their files.
    pub fn pages_with_files(&self) -> impl Iterator<Item = (&SitePage, &str)> {
        self.pages.pages.iter().filter_map(|page| Some((page, self.file_at(&page.route)?)))
    }

    /// The file of the page at an address.
    pub fn file_at(&self, route: &str) -> Option<&str> {
        self.files.get(route).map(String::as_str)
    }

    /// Adds redirects where the site keeps them. Each must lead to a page. Their addresses are without the prefix.
    pub fn add(&self, files: &dyn Files, new: &[Redirect]) -> Result<Additions, FilesError> {
        let mut additions = Additions::default();
        if new.is_empty() {
            return Ok(additions);
        }
        match &self.store {
            None => additions.left = new.to_vec(),
            Some(_) if !self.prefix.is_certain() => {
                additions.left = new.to_vec();
                additions.notes.push(format!(
                    "No redirect was written, because the settings of the site name the prefix `{}/`, but readers reach its \
                     pages at `{}`.",
                    self.prefix.configured().unwrap_or_default(),
                    self.prefix.add("/"),
                ));
            }
            Some(Store::File(file, format)) => self.add_to_file(files, file, *format, new, &mut additions)?,
            Some(Store::FrontMatter(key)) => self.add_to_pages(files, key, new, &mut additions)?,
        }
        Ok(additions)
    }

    fn add_to_file(
        &self,
        files: &dyn Files,
        file: &str,
        format: Format,
        new: &[Redirect],
        additions: &mut Additions,
    ) -> Result<(), FilesError> {
        let text = read_text(files, file)?.unwrap_or_default();
        let Some(has_prefix) = self.has_prefix(format, &text) else {
            additions.left = new.to_vec();
            additions.notes.push(format!(
                "`{file}` was left alone, because its redirects don't show whether addresses have the prefix `{}`.",
                self.prefix.add("/"),
            ));
            return Ok(());
        };
        let spelled = new.iter().map(|redirect| match has_prefix {
            true => Some(self.prefix.add_to(redirect)),
            false => self.in_format(format, redirect),
        });
        let spelled: Option<Vec<Redirect>> = spelled.collect();
        match spelled.and_then(|spelled| format.add(&text, &spelled)) {
            Some(text) => additions.files.push((file.to_owned(), text, new.to_vec())),
            None => additions.left = new.to_vec(),
        }
        Ok(())
    }

    /// Whether addresses in a file have the prefix of the site. A host compares them with what readers request. `None` if
    /// that's not certain: the documentation of Mintlify doesn't say it, and other redirects can contradict it.
    fn has_prefix(&self, format: Format, text: &str) -> Option<bool> {
        if !format.is_of_server() {
            return Some(false);
        }
        let redirects = format.read(text).unwrap_or_default();
        match self.prefix.spelling(&redirects, |address| self.pages.has(address)) {
            Spelling::WithPrefix => Some(true),
            Spelling::WithoutPrefix if self.prefix.is_empty() || format == Format::Mintlify => Some(false),
            Spelling::Unknown if format != Format::Mintlify => Some(true),
            _ => None,
        }
    }

    /// A redirect as the format has it, without the prefix. MkDocs has the names of files.
    fn in_format(&self, format: Format, redirect: &Redirect) -> Option<Redirect> {
        match format {
            Format::MkDocs => {
                let file = self.file_at(&redirect.to)?;
                let from = format!("{}.md", redirect.from.trim_matches('/'));
                Some(Redirect::new(from, path::below(file, &self.root)?))
            }
            _ => Some(redirect.clone()),
        }
    }

    fn add_to_pages(
        &self,
        files: &dyn Files,
        key: &str,
        new: &[Redirect],
        additions: &mut Additions,
    ) -> Result<(), FilesError> {
        let mut by_file: BTreeMap<&str, Vec<&Redirect>> = BTreeMap::new();
        for redirect in new {
            match self.file_at(&redirect.to) {
                Some(file) => by_file.entry(file).or_default().push(redirect),
                None => additions.left.push(redirect.clone()),
            }
        }
        for (file, redirects) in by_file {
            let mut text = read_text(files, file)?.unwrap_or_default();
            let mut added = Vec::new();
            for redirect in redirects {
                match front_matter::add(&text, key, &alias(key, &redirect.from)) {
                    Some(new) => {
                        text = new;
                        added.push(redirect.clone());
                    }
                    None => additions.left.push(redirect.clone()),
                }
            }
            if !added.is_empty() {
                additions.files.push((file.to_owned(), text, added));
            }
        }
        Ok(())
    }
}

/// The address as the front matter has it. Of `/old`, Jekyll makes the file `old.html`, which few servers find for `/old/`;
/// of `/old/`, it makes `old/index.html`, which they find for both.
fn alias<'a>(key: &str, address: &'a str) -> Cow<'a, str> {
    let is_file = address.rsplit('/').next().is_some_and(|name| name.is_empty() || name.contains('.'));
    match key == "redirect_from" && !is_file {
        true => Cow::Owned(format!("{address}/")),
        false => Cow::Borrowed(address),
    }
}

/// The addresses of a page's redirects in its front matter.
fn aliases<'f>(front: &'f FrontMatter, text: &'f str, route: &'f str) -> impl Iterator<Item = String> + 'f {
    let own: Vec<&str> = OWN_ADDRESS.iter().filter_map(|key| front.get(text, key)).collect();
    let is_alias = move |address: &&String| !own.contains(&address.as_str()) && **address != route;
    front.addresses.iter().filter(is_alias).map(move |address| match address.starts_with('/') {
        true => address.clone(),
        false => format!("{}/{address}", route.rsplit_once('/').map_or("", |(folder, _)| folder)),
    })
}
