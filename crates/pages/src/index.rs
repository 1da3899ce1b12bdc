//! Indexes files by name, and pages by title and by anchor, so that each broken link is repaired by lookups.

use std::collections::HashMap;

use crate::anchors::{Heading, Slugs};
use crate::path;
use crate::route;

/// Lists of files by name, title and anchor. Each list is in the order in which the files were added.
#[derive(Default)]
pub(crate) struct Index {
    names: HashMap<String, Vec<String>>,
    titles: HashMap<String, Vec<String>>,
    anchors: HashMap<String, Vec<String>>,
}

impl Index {
    /// Adds a file by its name. A page has its name without extension and number, and an index page has that of its folder.
    pub(crate) fn add_file(&mut self, file: &str) {
        let name = match route::page_path(file) {
            Some(page) if route::is_page(file) => path::name(page),
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

    pub(crate) fn files_named(&self, name: &str) -> &[String] {
        look_up(&self.names, &key(name))
    }

    pub(crate) fn pages_titled(&self, title: &str) -> &[String] {
        look_up(&self.titles, &Slugs::slug(title))
    }

    pub(crate) fn pages_with_anchor(&self, anchor: &str) -> &[String] {
        look_up(&self.anchors, anchor)
    }
}

fn key(name: &str) -> String {
    path::fold(&route::without_numbers(name))
}

fn look_up<'a>(lists: &'a HashMap<String, Vec<String>>, key: &str) -> &'a [String] {
    let list = lists.get(key).filter(|_| !key.is_empty());
    list.map(Vec::as_slice).unwrap_or_default()
}
