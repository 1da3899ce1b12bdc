//! Finds explicit anchors and includes, in the syntax of many generators.
//!
//! Plain Markdown has neither of them. The whole file is searched, code and comments included. An anchor too many leaves
//! a broken link alone. An anchor too few breaks a good link by a "repair".

use crate::anchors::spellings;
use crate::pattern;

pattern!(
    /// A mark that includes another file. Any anchor can come from that file.
    include,
    r"--8<--|@include|\{!|\{\{# ?include|\{\{#rustdoc_include|\{include\}|\{eval-rst\}|\{auto|<Snippet|<Include",
    r"|<!--[ #]?include|\{%-? include|\{% (?:render|partial)|\{\{[<%] include|\{\{<include|\{\{> |\.\. include::|\nopenapi: ",
);
/// Folders of files that other files include. Links in them are relative to another page.
const PARTIALS: &[&str] = &["snippets", "includes", "partials", "shared"];

/// The explicit anchors of a page, and those of headings in HTML.
pub(crate) fn explicit_ids(text: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for line in text.lines() {
        find_in_braces(line, &mut ids);
        find_in_comments(line, &mut ids);
    }
    ids.extend(myst_targets(text).map(str::to_owned));
    find_html_headings(text, &mut ids);
    ids
}

/// Targets of MyST. Every page of the site can link to them by name.
pub(crate) fn myst_targets(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(myst_target).filter(|target| !target.is_empty())
}

/// Whether the page includes a file, or other pages include it.
pub(crate) fn uses_includes(path: &str, text: &str) -> bool {
    let mut names = path.split('/').rev();
    let is_partial = names.next().is_some_and(|name| name.starts_with('_') && !name.starts_with("_index"))
        || names.any(|folder| PARTIALS.contains(&folder.trim_start_matches('_')));
    let mut lines = text.lines().zip(text.lines().skip(1).chain([""]));
    is_partial
        || include().is_some_and(|pattern| pattern.is_match(text))
        || lines.any(|(line, next)| names_a_module(line, next))
}

/// Whether a line inserts generated API documentation: `::: acme.mod`, or `::: any-name` with options below it. `::: tip`
/// is a container.
fn names_a_module(line: &str, next: &str) -> bool {
    let Some(name) = line.trim().strip_prefix("::: ") else { return false };
    let is_dotted = name.contains('.') && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_'));
    let option = next.strip_prefix("    ").unwrap_or_default();
    is_dotted || option.starts_with(':') || option.starts_with("options:")
}

/// `{#id}`, `{: #id .class }`, `{/* #id */}`: after a heading, after a span, or on a line of its own.
fn find_in_braces(line: &str, ids: &mut Vec<String>) {
    for part in line.split('{').skip(1) {
        let content = part.split('}').next().unwrap_or_default();
        for word in content.split([' ', '\t', ':', '*']) {
            if let Some(id) = word.strip_prefix('#').filter(|id| !id.is_empty()) {
                ids.push(id.to_owned());
                // `{#id.class}` is an id with a class in one syntax, and a dotted id in another.
                ids.extend(id.split_once('.').map(|(id, _)| id.to_owned()));
            }
        }
        // A colon can also be part of the id.
        let whole = content.trim_start_matches([':', ' ']).split_whitespace().next().unwrap_or_default();
        ids.extend(whole.strip_prefix('#').filter(|id| id.contains(':')).map(str::to_owned));
    }
}

/// `<!-- #id -->`
fn find_in_comments(line: &str, ids: &mut Vec<String>) {
    for part in line.split("<!--").skip(1) {
        let content = part.split("-->").next().unwrap_or_default();
        ids.extend(content.trim().strip_prefix('#').map(str::to_owned));
    }
}

/// `(id)=` on a line of its own, and `:name: id` or `:label: id` in a directive.
fn myst_target(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = || line.strip_prefix(":name:").or_else(|| line.strip_prefix(":label:")).map(str::trim);
    line.strip_prefix('(').and_then(|rest| rest.strip_suffix(")=")).or_else(name)
}

/// `<h2>Set up</h2>` is a heading to most generators.
fn find_html_headings(text: &str, ids: &mut Vec<String>) {
    let mut rest = text;
    while let Some(at) = rest.find("<h") {
        rest = &rest[at + 2..];
        if !rest.starts_with(|c: char| ('1'..='6').contains(&c)) {
            continue;
        }
        let Some(end) = rest.find("</h") else { return };
        let heading: String =
            rest[..end].split('>').skip(1).map(|part| part.split('<').next().unwrap_or_default()).collect();
        ids.extend(spellings(&heading));
        rest = &rest[end..];
    }
}
