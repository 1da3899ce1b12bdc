//! Where else than at its own path a page is served, and what a site serves without there being a file.

use std::collections::HashMap;

use crate::WordList;
use crate::path;
use crate::route;

/// Files and lists that site generators make by themselves.
const GENERATED: WordList = WordList(
    "rss.xml atom.xml feed.xml feed feed.json index.xml sitemap.xml sitemap robots.txt llms.txt llms-full.txt \
     search tags categories 404 404.html",
);
/// Lists that are made of the posts of a blog.
const LISTS: WordList = WordList("tags tag page archive authors author category categories");
/// Extensions of pages that are programs; they have no prose and no anchors that can be read.
const COMPONENTS: &[&str] = &[".tsx", ".jsx", ".ts", ".js", ".vue", ".astro", ".svelte", ".html"];

/// Pages by the places they are served at, with the numbers in front of all names left out.
#[derive(Default)]
pub(crate) struct Places(HashMap<String, String>);

impl Places {
    /// `addresses` are those that the page is given by its front matter.
    pub(crate) fn add(&mut self, root: &str, file: &str, addresses: &[String]) {
        let Some(place) = route::place(file) else { return };
        let bare = route::without_numbers(place);
        let dated = undated(&bare);
        for place in [bare].into_iter().chain(dated.into_iter().flatten()) {
            self.0.entry(place).or_insert_with(|| file.to_owned());
        }
        for address in addresses {
            let base = if address.starts_with('/') { root } else { path::parent(file) };
            let place = path::join(base, address.trim_start_matches("./").trim_matches('/'));
            self.0.insert(route::without_numbers(&place), file.to_owned());
        }
    }

    pub(crate) fn page_at(&self, place: &str) -> Option<&String> {
        self.0.get(&route::without_numbers(place))
    }
}

/// `blog/2024-01-31-hello` is served as `blog/hello` or as `blog/2024/01/31/hello`.
fn undated(place: &str) -> Option<[String; 2]> {
    let name = path::name(place);
    let (date, title) = (name.get(..10)?, name.get(10..)?.strip_prefix('-')?);
    let is_date = date
        .bytes()
        .enumerate()
        .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() });
    let folder = path::parent(place);
    is_date.then(|| {
        [path::join(folder, title), path::join(folder, &format!("{}/{title}", date.replace('-', "/")))]
    })
}

/// The place of a page that is a program: `src/pages/help.tsx` is at `src/pages/help`.
pub(crate) fn component(file: &str) -> Option<&str> {
    let in_pages = file.starts_with("pages/") || file.contains("src/pages/");
    COMPONENTS.iter().find_map(|extension| file.strip_suffix(extension)).filter(|_| in_pages)
}

/// Whether a path of the site is one that the generator makes: a feed, a map of the site, a list of posts.
pub(crate) fn is_generated(path: &str) -> bool {
    let Some(path) = path.strip_prefix('/').map(|path| path.trim_end_matches('/')) else { return false };
    let mut names = path.rsplit('/');
    let last = names.next().unwrap_or_default();
    GENERATED.contains(last) || names.any(|folder| LISTS.contains(folder)) || LISTS.contains(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontmatter::FrontMatter;

    #[test]
    fn a_page_has_many_places() {
        #[track_caller]
        fn check(file: &str, text: &str, expected: &[&str]) {
            let mut places = Places::default();
            places.add("docs", file, &FrontMatter::parse(text).addresses);
            assert_eq!(FrontMatter::addresses_in(text), FrontMatter::parse(text).addresses);
            let mut found: Vec<_> = places.0.into_keys().collect();
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
    fn what_no_file_is_needed_for() {
        for path in ["/rss.xml", "/blog/tags/foo", "/blog/rss.xml", "/search/", "/llms.txt", "/blog/archive"]
        {
            assert!(is_generated(path), "{path}");
        }
        for path in ["/guide", "/blog/hello", "search", "/research"] {
            assert!(!is_generated(path), "{path}");
        }
        assert_eq!(component("src/pages/help.tsx"), Some("src/pages/help"));
        assert_eq!(component("website/src/pages/a/b.vue"), Some("website/src/pages/a/b"));
        assert_eq!(component("src/lib/help.tsx"), None);
    }
}
