//! Finds what runs in a page: tags, handlers, addresses that are code, expressions that call for something.

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};

use regex::{Match, Regex};

use super::code::calls;
use super::markup::{Markup, may_load};
use super::tags::{self, Tags};
use super::unescape::unescape;
use super::{directives, front};
use crate::pattern::pattern;

/// One thing that runs.
pub(super) struct Running {
    /// What it is: `script`, `onclick`, `fetch`.
    pub(super) kind: String,
    pub(super) at: usize,
    /// What it does: the address that is loaded, the code that is run.
    pub(super) what: String,
    /// The whole of a tag that loads what runs, and the folder that its address counts from.
    pub(super) loads: Option<(String, String)>,
}

/// What is looked at of an address, and before an attribute that stands in no tag.
const MAX_NEAR: usize = 400;

/// Each pattern is looked for by itself and ends where it must: one that stays open to the end of a page would hide
/// others, and take time by the square of them.
pub(super) fn running(path: &str, markup: &Markup) -> Vec<Running> {
    let text = markup.visible.as_str();
    let mut all = directives::running(path, text);
    all.extend(front::running(&text[..markup.front]).map(|(at, what)| {
        let kind = "front matter".to_owned();
        Running { kind, at, what, loads: None }
    }));
    all.extend(markup.cells.iter().map(|(at, what)| {
        let (kind, at, what) = ("cell".to_owned(), *at, what.clone());
        Running { kind, at, what, loads: None }
    }));
    if may_run(path) {
        let page = Page { text, tags: Tags::of(text), hash: OnceCell::new() };
        all.extend(found(tag(), text).map(|found| in_tag(path, &page, found)));
        all.extend(handlers(&page));
        all.extend(disguised(text));
        all.extend(calls(text));
        all.sort_by_key(|running| running.at);
    }
    all
}

fn found<'t>(pattern: Option<&'static Regex>, text: &'t str) -> impl Iterator<Item = Match<'t>> {
    pattern.into_iter().flat_map(move |pattern| pattern.find_iter(text))
}

/// A page, and what stands for it in a comparison.
struct Page<'t> {
    text: &'t str,
    tags: Tags,
    hash: OnceCell<String>,
}

impl Page<'_> {
    /// What is too long to be compared is another one whenever the page is.
    fn hash(&self) -> &str {
        self.hash.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            self.text.hash(&mut hasher);
            format!("{:x}", hasher.finish())
        })
    }
}

fn in_tag(path: &str, page: &Page<'_>, found: Match<'_>) -> Running {
    let rest = &page.text[found.start()..];
    let kind = kind(found.as_str());
    let is_declaration = rest.starts_with("<!") || rest.starts_with("<?");
    let length = match page.tags.length(found.start()) {
        None if is_declaration => Some(found.len()),
        None => (rest.len() < tags::MAX_TAG).then_some(rest.len()),
        length => length,
    };
    let what = match (rest.starts_with('<'), length) {
        (true, Some(length)) => acts_on(&kind, &rest[..length], &rest[length..]),
        (true, None) => page.hash().to_owned(),
        (false, _) => {
            until(&rest[found.len()..], b"\"'<>)\n", MAX_NEAR).unwrap_or_else(|| page.hash()).to_owned()
        }
    };
    let loads = page.tags.length(found.start()).and_then(|length| loading(path, &rest[..length]));
    Running { kind, at: found.start(), what, loads }
}

/// Attributes by which something is done, in tags and in the lists of them behind links and images.
fn handlers(page: &Page<'_>) -> Vec<Running> {
    let text = page.text;
    let is_one = |found: &Match<'_>| {
        let is_in_quotes = found.as_str().ends_with(['"', '\'']) && !is_word(found.as_str());
        !text[found.end()..].starts_with(['=', '>'])
            && (page.tags.holds(found.start()) || is_in_quotes || is_in_list(text, found))
    };
    let found = found(handler(), text).filter(is_one);
    found.map(|found| running_handler(page, &found)).collect()
}

fn running_handler(page: &Page<'_>, found: &Match<'_>) -> Running {
    let quote = usize::from(found.as_str().ends_with(['"', '\'']));
    let value = tags::value(&page.text[found.end() - quote..]);
    let what = value.unwrap_or_else(|| page.hash()).to_owned();
    Running { kind: kind(found.as_str()), at: found.start(), what, loads: None }
}

/// Words that begin as handlers do, and are none.
fn is_word(found: &str) -> bool {
    let word = found.trim_matches(|c: char| !c.is_ascii_alphabetic());
    ["online", "ongoing", "onboarding", "onsite", "onward", "onwards"].contains(&word)
}

/// `![x](y){ onerror=… }` and `{: onerror=… }`.
fn is_in_list(text: &str, found: &Match<'_>) -> bool {
    let near = &text[text.ceil_char_boundary(found.start().saturating_sub(MAX_NEAR))..found.end()];
    let line = near.trim_end().rfind('\n').map_or(near, |end| &near[end + 1..]);
    list().is_some_and(|list| list.is_match(line))
}

/// The addresses of a tag and what it may do, and what a script holds.
fn acts_on(kind: &str, tag: &str, content: &str) -> String {
    let mut what = String::new();
    for found in addressed().into_iter().flat_map(|pattern| pattern.captures_iter(tag)) {
        what += found.get(1).or(found.get(0)).map_or("", |value| value.as_str());
        what.push(' ');
    }
    if kind == "script" {
        let end = script_end().and_then(|end| end.find(content)).map_or(content.len(), |end| end.start());
        what += &content[..end];
    }
    what
}

/// Up to one of these characters: never far, for there may be many that end at the same place.
fn until<'t>(text: &'t str, ends: &[u8], most: usize) -> Option<&'t str> {
    let end = text.bytes().take(most).position(|byte| ends.contains(&byte));
    end.or((text.len() < most).then_some(text.len())).map(|end| &text[..end])
}

/// Addresses that are code once their entities are resolved, and their pieces joined.
fn disguised(text: &str) -> impl Iterator<Item = Running> {
    let found = address().into_iter().flat_map(move |pattern| pattern.captures_iter(text));
    found.filter_map(|found| {
        let value = (1..=6)
            .find_map(|group| found.get(group))
            .filter(|value| value.as_str().contains(['&', '\t', '\n', '\r', '\\', '{']))?;
        let plain = unescape(value.as_str()).text;
        let is_joint = |c: char| c.is_whitespace() || c.is_control() || "\\{}()\"'`+".contains(c);
        let solid: String = plain.chars().filter(|c| !is_joint(*c)).collect();
        let solid = solid.to_ascii_lowercase();
        let is_code =
            ["javascript:", "vbscript:", "data:text/html"].iter().any(|start| solid.starts_with(start));
        let kind = "javascript".to_owned();
        is_code.then(|| Running { kind, at: value.start(), what: solid, loads: None })
    })
}

/// The tag, when what runs is not in the page but where the tag says.
fn loading(path: &str, whole: &str) -> Option<(String, String)> {
    const MAX_LOADING: usize = 300;
    let by = [
        ("<script", " src="),
        ("<iframe", " src="),
        ("<embed", " src="),
        ("<link", " href="),
        ("<object", " data="),
    ];
    let tag = Some(whole).filter(|tag| tag.len() <= MAX_LOADING)?.to_ascii_lowercase();
    let (_, attribute) = by.iter().find(|(name, _)| tag.starts_with(name))?;
    let (_, address) = tag.split_once(attribute)?;
    let is_absolute = address.trim_start_matches(['"', '\'']).starts_with('/');
    let folder = path.rsplit_once('/').filter(|_| !is_absolute).map_or("", |(folder, _)| folder);
    Some((whole.to_owned(), folder.to_owned()))
}

/// The last word, which tells it: what stands before are blanks, quotes and attributes.
pub(super) fn kind(found: &str) -> String {
    let words = found.rsplit(|c: char| !c.is_ascii_alphabetic());
    words.into_iter().find(|word| word.len() >= 3).unwrap_or_default().to_ascii_lowercase()
}

/// Sources of programs run by their nature, and are not pages.
fn may_run(path: &str) -> bool {
    may_load(path) && !path.ends_with(".json") && !path.ends_with(".css")
}

pattern!(
    tag,
    r"(?i)<(?:[a-z]+:)?script\b|<!ENTITY|<\?xml-stylesheet|<component\b|\bset:html\b|\sformaction\s*=\s*[\x22']?|<iframe\b|<object\b|<embed\b|<base\b|<form\b|<link\b|data:text/html",
    // With a blank after it, it is an address only where one can be: a list of languages has it as well.
    r"|\b(?:javascript|vbscript):[a-z0-9(/%!+~\[{-]",
    r"|(?:=|<|url\(|\](?:\(|:)\s*<?|(?:[=:,(\[{?+]|\|\||&&)\s*[\x22'`]{1,2})[\s{\x22'`]*",
    r"(?:javascript|vbscript)\s*:",
    r"|dangerouslySetInnerHTML",
);

// In quotes wherever it stands, else in a tag; with the names that Vue and Alpine have for it.
pattern!(
    handler,
    r"(?i)[\s/\x22'{:](?:on[a-z]{3,}|@[a-z][a-z.:-]*|v-html|v-on:[a-z.:-]+|x-(?:init|html|effect|on:[a-z.:-]+))",
    r"\s*=\s*[\x22']?",
);

pattern!(
    addressed,
    r"(?i)(?:src|srcdoc|href|data|action|type|integrity|sandbox|\bis)\s*=\s*(\x22[^\x22]*\x22|'[^']*'|\{[^}]*\}|[^\s>]+)",
    r"|\ssandbox\b",
);

pattern!(list, r"(?:^|[)\]`*_>]|^[ \t]*|\{:?)\{:?[^{}]*$|\{:[^{}]*$");

pattern!(script_end, r"(?i)</?script");

pattern!(
    address,
    r"=\s*\x22([^\x22]{4,300})\x22|=\s*'([^']{4,300})'|=\s*(\{[^}]{4,300}\})|=\s*([^\s\x22'>]{4,300})",
    r"|\]\(\s*<?([^\s)>]{4,300})|\]:\s*<?([^\s>]{4,300})",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_what_runs() {
        let check = |text: &str, expected: &[&str]| {
            let all = running("a.md", &Markup::of("a.md", text));
            assert_eq!(
                all.iter().map(|running| running.kind.as_str()).collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        };
        check("<SCRIPT async> <iframe src=x>", &["script", "iframe"]);
        check("<img OnError = 'x'> <a href='javascript : a'>", &["onerror", "javascript"]);
        check("<img src=x onerror=alert(1)> <p @click=go v-html=a>", &["onerror", "click", "html"]);
        check("<meta charset=utf-8 http-equiv=refresh>", &["expression", "equiv"]);
        check("{await fetch(x)} {process.env.A}", &["expression", "fetch", "expression", "process"]);
        check(
            "{<script>x()</script> fetch(a + process.env.B)}",
            &["expression", "script", "fetch", "process"],
        );
        check("{\n  fetch ('x')\n}", &["expression", "fetch"]);
        check("export const a = require('b')", &["expression", "require"]);
        check("<p\u{a0}onclick=x>", &["onclick"]);
        check("{ {}, fetch('x') }\n\nThe window.\n", &["expression", "fetch"]);
        check("{\"}\",\nfetch('x') }", &["expression", "fetch"]);
        check("The {name} of the process. It has a window.\nAnd a document.", &[]);
        check("import { execSync } from 'node:child_process'", &["expression", "process"]);
        check("<a href=\"java&#9;script:x\">[x](&#106;avascript:x)", &["javascript", "javascript"]);
        check("Plain words on pages = 'x' of {a: b}, based on size = 3.", &[]);
    }
}
