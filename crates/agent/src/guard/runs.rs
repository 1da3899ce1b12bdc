//! Finds what runs in a page: tags, handlers, addresses that are code, expressions that call for something.

use regex::{Match, Regex};

use super::front;
use super::markup::{Markup, may_load};
use super::unescape::unescape;
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

/// What is looked at of a tag.
const MAX_TAG: usize = 4096;
/// And of an address or a handler.
const MAX_CODE: usize = 400;

/// Each pattern is looked for by itself and ends where it must: one that stays open to the end of a page would hide
/// others, and take time by the square of them.
pub(super) fn running(path: &str, markup: &Markup) -> Vec<Running> {
    let text = markup.visible.as_str();
    let mut all = raw_blocks(path, text);
    all.extend(front::running(&text[..markup.front]).map(|(at, what)| {
        let kind = "front matter".to_owned();
        Running { kind, at, what, loads: None }
    }));
    if may_run(path) {
        all.extend(found(tag(), text).map(|found| in_tag(path, text, found)));
        all.extend(found(handler(), text).filter(|found| is_in_tag(text, found)).map(|found| Running {
            kind: kind(found.as_str()),
            at: found.start(),
            what: until(&text[found.end()..], b"<>", MAX_CODE).to_owned(),
            loads: None,
        }));
        all.extend(disguised(text));
        all.extend(calls(text));
        all.sort_by_key(|running| running.at);
    }
    all
}

fn found<'t>(pattern: Option<&'static Regex>, text: &'t str) -> impl Iterator<Item = Match<'t>> {
    pattern.into_iter().flat_map(move |pattern| pattern.find_iter(text))
}

fn in_tag(path: &str, text: &str, found: Match<'_>) -> Running {
    let rest = &text[found.start()..];
    let kind = kind(found.as_str());
    let what = match rest.starts_with('<') {
        true => acts_on(&kind, rest),
        false => until(&rest[found.len()..], b"\"'<>)\n", MAX_CODE).to_owned(),
    };
    Running { kind, at: found.start(), what, loads: loading(path, rest) }
}

/// The addresses of a tag, and what a script holds.
fn acts_on(kind: &str, rest: &str) -> String {
    let tag = &rest[..1 + until(&rest[1..], b"<>", MAX_TAG).len()];
    let mut what = String::new();
    for found in addressed().into_iter().flat_map(|pattern| pattern.captures_iter(tag)) {
        what += found.get(1).map_or("", |value| value.as_str());
        what.push(' ');
    }
    if kind == "script" {
        let content = &rest[tag.len()..];
        let end = script_end().and_then(|end| end.find(content)).map_or(content.len(), |end| end.start());
        what += &content[..end];
    }
    what
}

/// Up to one of these characters: never far, for there may be many that end at the same place.
fn until<'t>(text: &'t str, ends: &[u8], most: usize) -> &'t str {
    let end = text.bytes().take(most).position(|byte| ends.contains(&byte));
    &text[..end.unwrap_or_else(|| text.floor_char_boundary(most))]
}

fn is_in_tag(text: &str, found: &Match<'_>) -> bool {
    let near = &text[text.ceil_char_boundary(found.start().saturating_sub(MAX_TAG))..found.start()];
    let open = near.rfind(['<', '>']).map_or("", |open| &near[open..]);
    let mut chars = open.chars();
    let is_tag = chars.next() == Some('<') && chars.next().is_some_and(|c| c.is_ascii_alphabetic());
    is_tag || found.as_str().ends_with(['"', '\''])
}

/// Addresses that are code once their entities are resolved.
fn disguised(text: &str) -> impl Iterator<Item = Running> {
    let found = address().into_iter().flat_map(move |pattern| pattern.captures_iter(text));
    found.filter_map(|found| {
        let value =
            (1..=5).find_map(|group| found.get(group)).filter(|value| value.as_str().contains('&'))?;
        let plain = unescape(value.as_str()).text;
        let solid: String = plain.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
        let solid = solid.to_ascii_lowercase();
        let is_code =
            ["javascript:", "vbscript:", "data:text/html"].iter().any(|start| solid.starts_with(start));
        let kind = "javascript".to_owned();
        is_code.then(|| Running { kind, at: value.start(), what: solid, loads: None })
    })
}

/// Expressions, statements and tags that act by one of their attributes, to where they may end: for an expression that
/// is its paragraph at least, since a brace in a string is none.
pub(super) fn expressions(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let open = open_ended()?.find_at(text, at)?;
        let end =
            if open.as_str().starts_with('{') { end_of_expression(text, open.start()) } else { open.end() };
        at = end.max(open.end());
        Some((open.start(), &text[open.start()..at]))
    })
}

fn end_of_expression(text: &str, start: usize) -> usize {
    let (mut depth, mut has_words) = (0_usize, true);
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'\n' if !has_words && depth == 0 => return at,
            _ => {}
        }
        has_words = byte != b'\n' && (has_words || !byte.is_ascii_whitespace());
    }
    text.len()
}

fn calls(text: &str) -> Vec<Running> {
    let mut all = Vec::new();
    for (start, code) in expressions(text) {
        let calls = found(call(), code).map(|call| {
            let (kind, at) = (kind(call.as_str()), start + call.start());
            Running { kind, at, what: String::new(), loads: None }
        });
        all.extend(calls);
        // By itself, without the words around it, which may change.
        for open in found(open_ended(), code).filter(|open| found(call(), open.as_str()).next().is_some()) {
            let (kind, what) = ("expression".to_owned(), open.as_str().trim().to_owned());
            all.push(Running { kind, at: start + open.start(), what, loads: None });
        }
    }
    all
}

/// What other kinds of pages hand on as it is.
fn raw_blocks(path: &str, text: &str) -> Vec<Running> {
    let name = path.to_ascii_lowercase();
    let is = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let pattern = match () {
        () if is(&[".rst"]) => directive(),
        () if is(&[".adoc", ".asciidoc", ".asc"]) => passthrough(),
        () => None,
    };
    let block = |found: Match<'_>| {
        let what = found.as_str().trim().to_owned();
        Running { kind: "raw".to_owned(), at: found.start(), what, loads: None }
    };
    found(pattern, text).map(block).collect()
}

/// The tag that `text` begins with, when what runs is not in the page but where the tag says.
fn loading(path: &str, text: &str) -> Option<(String, String)> {
    const MAX_LOADING: usize = 300;
    let by = [
        ("<script", " src="),
        ("<iframe", " src="),
        ("<embed", " src="),
        ("<link", " href="),
        ("<object", " data="),
    ];
    let end = text.bytes().take(MAX_LOADING).position(|byte| byte == b'>')?;
    let tag = text[..end].to_ascii_lowercase();
    let (_, attribute) = by.iter().find(|(name, _)| tag.starts_with(name))?;
    let (_, address) = tag.split_once(attribute)?;
    let is_absolute = address.trim_start_matches(['"', '\'']).starts_with('/');
    let folder = path.rsplit_once('/').filter(|_| !is_absolute).map_or("", |(folder, _)| folder);
    Some((text[..end].to_owned(), folder.to_owned()))
}

/// The last word, which tells it: what stands before are blanks, quotes and attributes.
fn kind(found: &str) -> String {
    let words = found.rsplit(|c: char| !c.is_ascii_alphabetic());
    words.into_iter().find(|word| word.len() >= 3).unwrap_or_default().to_ascii_lowercase()
}

/// Sources of programs run by their nature, and are not pages.
fn may_run(path: &str) -> bool {
    may_load(path) && !path.ends_with(".json") && !path.ends_with(".css")
}

pattern!(
    tag,
    r"(?i)<script\b|<iframe\b|<object\b|<embed\b|<base\b|<form\b|<link\b|data:text/html",
    // With a blank after it, it is an address only where one can be: a list of languages has it as well.
    r"|\b(?:javascript|vbscript):[a-z0-9(/%!+~\[{-]",
    r"|(?:=|<|url\(|\](?:\(|:)\s*<?|(?:[=:,(\[{?+]|\|\||&&)\s*[\x22'`]{1,2})[\s{\x22'`]*",
    r"(?:javascript|vbscript)\s*:",
    r"|(?m:^import\s[^\n]*[\x22'](?:https?:|node:))",
    r"|(?m:^import\s[^\n]*[\x22'](?:fs|child_process|os|net|https?|tls|dgram|vm|worker_threads|module|process|",
    r"inspector|cluster)(?:/[a-z_]+)?[\x22'])",
    r"|dangerouslySetInnerHTML",
);

// In quotes wherever it stands, else in a tag; with the names that Vue and Alpine have for it.
pattern!(
    handler,
    r"(?i)[\s/\x22'](?:on[a-z]{3,}|@[a-z][a-z.:-]*|v-html|v-on:[a-z.:-]+|x-(?:init|html|effect|on:[a-z.:-]+))",
    r"\s*=\s*[\x22']?",
);

pattern!(
    addressed,
    r"(?i)(?:src|srcdoc|href|data|action)\s*=\s*(\x22[^\x22]*\x22|'[^']*'|\{[^}]*\}|[^\s>]+)"
);

pattern!(script_end, r"(?i)</?script");

pattern!(
    address,
    r"=\s*\x22([^\x22]{4,300})\x22|=\s*'([^']{4,300})'|=\s*([^\s\x22'>]{4,300})",
    r"|\]\(\s*<?([^\s)>]{4,300})|\]:\s*<?([^\s>]{4,300})",
);

// What more may stand in: an expression, a statement, a tag that acts by one of its attributes.
pattern!(open_ended, r"(?i)\{[^}]*|(?m:^export\s[^\n]*(?:\n[^\n]+)*)|<meta\s[^>]*");

pattern!(
    call,
    r"(?i)\bprocess\s*(?:\?\.|\.[a-z_$]|\.\s+(?:env|argv|mainModule)\b|\[)|import\.meta|\brequire\s*\(|\bfetch\s*\(|\beval\s*\(|child_process|globalThis",
    r"|http-equiv|\b(?:exec|spawn)(?:File)?(?:Sync)?\s*\(|\breadFile(?:Sync)?\s*\(|sendBeacon|XMLHttpRequest",
    r"|\bconstructor\s*[.(\[]|\bnew\s+(?:Function|WebSocket|EventSource)\b",
    r"|\b(?:window|document|location|navigator)\s*(?:\?\.|\.[a-z_$]|\[|=[^=])|__(?:init|class|globals|import)__",
);

pattern!(directive, r"(?mi)^[ \t]*\.\.[ \t]+raw::[ \t]*html[^\n]*(?:\n[ \t]+[^\n]*|\n[ \t]*)*");

pattern!(passthrough, r"(?ms)^\+{4,}[ \t]*\n.*?(?:^\+{4,}|\z)|\+\+\+[^\n]*?\+\+\+|pass:[a-z,]*\[[^\]]*");

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
        check("{ {}, fetch('x') }\n\nThe window.\n", &["fetch"]);
        check("{\"}\",\nfetch('x') }", &["fetch"]);
        check("The {name} of the process. It has a window.\nAnd a document.", &[]);
        check("import x from 'https://e.example/x.js'", &["https"]);
        check("import { execSync } from 'node:child_process'", &["node", "process"]);
        check("<a href=\"java&#9;script:x\">[x](&#106;avascript:x)", &["javascript", "javascript"]);
        check("Plain words on pages = 'x' of {a: b}, based on size = 3.", &[]);
    }
}
