//! Files by name, pages by title, and pages by anchor, so that many broken links cost no more than one walk.

use std::collections::HashMap;

use crate::anchors::{Heading, Slugs};
use crate::path;
use crate::route;

/// Lists of files under what people know them by; each in the order in which the files were added.
#[derive(Default)]
pub(crate) struct Index {
    names: HashMap<String, Vec<String>>,
    titles: HashMap<String, Vec<String>>,
    anchors: HashMap<String, Vec<String>>,
}

impl Index {
    /// A page goes by its name without extension and number, an index page by its folder's, other files by
    /// their full name.
    pub(crate) fn add_file(&mut self, file: &str) {
        let name = match route::place(file) {
            Some(place) if route::is_page(file) => path::name(place),
            _ => path::name(file),
        };
        self.names.entry(key(name)).or_default().push(file.to_owned());
    }

    pub(crate) fn add_page(&mut self, file: &str, title: Option<&str>, headings: &[Heading]) {
        if let Some(title) = title {
            self.titles.entry(Slugs::slug(title)).or_default().push(file.to_owned());
        }
        for heading in headings {
            let pages = self.anchors.entry(heading.anchor.clone()).or_default();
            if pages.last().is_none_or(|last| last != file) {
                pages.push(file.to_owned());
            }
        }
    }

    pub(crate) fn named(&self, name: &str) -> &[String] {
        found(&self.names, &key(name))
    }

    pub(crate) fn titled(&self, title: &str) -> &[String] {
        found(&self.titles, &Slugs::slug(title))
    }

    pub(crate) fn with_anchor(&self, anchor: &str) -> &[String] {
        found(&self.anchors, anchor)
    }
}

fn key(name: &str) -> String {
    path::fold(&route::without_numbers(name))
}

fn found<'a>(lists: &'a HashMap<String, Vec<String>>, key: &str) -> &'a [String] {
    let list = lists.get(key).filter(|_| !key.is_empty());
    list.map(Vec::as_slice).unwrap_or_default()
}
