//! Reads reStructuredText: links, literal blocks, and the names and arguments of directives, roles and substitutions.
//!
//! A line that contains anything else than these and prose is reported as unknown.

mod addresses;
mod inline;
mod lines;
mod markup;

use super::overlaps::Overlaps;
use super::{
    Ambiguity, Construct, ConstructKind, MAX_LINE_BYTES, Reading, columns, front, is_executable_directive,
};
use addresses::{continued_address, is_image_address};
use lines::{field_end, is_adornment, is_table_border, without_list_markers};

pub(super) fn read(text: &str) -> Vec<Construct> {
    // Some generators read front matter in pages of every kind.
    let (found, body) = front::read_block(text);
    let mut reader = Reader { found, ..Reader::default() };
    let all: Vec<(usize, &str)> = super::lines(text, body).collect();
    let mut executable_overlaps = Overlaps::default();
    for (index, (at, line)) in all.iter().enumerate() {
        if let Some(address) = continued_address(&all[index..]) {
            if is_image_address(line) {
                reader.push(ConstructKind::Image(address.clone()), *at, line);
            }
            reader.push(ConstructKind::Link(address), *at, line);
        }
        let next = all.get(index + 1).map_or("", |(_, next)| next.trim());
        reader.read_line(*at, line, next);
        reader.add_parser(*at, &all[index + 1..]);
        if let Some(name) = reader.has_directive_at(*at).then(|| executable_directive(line)).flatten() {
            // A body inside of many others is reported with those.
            let length = if executable_overlaps.is_full_at(index) { 0 } else { body_length(&all[index..]) };
            executable_overlaps.push(index + 1 + length);
            let body: String = all[index + 1..index + 1 + length].iter().map(|(_, line)| *line).collect();
            reader.push(ConstructKind::Unknown(format!("{name} {}", body.trim())), *at, line);
        }
    }
    reader.found
}

/// The name of a directive that renders or runs its content. The whole content is reported, because it is not text.
fn executable_directive(line: &str) -> Option<String> {
    let content = without_list_markers(line.trim_start()).strip_prefix("..")?;
    let name = content.split_once("::")?.0.trim().to_lowercase();
    is_executable_directive(&name).then_some(name)
}

/// The number of lines below the first one that belong to its directive.
fn body_length(lines: &[(usize, &str)]) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some(((_, first), below)) = lines.split_first() else { return 0 };
    let column = indent(first);
    below.iter().take_while(|(_, line)| line.trim().is_empty() || indent(line) > column).count()
}

#[derive(Default)]
struct Reader {
    found: Vec<Construct>,
    /// Lines that are indented deeper than this column belong to a literal block.
    literal: Option<usize>,
    /// The same for a comment.
    comment: Option<usize>,
    /// The same for the options of a directive, up to an empty line.
    options: Option<usize>,
    /// The same for a directive whose content is a list of code to load.
    entries: Option<usize>,
    /// Whether the page has text other than a title so far. Fields above the text are settings of the page.
    has_text: bool,
    /// Whether the line above is not empty. Below text, two dots begin nothing.
    is_below_line: bool,
    /// Whether all readers recognize the literal block or comment: it begins without indentation, below an empty line, in
    /// a plain paragraph. The content of others is also read as text.
    is_certain: bool,
    /// Whether the current paragraph is plain and not indented.
    is_plain_paragraph: bool,
    /// Whether a literal block has no line yet. It can be quoted lines without indentation.
    awaits_literal: bool,
    is_quoted: bool,
    /// Whether backticks above, in the same paragraph, have no partner on their line.
    is_open_above: bool,
    in_table: bool,
    /// Whether the line is in a literal block or comment that not all readers recognize.
    is_ambiguous: bool,
}

impl Reader {
    fn read_line(&mut self, at: usize, line: &str, next: &str) {
        // docutils doesn't recognize other blanks.
        let content = line.trim_start_matches([' ', '\t']).trim_end();
        let is_below_line = std::mem::replace(&mut self.is_below_line, !content.is_empty());
        // Some of these end a line in docutils.
        let is_line_end = |c: char| {
            matches!(c, '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
        };
        if content.len() > MAX_LINE_BYTES || content.contains(is_line_end) {
            return self.push(ConstructKind::Unknown(content.to_owned()), at, line);
        }
        if content.is_empty() {
            (self.options, self.is_quoted, self.is_open_above) = (None, false, false);
            return;
        }
        let begins_certainly = self.begins_certainly(line, is_below_line, next);
        let indent = columns(line, 8);
        if self.read_in_block(content, indent, at, line) {
            return;
        }
        let rest = without_list_markers(content);
        let column = indent + content.len() - rest.len();
        if let Some(explicit) =
            rest.strip_prefix("..").filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        {
            // Two dots alone are an empty comment.
            if explicit.trim().is_empty() && next.is_empty() {
                return;
            }
            self.is_certain = begins_certainly;
            self.read_explicit(explicit.trim(), column, at, line);
            if is_below_line {
                self.comment = None;
                self.read_inline(explicit, at, line);
            }
            return;
        }
        if let Some(end) = rest.strip_prefix(':').and_then(|_| field_end(rest)) {
            return match self.has_text {
                true => self.read_inline(rest.get(end + 1..).unwrap_or_default(), at, line),
                false => self.read_field(rest, at, line),
            };
        }
        self.has_text |= !is_adornment(rest) && !is_adornment(next);
        self.read_inline(rest, at, line);
        self.begin_literal(content, rest, column, next, begins_certainly);
    }

    /// Reads a line that belongs to the options, the literal block, the comment or the list above it. Returns whether the
    /// line is done.
    fn read_in_block(&mut self, content: &str, indent: usize, at: usize, line: &str) -> bool {
        let option = content.trim_start();
        let is_option = option.starts_with(':') && field_end(option).is_some();
        if self.options.is_some_and(|column| indent > column) && is_option {
            self.read_field(option, at, line);
            return true;
        }
        // An address can continue below, followed by options.
        self.options = self.options.filter(|column| indent > *column);
        let continues_include = matches!(self.found.last(), Some(Construct { kind: ConstructKind::Include(_), span, .. }) if self.options.is_some() && span.start < at);
        if continues_include {
            self.push(ConstructKind::Unknown(content.to_owned()), at, line);
        }
        self.is_ambiguous = false;
        self.literal = self.literal.filter(|column| indent > *column);
        if self.literal.is_some() {
            self.awaits_literal = false;
            if self.is_certain {
                return true;
            }
            self.is_ambiguous = true;
        }
        self.comment = self.comment.filter(|column| indent > *column);
        if self.comment.is_some() {
            self.push(ConstructKind::Comment(content.to_owned()), at, line);
            if self.is_certain {
                return true;
            }
            self.is_ambiguous = true;
        }
        self.entries = self.entries.filter(|column| indent > *column);
        if self.entries.is_some() {
            self.push_directive(".. autosummary".to_owned(), content, at, line);
        }
        self.entries.is_some()
    }

    /// Begins a literal block below a line that ends with two colons.
    fn begin_literal(
        &mut self,
        content: &str,
        rest: &str,
        column: usize,
        next: &str,
        begins_certainly: bool,
    ) {
        let is_text =
            rest.starts_with(|c: char| c.is_alphanumeric() || "\"'(*`[".contains(c) || !c.is_ascii());
        self.awaits_literal |= content.ends_with("::") && next.is_empty();
        if rest.ends_with("::") && !rest.ends_with("\\::") && next.is_empty() && (is_text || rest == "::") {
            (self.literal, self.awaits_literal) = (Some(column), true);
            self.is_certain = if rest == "::" { begins_certainly } else { self.is_plain_paragraph };
        }
    }

    /// Whether all readers begin a block on this line. Also follows paragraphs, tables and quoted literal blocks.
    fn begins_certainly(&mut self, line: &str, is_below_line: bool, next: &str) -> bool {
        let is_unindented = !line.starts_with([' ', '\t']) && !line.contains('\t');
        if is_table_border(line.trim()) {
            self.in_table = !(self.in_table && next.is_empty());
        }
        if self.awaits_literal && is_unindented {
            (self.awaits_literal, self.is_quoted) = (false, true);
        }
        let is_certain = is_unindented && !is_below_line && !self.is_quoted && !self.in_table;
        let is_plain =
            line.starts_with(char::is_alphanumeric) && without_list_markers(line).len() == line.len();
        self.is_plain_paragraph = match is_below_line {
            true => self.is_plain_paragraph && is_unindented && !is_adornment(line.trim_end()),
            false => is_certain && is_plain,
        };
        is_certain
    }

    fn has_directive_at(&self, at: usize) -> bool {
        let on_line = self.found.iter().rev().take_while(|construct| construct.span.start == at);
        on_line.into_iter().any(|construct| {
            matches!(&construct.kind, ConstructKind::Directive { name, .. } if name.starts_with(".."))
        })
    }

    fn push_directive(&mut self, name: String, arguments: &str, at: usize, line: &str) {
        self.push(ConstructKind::Directive { name, arguments: arguments.to_owned() }, at, line);
    }

    fn push(&mut self, kind: ConstructKind, at: usize, line: &str) {
        let reading = match self.is_ambiguous {
            true => Reading::Ambiguous(Ambiguity::Nested),
            false => Reading::Standard,
        };
        self.found.push(Construct { kind, span: at..at + line.trim_end().len(), reading });
    }
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
    fn plain_markup_is_understood() {
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
    fn markup_with_a_meaning_is_reported() {
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
