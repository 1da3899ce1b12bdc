//! Describes the escapes in a paragraph of AsciiDoc.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::{Ambiguity, Construct, ConstructKind};
use super::lines::stripped;

/// Lines up to a blank one.
#[derive(Default)]
pub(super) struct Paragraph {
    /// The index of the line after it.
    pub(super) end: usize,
    /// Set when a backslash or a plus sign can keep a macro from being one.
    pub(super) ambiguity: Option<Ambiguity>,
    /// The number of lines with such a sign.
    escaping_lines: usize,
}

impl Paragraph {
    pub(super) fn at(index: usize, all: &[(usize, &str)]) -> Self {
        let lines = all[index..].iter().map(|(_, line)| stripped(line));
        let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        let escaping_lines = lines.iter().filter(|line| can_escape(line)).count();
        let ambiguity = (escaping_lines > 0).then(|| {
            let mut hash = DefaultHasher::new();
            lines.hash(&mut hash);
            Ambiguity::UncertainSpan(hash.finish())
        });
        Self { end: index + lines.len().max(1), ambiguity, escaping_lines }
    }

    /// An unknown construct is compared with its whole line, and so with the only sign that can escape it.
    pub(super) fn is_certain(&self, construct: &Construct, line: &str) -> bool {
        matches!(construct.kind, ConstructKind::Unknown(_)) && self.escaping_lines == 1 && can_escape(line)
    }
}

/// Whether a line has a backslash, or a plus sign that can begin a passthrough.
fn can_escape(line: &str) -> bool {
    let is_open = |(at, _): (usize, &str)| {
        !line[..at].ends_with(char::is_alphanumeric)
            && line[at + 1..].starts_with(|c: char| !c.is_whitespace() && c != '+')
    };
    line.contains('\\') || line.match_indices('+').any(is_open)
}
