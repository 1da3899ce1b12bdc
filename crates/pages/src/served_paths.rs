//! Maps the paths that a site serves to pages, where these differ from the path of the file.
//!
//! Also knows the paths that a site generator creates without a file.

use std::collections::HashMap;

use crate::WordList;
use crate::path;
use crate::route;

/// Files and lists that site generators create.
const GENERATED: WordList = WordList(
    "rss.xml atom.xml feed.xml feed feed.json index.xml sitemap.xml sitemap robots.txt llms.txt llms-full.txt \
     search tags categories 404 404.html",
);
/// Lists that are generated from the posts of a blog.
const BLOG_LISTS: WordList = WordList("tags tag page archive authors author category categories");
/// Extensions of pages that are components. They have no prose and no anchors that can be read.
const COMPONENTS: &[&str] = &[".tsx", ".jsx", ".ts", ".js", ".vue", ".astro", ".svelte", ".html"];

/// Pages by the paths that they are served at, without the numbers in front of names.
#[derive(Default)]
pub(crate) struct ServedPaths(HashMap<String, String>);

impl ServedPaths {
    /// Adds a page. `addresses` are those in its front matter.
    pub(crate) fn add(&mut self, root: &str, file: &str, addresses: &[String]) {
        let Some(path) = route::page_path(file) else { return };
        let bare = route::without_numbers(path);
        let dated = post_paths(&bare);
        for path in [bare].into_iter().chain(dated.into_iter().flatten()) {
            self.0.entry(path).or_insert_with(|| file.to_owned());
        }
        for address in addresses {
            let base = if address.starts_with('/') { root } else { path::parent(file) };
            let path = path::join(base, address.trim_start_matches("./").trim_matches('/'));
            self.0.insert(route::without_numbers(&path), file.to_owned());
        }
    }

    pub(crate) fn page_at(&self, path: &str) -> Option<&String> {
        self.0.get(&route::without_numbers(path))
    }
}

/// `blog/2024-01-31-hello` is served as `blog/hello` or as `blog/2024/01/31/hello`.
fn post_paths(post: &str) -> Option<[String; 2]> {
    let name = path::name(post);
    let (date, title) = (name.get(..10)?, name.get(10..)?.strip_prefix('-')?);
    let is_date = date
        .bytes()
        .enumerate()
        .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() });
    let folder = path::parent(post);
    is_date.then(|| {
        [path::join(folder, title), path::join(folder, &format!("{}/{title}", date.replace('-', "/")))]
    })
}

/// The path of a page that is a component_path: `src/pages/help.tsx` is at `src/pages/help`.
pub(crate) fn component_path(file: &str) -> Option<&str> {
    let in_pages = file.starts_with("pages/") || file.contains("src/pages/");
    COMPONENTS.iter().find_map(|extension| file.strip_suffix(extension)).filter(|_| in_pages)
}

/// Whether a path of the site is generated: a feed, a sitemap, a list of posts.
pub(crate) fn is_generated(path: &str) -> bool {
    let Some(path) = path.strip_prefix('/').map(|path| path.trim_end_matches('/')) else { return false };
    let mut names = path.rsplit('/');
    let last = names.next().unwrap_or_default();
    GENERATED.contains(last) || names.any(|folder| BLOG_LISTS.contains(folder)) || BLOG_LISTS.contains(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontmatter::FrontMatter;

    #[test]
    fn a_page_is_served_at_many_paths() {
        #[track_caller]
        fn check(file: &str, text: &str, expected: &[&str]) {
            let mut paths = ServedPaths::default();
            paths.add("docs", file, &FrontMatter::parse(text).addresses);
            assert_eq!(FrontMatter::addresses_in(text), FrontMatter::parse(text).addresses);
            let mut found: Vec<_> = paths.0.into_keys().collect();
            found.sort_unstable();
            assert_eq!(found, expected);
        }
        check("docs/03-core/25-settings.md", "", &["docs/core/settings"]);
        check("docs/g/a.md", "---\nid: start\n---\n", &["docs/g/a", "docs/g/start"]);
        check("docs/g/a.md", "---\nslug: /get/\n---\n", &["docs/g/a", "docs/get"]);
        check(
            "docs/a.md",
            "---\nredirect_from:\n  - /one\n  - /two\n---\n",
            &["docs/a", "docs/one", "docs/two"],
        );
        check("docs/a.md", "---\naliases: [/one, '/two']\n---\n", &["docs/a", "docs/one", "docs/two"]);
        check(
            "blog/2024-01-31-hello.md",
            "",
            &["blog/2024-01-31-hello", "blog/2024/01/31/hello", "blog/hello"],
        );
        check("blog/2024-01-31.md", "", &["blog/2024-01-31"]);
        check("blog/日本語2024-hello.md", "", &["blog/日本語2024-hello"]);
    }

    #[test]
    fn generated_paths_and_components() {
        for path in ["/rss.xml", "/blog/tags/foo", "/blog/rss.xml", "/search/", "/llms.txt", "/blog/archive"]
        {
            assert!(is_generated(path), "{path}");
        }
        for path in ["/guide", "/blog/hello", "search", "/research"] {
            assert!(!is_generated(path), "{path}");
        }
        assert_eq!(component_path("src/pages/help.tsx"), Some("src/pages/help"));
        assert_eq!(component_path("website/src/pages/a/b.vue"), Some("website/src/pages/a/b"));
        assert_eq!(component_path("src/lib/help.tsx"), None);
    }
}
