//! Resolves attribute references of AsciiDoc, such as `{name}`.
//!
//! Asciidoctor inserts the values before it looks for macros, so the address of `link:{name}:x[]` depends on `name`.
//! Values that the page doesn't set itself are unknown here.

use std::collections::HashMap;

use super::MAX_LINE_BYTES;

/// How many bytes of values are inserted into a page, in addition to its own length. Further lines are unknown.
const MAX_VALUE_BYTES: usize = 1024 * 1024;

/// The attributes that a page has set so far.
pub(super) struct PageAttributes {
    values: HashMap<String, String>,
    /// How many bytes can still be inserted.
    remaining_bytes: usize,
}

/// The result of resolving a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    /// The line has no reference to an attribute of the page.
    Unchanged,
    Line(String),
    TooLong,
}

impl PageAttributes {
    pub(super) fn new(page: &str) -> Self {
        Self { values: HashMap::new(), remaining_bytes: page.len() + MAX_VALUE_BYTES }
    }

    /// Asciidoctor resolves references in a value when it is set. A value that is too long makes every line too long.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        if let Some(name) = name.strip_prefix('!').or_else(|| name.strip_suffix('!')) {
            self.values.remove(name);
            return;
        }
        let value = match self.resolve(value) {
            Resolution::Unchanged => value.to_owned(),
            Resolution::Line(value) => value,
            Resolution::TooLong => "x".repeat(MAX_LINE_BYTES + 1),
        };
        self.values.insert(name.to_owned(), value);
    }

    pub(super) fn resolve(&mut self, line: &str) -> Resolution {
        let (mut resolved, mut rest, mut is_changed) = (String::new(), line, false);
        while let Some(open) = rest.find('{') {
            let (before, reference) = rest.split_at(open);
            resolved.push_str(before);
            let name = reference.find('}').map(|end| &reference[1..end]);
            let known = name.and_then(|name| Some((name.len() + 2, self.values.get(&name.to_lowercase())?)));
            let (length, value) = known.map_or((1, "{"), |(length, value)| (length, value.as_str()));
            is_changed |= known.is_some();
            if resolved.len() + value.len() > MAX_LINE_BYTES
                || known.is_some() && value.len() > self.remaining_bytes
            {
                return Resolution::TooLong;
            }
            self.remaining_bytes -= if known.is_some() { value.len() } else { 0 };
            resolved.push_str(value);
            rest = &reference[length..];
        }
        resolved.push_str(rest);
        if is_changed { Resolution::Line(resolved) } else { Resolution::Unchanged }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_inserted() {
        let mut attributes = PageAttributes::new("");
        attributes.set("a", "java");
        attributes.set("b", "{a}script");
        assert_eq!(attributes.resolve("x {B}: {c} {"), Resolution::Line("x javascript: {c} {".to_owned()));
        assert_eq!(attributes.resolve("x {c}"), Resolution::Unchanged);
        attributes.set("!b", "");
        assert_eq!(attributes.resolve("{b}"), Resolution::Unchanged);
    }

    #[test]
    fn values_do_not_grow_without_bound() {
        let mut attributes = PageAttributes::new("");
        attributes.set("a", "xxxxxxxxxxxxxxxx");
        for _ in 0..100 {
            attributes.set("a", "{a}{a}");
        }
        assert_eq!(attributes.resolve("{a}"), Resolution::TooLong);
        attributes.set("a", "short");
        assert_eq!(attributes.resolve("{a}"), Resolution::Line("short".to_owned()));
    }

    #[test]
    fn the_inserted_bytes_of_a_page_are_limited() {
        let mut attributes = PageAttributes::new("");
        attributes.set("a", &"x".repeat(8_000));
        let lines = (0..1_000).map(|_| attributes.resolve("{a}"));
        assert_eq!(lines.filter(|line| *line != Resolution::TooLong).count(), MAX_VALUE_BYTES / 8_000);
    }
}
