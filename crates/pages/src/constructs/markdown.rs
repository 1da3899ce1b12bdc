//! Reads Markdown and MDX twice: by the standard, and conservatively.

mod containers;
mod events;
mod preprocessed;
mod standard;

use std::collections::HashSet;
use std::ops::Range;

use super::destinations::{bare_addresses, destinations, without_block_markers};
use super::scan::Scan;
use super::{Ambiguity, Construct, ConstructKind, Reading, braces, front, info, lines, prose, tags};
use crate::kind::FileKind;
use containers::containers;
use events::parse;
use preprocessed::{includes, quarto_code};
use standard::read_standard;

pub(super) fn read(kind: FileKind, text: &str) -> Vec<Construct> {
    let (mut found, body) = front::read(text);
    found.extend(includes(text));
    if kind == FileKind::Quarto {
        found.extend(quarto_code(text, body));
    }
    if kind != FileKind::Mdx {
        found.extend(read_standard(text, body));
        found.extend(read_containers(text, body));
    }
    let scan = Scan::new(kind, text, body);
    found.extend(parse(&scan.text).map(|(kind, span)| {
        let span = scan.file_offset(span.start)..scan.file_offset(span.end);
        Construct { kind, reading: scan.reading_at(span.start), span }
    }));
    found.extend(destinations(&scan.text).into_iter().map(|(kind, at)| {
        let at = scan.file_offset(at);
        Construct { kind, span: at..at + 1, reading: scan.reading_at(at) }
    }));
    for (at, line) in lines(&scan.text, 0) {
        read_masked_line(&scan, at, line, &mut found);
    }
    let fences = scan.non_python_fences.iter();
    found.extend(fences.flat_map(|content| read_as_python_markdown(&text[content.clone()], content.start)));
    let literal_templates = scan.literal_templates;
    let mut scanned = scan.found;
    scanned.iter_mut().for_each(info::clear_plain_code);
    // The containers have no spans of their own.
    let standard_fences = code_spans(&found, |code| code.reading == Reading::Standard && code.span.len() > 1);
    if kind == FileKind::Markdown {
        let blocks = front::later_blocks(text, body);
        found.extend(blocks.into_iter().filter(|block| !is_in(&standard_fences, block.span.start)));
    }
    let fences = Fences {
        text,
        is_mdx: kind == FileKind::Mdx,
        scanned: code_spans(&scanned, |_| true),
        standard: standard_fences,
        below_tag: None,
    };
    settle_templates(&mut found, &scanned, fences, &literal_templates);
    found.extend(scanned);
    found
}

/// Reads the content of containers. It is reported at the line that begins the container.
fn read_containers(text: &str, body: usize) -> impl Iterator<Item = Construct> {
    containers(text, body).into_iter().flat_map(|(start, content)| {
        let unread =
            || vec![Construct::standard(ConstructKind::Unknown("a box in many others".to_owned()), 0..1)];
        let found = content.map_or_else(unread, |content| read_standard(&content, 0));
        found.into_iter().map(move |construct| Construct { span: start..start + 1, ..construct })
    })
}

/// Reads a line of the masked text as prose.
fn read_masked_line(scan: &Scan, at: usize, line: &str, found: &mut Vec<Construct>) {
    let content = without_block_markers(line);
    let start = scan.file_offset(at + line.len() - content.len());
    let reading = || scan.reading_at(start);
    let span = start..start + content.trim_end().len();
    let prose = prose::read_line(content, start);
    found.extend(prose.map(|construct| Construct { reading: reading(), ..construct }));
    // MyST hides such a line.
    if content.starts_with("% ") {
        let kind = ConstructKind::Comment(content.trim().to_owned());
        found.push(Construct { kind, span: span.clone(), reading: reading() });
    }
    found.extend(bare_addresses(content).map(|address| {
        let kind = ConstructKind::Link(address.to_owned());
        Construct { kind, span: span.clone(), reading: reading() }
    }));
}

/// Reads the content of a fence that Python-Markdown doesn't recognize, as it does. It knows no braces except those of
/// attribute lists.
fn read_as_python_markdown(content: &str, start: usize) -> Vec<Construct> {
    let text: String =
        content.split_inclusive('\n').map(|line| line.trim_start_matches([' ', '\t', '>'])).collect();
    let tags = tags::read_all(&text, 0..text.len()).into_iter().map(|construct| construct.kind);
    let links = parse(&text).map(|(kind, _)| kind);
    let links = links.chain(destinations(&text).into_iter().map(|(kind, _)| kind));
    let lists = text.match_indices('{').filter_map(|(at, _)| braces::attributes_at(&text[at..]));
    let lists = lists.map(ConstructKind::Attributes);
    let reading = Reading::Ambiguous(Ambiguity::NonPythonFence);
    tags.chain(links).chain(lists).map(|kind| Construct { kind, span: start..start + 1, reading }).collect()
}

/// Decides which templates in code are in a fence, and drops those outside of code, which the scan reported.
fn settle_templates(
    found: &mut Vec<Construct>,
    scanned: &[Construct],
    mut fences: Fences<'_>,
    literal_templates: &HashSet<usize>,
) {
    let filled_in = scanned.iter().filter(|construct| is_filled_in(&construct.kind));
    let filled_in: HashSet<usize> = filled_in.map(|construct| construct.span.start).collect();
    found.retain_mut(|construct| match &mut construct.kind {
        ConstructKind::TemplateInCode { is_fenced, .. } => {
            let at = construct.span.start;
            *is_fenced = fences.contain(at) || literal_templates.contains(&at);
            !filled_in.contains(&at)
        }
        _ => true,
    });
}

fn is_filled_in(kind: &ConstructKind) -> bool {
    matches!(kind, ConstructKind::Template(_) | ConstructKind::Component(_) | ConstructKind::Attributes(_))
}

/// The fences of a page, by both readings.
struct Fences<'t> {
    text: &'t str,
    is_mdx: bool,
    scanned: Vec<Range<usize>>,
    standard: Vec<Range<usize>>,
    /// The last fence that was asked for, and whether it is below a tag. A fence can contain many templates.
    below_tag: Option<(usize, bool)>,
}

impl Fences<'_> {
    /// Whether all renderers see a fence at this offset.
    fn contain(&mut self, at: usize) -> bool {
        if !is_in(&self.scanned, at) {
            return false;
        }
        let standard = range_at(&self.standard, at).map(|fence| fence.start);
        self.is_mdx || standard.is_some_and(|fence| !self.is_below_tag(fence))
    }

    fn is_below_tag(&mut self, fence: usize) -> bool {
        let known = self.below_tag.filter(|(last, _)| *last == fence).map(|(_, answer)| answer);
        let answer = known.unwrap_or_else(|| is_below_tag(self.text, fence));
        self.below_tag = Some((fence, answer));
        answer
    }
}

/// Whether the line above a fence begins or ends with a tag. Renderers disagree on whether its HTML continues.
fn is_below_tag(text: &str, start: usize) -> bool {
    let above = text[..start].trim_end_matches([' ', '\t', '>']).strip_suffix('\n').unwrap_or_default();
    above
        .rsplit('\n')
        .next()
        .is_some_and(|line| line.trim_start().starts_with('<') || line.trim_end().ends_with('>'))
}

fn code_spans(all: &[Construct], is_wanted: impl Fn(&Construct) -> bool) -> Vec<Range<usize>> {
    let is_code = |construct: &&Construct| matches!(construct.kind, ConstructKind::Code { .. });
    all.iter().filter(is_code).filter(|code| is_wanted(code)).map(|code| code.span.clone()).collect()
}

/// The range that contains an offset. The ranges are in order.
fn range_at(ranges: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let next = ranges.partition_point(|range| range.start <= at);
    next.checked_sub(1).map(|index| &ranges[index]).filter(|range| range.contains(&at))
}

fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    range_at(ranges, at).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constructs::constructs;

    fn formatted(kind: FileKind, text: &str) -> Vec<String> {
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
                let unexpected: Vec<_> =
                    formatted(kind, text).into_iter().filter(|kind| !kind.contains("Heading")).collect();
                assert_eq!(unexpected, Vec::<String>::new(), "{text}");
            }
        }
    }

    #[test]
    fn links_and_images() {
        let found = formatted(FileKind::Mdx, "[a](https://a.example) ![b][c]\n\n[c]: d.png\n");
        for expected in ["~Link(\"https://a.example\")", "~Image(\"d.png\")", "~Link(\"d.png\")"] {
            assert!(found.iter().any(|kind| kind == expected), "{expected} {found:?}");
        }
    }

    #[test]
    fn both_readings_find_tags() {
        let found = formatted(FileKind::Markdown, "a <b> c\n\n<div>\n`<i>`\n</div>\n");
        assert_eq!(found.iter().filter(|kind| kind.contains("name: \"i\"")).count(), 2, "{found:?}");
    }
}
