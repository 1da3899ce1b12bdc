//! Reads AsciiDoc: prose, headings, lists, links, tables and listings. A line with anything else in it is not understood.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::overlaps::{LastPlace, NextPlace, Overlaps};
use super::references::{PageAttributes, Resolved};
use super::{Construct, ConstructKind, Doubt, MAX_LINE_BYTES, Reading, Swallow, front, lines, templates};
use crate::WordList;

/// Blocks whose content is shown as it stands.
const LISTINGS: &[&str] = &["----", "...."];
/// What the preprocessor does wherever it stands, listings included.
const PREPROCESSED: &[&str] = &["include::", "ifdef::", "ifndef::", "ifeval::", "endif::"];
/// Macros that are links.
const LINKS: WordList = WordList("link xref mailto http https footnote kbd btn menu");
const STYLES: WordList = WordList(
    "source listing NOTE TIP IMPORTANT WARNING CAUTION quote horizontal arabic literal abstract sidebar \
     example",
);

/// Attributes that stand for a character of markup, or for none.
const CHARACTERS: WordList =
    WordList("lt gt amp empty blank zwsp wj backslash two-colons quot startsb endsb");
const LISTING_STYLES: WordList =
    WordList("source listing literal example quote note tip important warning caution");

/// No name in [`CHARACTERS`] is longer, in whatever letters it is written.
const MAX_CHARACTER_BYTES: usize = 64;
/// A reference goes on over so many lines.
const MAX_REFERENCE_LINES: usize = 8;
/// As many roles may begin at the same bracket.
const MAX_ROLES: usize = 16;

pub(super) fn read(text: &str) -> Vec<Construct> {
    let (mut found, body) = front::read_block(text);
    let all: Vec<(usize, &str)> = lines(text, body).collect();
    let (mut index, mut in_comment, mut has_odd_listing) = (0, false, false);
    let mut open_blocks: HashSet<&str> = HashSet::new();
    let mut comments = Overlaps::default();
    let passes = last_passes(&all);
    let mut attributes = PageAttributes::of_page(text);
    let mut paragraph = Paragraph::default();
    // In a paragraph below a style, which may be shown as it is written.
    let mut below_style = false;
    let title = title_index(&all);
    let mut is_header = title.is_some();
    // In lines up to an empty one, one of which is indented: in a list all of them are shown as they are written.
    let mut below_indented = false;
    while let Some((at, line)) = all.get(index) {
        let content = stripped(line);
        let push = |found: &mut Vec<Construct>, kind| {
            found.push(Construct::standard(kind, *at..*at + content.len()))
        };
        if content.len() > MAX_LINE_BYTES {
            push(&mut found, ConstructKind::Unknown(content.to_owned()));
            index += 1;
            continue;
        }
        if content.len() >= 4 && content.trim_start_matches('/').is_empty() {
            in_comment = !in_comment;
            if in_comment {
                // What is in many others is told with them.
                let inside = if comments.is_full_at(index) { &[] } else { &all[index + 1..] };
                let inside = inside.iter().map(|(_, line)| *line);
                let inside: Vec<&str> = inside.take_while(|line| stripped(line) != content).collect();
                comments.push(index + 1 + inside.len());
                let words = inside.concat();
                push(&mut found, ConstructKind::Comment(format!("a block: {}", words.trim())));
            }
        }
        // What is not there to some readers may be the end of a listing to others.
        has_odd_listing |= PREPROCESSED[1..].iter().any(|mark| content.starts_with(mark));
        let first = found.len();
        // To some a line below another is the underline of a title, and lines below the title are about the page.
        let above = index.checked_sub(1).map_or("", |above| stripped(all[above].1));
        let is_underline = content.len().abs_diff(above.chars().count()) < 2
            && above.contains(char::is_alphanumeric)
            && !above.starts_with(['[', '.']);
        is_header &= !content.is_empty() || title.is_some_and(|title| index < title);
        below_indented = !content.is_empty() && (below_indented || content.starts_with([' ', '\t']));
        if holds_blocks(content) && !open_blocks.remove(content) {
            open_blocks.insert(content);
        }
        let is_odd = content.starts_with("```") && !is_listing(content)
            || is_listing(content) && (is_underline || is_header || is_table(above))
            // A paragraph that is shown as it is written goes on over such a line.
            || is_listing(content) && !above.is_empty() && !is_style_line(above) && !above.starts_with('.')
                && below_style
            || is_listing(content) && below_indented;
        // Tables of other formats, and what is indented, are some to some.
        let inside = content.trim_start();
        let is_odd = is_odd
            || is_table(content) && !content.starts_with('|')
            || (is_header || is_underline) && holds_blocks(content)
            || inside.len() < content.len() && (holds_blocks(inside) || is_listing(inside));
        has_odd_listing |= is_odd;
        if !in_comment && is_listing(content) && !has_odd_listing {
            // Without its end some readers show the rest as text.
            let end = if content.starts_with('`') { "```" } else { content };
            let close = all[index + 1..].iter().position(|(_, line)| stripped(line) == end);
            let is_slashes = |(_, line): &(usize, &str)| {
                stripped(line).len() >= 4 && stripped(line).trim_start_matches('/').is_empty()
            };
            let close = close.filter(|close| !all[index + 1..index + 1 + close].iter().any(is_slashes));
            // A block around it ends it, and so does the cell of a table.
            let is_cut = |(_, line): &(usize, &str)| open_blocks.contains(stripped(line));
            let close = close.filter(|close| {
                !open_blocks.iter().any(|block| is_table(block))
                    && !all[index + 1..index + 1 + close].iter().any(is_cut)
            });
            has_odd_listing |= close.is_none();
            if let Some(close) = close {
                let inside = &all[index + 1..index + 1 + close];
                // Below a style that is not understood the block may be drawn, or run, or shown as it is written.
                let style = index.checked_sub(1).map(|before| stripped(all[before].1));
                if style.is_some_and(|style| style.starts_with('[') && !is_listing_style(style)) {
                    let (start, end) = (all[index].0, all[index + 1 + close].0);
                    let kind = ConstructKind::Unknown(text[start..end].to_owned());
                    found.push(Construct::standard(kind, start..end));
                }
                for (at, line) in inside.iter().filter(|(_, line)| is_preprocessed(line)) {
                    let kind = ConstructKind::Include(line.trim().to_owned());
                    found.push(Construct::standard(kind, *at..*at + stripped(line).len()));
                }
                index += close + 2;
                continue;
            }
        }
        // A block that is shown as it is written belongs to the line that begins it.
        if content.starts_with("++++")
            && passes.get(content).is_some_and(|last| *last > index)
            && let Some(close) = all[index + 1..].iter().position(|(_, line)| stripped(line) == content)
        {
            let end = all[index + 1 + close].0;
            let block = format!("{}{}", block_styles(&all[..index]), &text[*at..end]);
            found.push(Construct::standard(ConstructKind::Unknown(block), *at..end));
            index += close + 2;
            continue;
        }
        if content.starts_with("//") && !content.starts_with("///") {
            push(&mut found, ConstructKind::Comment(content.to_owned()));
        } else if is_preprocessed(content) || content.starts_with("include::") {
            push(&mut found, ConstructKind::Include(content.trim().to_owned()));
            if let Resolved::Line(line) = attributes.resolve(content) {
                push(&mut found, ConstructKind::Include(line.trim().to_owned()));
            }
        } else if let Some((name, value)) = attribute_entry(content.trim_start_matches([' ', '\t', '>'])) {
            attributes.set(&name, value);
            let kind = ConstructKind::Directive { name: format!(":{name}:"), arguments: value.to_owned() };
            push(&mut found, kind);
        } else if is_unknown(content)
            || title.is_some_and(|title| index > title) && is_header && content.contains(['<', '"'])
        {
            // What a style is for may be the paragraph below it.
            let is_style =
                content.starts_with('[') && !all.get(index + 1).is_some_and(|(_, next)| holds_blocks(next));
            let below = if is_style { &all[index + 1..] } else { &[] };
            let below = below
                .iter()
                .map(|(_, line)| *line)
                .take_while(|line| !line.trim().is_empty() && !line.starts_with('['));
            let whole: String = std::iter::once(content.trim()).chain(below).collect();
            push(&mut found, ConstructKind::Unknown(whole));
        }
        if has_odd_quote(content) || has_odd_attributes(content) {
            push(&mut found, ConstructKind::Unknown(content.to_owned()));
        }
        if let Some(reference) = open_reference(&all[index..]) {
            push(&mut found, ConstructKind::Unknown(reference));
        }
        if let Some((_, next)) = all.get(index + 1).filter(|_| has_open_address(content)) {
            push(&mut found, ConstructKind::Unknown(format!("{content}\n{}", stripped(next))));
        }
        for kind in templates::in_line(content) {
            push(&mut found, kind);
        }
        let resolved = match attributes.resolve(content) {
            Resolved::Same => Some(Vec::new()),
            Resolved::Line(line) => addresses(&line),
            Resolved::TooLong => None,
        };
        match inline(content).zip(resolved) {
            Some((kinds, more)) => kinds.into_iter().chain(more).for_each(|kind| push(&mut found, kind)),
            None => push(&mut found, ConstructKind::Unknown(content.to_owned())),
        }
        // What is escaped in a paragraph is live in the same paragraph without the signs that escape it.
        if index >= paragraph.end {
            paragraph = Paragraph::at(index, &all);
        }
        let doubt = match content.starts_with([' ', '\t']) {
            _ if in_comment || content.starts_with("//") => Some(Doubt::Swallowed(Swallow::Comment)),
            true => Some(Doubt::Indented { in_list: false, in_html: false, after_blank: above.is_empty() }),
            false if below_style && !content.starts_with('[') => Some(Doubt::Nested),
            false => paragraph.doubt,
        };
        if let Some(doubt) = doubt {
            let is_escaping = Some(doubt) == paragraph.doubt;
            for one in &mut found[first..] {
                if !(is_escaping && paragraph.is_settled(one, content)) {
                    one.reading = Reading::Doubtful(doubt);
                }
            }
        }
        // Blank lines between a style and its paragraph are skipped.
        let is_awaited = content.is_empty() && (above.is_empty() || above.starts_with('['));
        below_style = is_style_line(content) || below_style && (!content.is_empty() || is_awaited);
        index += 1;
    }
    found
}

/// The line with the title of the page. Empty lines, comments and attributes may stand above it.
fn title_index(all: &[(usize, &str)]) -> Option<usize> {
    let is_above = |line: &str| line.is_empty() || line.starts_with("//") || attribute_entry(line).is_some();
    let text = |line| str::trim_start_matches(stripped(line), '\u{feff}');
    let first = all.iter().position(|(_, line)| !is_above(text(line)))?;
    ["= ", "=\t", "# ", "#\t"]
        .iter()
        .any(|mark| all[first].1.trim_start_matches('\u{feff}').starts_with(mark))
        .then_some(first)
}

/// A line as Asciidoctor compares it: other blanks than these are no blanks to it.
fn stripped(line: &str) -> &str {
    line.trim_end_matches(|c: char| c.is_ascii_whitespace() || c == '\0')
}

/// `[style]` above a block.
fn is_style_line(line: &str) -> bool {
    line.starts_with('[') && stripped(line).ends_with(']')
}

/// Whether a quote may end the attribute that an address or what it is given becomes. Asciidoctor does not escape it.
fn has_odd_quote(content: &str) -> bool {
    if !content.contains('"') {
        return false;
    }
    let content = content.replace("&lt;", "<");
    let marks = ["://", "mailto:", "xref:", "image:", "icon:", "link:", "<<", "```"];
    let Some(start) = marks.iter().filter_map(|mark| content.find(mark)).min() else { return false };
    let address = &content[start..];
    let (address, given) = address.split_at(address.find('[').unwrap_or(address.len()));
    let is_odd = |(at, _): (usize, &str)| {
        let (before, behind) = (given[..at].trim_end(), given[at + 1..].trim_start());
        !(before.ends_with(['[', ',', '=']) || behind.is_empty() || behind.starts_with([']', ',']))
    };
    if address.starts_with("```") {
        return true;
    }
    let word = address.split_ascii_whitespace().next().unwrap_or_default();
    let has_quote = if given.is_empty() && !address.starts_with("<<") { word } else { address }.contains('"');
    has_quote || given.split_inclusive(']').next().is_some_and(|given| given.match_indices('"').any(is_odd))
}

/// Whether a quote may end the attribute that a role, an id or the target of a macro becomes.
fn has_odd_attributes(content: &str) -> bool {
    if !content.contains('"') {
        return false;
    }
    let mut ends = NextPlace::default();
    let is_odd_list = |(at, _): (usize, &str)| {
        let end = ends.find(content, at, |rest| rest.find(']'));
        let is_of_mark = content
            .get(end + 1..)
            .is_some_and(|rest| rest.starts_with(['*', '_', '`', '#', '^', '~', '+', '"', '\'']));
        is_of_mark && !is_plainly_quoted(&content[at + 1..end])
    };
    content.match_indices('[').any(is_odd_list)
        || all_macros(content).is_none_or(|all| all.iter().any(|(_, target, _)| target.contains('"')))
}

/// Whether every quote begins or ends a value.
fn is_plainly_quoted(list: &str) -> bool {
    let pieces: Vec<&str> = list.split('"').collect();
    pieces.len() % 2 == 1
        && pieces.iter().step_by(2).enumerate().all(|(index, outside)| {
            let outside = outside.trim();
            let (is_first, is_last) = (index == 0, index * 2 + 1 == pieces.len());
            !outside.contains('\'')
                && (is_first || outside.is_empty() && is_last || outside.starts_with(','))
                && (is_last || outside.is_empty() && is_first || outside.ends_with([',', '=']))
        })
}

/// A reference or a list of attributes that begins on the first line and goes on below, with a quote or over very many
/// lines.
fn open_reference(lines: &[(usize, &str)]) -> Option<String> {
    let first = lines.first()?.1.replace("&lt;", "<");
    let is_open = |mark, end| first.rfind(mark).is_some_and(|at| !first[at..].contains(end));
    let is_one = is_open("xref:", "[") || is_open("<<", ">>") || is_open("[", "]");
    let lines = lines.iter().map(|(_, line)| *line).take_while(|line| !stripped(line).is_empty());
    let lines: Vec<&str> = lines.take(if is_one { MAX_REFERENCE_LINES } else { 0 }).collect();
    let is_odd = lines.len() == MAX_REFERENCE_LINES || lines.iter().any(|line| line.contains('"'));
    is_odd.then(|| lines.concat())
}

/// Whether what an address is given goes on in the next line.
fn has_open_address(content: &str) -> bool {
    content.rfind('[').is_some_and(|open| {
        let word = content[..open].rsplit(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
        !content[open..].contains(']') && word.contains(':')
    })
}

/// The line that begins or ends a table, in whatever format.
fn is_table(line: &str) -> bool {
    line.strip_prefix(['|', ',', ':', '!'])
        .is_some_and(|rest| rest.len() >= 3 && rest.bytes().all(|byte| byte == b'='))
}

/// Where the last line of each text is that begins or ends a block shown as it is written.
fn last_passes<'t>(all: &[(usize, &'t str)]) -> HashMap<&'t str, usize> {
    let lines = all.iter().map(|(_, line)| stripped(line)).enumerate();
    lines.filter(|(_, line)| line.starts_with("++++")).map(|(index, line)| (line, index)).collect()
}

/// The macros, roles and images of a line. `None` when too many of them begin in each other.
fn inline(content: &str) -> Option<Vec<ConstructKind>> {
    let directive =
        |name: String, arguments: &str| ConstructKind::Directive { name, arguments: arguments.to_owned() };
    let mut kinds = Vec::new();
    let macros = macros(content)?.into_iter().filter(|_| !is_preprocessed(content));
    kinds.extend(macros.map(|(name, target)| directive(format!("{name}:"), target)));
    kinds.extend(roles(content)?.into_iter().map(|role| directive(role.to_owned(), "")));
    kinds.extend(addresses(content)?);
    Some(kinds)
}

fn is_listing(content: &str) -> bool {
    let is_line =
        |mark: &&str| content.starts_with(*mark) && content.trim_start_matches(&mark[..1]).is_empty();
    let language = content.strip_prefix("```");
    let is_fence = language
        .is_some_and(|language| language.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '+'));
    is_fence || LISTINGS.iter().any(is_line)
}

/// The lines with styles that belong to the block below them. Asciidoctor skips blank lines and comments in between.
fn block_styles(above: &[(usize, &str)]) -> String {
    let is_about_block = |line: &&str| line.trim().is_empty() || line.starts_with(['[', '.', '/']);
    let lines = above.iter().rev().map(|(_, line)| *line).take_while(is_about_block);
    let mut styles: Vec<&str> = lines.filter(|line| is_style_line(line)).collect();
    styles.reverse();
    styles.concat()
}

/// Lines up to a blank one.
#[derive(Default)]
struct Paragraph {
    end: usize,
    /// Set when a backslash or a plus sign may keep a macro from being one.
    doubt: Option<Doubt>,
    /// How many lines have such a sign.
    escaping_lines: usize,
}

impl Paragraph {
    fn at(index: usize, all: &[(usize, &str)]) -> Self {
        let lines = all[index..].iter().map(|(_, line)| stripped(line));
        let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        let escaping_lines = lines.iter().filter(|line| may_escape(line)).count();
        let doubt = (escaping_lines > 0).then(|| {
            let mut hash = DefaultHasher::new();
            lines.hash(&mut hash);
            Doubt::OddSpan(hash.finish())
        });
        Self { end: index + lines.len().max(1), doubt, escaping_lines }
    }

    /// What is not understood is compared with all of its line, and so with the only sign that may escape it.
    fn is_settled(&self, one: &Construct, line: &str) -> bool {
        matches!(one.kind, ConstructKind::Unknown(_)) && self.escaping_lines == 1 && may_escape(line)
    }
}

/// Whether a line has a backslash, or a plus sign that may begin a passthrough.
fn may_escape(line: &str) -> bool {
    let is_open = |(at, _): (usize, &str)| {
        !line[..at].ends_with(char::is_alphanumeric)
            && line[at + 1..].starts_with(|c: char| !c.is_whitespace() && c != '+')
    };
    line.contains('\\') || line.match_indices('+').any(is_open)
}

/// Whether a line begins a block with other blocks in it.
fn holds_blocks(line: &str) -> bool {
    let line = stripped(line);
    line == "--"
        || is_table(line)
        || ["====", "****", "____"]
            .iter()
            .any(|mark| line.starts_with(mark) && line.trim_start_matches(&mark[..1]).is_empty())
}

fn is_preprocessed(line: &str) -> bool {
    PREPROCESSED.iter().any(|start| line.trim_start().trim_start_matches('\\').starts_with(start))
}

fn is_unknown(content: &str) -> bool {
    let trimmed = content.trim_start_matches([' ', '\t', '>', '*', '.', '-']);
    trimmed.starts_with("++++")
        || trimmed.starts_with('[') && !is_plain_style(trimmed)
        || ["+++", "++", "pass:", "$$", "{set:", "{counter"].iter().any(|mark| trimmed.contains(mark))
        || has_odd_braces(trimmed)
        || has_odd_macro(trimmed)
}

/// `:name: value`. What is no part of a name is dropped from it.
fn attribute_entry(content: &str) -> Option<(String, &str)> {
    let (name, value) = content.strip_prefix(':')?.split_once(':')?;
    let is_one = name.starts_with(|c: char| c.is_alphanumeric() || c == '!' || c == '_')
        && (value.is_empty() || value.starts_with([' ', '\t']));
    let name: String = name.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '!')).collect();
    is_one.then(|| (name.to_lowercase(), value.trim()))
}

/// `[source,js]`, `[NOTE]`, `[[id]]`, `[#id]`, `[cols="1,2"]`
fn is_plain_style(content: &str) -> bool {
    let Some(inside) = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        // A link text or a list item.
        return true;
    };
    let word = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '+' | '#' | ' ' | '.'))
    };
    let id = inside.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(id) = id.or_else(|| inside.strip_prefix('#')) {
        return word(id.split(',').next().unwrap_or_default());
    }
    let style = inside.split(',').next().unwrap_or_default().trim();
    let starts = ["cols=", "options=", "width=", "caption="];
    let is_style = STYLES.contains(style)
        || style.is_empty()
        || style == "%header"
        || starts.iter().any(|start| style.starts_with(start));
    let lower = inside.to_lowercase();
    let is_plain = |c: char| c.is_alphanumeric() || "\"'=%*^<>.-_~+, #;:/".contains(c);
    is_style
        && (!lower.contains("subs") || keeps_characters(&lower))
        && inside.chars().all(is_plain)
        && !inside.contains("//")
        && is_plainly_quoted(inside)
}

/// Whether what a style substitutes leaves angle brackets the characters that they are.
fn keeps_characters(style: &str) -> bool {
    let list = style.split_once("subs=").map_or("", |(_, rest)| rest);
    let end = list.strip_prefix('"').map_or(list.find([',', ']']), |rest| rest.find('"').map(|end| end + 1));
    let names = list[..end.unwrap_or(list.len())].trim_matches(['"', ' ']).split(',').map(str::trim);
    let (mut keeps, mut is_plain) = (false, true);
    for name in names {
        let bare = name.trim_matches('+');
        keeps |= matches!(bare, "verbatim" | "specialchars" | "specialcharacters") || name != bare;
        is_plain &=
            matches!(bare, "verbatim" | "specialchars" | "specialcharacters" | "attributes" | "callouts");
    }
    keeps && is_plain
}

/// Whether a block below this line is shown as it stands.
fn is_listing_style(line: &str) -> bool {
    let style = line.trim_start_matches('[').split([',', ']', '#', '.', '%']).next().unwrap_or_default();
    is_plain_style(line) && (style.is_empty() || LISTING_STYLES.contains(&style.to_lowercase()))
}

/// Braces that hold more than the name of an attribute.
fn has_odd_braces(content: &str) -> bool {
    let (mut ends, mut odd) = (NextPlace::default(), NextPlace::default());
    content.match_indices('{').any(|(at, _)| {
        let start = at + 1;
        let end = ends.find(content, start, |rest| rest.find('}'));
        let is_odd = odd.find(content, start, |rest| rest.find([':', '!', '=', '?', '@'])) < end;
        let is_character =
            || end - start <= MAX_CHARACTER_BYTES && CHARACTERS.contains(&content[start..end].to_lowercase());
        end < content.len() && (is_odd || is_character())
    })
}

/// Whether a macro is given more than how it looks.
fn has_odd_macro(content: &str) -> bool {
    all_macros(content).is_some_and(|all| all.iter().any(|(_, _, rest)| !has_plain_arguments(rest)))
}

/// `name:target[…]` and `name::target[…]` that are neither links nor images.
fn macros(content: &str) -> Option<Vec<(&str, &str)>> {
    let others = all_macros(content)?
        .into_iter()
        .filter(|(name, ..)| *name != "image" && !LINKS.contains(&name.to_ascii_lowercase()));
    Some(others.map(|(name, target, _)| (name, target)).collect())
}

/// All macros of a line: name, target, and what follows the target. `None` when too many begin in each other's target.
fn all_macros(content: &str) -> Option<Vec<(&str, &str, &str)>> {
    let (mut found, mut overlaps) = (Vec::new(), Overlaps::default());
    let (mut brackets, mut blanks, mut words) =
        (NextPlace::default(), NextPlace::default(), LastPlace::default());
    for (at, _) in content.match_indices(':') {
        let before =
            content[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-').len();
        let name = &content[before..at];
        let start = content.len() - content[at + 1..].trim_start_matches(':').len();
        // The target of a block may have blanks in it.
        let is_block = before == 0 && content[at..].starts_with("::");
        let end = brackets.find(content, start, |rest| rest.find('['));
        let blank = blanks.find(content, start, |rest| rest.find(|c: char| c.is_ascii_whitespace()));
        if name.is_empty() || end == content.len() || !is_block && blank < end {
            continue;
        }
        let word = words.find(content, before, |part| part.rfind(char::is_whitespace));
        if is_of_address(&content[..before], word) {
            continue;
        }
        if overlaps.is_full_at(start) {
            return None;
        }
        overlaps.push(end);
        found.push((name, &content[start..end], &content[end..]));
    }
    Some(found)
}

/// Roles of words, such as `[.path]`.
fn roles(content: &str) -> Option<Vec<&str>> {
    let (mut roles, mut overlaps, mut ends) = (Vec::new(), Overlaps::default(), NextPlace::default());
    for (at, _) in content.match_indices("[.") {
        let end = ends.find(content, at, |rest| rest.find(']'));
        if end == content.len() {
            break;
        }
        if overlaps.is_full_at(at) {
            return None;
        }
        overlaps.push(end);
        roles.push(&content[at..=end]);
    }
    let (mut starts, mut same) = (LastPlace::default(), (0, 0));
    for (at, _) in content.match_indices("]#") {
        let start = starts.find(content, at, |part| part.rfind('[')).unwrap_or(at);
        same = if same.0 == start { (start, same.1 + 1) } else { (start, 1) };
        if same.1 > MAX_ROLES {
            return None;
        }
        roles.push(&content[start..=at]);
    }
    Some(roles)
}

/// Whether the colon behind `before` is inside an address, such as that of `xref:1.0@a:b:c.adoc[]`. `blank` is where the
/// last blank is.
fn is_of_address(before: &str, blank: Option<usize>) -> bool {
    let word = before.get(blank.map_or(0, |blank| blank + 1)..).unwrap_or_default();
    let word = word.trim_start_matches(['(', '*', '_', '|', '"', '`']);
    LINKS.iter().any(|link| word.strip_prefix(link).is_some_and(|rest| rest.starts_with(':')))
}

fn addresses(line: &str) -> Option<Vec<ConstructKind>> {
    let images = images(line)?.into_iter().map(|target| ConstructKind::Image(target.to_owned()));
    Some(images.chain(links(line).into_iter().map(|target| ConstructKind::Link(target.to_owned()))).collect())
}

/// The targets of images.
fn images(content: &str) -> Option<Vec<&str>> {
    let (mut found, mut overlaps, mut ends) = (Vec::new(), Overlaps::default(), NextPlace::default());
    for (at, _) in content.match_indices("image:") {
        let start = content.len() - content[at + 6..].trim_start_matches(':').len();
        let end = ends.find(content, start, |rest| rest.find('['));
        if end == content.len() {
            break;
        }
        if overlaps.is_full_at(start) {
            return None;
        }
        overlaps.push(end);
        found.push(content[start..end].trim());
    }
    Some(found)
}

/// Whether what an image or a link is given says only how it looks.
fn has_plain_arguments(rest: &str) -> bool {
    let inside = rest.strip_prefix('[').map_or("", |rest| rest.split(']').next().unwrap_or_default());
    let is_plain = inside
        .chars()
        .all(|c| c.is_alphanumeric() || !c.is_ascii() || " ,=\".-_%()'`*+/:^#!?<>{}~@;&".contains(c));
    is_plain
        && !inside.to_lowercase().contains("script:")
        && !inside.contains("&#")
        && !["link=", "role=", "opts=", "options=", "window=", "onclick", "<"]
            .iter()
            .any(|word| inside.replace(' ', "").contains(word))
}

/// The addresses of links.
fn links(content: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let lower = content.to_ascii_lowercase();
    for start in ["link:", "https://", "http://", "mailto:", "javascript:", "data:"] {
        let mut last = 0;
        for (at, _) in lower.match_indices(start) {
            // An address in another is a part of it.
            if at < last {
                continue;
            }
            // `metadata:` is a word.
            if content[..at].ends_with(|c: char| c.is_alphanumeric()) && !start.starts_with("http") {
                continue;
            }
            let at = if start == "link:" { at + start.len() } else { at };
            let rest = &content[at..];
            let end = rest
                .find(|c: char| c == '[' || c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`'))
                .unwrap_or(rest.len());
            last = at + end;
            found.push(rest[..end].trim_end_matches(['.', ',', ';', ')']));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let show = |construct: &Construct| match &construct.kind {
            ConstructKind::Unknown(text) => format!("? {text}"),
            ConstructKind::Include(text) => format!("+ {text}"),
            ConstructKind::Link(url) => format!("> {url}"),
            ConstructKind::Image(url) => format!("! {url}"),
            ConstructKind::Directive { name, arguments } => format!("{name} ({arguments})"),
            ConstructKind::Comment(text) => format!("# {text}"),
            other => format!("{other:?}"),
        };
        assert_eq!(read(text).iter().map(show).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn what_is_understood() {
        check("= Title\n\nText: with *stress* and {version}.\n\n* one\n** two\n", &[]);
        check("[source,js]\n----\nimage::https://e.example[]\n----\n", &[]);
        check("See https://a.example[docs] and xref:a.adoc[b].\n", &["> https://a.example"]);
        check("[NOTE]\n====\nText.\n====\n|===\n| a | b\n|===\n", &[]);
        check("// a comment\n", &["# // a comment"]);
    }

    #[test]
    fn what_is_not() {
        check(
            "image::https://e.example/p.png[]\n",
            &["! https://e.example/p.png", "> https://e.example/p.png"],
        );
        check(":imagesdir: x\n", &[":imagesdir: (x)"]);
        check("----\ninclude::/etc/passwd[]\n----\n", &["+ include::/etc/passwd[]"]);
        check("----\nvideo::x[]\n", &["video: (x)"]);
        check("a pass:[<b>] c\n", &["? a pass:[<b>] c", "pass: ()"]);
        check("++++\n<b>\n++++\n", &["? ++++\n<b>\n"]);
        check("[source,subs=\"+macros\"]\n", &["? [source,subs=\"+macros\"]"]);
        check("[.hidden]#x#\n", &["[.hidden] ()", "[.hidden] ()"]);
    }
}
