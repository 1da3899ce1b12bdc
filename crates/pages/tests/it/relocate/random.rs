//! Random moves in random trees: a move breaks no link, and no link leads to another page.
//!
//! Each page has a unique heading, and each link has the anchor of that heading. So a link that leads to another page is
//! broken.

use std::collections::BTreeSet;

use pages::{Edits, Files, broken_links, relocate};
use proptest::prelude::*;

use crate::overlay_in;

const FOLDERS: &[&str] = &["", "a/", "b/", "a/b/", "a/x/", "01-c/", "my docs/", "é/"];
const NAMES: &[&str] = &[
    "x.md",
    "y.mdx",
    "index.md",
    "README.md",
    "2-z.md",
    "a b.md",
    "b.md",
    "é.md",
    "(1).md",
    "p@q.md",
    "i.png",
    "my i.png",
];
const STYLES: usize = 8;

fn any_path() -> impl Strategy<Value = String> {
    let parts = (prop::sample::select(FOLDERS), prop::sample::select(NAMES));
    parts.prop_map(|(folder, name)| format!("docs/{folder}{name}"))
}

/// The path from a page up to the root, and down to the file.
fn relative(page: &str, file: &str) -> String {
    let up = "../".repeat(page.matches('/').count());
    format!("{up}{file}")
}

fn encoded(path: &str) -> String {
    path.replace('%', "%25").replace(' ', "%20").replace('(', "%28").replace(')', "%29").replace('@', "%40")
}

/// A link from one file to another, in one of many styles.
fn link(page: &str, file: &str, style: usize) -> String {
    let page_path = file.trim_end_matches(".md").trim_end_matches(".mdx");
    let is_page = page_path != file;
    let served = file.trim_start_matches("docs/");
    let page_path = if is_page { page_path } else { file };
    let site_path = page_path.trim_start_matches("docs/");
    match style {
        0 => encoded(&relative(page, file)),
        1 => format!("./{}", encoded(&relative(page, file))),
        2 => format!("<{}>", relative(page, &file.replace('@', "%40"))),
        3 => encoded(&relative(page, page_path)),
        4 => encoded(&format!("/{site_path}")),
        5 => encoded(&format!("/{served}")),
        6 if is_page => encoded(&format!("/{site_path}.html")),
        6 => encoded(&format!("/docs/{served}")),
        _ => encoded(&format!("/docs/{}", site_path.trim_end_matches("/index").trim_end_matches("/README"))),
    }
}

/// The files, with `links` as (page, file, style) between them.
fn tree(paths: &BTreeSet<String>, links: &[(usize, usize, usize)]) -> Vec<(String, String)> {
    let paths: Vec<&String> = paths.iter().collect();
    let mut files: Vec<(String, String)> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let is_page = !path.ends_with(".png");
        files.push(((*path).clone(), if is_page { format!("# Only {index}\n\n") } else { "\0".to_owned() }));
    }
    for (number, (page, file, style)) in links.iter().enumerate() {
        let (page, file) = (page % paths.len(), file % paths.len());
        if paths[page].ends_with(".png") {
            continue;
        }
        let mut to = link(paths[page], paths[file], *style);
        if !paths[file].ends_with(".png") {
            let anchor = format!("#only-{file}");
            to = to.strip_suffix('>').map_or(format!("{to}{anchor}"), |open| format!("{open}{anchor}>"));
        }
        files[page].1.push_str(&format!("[link {number}]({to})\n"));
    }
    files
}

/// The broken links: their texts and destinations.
fn broken(files: &dyn Files) -> BTreeSet<(String, String)> {
    broken_links(files).unwrap().into_iter().map(|link| (link.text, link.destination)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_move_keeps_all_links(
        paths in prop::collection::btree_set(any_path(), 2..10),
        links in prop::collection::vec((0..10_usize, 0..10_usize, 0..STYLES), 1..4),
        moved in 0..10_usize,
        to in any_path(),
        in_docs in any::<bool>(),
    ) {
        let files = tree(&paths, &links);
        let tree: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let mut files = overlay_in(&tree, in_docs.then_some("docs"));
        let from = tree[moved % tree.len()].0;
        let before: BTreeSet<String> = broken(&files).into_iter().map(|(text, _)| text).collect();
        match relocate(&mut files, from, &to) {
            Err(_) => prop_assert_eq!(files.edits(), Edits::default()),
            Ok(done) => {
                prop_assert!(done.unresolved.is_empty(), "{done:?} {from} {to}");
                for (text, destination) in broken(&files) {
                    prop_assert!(before.contains(&text), "{text} {destination} {from} {to}");
                }
            }
        }
    }
}
