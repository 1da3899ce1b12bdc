//! Renders every page with ordinary and with hostile data, and checks escaping, structure and accessibility.

#![allow(clippy::unwrap_used)]

mod accounts;
mod findings;
mod samples;
mod style;

use askama::Template;
use samples::{HOSTILE, ORDINARY, pages};

#[test]
fn hostile_texts_are_escaped() {
    for (name, html) in pages(HOSTILE) {
        for piece in ["<script>", "<img", "\" onerror"] {
            assert!(!html.contains(piece), "{name} contains {piece}");
        }
        assert!(html.contains("&#60;script&#62;alert"), "{name} doesn't show its texts");
    }
}

/// A page with hostile texts has as many elements and quotes as a page with harmless texts.
#[test]
fn hostile_texts_dont_change_the_structure() {
    let shape =
        |html: &str| (html.matches('<').count(), html.matches('>').count(), html.matches('"').count());
    for ((name, harmless), (_, hostile)) in pages("harmless").into_iter().zip(pages(HOSTILE)) {
        assert_eq!(shape(&harmless), shape(&hostile), "{name}");
    }
}

#[test]
fn pages_obey_the_content_security_policy() {
    for (name, html) in pages(ORDINARY) {
        assert!(!html.contains(" style="), "{name} has an inline style");
        assert!(!html.contains("<style"), "{name} has an inline style sheet");
        for handler in [" onclick=", " onload=", " onsubmit=", " onchange="] {
            assert!(!html.contains(handler), "{name} has an inline handler");
        }
        assert_eq!(html.matches("<script").count(), html.matches("<script src=\"/assets/").count(), "{name}");
    }
}

#[test]
fn every_page_has_one_title_one_main_element_and_at_most_one_primary_button() {
    for (name, html) in pages(ORDINARY) {
        assert_eq!(html.matches("<h1>").count(), 1, "{name}");
        assert_eq!(html.matches("<main ").count(), 1, "{name}");
        let main_buttons =
            html.matches("class=\"main\"").count() + html.matches("class=\"button main\"").count();
        assert!(main_buttons <= 1, "{name}");
        assert!(html.contains("href=\"#main\"") && html.contains("<html lang=\"en\">"), "{name}");
    }
}

#[test]
fn every_form_of_a_signed_in_page_has_a_csrf_token() {
    for (name, html) in pages(ORDINARY) {
        for form in html.split("<form ").skip(1) {
            let form = form.split("</form>").next().unwrap();
            if form.contains("role=\"search\"") {
                continue;
            }
            assert!(form.contains("method=\"post\""), "{name}");
            assert!(
                form.contains("name=\"csrf\" value=\"")
                    || form.contains("action=\"/login\"")
                    || form.contains("action=\"/join\""),
                "{name}"
            );
        }
    }
}

#[test]
fn every_field_has_a_label_and_every_id_is_unique() {
    for (name, html) in pages(ORDINARY) {
        let ids = attributes(&html, " id=\"");
        for (index, id) in ids.iter().enumerate() {
            assert!(!ids[..index].contains(id), "{name} has two elements with the id {id}");
        }
        for field in html.split(['<']).filter(|tag| is_field(tag)) {
            let id = attributes(field, " id=\"");
            assert!(html.contains(&format!("<label for=\"{}\"", id[0])), "{name} has no label for {}", id[0]);
        }
        for reference in [" for=\"", "aria-labelledby=\"", "aria-describedby=\"", "data-copy=\"", "href=\"#"]
        {
            for target in attributes(&html, reference).iter().flat_map(|ids| ids.split(' ')) {
                assert!(ids.contains(&target), "{name} refers to {target}, which doesn't exist");
            }
        }
    }
}

fn is_field(tag: &str) -> bool {
    let has_name = ["input ", "select ", "textarea "].iter().any(|field| tag.starts_with(field));
    has_name && !tag.contains("type=\"hidden\"")
}

fn attributes<'a>(html: &'a str, opening: &str) -> Vec<&'a str> {
    html.split(opening).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn only_the_page_of_a_running_job_reloads() {
    let reloads =
        |state| samples::job("x", state).render().unwrap().contains("http-equiv=\"refresh\" content=\"2\"");
    assert!(reloads(super::JobState::Running));
    assert!(!reloads(super::JobState::Review));
}

#[test]
fn a_refused_form_keeps_what_was_typed() {
    let html = pages("typed & kept").into_iter().find(|(name, _)| *name == "keys").unwrap().1;
    assert!(html.contains("value=\"typed &#38; kept\" required"));
    assert!(html.contains("<option value=\"read\" selected>"));
    assert!(html.contains("<option value=\"30d\" selected>"));
    assert!(html.contains("\ntyped &#38; kept</textarea>"));
}

#[test]
fn an_id_with_a_slash_stays_one_path_segment() {
    let html = pages("a/b").into_iter().find(|(name, _)| *name == "keys").unwrap().1;
    assert!(html.contains("action=\"/p/a%2Fb/keys\""));
    assert!(html.contains("action=\"/p/a%2Fb/keys/a%2Fb/revoke\""));
}

#[test]
fn the_home_page_of_an_empty_installation_has_the_command_that_creates_a_project() {
    let html = pages(ORDINARY).into_iter().find(|(name, _)| *name == "home-empty").unwrap().1;
    assert!(html.contains("docwright project create --name &#34;My docs&#34; --repository PATH"));
}

/// Writes all pages to `$TMPDIR/docwright-pages/*.html`, for a look at them in a browser.
#[test]
#[ignore = "writes files and checks nothing"]
fn write_pages() {
    let folder = std::env::temp_dir().join("docwright-pages");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, html) in pages(ORDINARY) {
        std::fs::write(folder.join(format!("{name}.html")), html.replace("=\"/assets/", "=\"")).unwrap();
    }
    for (name, text) in style::ASSETS {
        std::fs::write(folder.join(name), text).unwrap();
    }
}
