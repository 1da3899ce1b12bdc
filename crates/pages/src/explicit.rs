//! Anchors that are set by hand, and lines that pull other files in, in the ways of many generators.
//!
//! Plain Markdown knows none of them. They are looked for in the whole file, code and comments
//! included: one anchor too many leaves a link alone, one too few has a good link "repaired".

use crate::anchors::spellings;
use crate::pattern;

pattern!(
    /// What stands in a page that is not whole without another file. Any anchor may come with that.
    include,
    r"--8<--|@include|\{!|\{\{# ?include|\{\{#rustdoc_include|\{include\}|\{eval-rst\}|\{auto|<Snippet|<Include",
    r"|<!--[ #]?include|\{%-? include|\{% (?:render|partial)|\{\{[<%] include|\{\{<include|\{\{> |\.\. include::|\nopenapi: ",
);
/// Folders of files that are made to be pulled into others, so that links in them count from elsewhere.
const PARTIALS: &[&str] = &["snippets", "includes", "partials", "shared"];

/// The anchors that are set by hand, and those of headings in HTML.
pub(crate) fn ids(text: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for line in text.lines() {
        in_braces(line, &mut ids);
        in_comments(line, &mut ids);
    }
    ids.extend(targets(text).map(str::to_owned));
    html_headings(text, &mut ids);
    ids
}

/// Anchors in the manner of MyST, which are known by their name on every page of the site.
pub(crate) fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(target).filter(|target| !target.is_empty())
}

/// Whether the page pulls in a file, or is one that others pull in.
pub(crate) fn is_made_of_parts(path: &str, text: &str) -> bool {
    let mut names = path.split('/').rev();
    let is_partial = names.next().is_some_and(|name| name.starts_with('_') && !name.starts_with("_index"))
        || names.any(|folder| PARTIALS.contains(&folder.trim_start_matches('_')));
    let mut lines = text.lines().zip(text.lines().skip(1).chain([""]));
    is_partial
        || include().is_some_and(|pattern| pattern.is_match(text))
        || lines.any(|(line, next)| names_a_module(line, next))
}

/// `::: acme.mod` fills the page with what a program's source says of itself, and so does `::: any-name` with
/// options below it; `::: tip` is a box.
fn names_a_module(line: &str, next: &str) -> bool {
    let Some(name) = line.trim().strip_prefix("::: ") else { return false };
    let is_dotted = name.contains('.') && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_'));
    let option = next.strip_prefix("    ").unwrap_or_default();
    is_dotted || option.starts_with(':') || option.starts_with("options:")
}

/// `{#id}`, `{: #id .class }`, `{/* #id */}`: behind a heading, a span, or on a line of its own.
fn in_braces(line: &str, ids: &mut Vec<String>) {
    for part in line.split('{').skip(1) {
        let content = part.split('}').next().unwrap_or_default();
        for word in content.split([' ', '\t', ':', '*']) {
            if let Some(id) = word.strip_prefix('#').filter(|id| !id.is_empty()) {
                ids.push(id.to_owned());
                // `{#id.class}` in one manner of writing, a dotted id in another.
                ids.extend(id.split_once('.').map(|(id, _)| id.to_owned()));
            }
        }
        // A colon may also be part of the id.
        let whole = content.trim_start_matches([':', ' ']).split_whitespace().next().unwrap_or_default();
        ids.extend(whole.strip_prefix('#').filter(|id| id.contains(':')).map(str::to_owned));
    }
}

/// `<!-- #id -->`
fn in_comments(line: &str, ids: &mut Vec<String>) {
    for part in line.split("<!--").skip(1) {
        let content = part.split("-->").next().unwrap_or_default();
        ids.extend(content.trim().strip_prefix('#').map(str::to_owned));
    }
}

/// `(id)=` on a line of its own, and `:name: id` or `:label: id` in a directive.
fn target(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = || line.strip_prefix(":name:").or_else(|| line.strip_prefix(":label:")).map(str::trim);
    line.strip_prefix('(').and_then(|rest| rest.strip_suffix(")=")).or_else(name)
}

/// `<h2>Set up</h2>` is a heading to most generators.
fn html_headings(text: &str, ids: &mut Vec<String>) {
    let mut rest = text;
    while let Some(at) = rest.find("<h") {
        rest = &rest[at + 2..];
        if !rest.starts_with(|c: char| ('1'..='6').contains(&c)) {
            continue;
        }
        let Some(end) = rest.find("</h") else { return };
        let said: String =
            rest[..end].split('>').skip(1).map(|part| part.split('<').next().unwrap_or_default()).collect();
        ids.extend(spellings(&said));
        rest = &rest[end..];
    }
}
