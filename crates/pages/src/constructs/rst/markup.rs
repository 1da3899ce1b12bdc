//! Reads explicit markup of reStructuredText: directives, targets, footnotes, comments and fields.

use super::super::{Construct, ConstructKind};
use super::Reader;
use super::lines::field_end;
use crate::WordList;

/// Directives whose content is shown as code.
const CODE: &[&str] = &["code-block", "code", "sourcecode"];
/// Directives whose text can begin on the directive's own line.
const ADMONITIONS: WordList = WordList(
    "note tip warning important hint caution danger attention error seealso versionadded versionchanged deprecated \
     admonition rubric topic",
);

impl Reader {
    /// Reads what follows two dots.
    pub(super) fn read_explicit(&mut self, explicit: &str, column: usize, at: usize, line: &str) {
        if let Some((_, address)) = explicit.strip_prefix('_').and_then(|rest| rest.split_once(':')) {
            let address = address.trim();
            if !address.is_empty() {
                self.push(ConstructKind::Link(address.to_owned()), at, line);
            }
            return;
        }
        // A footnote or a citation.
        if let Some(end) = explicit.strip_prefix('[').and_then(|rest| rest.find(']')) {
            return self.read_inline(&explicit[end + 2..], at, line);
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
        // Options can begin on the directive's own line.
        if arguments
            .split_whitespace()
            .any(|word| word.len() > 2 && word.starts_with(':') && word.ends_with(':'))
        {
            self.push(ConstructKind::Unknown(explicit.to_owned()), at, line);
        }
        self.options = Some(column);
        self.entries = (name == "autosummary").then_some(column);
        self.read_directive(name, arguments, column, at, line);
    }

    fn read_directive(&mut self, name: &str, arguments: &str, column: usize, at: usize, line: &str) {
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
            self.push_directive(format!(".. {name}"), if is_prose { "" } else { arguments }, at, line);
            self.read_inline(arguments, at, line);
        }
    }

    /// Changing `:parser:` changes what the include renders, so it is part of the include's identity.
    pub(super) fn add_parser(&mut self, at: usize, below: &[(usize, &str)]) {
        let last = self.found.last_mut().filter(|construct| construct.span.start == at);
        let Some(Construct { kind: ConstructKind::Include(include), .. }) = last else { return };
        let below = below.iter().map(|(_, line)| line.trim().to_lowercase());
        let mut options = below.take_while(|line| line.starts_with(':'));
        if let Some(parser) = options.find(|line| line.starts_with(":parser:")) {
            include.push_str(&format!(" {parser}"));
        }
    }

    /// `:name: value`
    pub(super) fn read_field(&mut self, field: &str, at: usize, line: &str) {
        let end = field_end(field).unwrap_or(field.len());
        let (name, value) = (&field[1..end], field.get(end + 1..).unwrap_or_default());
        let (kind, rest) = name.split_once(' ').unwrap_or((name, ""));
        // In `:param str x:`, the words after `param` name the documented item.
        let is_plain = !kind.contains([':', '`'])
            && rest.chars().all(|c| c.is_alphanumeric() || " _-.,*[]|~".contains(c));
        let is_prose = value.trim().contains(' ') && !value.contains("://");
        match is_plain {
            true => {
                self.push_directive(format!(":{kind}:"), if is_prose { "" } else { value.trim() }, at, line)
            }
            false => self.push(ConstructKind::Unknown(field.to_owned()), at, line),
        }
        self.read_inline(value, at, line);
    }
}
