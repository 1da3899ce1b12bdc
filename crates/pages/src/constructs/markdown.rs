//! Reads Markdown and MDX: once by the standard, once warily.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Parser, Tag};

use super::scan::{Scanned, is_directive};
use super::{Construct, ConstructKind, front, info, lines, prose, tags};
use crate::kind::FileKind;
use crate::markdown::options;

/// Marks of languages that some generators fill in wherever they stand, code included.
const TEMPLATES: &[(&str, &str)] = &[("{{", "}}"), ("{%", "%}"), ("{!", "!}"), ("{#", "#}")];

pub(super) fn read(kind: FileKind, text: &str) -> Vec<Construct> {
    let (mut found, body) = front::read(text);
    found.extend(includes(text));
    if kind != FileKind::Mdx {
        found.extend(standard(text, body));
        for (start, inside) in boxes(text, body) {
            // Its places are told by the line that the box begins at.
            found.extend(
                standard(&inside, 0).into_iter().map(|one| Construct { span: start..start + 1, ..one }),
            );
        }
    }
    let scanned = Scanned::of(kind, text, body);
    found.extend(in_markdown(&scanned.text).map(|(kind, span)| {
        let span = scanned.in_file(span.start)..scanned.in_file(span.end);
        Construct { kind, reading: scanned.reading_at(span.start), span }
    }));
    found.extend(destinations(&scanned.text).into_iter().map(|(kind, at)| {
        let at = scanned.in_file(at);
        Construct { kind, span: at..at + 1, reading: scanned.reading_at(at) }
    }));
    for (at, line) in lines(&scanned.text, 0) {
        let content = without_marks(line);
        let offset = line.len() - content.len();
        found.extend(prose::read_line(content, scanned.in_file(at + offset)));
        found.extend(bare_addresses(content).map(|address| {
            Construct::wary(
                ConstructKind::Link(address.to_owned()),
                scanned.in_file(at)..scanned.in_file(at) + content.trim_end().len(),
            )
        }));
    }
    let mut scanned = scanned.found;
    scanned.iter_mut().for_each(keep_what_is_drawn);
    // What is filled in outside of code was read for what it is.
    let shown: HashSet<usize> =
        scanned.iter().filter(|one| is_mark(&one.kind)).map(|one| one.span.start).collect();
    let is_code = |one: &&Construct| matches!(one.kind, ConstructKind::Code { .. });
    let fences: Vec<Range<usize>> = scanned.iter().filter(is_code).map(|one| one.span.clone()).collect();
    found.retain_mut(|one| match &mut one.kind {
        ConstructKind::TemplateInCode { is_fenced, .. } => {
            *is_fenced = is_in(&fences, one.span.start);
            !shown.contains(&one.span.start)
        }
        _ => true,
    });
    found.extend(scanned);
    found
}

/// Whether one of these ranges, which are in order, holds a place.
fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.start <= at);
    next.checked_sub(1).is_some_and(|index| ranges[index].contains(&at))
}

fn is_mark(kind: &ConstructKind) -> bool {
    matches!(kind, ConstructKind::Template(_) | ConstructKind::Component(_) | ConstructKind::Attributes(_))
}

/// By the standard: CommonMark with GitHub's extensions, and HTML as it stands.
fn standard(text: &str, body: usize) -> Vec<Construct> {
    let source = &text[body..];
    let mut found = Vec::new();
    let mut parser = Parser::new_ext(source, options()).into_offset_iter();
    for (event, range) in parser.by_ref() {
        let span = body + range.start..body + range.end;
        match event {
            Event::Start(Tag::HtmlBlock) => found.extend(html(text, span)),
            Event::InlineHtml(_) => found.extend(html(text, span)),
            // By the wary reading: its content is a page.
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if is_directive(&info) => {}
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let kind =
                    ConstructKind::Code { info: info.trim().to_owned(), text: text[span.clone()].to_owned() };
                found.push(Construct::standard(kind, span));
            }
            event => found.extend(link(event).map(|kind| Construct::standard(kind, span))),
        }
    }
    let definitions = parser.reference_definitions().iter();
    found.extend(definitions.map(|(_, definition)| {
        let span = body + definition.span.start..body + definition.span.end;
        Construct::standard(defined(&definition.dest, definition.title.as_deref()), span)
    }));
    found.iter_mut().for_each(keep_what_is_drawn);
    found
}

/// The content of boxes such as `!!! note`, without its indentation: to the generators that know them it is no code.
fn boxes(text: &str, body: usize) -> Vec<(usize, String)> {
    let all: Vec<(usize, &str)> = lines(text, body).collect();
    let (mut found, mut index) = (Vec::new(), 0);
    while let Some((at, line)) = all.get(index) {
        let content = line.trim_start_matches([' ', '\t']);
        index += 1;
        if !["!!!", "???", "=== \""].iter().any(|mark| content.starts_with(mark)) {
            continue;
        }
        let depth = line.len() - content.len() + 4;
        let is_inside =
            |line: &str| line.trim().is_empty() || line.len() - line.trim_start_matches(' ').len() >= depth;
        let inside = all[index..].iter().take_while(|(_, line)| is_inside(line));
        let inside: String = inside.map(|(_, line)| line.get(depth..).unwrap_or("\n")).collect();
        found.push((*at, inside));
    }
    found
}

/// Links and images of masked text.
fn in_markdown(text: &str) -> impl Iterator<Item = (ConstructKind, Range<usize>)> {
    let mut parser = Parser::new_ext(text, options()).into_offset_iter();
    let mut found: Vec<_> =
        parser.by_ref().filter_map(|(event, range)| link(event).map(|kind| (kind, range))).collect();
    let definitions = parser.reference_definitions().iter();
    found.extend(definitions.map(|(_, definition)| {
        (defined(&definition.dest, definition.title.as_deref()), definition.span.clone())
    }));
    found.into_iter()
}

/// A definition that leads nowhere is how comments are written where HTML is not allowed: `[//]: # (words)`.
fn defined(address: &str, title: Option<&str>) -> ConstructKind {
    match title {
        Some(words) if matches!(address, "#" | "") => ConstructKind::Comment(words.to_string()),
        _ => ConstructKind::Link(address.to_owned()),
    }
}

fn link(event: Event<'_>) -> Option<ConstructKind> {
    match event {
        // Docsify reads its settings in the title of a link.
        Event::Start(Tag::Link { title, .. } | Tag::Image { title, .. }) if title.starts_with(':') => {
            Some(ConstructKind::Unknown(title.to_string()))
        }
        Event::Start(Tag::Image { dest_url, .. }) => Some(ConstructKind::Image(dest_url.to_string())),
        Event::Start(Tag::Link { dest_url, link_type: LinkType::Email, .. }) => {
            Some(ConstructKind::Link(format!("mailto:{dest_url}")))
        }
        Event::Start(Tag::Link { dest_url, .. }) => Some(ConstructKind::Link(dest_url.to_string())),
        Event::Start(Tag::Heading { .. }) => Some(ConstructKind::Heading),
        _ => None,
    }
}

/// The tags of some HTML.
pub(super) fn html(text: &str, span: Range<usize>) -> Vec<Construct> {
    let (mut found, mut at, mut odd_tags) = (Vec::new(), span.start, 0);
    while let Some(next) = text[at..span.end].find('<') {
        at += next;
        let Some((kind, end)) = tags::read_at(&text[..span.end], at, tags::limit(odd_tags)) else {
            (at, odd_tags) = (at + 1, odd_tags + 1);
            continue;
        };
        odd_tags += usize::from(matches!(kind, ConstructKind::Unknown(_)));
        found.push(Construct::standard(kind, at..end));
        at = end;
    }
    found
}

/// What preprocessors take in wherever it stands, code included.
fn includes(text: &str) -> Vec<Construct> {
    let (mut found, mut is_raw) = (Vec::new(), false);
    for (at, line) in lines(text, 0) {
        let marks = |words: [&str; 2]| words.iter().any(|word| line.contains(&format!("{{% {word} %}}")));
        is_raw = (is_raw || marks(["raw", "verbatim"])) && !marks(["endraw", "endverbatim"]);
        if line.contains("--8<--") || line.contains("-8<-") {
            let kind = ConstructKind::Include(line.trim().to_owned());
            found.push(Construct::standard(kind, at..at + line.trim_end().len()));
        }
        if line.contains("<!--") && line.replace(' ', "").contains("<!--@include") {
            let kind = ConstructKind::Include(line.trim().to_owned());
            found.push(Construct::standard(kind, at..at + line.trim_end().len()));
        }
        for (open, close) in TEMPLATES.iter().filter(|_| !is_raw) {
            found.extend(templates(line, open, close).map(|range| {
                let text = line[range.clone()].to_owned();
                let kind = ConstructKind::TemplateInCode { text, is_fenced: false };
                Construct::standard(kind, at + range.start..at + range.end)
            }));
        }
    }
    found
}

fn templates<'a>(line: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let mut at = 0;
    let next = move || {
        let start = at + line[at..].find(open)?;
        let end = line[start..].find(close).map(|length| start + length + close.len());
        at = end.unwrap_or(line.len());
        // A shortcode of Hugo that is shown as it is written.
        let is_shown = ["{{</*", "{{%/*"].iter().any(|mark| line[start..].starts_with(mark));
        // Two braces may close on a later line; the others do nothing unless they close.
        Some((start..at, !is_shown && (end.is_some() || open == "{{" || open == "{%")))
    };
    std::iter::from_fn(next).filter(|(_, counts)| *counts).map(|(range, _)| range)
}

/// The text of code matters only where it is drawn or run.
fn keep_what_is_drawn(construct: &mut Construct) {
    if let ConstructKind::Code { info, text } = &mut construct.kind
        && info::is_shown_as_it_is(info)
    {
        text.clear();
    }
}

/// Without the marks of lists, quotes and headings.
fn without_marks(line: &str) -> &str {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t']);
        let number = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
        let behind = match trimmed.chars().next() {
            Some('>') => trimmed.strip_prefix('>'),
            Some('-' | '*' | '+') => trimmed[1..].starts_with([' ', '\t']).then(|| &trimmed[1..]),
            Some('#') => trimmed
                .trim_start_matches('#')
                .starts_with([' ', '\t'])
                .then(|| trimmed.trim_start_matches('#')),
            _ if number.len() < trimmed.len() => {
                number.strip_prefix(['.', ')']).filter(|rest| rest.starts_with([' ', '\t']))
            }
            _ => None,
        };
        match behind {
            Some(behind) => rest = behind,
            None => return trimmed,
        }
    }
}

/// What stands where the destination of a link does, whether or not the standard takes it for one.
fn destinations(text: &str) -> Vec<(ConstructKind, usize)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("](") {
        let is_image = match opening_bracket(text, at) {
            Some(open) => text[..open].ends_with('!'),
            // Brackets that do not pair off may belong to any.
            None => text[text.ceil_char_boundary(at.saturating_sub(MAX_DESTINATION))..at].contains("!["),
        };
        found.extend(addresses(&text[at + 2..]).into_iter().map(|address| (kind_of(address, is_image), at)));
    }
    // The standard has no definition in the middle of a paragraph.
    let lower = OnceCell::new();
    for (at, line) in lines(text, 0) {
        let Some((label, _)) = without_marks(line)
            .trim_start_matches([':', ' '])
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]:"))
        else {
            continue;
        };
        let lower = lower.get_or_init(|| text.to_lowercase());
        let is_image = is_label_of_image(lower, &label.to_lowercase());
        let behind = at + line.find("]:").unwrap_or_default() + 2;
        if ["# ", "<> ", "<#> "].iter().any(|nowhere| text[behind..].trim_start().starts_with(nowhere)) {
            found.push((ConstructKind::Comment(line.trim().to_owned()), at));
        }
        for address in addresses(&text[behind..]) {
            found.push((kind_of(address.clone(), false), at));
            found.extend(is_image.then(|| (kind_of(address, true), at)));
        }
    }
    found
}

/// Whether an image is drawn from the definition of a label: `![label]` or `![words][label]`.
fn is_label_of_image(text: &str, label: &str) -> bool {
    let is_image = |close: usize| opening_bracket(text, close).is_none_or(|open| text[..open].ends_with('!'));
    text.contains(&format!("![{label}]"))
        || text.match_indices(&format!("][{label}]")).any(|(close, _)| is_image(close))
        || text.match_indices(&format!("] [{label}]")).any(|(close, _)| is_image(close))
}

fn kind_of(address: String, is_image: bool) -> ConstructKind {
    if is_image { ConstructKind::Image(address) } else { ConstructKind::Link(address) }
}

/// As far as a destination is looked for, and the bracket that its text begins with.
const MAX_DESTINATION: usize = 600;

/// The bracket that the one at `close` closes.
fn opening_bracket(text: &str, close: usize) -> Option<usize> {
    let start = text.ceil_char_boundary(close.saturating_sub(MAX_DESTINATION));
    let mut depth = 0_usize;
    for (at, c) in text[start..close].char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' if depth == 0 => return Some(start + at),
            '[' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The address that a text begins with, alone and with what follows on further lines. Only one with a scheme or a host
/// matters here: the rest is on this site.
fn addresses(rest: &str) -> Vec<String> {
    let rest = &rest[..rest.floor_char_boundary(MAX_DESTINATION)];
    let rest = rest.trim_start().trim_start_matches('<');
    let first =
        &rest[..rest.find(|c: char| c.is_whitespace() || matches!(c, ')' | '>')).unwrap_or(rest.len())];
    let whole = &rest[..rest.find("\n\n").unwrap_or(rest.len())];
    let whole = &whole[..whole.find(')').unwrap_or(0)];
    let whole: String = whole.chars().filter(|c| !c.is_whitespace()).collect();
    let is_away = |address: &String| address.contains([':', '&', '\\']) || address.starts_with("//");
    let raw = [first.to_owned(), whole];
    let mut found: Vec<String> = raw
        .into_iter()
        .flat_map(|address| [address.replace('\\', ""), address.replace('\\', "/")])
        .filter(is_away)
        .collect();
    found.dedup();
    found
}

/// Addresses in running text, which some renderers make links of.
fn bare_addresses(line: &str) -> impl Iterator<Item = &str> {
    let mut last = 0;
    line.match_indices("://").filter_map(move |(at, _)| {
        // An address in another is a part of it.
        if at < last {
            return None;
        }
        let start = line[..at].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |before| before + 1);
        let start = if line.is_char_boundary(start) { start } else { at };
        let end = line[at..]
            .find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | ')' | ']' | '\''))
            .map_or(line.len(), |length| at + length);
        last = end;
        let is_web = ["http", "https", "ftp"].contains(&line[start..at].to_ascii_lowercase().as_str());
        is_web.then(|| line[start..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constructs::{Reading, constructs};

    fn shown(kind: FileKind, text: &str) -> Vec<String> {
        let all = constructs(kind, text).into_iter();
        all.map(|construct| {
            let reading = if construct.reading == Reading::Standard { "" } else { "~" };
            format!("{reading}{:?}", construct.kind)
        })
        .collect()
    }

    #[test]
    fn plain_pages_are_plain() {
        for text in [
            "# A\n\nText with `code`.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
            "> [!NOTE]\n> Text.\n",
        ] {
            for kind in [FileKind::Markdown, FileKind::Mdx] {
                let odd: Vec<_> =
                    shown(kind, text).into_iter().filter(|kind| !kind.contains("Heading")).collect();
                assert_eq!(odd, Vec::<String>::new(), "{text}");
            }
        }
    }

    #[test]
    fn links_and_images() {
        let found = shown(FileKind::Mdx, "[a](https://a.example) ![b][c]\n\n[c]: d.png\n");
        for expected in ["~Link(\"https://a.example\")", "~Image(\"d.png\")", "~Link(\"d.png\")"] {
            assert!(found.iter().any(|kind| kind == expected), "{expected} {found:?}");
        }
    }

    #[test]
    fn both_readings_find_tags() {
        let found = shown(FileKind::Markdown, "a <b> c\n\n<div>\n`<i>`\n</div>\n");
        assert_eq!(found.iter().filter(|kind| kind.contains("name: \"i\"")).count(), 2, "{found:?}");
    }
}
