//! Reads Markdown and MDX: once by the standard, once warily.

use std::collections::HashSet;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Parser, Tag};

use super::destinations::{bare_addresses, destinations, without_marks};
use super::overlaps::{NextPlace, Overlaps};
use super::scan::{Scanned, is_directive};
use super::{Construct, ConstructKind, Doubt, Reading, braces, front, info, lines, prose, tags, templates};
use crate::kind::FileKind;
use crate::markdown::options;

pub(super) fn read(kind: FileKind, text: &str) -> Vec<Construct> {
    let (mut found, body) = front::read(text);
    found.extend(includes(text));
    if kind == FileKind::Quarto {
        found.extend(in_quarto(text, body));
    }
    if kind != FileKind::Mdx {
        found.extend(standard(text, body));
        for (start, inside) in boxes(text, body) {
            // Its places are told by the line that the box begins at.
            let inside = inside.map_or_else(
                || vec![Construct::standard(ConstructKind::Unknown("a box in many others".to_owned()), 0..1)],
                |inside| standard(&inside, 0),
            );
            found.extend(inside.into_iter().map(|one| Construct { span: start..start + 1, ..one }));
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
        let place = scanned.in_file(at + offset);
        let reading = || scanned.reading_at(place);
        found.extend(prose::read_line(content, place).map(|one| Construct { reading: reading(), ..one }));
        // MyST shows nothing of such a line.
        if content.starts_with("% ") {
            let kind = ConstructKind::Comment(content.trim().to_owned());
            let span = place..place + content.trim_end().len();
            found.push(Construct { kind, span, reading: reading() });
        }
        found.extend(bare_addresses(content).map(|address| {
            let kind = ConstructKind::Link(address.to_owned());
            Construct { kind, span: place..place + content.trim_end().len(), reading: reading() }
        }));
    }
    let of_some = scanned.fences_of_some.iter();
    found.extend(of_some.flat_map(|content| text_to_python_markdown(&text[content.clone()], content.start)));
    let raw_marks = scanned.raw_marks;
    let mut scanned = scanned.found;
    scanned.iter_mut().for_each(keep_what_is_drawn);
    // What is filled in outside of code was read for what it is.
    let shown: HashSet<usize> =
        scanned.iter().filter(|one| is_mark(&one.kind)).map(|one| one.span.start).collect();
    let is_code = |one: &&Construct| matches!(one.kind, ConstructKind::Code { .. });
    let spans = |all: &[Construct], is_one: &dyn Fn(&Construct) -> bool| -> Vec<Range<usize>> {
        all.iter().filter(|one| is_code(one) && is_one(one)).map(|one| one.span.clone()).collect()
    };
    let fences = spans(&scanned, &|_| true);
    // Those of boxes have no place of their own.
    let by_standard = spans(&found, &|one| one.reading == Reading::Standard && one.span.len() > 1);
    let mut below_tag = BelowTag::default();
    let mut is_fence = |at: usize| {
        is_in(&fences, at)
            && (kind == FileKind::Mdx
                || range_at(&by_standard, at).is_some_and(|fence| !below_tag.is_so(text, fence.start)))
    };
    if kind == FileKind::Markdown {
        let blocks = front::later_blocks(text, body);
        found.extend(blocks.into_iter().filter(|block| !is_in(&by_standard, block.span.start)));
    }
    found.retain_mut(|one| match &mut one.kind {
        ConstructKind::TemplateInCode { is_fenced, .. } => {
            *is_fenced = is_fence(one.span.start) || raw_marks.contains(&one.span.start);
            !shown.contains(&one.span.start)
        }
        _ => true,
    });
    found.extend(scanned);
    found
}

/// The one of these ranges, which are in order, that holds a place.
fn range_at(ranges: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let next = ranges.partition_point(|range| range.start <= at);
    next.checked_sub(1).map(|index| &ranges[index]).filter(|range| range.contains(&at))
}

fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    range_at(ranges, at).is_some()
}

/// The answer for the fence that was asked for last: it may hold many marks, below a long line.
#[derive(Default)]
struct BelowTag(Option<(usize, bool)>);

impl BelowTag {
    fn is_so(&mut self, text: &str, fence: usize) -> bool {
        let answer = self.0.filter(|(last, _)| *last == fence).map(|(_, answer)| answer);
        let answer = answer.unwrap_or_else(|| is_below_tag(text, fence));
        self.0 = Some((fence, answer));
        answer
    }
}

/// Whether the line above a fence begins or ends with a tag: renderers differ on whether it is HTML that goes on.
fn is_below_tag(text: &str, start: usize) -> bool {
    let above = text[..start].trim_end_matches([' ', '\t', '>']).strip_suffix('\n').unwrap_or_default();
    above
        .rsplit('\n')
        .next()
        .is_some_and(|line| line.trim_start().starts_with('<') || line.trim_end().ends_with('>'))
}

fn is_mark(kind: &ConstructKind) -> bool {
    matches!(kind, ConstructKind::Template(_) | ConstructKind::Component(_) | ConstructKind::Attributes(_))
}

/// By the standard: CommonMark with GitHub's extensions, and HTML as it stands.
fn standard(text: &str, body: usize) -> Vec<Construct> {
    let source = &text[body..];
    let mut found = Vec::new();
    let mut parser = Parser::new_ext(source, options()).into_offset_iter();
    // Where an element begins and ends whose content is no text of the page.
    let mut raw: Option<(String, usize)> = None;
    let (mut footnote, mut alt_end) = (0, 0);
    for (event, range) in parser.by_ref() {
        let span = body + range.start..body + range.end;
        match event {
            Event::Start(Tag::HtmlBlock) => found.extend(html(text, span)),
            Event::InlineHtml(_) if span.start < alt_end => {
                let reading = Reading::Doubtful(Doubt::Nested);
                found.extend(html(text, span).into_iter().map(|one| Construct { reading, ..one }));
            }
            Event::InlineHtml(tag) => {
                let tags = html(text, span);
                match &raw {
                    Some((name, from)) if tag.to_ascii_lowercase().starts_with(&format!("</{name}")) => {
                        found[*from..]
                            .iter_mut()
                            .for_each(|one| one.reading = Reading::Doubtful(Doubt::Nested));
                        raw = None;
                    }
                    None => {
                        raw = tags.iter().find_map(raw_element).map(|name| (name, found.len() + tags.len()))
                    }
                    Some(_) => {}
                }
                found.extend(tags);
            }
            // By the wary reading: its content is a page.
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if is_directive(&info) => {}
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let kind =
                    ConstructKind::Code { info: info.trim().to_owned(), text: text[span.clone()].to_owned() };
                // Where there are no footnotes, this is indented code.
                let reading = match span.start < footnote {
                    true => Reading::Doubtful(Doubt::Nested),
                    false => Reading::Standard,
                };
                found.push(Construct { kind, span, reading });
            }
            Event::Start(Tag::FootnoteDefinition(_)) => footnote = span.end,
            // What an image is described with is no text of the page.
            event if span.start < alt_end => {
                let reading = Reading::Doubtful(Doubt::Nested);
                found.extend(link(event).map(|kind| Construct { kind, span, reading }));
            }
            Event::Start(Tag::Image { .. }) => {
                alt_end = span.end;
                found.extend(link(event).map(|kind| Construct::standard(kind, span)));
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

/// What Python-Markdown finds in the content of a fence that is none to it. It knows no braces but those of attributes.
fn text_to_python_markdown(content: &str, start: usize) -> Vec<Construct> {
    let text: String =
        content.split_inclusive('\n').map(|line| line.trim_start_matches([' ', '\t', '>'])).collect();
    let tags = html(&text, 0..text.len()).into_iter().map(|one| one.kind);
    let links = in_markdown(&text).map(|(kind, _)| kind);
    let links = links.chain(destinations(&text).into_iter().map(|(kind, _)| kind));
    let lists = text.match_indices('{').filter_map(|(at, _)| braces::attributes_at(&text[at..]));
    let lists = lists.map(ConstructKind::Attributes);
    let reading = Reading::Doubtful(Doubt::FenceOfSome);
    tags.chain(links).chain(lists).map(|kind| Construct { kind, span: start..start + 1, reading }).collect()
}

/// The name of an element that begins, and whose content is no text of the page.
fn raw_element(tag: &Construct) -> Option<String> {
    match &tag.kind {
        ConstructKind::Html(element) if tags::is_raw(&element.name) && !element.is_closing => {
            Some(element.name.clone())
        }
        _ => None,
    }
}

/// The content of boxes such as `!!! note`, without its indentation: to the generators that know them it is no code.
/// Nothing for a box that is in too many others: each of them is read for itself.
fn boxes(text: &str, body: usize) -> Vec<(usize, Option<String>)> {
    let all: Vec<(usize, &str)> = lines(text, body).collect();
    let (mut found, mut index) = (Vec::new(), 0);
    let mut overlaps = Overlaps::default();
    while let Some((at, line)) = all.get(index) {
        let content = line.trim_start_matches([' ', '\t']);
        index += 1;
        if !["!!!", "???", "=== \""].iter().any(|mark| content.starts_with(mark)) {
            continue;
        }
        if overlaps.is_full_at(index - 1) {
            found.push((*at, None));
            continue;
        }
        let depth = line.len() - content.len() + 4;
        let is_inside =
            |line: &str| line.trim().is_empty() || line.len() - line.trim_start_matches(' ').len() >= depth;
        let inside = all[index..].iter().take_while(|(_, line)| is_inside(line));
        let inside: Vec<&str> = inside.map(|(_, line)| line.get(depth..).unwrap_or("\n")).collect();
        overlaps.push(index + inside.len());
        found.push((*at, Some(inside.concat())));
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
    let (mut found, mut is_raw, mut is_list) = (Vec::new(), false, false);
    let (mut overlaps, mut ends) = (Overlaps::default(), NextPlace::default());
    for (at, line) in lines(text, 0) {
        // Between two lines of the mark alone every line names a file.
        let is_mark = matches!(line.trim().trim_start_matches(';'), "--8<--" | "-8<-");
        is_list ^= is_mark;
        let has = |marks: [&str; 2]| line.contains("{%") && marks.iter().any(|mark| line.contains(mark));
        is_raw =
            (is_raw || has(["{% raw %}", "{% verbatim %}"])) && !has(["{% endraw %}", "{% endverbatim %}"]);
        if line.contains("-8<-") || is_list && !line.trim().is_empty() {
            let kind = ConstructKind::Include(line.trim().to_owned());
            found.push(Construct::standard(kind, at..at + line.trim_end().len()));
        }
        // The mark may be below the start of the comment.
        let comments = line.match_indices("<!--").map(|(start, _)| at + start);
        for start in comments.filter(|start| {
            text[start + 4..]
                .trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
                .starts_with("@include")
        }) {
            let end = ends.find(text, start, |rest| rest.find("-->"));
            let mark = || text[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
            // Comments in each other end at the same place.
            let kind = match overlaps.is_full_at(start) {
                true => ConstructKind::Unknown("<!-- @include".to_owned()),
                false => ConstructKind::Include(mark()),
            };
            overlaps.push(end);
            found.push(Construct::standard(kind, start..start + 4));
        }
        for range in templates::in_code(line).filter(|_| !is_raw) {
            let text = line[range.clone()].to_owned();
            let kind = ConstructKind::TemplateInCode { text, is_fenced: false };
            found.push(Construct::standard(kind, at + range.start..at + range.end));
        }
    }
    found
}

/// What knitr and pandoc do wherever it stands: code in a code span, in a fence or not, and further blocks of settings.
fn in_quarto(text: &str, body: usize) -> Vec<Construct> {
    let runs = |line: &str| ["`r ", "`r#", "`{", "<%"].iter().any(|mark| line.contains(mark));
    let is_settings = |at: usize, line: &str| {
        line.trim_end() == "---"
            && text[at + line.len()..].lines().next().is_some_and(|next| next.contains(':'))
    };
    let is_cell = |line: &str| line.trim_start().starts_with("```");
    let odd = lines(text, 0).filter(|(at, line)| runs(line) || *at >= body && is_settings(*at, line));
    let (mut overlaps, mut paragraphs) = (Overlaps::default(), NextPlace::default());
    odd.map(|(at, line)| {
        let behind = at + line.len();
        let paragraph = paragraphs.find(text, behind, |rest| rest.find("\n\n"));
        // The lines above in the same paragraph tell its end as well.
        let is_alone = is_cell(line) || paragraph == text.len() || overlaps.is_full_at(at);
        let end = if is_alone { behind } else { paragraph };
        overlaps.push(end);
        Construct::standard(ConstructKind::Unknown(text[at..end].trim().to_owned()), at..end)
    })
    .collect()
}

/// The text of code matters only where it is drawn or run.
fn keep_what_is_drawn(construct: &mut Construct) {
    if let ConstructKind::Code { info, text } = &mut construct.kind
        && info::is_shown_as_it_is(info)
    {
        text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constructs::constructs;

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
