//! Lists the pages of a tree, and finds a page by its site path.

use crate::files::Files;
use crate::route::{is_page, route};

/// The pages, in byte order of their paths.
pub fn pages(files: &dyn Files) -> Vec<String> {
    let mut paths = files.list();
    paths.retain(|file| is_page(file));
    paths
}

/// The page at a site path. The inverse of [`route()`].
pub fn page_at(files: &dyn Files, site_path: &str) -> Option<String> {
    let wanted = format!("/{}", site_path.trim_matches('/'));
    let root = files.root();
    pages(files).into_iter().find(|file| route(file, root).as_deref() == Some(wanted.as_str()))
}
