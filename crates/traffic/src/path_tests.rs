//! Tables of URLs and their normalized paths.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(input: &str, path: &str) {
    let expected = Page { path: path.to_owned(), markdown: false };
    assert_eq!(normalize_page(input), Ok(expected), "{input}");
}

#[track_caller]
fn check_markdown(input: &str, path: &str) {
    let expected = Page { path: path.to_owned(), markdown: true };
    assert_eq!(normalize_page(input), Ok(expected), "{input}");
}

#[test]
fn urls_are_reduced_to_paths() {
    check("/", "/");
    check("https://docs.acme.dev", "/");
    check("https://docs.acme.dev/", "/");
    check("http://docs.acme.dev:8080/guides", "/guides");
    check("HTTPS://docs.acme.dev/Guides", "/Guides");
    check("https://docs.acme.dev?x=1", "/");
    check("https://docs.acme.dev#top", "/");
    check("https://user:secret@docs.acme.dev/a", "/a");
    check("https://docs.acme.dev/API?utm_source=x#auth", "/API");
    check("/api?next=https://other.dev/b", "/api");
    check("/api#a?b", "/api");
    check("/guides/", "/guides");
    check("/guides//", "/guides");
    check("//guides///start", "/guides/start");
    check("/API", "/API");
    check(" /padded ", "/padded");
}

#[test]
fn dot_segments_are_resolved() {
    check("/a/./b", "/a/b");
    check("/a/../b", "/b");
    check("/../../etc/passwd", "/etc/passwd");
    check("/a/b/..", "/a");
    check("/a/%2e%2E/b", "/b");
    check("/..", "/");
    check("/a/.../b", "/a/.../b");
    check("/.well-known/x", "/.well-known/x");
}

#[test]
fn index_files_and_markdown_extensions_are_stripped() {
    check("/index", "/");
    check("/index.html", "/");
    check("/guides/index.html", "/guides");
    check("/guides/index", "/guides");
    check("/guides/index.html/", "/guides");
    check("/guides/Index.html", "/guides/Index.html");
    check("/guides/start.html", "/guides/start.html");
    check("/guides/reindex", "/guides/reindex");
    check("/spec.pdf", "/spec.pdf");
    check("/v1.2", "/v1.2");
    check("/.md", "/.md");
    check("/md", "/md");
    check("/readme.markdown", "/readme.markdown");
    check_markdown("/index.md", "/");
    check_markdown("/guides/index.mdx", "/guides");
    check_markdown("/guides/start.md", "/guides/start");
    check_markdown("/guides/start.MDX?raw=1", "/guides/start");
    check_markdown("/guides/start.md/", "/guides/start");
    check_markdown("/guides/index.html.md", "/guides");
    check_markdown("/guides/start.html.md", "/guides/start.html");
    check_markdown("https://docs.acme.dev/a%2Emd", "/a");
}

#[test]
fn percent_encoding_is_normalized() {
    check("/caf%C3%A9", "/café");
    check("/caf%c3%a9", "/café");
    check("/café", "/café");
    check("/%7Euser", "/~user");
    check("/%40scope/pkg", "/@scope/pkg");
    check("/a%20b", "/a%20b");
    check("/a b", "/a%20b");
    check("/a+b", "/a+b");
    check("/a%2Fb", "/a%2Fb");
    check("/a%2fb", "/a%2Fb");
    check("/a%3Fb%23c", "/a%3Fb%23c");
    check("/100%25", "/100%25");
    check("/100%", "/100%");
    check("/100%zz", "/100%zz");
    check("/100%4", "/100%4");
    check("/%é", "/%é");
    check("/%%34%31", "/%%341");
    check("/%4%31", "/%4%31");
    check("/%00", "/%00");
    check("/%ff%FE", "/%FF%FE");
    check("/%C3", "/%C3");
    check("/%E2%80%AE", "/%E2%80%AE");
    check("/\u{202e}", "/%E2%80%AE");
    check("/%F0%9F%98%80", "/😀");
    check("/%D0%BF%D1%80", "/пр");
}

#[test]
fn invalid_urls_are_refused() {
    #[track_caller]
    fn refuse(input: &str, why: BadPath) {
        assert_eq!(normalize_page(input), Err(why), "{input}");
    }
    refuse("", BadPath::NoSlash);
    refuse("?a", BadPath::NoSlash);
    refuse("guides", BadPath::NoSlash);
    refuse("docs.acme.dev/guides", BadPath::NoSlash);
    refuse("ftp://docs.acme.dev/", BadPath::NoSlash);
    refuse("javascript:alert(1)", BadPath::NoSlash);
    refuse("/a\nb", BadPath::Control);
    refuse("/a\0b", BadPath::Control);
    refuse("/a\u{85}b", BadPath::Control);
    refuse(&format!("/{}", "a".repeat(1024)), BadPath::TooLong);
    refuse(&format!("/{}", "%41".repeat(1024)), BadPath::TooLong);
    refuse(&format!("/{}", "a/../".repeat(1024)), BadPath::TooLong);
    check(&format!("/{}", "%41".repeat(1023)), &format!("/{}", "A".repeat(1023)));
    check(&format!("/a?{}", "q".repeat(10_000)), "/a");
}

proptest! {
    #[test]
    fn normalizing_is_idempotent(input in "/[a%.41E2/ é\u{202e}index.mdhtl?#\\\\]{0,40}") {
        if let Ok(first) = normalize_page(&input) {
            prop_assert_eq!(normalize_page(&first.path).map(|page| page.path), Ok(first.path));
        }
    }

    #[test]
    fn any_input_is_normalized_idempotently_or_refused(input in any::<String>()) {
        for input in [input.clone(), format!("/{input}"), format!("https://docs.acme.dev/{input}")] {
            if let Ok(first) = normalize_page(&input) {
                prop_assert!(first.path.starts_with('/') && first.path.len() <= MAX_PATH);
                prop_assert_eq!(normalize_page(&first.path).map(|page| page.path), Ok(first.path));
            }
        }
    }
}
