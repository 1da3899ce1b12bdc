//! Reads reStructuredText: prose, headings, lists, links, literal blocks, and the names and arguments of directives,
//! roles and substitutions. A line that holds anything else is not understood.

use super::formulas::has_strong_command;
use super::overlaps::{NextPlace, Overlaps};
use super::{
    Construct, ConstructKind, Doubt, MAX_LINE_BYTES, Reading, columns, front, is_drawn, lines, role_argument,
    templates,
};
use crate::WordList;

/// Directives whose content is shown as it stands.
const CODE: &[&str] = &["code-block", "code", "sourcecode"];
/// Directives whose text may begin behind their name.
const ADMONITIONS: WordList = WordList(
    "note tip warning important hint caution danger attention error seealso versionadded versionchanged deprecated \
     admonition rubric topic",
);
/// Roles that take `text <target>`.
const REFERENCES: WordList = WordList(
    "ref doc term class meth func mod attr exc data obj numref any option envvar token keyword const member \
     type var macro setting ticket lookup djadmin template",
);

/// How addresses begin that lead away or run.
const SCHEMES: [&str; 7] = ["javascript:", "vbscript:", "data:", "http:", "https:", "ftp:", "//"];
/// An address goes on over so many lines.
const MAX_ADDRESS_LINES: usize = 8;

pub(super) fn read(text: &str) -> Vec<Construct> {
    // Some generators read it in pages of every kind.
    let (found, body) = front::read_block(text);
    let mut reader = Reader { found, ..Reader::default() };
    let all: Vec<(usize, &str)> = lines(text, body).collect();
    let mut drawn = Overlaps::default();
    for (index, (at, line)) in all.iter().enumerate() {
        if let Some(address) = continued_address(&all[index..]) {
            if is_of_image(line) {
                reader.push(ConstructKind::Image(address.clone()), *at, line);
            }
            reader.push(ConstructKind::Link(address), *at, line);
        }
        let next = all.get(index + 1).map_or("", |(_, next)| next.trim());
        reader.line(*at, line, next);
        reader.add_parser(*at, &all[index + 1..]);
        let is_directive =
            reader.found.iter().rev().take_while(|one| one.span.start == *at).any(
                |one| matches!(&one.kind, ConstructKind::Directive { name, .. } if name.starts_with("..")),
            );
        if let Some(name) = is_directive.then(|| drawn_name(line)).flatten() {
            // What is in many others is told with them.
            let length = if drawn.is_full_at(index) { 0 } else { body_length(&all[index..]) };
            drawn.push(index + 1 + length);
            let body: String = all[index + 1..index + 1 + length].iter().map(|(_, line)| *line).collect();
            reader.push(ConstructKind::Unknown(format!("{name} {}", body.trim())), *at, line);
        }
    }
    reader.found
}

/// An address that begins on the first line and goes on below: blanks and line ends in it are dropped.
fn continued_address(lines: &[(usize, &str)]) -> Option<String> {
    let first = lines.first()?.1.trim_end().replace(char::is_whitespace, " ");
    let first = first.as_str();
    let words = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let content = without_marks(&words);
    let open = first.rfind('<').filter(|open| !first[*open..].contains('>'));
    let is_marked = [".. ", "__ ", ":"].iter().any(|mark| content.starts_with(mark));
    let start = match open {
        Some(open) => &first[open + 1..],
        None if is_marked && content.ends_with(':') => "",
        None if is_marked => content.rsplit_once(": ").or_else(|| content.split_once(' '))?.1,
        None => return None,
    };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_more = |line: &&str| !line.trim().is_empty() && (open.is_some() || indent(line) > indent(first));
    let is_kept = |c: &char| !c.is_whitespace() && *c != '\\';
    let mut address: String = start.chars().filter(is_kept).collect();
    for line in lines[1..].iter().map(|(_, line)| *line).take(MAX_ADDRESS_LINES).take_while(is_more) {
        let is_target = content.starts_with(".. _") || content.starts_with("__ ");
        if open.is_none() && !is_target && line.trim_start().starts_with(':') {
            break;
        }
        let (part, is_end) = line.split_once('>').map_or((line, false), |(part, _)| (part, true));
        address.extend(part.chars().filter(is_kept));
        if is_end {
            break;
        }
    }
    let lower = address.to_lowercase();
    let is_away = SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
    (address != start && is_away).then_some(address)
}

/// Whether a line is given the address of an image.
fn is_of_image(line: &str) -> bool {
    let content = without_marks(line.trim_start());
    let name = content.trim_start_matches(['.', ' ', '\t', ':']);
    content.starts_with("..") && name.starts_with('|')
        || ["image", "figure", "img", "icon", "logo"].iter().any(|part| name.starts_with(part))
}

/// The name of a directive that draws or runs its content: all of it is told, since it is no text of the page.
fn drawn_name(line: &str) -> Option<String> {
    let content = without_marks(line.trim_start()).strip_prefix("..")?;
    let name = content.split_once("::")?.0.trim().to_lowercase();
    is_drawn(&name).then_some(name)
}

/// How many lines belong to the directive on the first one.
fn body_length(lines: &[(usize, &str)]) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some(((_, first), below)) = lines.split_first() else { return 0 };
    let column = indent(first);
    below.iter().take_while(|(_, line)| line.trim().is_empty() || indent(line) > column).count()
}

#[derive(Default)]
struct Reader {
    found: Vec<Construct>,
    /// The column that lines of a literal block stand behind.
    literal: Option<usize>,
    comment: Option<usize>,
    /// The column behind which options of a directive stand, until an empty line.
    options: Option<usize>,
    /// Of a directive whose content is a list of code to load.
    entries: Option<usize>,
    /// Whether text was read that is no title: fields above it are settings of the page.
    has_text: bool,
    /// Whether the line above is not empty. Below a text two dots begin nothing.
    is_below_line: bool,
    /// Whether the literal block or the comment is one to every reader: it begins at the margin, below an empty line, in a
    /// plain paragraph. What others hold is read as text as well.
    is_certain: bool,
    /// Whether the paragraph at hand is a plain one at the margin.
    is_plain_paragraph: bool,
    /// Whether a literal block has no line yet. Lines of signs at the margin may be it.
    is_awaited: bool,
    is_quoted: bool,
    /// Whether backticks above, in the same paragraph, do not pair off on their line.
    is_open_above: bool,
    in_table: bool,
    /// Whether the line is in a literal block or a comment that may be none.
    is_doubtful: bool,
}

impl Reader {
    fn line(&mut self, at: usize, line: &str, next: &str) {
        // Other blanks are no blanks to docutils.
        let content = line.trim_start_matches([' ', '\t']).trim_end();
        let is_below_line = std::mem::replace(&mut self.is_below_line, !content.is_empty());
        // Some of these end a line to docutils.
        let is_odd = |c: char| {
            matches!(c, '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
        };
        if content.len() > MAX_LINE_BYTES || content.contains(is_odd) {
            return self.push(ConstructKind::Unknown(content.to_owned()), at, line);
        }
        let indent = columns(line, 8);
        if content.is_empty() {
            (self.options, self.is_quoted, self.is_open_above) = (None, false, false);
            return;
        }
        let begins_certainly = self.begins_certainly(line, is_below_line, next);
        let is_option = content.trim_start().starts_with(':') && field_end(content.trim_start()).is_some();
        if self.options.is_some_and(|column| indent > column) && is_option {
            return self.field(content.trim_start(), at, line);
        }
        // An address may go on below, and options stand behind it.
        self.options = self.options.filter(|column| indent > *column);
        let names_file = matches!(self.found.last(), Some(Construct { kind: ConstructKind::Include(_), span, .. }) if self.options.is_some() && span.start < at);
        if names_file {
            self.push(ConstructKind::Unknown(content.to_owned()), at, line);
        }
        self.is_doubtful = false;
        if self.literal.is_some_and(|column| indent > column) {
            self.is_awaited = false;
            if self.is_certain {
                return;
            }
            self.is_doubtful = true;
        } else {
            self.literal = None;
        }
        if self.comment.is_some_and(|column| indent > column) {
            self.push(ConstructKind::Comment(content.to_owned()), at, line);
            if self.is_certain {
                return;
            }
            self.is_doubtful = true;
        } else {
            self.comment = None;
        }
        if self.entries.is_some_and(|column| indent > column) {
            return self.directive(".. autosummary".to_owned(), content, at, line);
        }
        self.entries = None;
        let rest = without_marks(content);
        let column = indent + content.len() - rest.len();
        if let Some(explicit) =
            rest.strip_prefix("..").filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        {
            // Two dots alone are a comment without words.
            if explicit.trim().is_empty() && next.is_empty() {
                return;
            }
            self.is_certain = begins_certainly;
            self.explicit(explicit.trim(), column, at, line);
            if is_below_line {
                self.comment = None;
                self.inline(explicit, at, line);
            }
            return;
        }
        if let Some(end) = rest.strip_prefix(':').and_then(|_| field_end(rest)) {
            return match self.has_text {
                true => self.inline(rest.get(end + 1..).unwrap_or_default(), at, line),
                false => self.field(rest, at, line),
            };
        }
        self.has_text |= !is_adornment(rest) && !is_adornment(next);
        self.inline(rest, at, line);
        let begins =
            rest.starts_with(|c: char| c.is_alphanumeric() || "\"'(*`[".contains(c) || !c.is_ascii());
        self.is_awaited |= content.ends_with("::") && next.is_empty();
        if rest.ends_with("::") && !rest.ends_with("\\::") && next.is_empty() && (begins || rest == "::") {
            (self.literal, self.is_awaited) = (Some(column), true);
            self.is_certain = if rest == "::" { begins_certainly } else { self.is_plain_paragraph };
        }
    }

    /// Whether what begins on a line begins there to every reader; follows paragraphs, tables and quoted literal blocks.
    fn begins_certainly(&mut self, line: &str, is_below_line: bool, next: &str) -> bool {
        let is_at_margin = !line.starts_with([' ', '\t']) && !line.contains('\t');
        if is_border(line.trim()) {
            self.in_table = !(self.in_table && next.is_empty());
        }
        if self.is_awaited && is_at_margin {
            (self.is_awaited, self.is_quoted) = (false, true);
        }
        let is_certain = is_at_margin && !is_below_line && !self.is_quoted && !self.in_table;
        let is_plain = line.starts_with(char::is_alphanumeric) && without_marks(line).len() == line.len();
        self.is_plain_paragraph = match is_below_line {
            true => self.is_plain_paragraph && is_at_margin && !is_adornment(line.trim_end()),
            false => is_certain && is_plain,
        };
        is_certain
    }

    /// A file that is read by another parser is another page: the option is a part of the mark.
    fn add_parser(&mut self, at: usize, below: &[(usize, &str)]) {
        let last = self.found.last_mut().filter(|one| one.span.start == at);
        let Some(Construct { kind: ConstructKind::Include(mark), .. }) = last else { return };
        let below = below.iter().map(|(_, line)| line.trim().to_lowercase());
        let mut options = below.take_while(|line| line.starts_with(':'));
        if let Some(parser) = options.find(|line| line.starts_with(":parser:")) {
            mark.push_str(&format!(" {parser}"));
        }
    }

    /// What begins with two dots.
    fn explicit(&mut self, explicit: &str, column: usize, at: usize, line: &str) {
        if let Some((_, address)) = explicit.strip_prefix('_').and_then(|rest| rest.split_once(':')) {
            let address = address.trim();
            if !address.is_empty() {
                self.push(ConstructKind::Link(address.to_owned()), at, line);
            }
            return;
        }
        // A footnote or a citation.
        if let Some(end) = explicit.strip_prefix('[').and_then(|rest| rest.find(']')) {
            return self.inline(&explicit[end + 2..], at, line);
        }
        let Some((name, arguments)) = explicit.split_once("::") else {
            if explicit.starts_with(['|', '_']) {
                return self.push(ConstructKind::Unknown(explicit.to_owned()), at, line);
            }
            self.push(ConstructKind::Comment(explicit.to_owned()), at, line);
            self.comment = Some(column);
            return;
        };
        let (name, arguments) = (name.trim(), arguments.trim());
        // Options may begin behind the name.
        if arguments
            .split_whitespace()
            .any(|word| word.len() > 2 && word.starts_with(':') && word.ends_with(':'))
        {
            self.push(ConstructKind::Unknown(explicit.to_owned()), at, line);
        }
        self.options = Some(column);
        self.entries = (name == "autosummary").then_some(column);
        if CODE.contains(&name) {
            self.push(ConstructKind::Code { info: arguments.to_owned(), text: String::new() }, at, line);
            self.literal = Some(column);
        } else if matches!(name, "include" | "literalinclude") {
            self.push(ConstructKind::Include(format!("{name}::{arguments}")), at, line);
        } else if matches!(name, "image" | "figure") && !arguments.is_empty() {
            self.push(ConstructKind::Image(arguments.to_owned()), at, line);
        } else {
            let is_prose = arguments.contains(' ') && !arguments.contains("://")
                || ADMONITIONS.contains(&name.to_lowercase());
            self.directive(format!(".. {name}"), if is_prose { "" } else { arguments }, at, line);
            self.inline(arguments, at, line);
        }
    }

    /// `:name: value`
    fn field(&mut self, field: &str, at: usize, line: &str) {
        let end = field_end(field).unwrap_or(field.len());
        let (name, value) = (&field[1..end], field.get(end + 1..).unwrap_or_default());
        let (kind, rest) = name.split_once(' ').unwrap_or((name, ""));
        // What is behind the first word names something of the page's.
        let is_plain = !kind.contains([':', '`'])
            && rest.chars().all(|c| c.is_alphanumeric() || " _-.,*[]|~".contains(c));
        let value_is_prose = value.trim().contains(' ') && !value.contains("://");
        match is_plain {
            true => {
                self.directive(format!(":{kind}:"), if value_is_prose { "" } else { value.trim() }, at, line)
            }
            false => self.push(ConstructKind::Unknown(field.to_owned()), at, line),
        }
        self.inline(value, at, line);
    }

    /// Roles, substitutions and links.
    fn inline(&mut self, rest: &str, at: usize, line: &str) {
        let (plain, is_certain) = without_literals(rest);
        self.is_open_above |= !rest.matches('`').count().is_multiple_of(2);
        self.marks(&plain, rest, at, line);
        if !is_certain || self.is_open_above {
            let was_doubtful = std::mem::replace(&mut self.is_doubtful, true);
            self.marks(rest, rest, at, line);
            self.is_doubtful = was_doubtful;
        }
    }

    fn marks(&mut self, plain: &str, rest: &str, at: usize, line: &str) {
        if has_strong_command(plain) {
            self.push(ConstructKind::Unknown(rest.to_owned()), at, line);
        }
        for kind in templates::in_line(rest) {
            self.push(kind, at, line);
        }
        // A directive in the cell of a table.
        if plain
            .match_indices(".. ")
            .any(|(dots, _)| plain[dots..].contains("::") && !plain[..dots].ends_with('.'))
        {
            return self.push(ConstructKind::Unknown(rest.to_owned()), at, line);
        }
        if let Some(address) = plain.strip_prefix("__ ") {
            self.push(ConstructKind::Link(address.trim().to_owned()), at, line);
        }
        if !self.addresses(plain, at, line) {
            return self.push(ConstructKind::Unknown(rest.to_owned()), at, line);
        }
        self.roles(plain, at, line);
        self.substitutions(plain, at, line);
    }

    /// The addresses of a line. Tells whether all were read: those that begin in many others are not.
    fn addresses(&mut self, plain: &str, at: usize, line: &str) -> bool {
        // Bare addresses are links, whatever their scheme.
        // Of the same length, so that places in one are places in the other.
        let lower = plain.to_ascii_lowercase();
        for scheme in ["javascript:", "vbscript:", "data:"] {
            let mut overlaps = Overlaps::default();
            for (start, _) in lower.match_indices(scheme) {
                if overlaps.is_full_at(start) {
                    return false;
                }
                let address = plain.get(start..).and_then(|rest| rest.split_whitespace().next());
                let address = address.unwrap_or(scheme).trim_end_matches(['`', '"', '\'', '.', ',', ')']);
                let is_role = plain[..start].ends_with(':')
                    && plain.get(start + scheme.len()..).is_some_and(|rest| rest.starts_with('`'))
                    || plain[..start].ends_with(|c: char| c.is_alphanumeric());
                overlaps.push(start + address.len());
                if address.len() > scheme.len() && !is_role {
                    self.push(ConstructKind::Link(address.to_owned()), at, line);
                }
            }
        }
        let (mut ends, mut overlaps) = (NextPlace::default(), Overlaps::default());
        for (start, _) in plain.match_indices('<') {
            let end = ends.find(plain, start, |rest| rest.find('>'));
            if !plain[end..].starts_with(">`_") {
                continue;
            }
            if overlaps.is_full_at(start) {
                return false;
            }
            overlaps.push(end);
            self.push(ConstructKind::Link(plain[start + 1..end].to_owned()), at, line);
        }
        true
    }

    /// `` :name:`content` `` and `` `content`:name: ``
    fn roles(&mut self, plain: &str, at: usize, line: &str) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | ':');
        let (mut counted, mut ticks) = (0, 0);
        for (tick, _) in plain.match_indices(":`") {
            let before = plain[..tick].trim_end_matches(is_name).len();
            let name = plain[before..tick].trim_matches(':');
            ticks += plain[counted..before.max(counted)].matches('`').count();
            counted = before.max(counted);
            // `name:` in backticks is no role.
            let is_inside = plain[..before].ends_with('`') && ticks % 2 == 1;
            if name.is_empty() || is_inside {
                continue;
            }
            let content = &plain[tick + 2..];
            // It may go on in the next line, which is read for itself.
            let content = &content[..content.find('`').unwrap_or(content.len())];
            self.role(name, content, at, line);
        }
        for (tick, _) in plain.match_indices("`:") {
            let name = &plain[tick + 2..];
            let Some(end) = name
                .find(|c: char| !is_name(c) || c == ':')
                .filter(|end| *end > 0 && name[*end..].starts_with(':'))
            else {
                continue;
            };
            if !name[end + 1..].starts_with('`') {
                self.push(ConstructKind::Unknown(format!("`:{}:", &name[..end])), at, line);
            }
        }
    }

    fn role(&mut self, name: &str, content: &str, at: usize, line: &str) {
        let is_reference = REFERENCES.contains(name.rsplit(':').next().unwrap_or(name));
        let (text, target) = content.split_once(" <").unwrap_or(("", content));
        let is_link =
            !text.trim().is_empty() && target.ends_with('>') && !target.contains([' ', '=', '"', '/']);
        if content.contains('<') && is_link && !is_reference {
            return self.directive(format!(":{name}:`<>"), "", at, line);
        }
        if content.contains('<') && !is_reference {
            return self.push(ConstructKind::Unknown(format!(":{name}:`{content}`")), at, line);
        }
        self.directive(format!(":{name}:`"), role_argument(name, content), at, line);
    }

    /// `|name|`, but not the bars of a table.
    fn substitutions(&mut self, plain: &str, at: usize, line: &str) {
        for (bar, _) in plain.match_indices('|') {
            let name = &plain[bar + 1..];
            let Some(end) = name.find('|').filter(|end| *end > 0) else { continue };
            let name = &name[..end];
            // The ruler of a table in Markdown.
            let is_ruler = name.len() > 1 && name.trim_matches(':').bytes().all(|byte| byte == b'-');
            if !is_ruler && !name.starts_with(char::is_whitespace) && !name.ends_with(char::is_whitespace) {
                self.directive(format!("|{name}|"), "", at, line);
            }
        }
    }

    fn directive(&mut self, name: String, arguments: &str, at: usize, line: &str) {
        self.push(ConstructKind::Directive { name, arguments: arguments.to_owned() }, at, line);
    }

    fn push(&mut self, kind: ConstructKind, at: usize, line: &str) {
        let reading = if self.is_doubtful { Reading::Doubtful(Doubt::Nested) } else { Reading::Standard };
        self.found.push(Construct { kind, span: at..at + line.trim_end().len(), reading });
    }
}

/// Without the marks of lists.
fn without_marks(content: &str) -> &str {
    let mut rest = content;
    loop {
        let bullet =
            rest.strip_prefix(['-', '*', '+', '•', '‣', '⁃']).filter(|rest| rest.starts_with([' ', '\t']));
        match bullet.or_else(|| enumerator(rest)).map(str::trim_start).filter(|behind| !behind.is_empty()) {
            Some(behind) => rest = behind,
            None => return rest,
        }
    }
}

/// What is behind `1.`, `a)`, `(iv)` or `#.`.
fn enumerator(rest: &str) -> Option<&str> {
    let inside = rest.strip_prefix('(').unwrap_or(rest);
    let end = inside.find(['.', ')'])?;
    let name = &inside[..end];
    let is_number = !name.is_empty() && name.chars().all(|c| c.is_ascii_digit());
    let is_letter = name.len() == 1 && name.chars().all(|c| c.is_ascii_alphabetic() || c == '#');
    let is_roman = !name.is_empty() && name.len() < 6 && name.chars().all(|c| "ivxlcdmIVXLCDM".contains(c));
    let behind = &inside[end + 1..];
    ((is_number || is_letter || is_roman) && behind.starts_with([' ', '\t'])).then_some(behind)
}

/// Where the name of a field ends, behind the first colon: at a colon that a blank follows, and no text before it.
fn field_end(rest: &str) -> Option<usize> {
    let field = &rest[1..];
    let is_end =
        |end: &usize| field[end + 1..].is_empty() || field[end + 1..].starts_with(char::is_whitespace);
    let end = field.match_indices(':').map(|(end, _)| end).find(is_end)?;
    let name = &field[..end];
    // `:ref:`a`: text` is a sentence.
    let is_role = name.contains(":`") || name.starts_with([' ', ':']);
    (end > 0 && !is_role && !name.ends_with(' ')).then_some(end + 1)
}

/// The line above or below a title.
fn is_adornment(line: &str) -> bool {
    let first = line.chars().next();
    line.len() > 1
        && first.is_some_and(|c| c.is_ascii_punctuation())
        && line.chars().all(|c| Some(c) == first)
}

/// A line without what stands in double backticks, and whether it stands there to every reader.
fn without_literals(rest: &str) -> (String, bool) {
    let (mut plain, mut at, mut is_certain) = (String::with_capacity(rest.len()), 0, true);
    while let Some(start) = rest[at..].find("``").map(|length| at + length) {
        let Some(end) = rest[start + 2..].find("``").map(|length| start + 2 + length) else {
            // They do not pair off: all is read.
            return (rest.replace("``", "` `"), true);
        };
        let (before, behind) = (rest[..start].chars().next_back(), rest[end + 2..].chars().next());
        let inside = &rest[start + 2..end];
        let (first, last) = (inside.chars().next(), inside.chars().next_back());
        let begins = before.is_none_or(|c| c.is_whitespace() || "'\"([{<-/:".contains(c));
        let ends = behind.is_none_or(|c| c.is_whitespace() || "'\")]}>-/:.,;!?\\".contains(c));
        let is_solid = [first, last].iter().all(|c| c.is_some_and(|c| !c.is_whitespace()));
        let is_pair = before.zip(first).is_some_and(|pair| {
            matches!(pair, ('(', ')') | ('[', ']') | ('{', '}') | ('<', '>')) || pair.0 == pair.1
        });
        is_certain &= begins && ends && is_solid && !is_pair;
        plain.push_str(&rest[at..start]);
        plain.push('x');
        at = end + 2;
    }
    plain.push_str(&rest[at..]);
    // What begins before it may go on in it.
    is_certain &= at == 0 || !plain.contains(['*', '|', '`']);
    (plain, is_certain)
}

/// A line above, in or below a table: `===  ===`.
fn is_border(line: &str) -> bool {
    line.contains("= ") && line.chars().all(|c| matches!(c, '=' | ' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let show = |construct: &Construct| match &construct.kind {
            ConstructKind::Unknown(text) => format!("? {text}"),
            ConstructKind::Link(url) => format!("> {url}"),
            ConstructKind::Image(url) => format!("! {url}"),
            ConstructKind::Code { info, .. } => format!("code {info}"),
            ConstructKind::Comment(text) => format!("# {text}"),
            ConstructKind::Directive { name, arguments } => format!("{name} ({arguments})"),
            other => format!("{other:?}"),
        };
        assert_eq!(read(text).iter().map(show).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn what_is_plain() {
        check("Title\n=====\n\nText with ``code |x| :y:`z` x``.\n\n- *one*\n- two\n\n#. a\n", &[]);
        check("See `docs <https://a.example/>`_ and [1]_.\n\n.. [1] Note.\n", &["> https://a.example/"]);
        check(".. _home: https://a.example\n.. _label:\n", &["> https://a.example"]);
        check("Run this::\n\n    .. raw:: html\n\n    <b>\n\nText\n", &[]);
        check(
            ".. code-block:: python\n   :linenos:\n\n   .. raw:: html\n\nText\n",
            &["code python", ":linenos: ()"],
        );
        check(".. a comment\n   more\n", &["# a comment", "# more"]);
        check("+---+---+\n| a | b |\n+---+---+\n", &[]);
    }

    #[test]
    fn what_has_a_meaning() {
        check(".. image:: https://e.example/p.png\n", &["! https://e.example/p.png"]);
        check("- .. raw:: html\n", &[".. raw (html)", "? raw "]);
        check(".. |x| image:: a.png\n", &[".. |x| image (a.png)"]);
        check("A |logo| b\n", &["|logo| ()"]);
        check("A :raw-html:`<b>` b\n", &["? :raw-html:`<b>`"]);
        check("A :ref:`b <c>` and :sup:`2`.\n", &[":ref:` ()", ":sup:` ()"]);
        check(":param x: The y.\n", &[":param: ()"]);
        check("- item::\n\n  .. raw:: html\n", &[".. raw (html)", "? raw "]);
        check("-o FILE  text::\n\n  .. raw:: html\n", &[".. raw (html)", "? raw "]);
        check("A. text::\n\n   .. raw:: html\n", &[".. raw (html)", "? raw "]);
        check(
            ".. include:: x.rst\n   :parser: myst\n",
            &["Include(\"include::x.rst :parser: myst\")", ":parser: (myst)"],
        );
        check("| .. image:: x | b |\n", &["? | .. image:: x | b |"]);
        check(
            ".. csv-table::\n   :url: https://e.example\n",
            &[".. csv-table ()", ":url: (https://e.example)"],
        );
    }
}
