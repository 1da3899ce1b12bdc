//! Reads inline markup of reStructuredText: literals, roles, substitutions and links.

use super::super::formulas::has_active_command;
use super::super::{ConstructKind, role_argument, templates};
use super::Reader;
use crate::WordList;

/// Roles that take `text <target>`.
const REFERENCES: WordList = WordList(
    "ref doc term class meth func mod attr exc data obj numref any option envvar token keyword const member \
     type var macro setting ticket lookup djadmin template",
);

impl Reader {
    /// Reads roles, substitutions and links. Literals are also read as text where not all readers recognize them.
    pub(super) fn read_inline(&mut self, rest: &str, at: usize, line: &str) {
        let (plain, is_certain) = without_literals(rest);
        self.is_open_above |= !rest.matches('`').count().is_multiple_of(2);
        self.read_marks(&plain, rest, at, line);
        if !is_certain || self.is_open_above {
            let was_ambiguous = std::mem::replace(&mut self.is_ambiguous, true);
            self.read_marks(rest, rest, at, line);
            self.is_ambiguous = was_ambiguous;
        }
    }

    fn read_marks(&mut self, plain: &str, rest: &str, at: usize, line: &str) {
        if has_active_command(plain) {
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
        if !self.read_addresses(plain, at, line) {
            return self.push(ConstructKind::Unknown(rest.to_owned()), at, line);
        }
        self.read_roles(plain, at, line);
        self.read_substitutions(plain, at, line);
    }

    /// `` :name:`content` `` and `` `content`:name: ``
    fn read_roles(&mut self, plain: &str, at: usize, line: &str) {
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
            // The content can continue on the next line, which is read separately.
            let content = &content[..content.find('`').unwrap_or(content.len())];
            self.read_role(name, content, at, line);
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

    fn read_role(&mut self, name: &str, content: &str, at: usize, line: &str) {
        let is_reference = REFERENCES.contains(name.rsplit(':').next().unwrap_or(name));
        let (text, target) = content.split_once(" <").unwrap_or(("", content));
        let is_link =
            !text.trim().is_empty() && target.ends_with('>') && !target.contains([' ', '=', '"', '/']);
        if content.contains('<') && is_link && !is_reference {
            return self.push_directive(format!(":{name}:`<>"), "", at, line);
        }
        if content.contains('<') && !is_reference {
            return self.push(ConstructKind::Unknown(format!(":{name}:`{content}`")), at, line);
        }
        self.push_directive(format!(":{name}:`"), role_argument(name, content), at, line);
    }

    /// `|name|`, but not the bars of a table.
    fn read_substitutions(&mut self, plain: &str, at: usize, line: &str) {
        for (bar, _) in plain.match_indices('|') {
            let name = &plain[bar + 1..];
            let Some(end) = name.find('|').filter(|end| *end > 0) else { continue };
            let name = &name[..end];
            // The delimiter row of a table in Markdown.
            let is_delimiter = name.len() > 1 && name.trim_matches(':').bytes().all(|byte| byte == b'-');
            if !is_delimiter && !name.starts_with(char::is_whitespace) && !name.ends_with(char::is_whitespace)
            {
                self.push_directive(format!("|{name}|"), "", at, line);
            }
        }
    }
}

/// A line without inline literals (double backticks), and whether all readers recognize these.
fn without_literals(rest: &str) -> (String, bool) {
    let (mut plain, mut at, mut is_certain) = (String::with_capacity(rest.len()), 0, true);
    while let Some(start) = rest[at..].find("``").map(|length| at + length) {
        let Some(end) = rest[start + 2..].find("``").map(|length| start + 2 + length) else {
            // They don't pair off, so the whole line is read.
            return (rest.replace("``", "` `"), true);
        };
        is_certain &= is_certain_literal(rest, start, end);
        plain.push_str(&rest[at..start]);
        plain.push('x');
        at = end + 2;
    }
    plain.push_str(&rest[at..]);
    // Markup that begins before a literal can continue in it.
    is_certain &= at == 0 || !plain.contains(['*', '|', '`']);
    (plain, is_certain)
}

/// Whether all readers recognize the literal between the double backticks at `start` and `end`.
fn is_certain_literal(rest: &str, start: usize, end: usize) -> bool {
    let (before, after) = (rest[..start].chars().next_back(), rest[end + 2..].chars().next());
    let inside = &rest[start + 2..end];
    let (first, last) = (inside.chars().next(), inside.chars().next_back());
    let begins = before.is_none_or(|c| c.is_whitespace() || "'\"([{<-/:".contains(c));
    let ends = after.is_none_or(|c| c.is_whitespace() || "'\")]}>-/:.,;!?\\".contains(c));
    let is_solid = [first, last].iter().all(|c| c.is_some_and(|c| !c.is_whitespace()));
    let is_pair = before.zip(first).is_some_and(|pair| {
        matches!(pair, ('(', ')') | ('[', ']') | ('{', '}') | ('<', '>')) || pair.0 == pair.1
    });
    begins && ends && is_solid && !is_pair
}
