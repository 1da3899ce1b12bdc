//! Resolves the attribute references of AsciiDoc, such as `{name}`.
//!
//! Asciidoctor puts the values in before it looks for macros, so `link:{name}:x[]` is a link to whatever `name` makes of
//! it. Values that a page does not set itself are not known here.

use std::collections::HashMap;

use super::MAX_LINE_BYTES;

/// So many bytes of values are put into one page, besides as many as the page has. The rest is not understood.
const MAX_VALUE_BYTES: usize = 1024 * 1024;

/// The attributes that a page has set so far.
pub(super) struct PageAttributes {
    values: HashMap<String, String>,
    /// How many bytes may still be put in.
    left: usize,
}

/// A line with the values in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resolved {
    /// It has no reference to an attribute of the page.
    Same,
    Line(String),
    TooLong,
}

impl PageAttributes {
    pub(super) fn of_page(page: &str) -> Self {
        Self { values: HashMap::new(), left: page.len() + MAX_VALUE_BYTES }
    }

    /// Asciidoctor resolves references in a value when it is set. A value that is too long makes every line too long.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        if let Some(name) = name.strip_prefix('!').or_else(|| name.strip_suffix('!')) {
            self.values.remove(name);
            return;
        }
        let value = match self.resolve(value) {
            Resolved::Same => value.to_owned(),
            Resolved::Line(value) => value,
            Resolved::TooLong => "x".repeat(MAX_LINE_BYTES + 1),
        };
        self.values.insert(name.to_owned(), value);
    }

    pub(super) fn resolve(&mut self, line: &str) -> Resolved {
        let (mut resolved, mut rest, mut is_changed) = (String::new(), line, false);
        while let Some(open) = rest.find('{') {
            let (before, reference) = rest.split_at(open);
            resolved.push_str(before);
            let name = reference.find('}').map(|end| &reference[1..end]);
            let known = name.and_then(|name| Some((name.len() + 2, self.values.get(&name.to_lowercase())?)));
            let (length, value) = known.map_or((1, "{"), |(length, value)| (length, value.as_str()));
            is_changed |= known.is_some();
            if resolved.len() + value.len() > MAX_LINE_BYTES || known.is_some() && value.len() > self.left {
                return Resolved::TooLong;
            }
            self.left -= if known.is_some() { value.len() } else { 0 };
            resolved.push_str(value);
            rest = &reference[length..];
        }
        resolved.push_str(rest);
        if is_changed { Resolved::Line(resolved) } else { Resolved::Same }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in() {
        let mut attributes = PageAttributes::of_page("");
        attributes.set("a", "java");
        attributes.set("b", "{a}script");
        assert_eq!(attributes.resolve("x {B}: {c} {"), Resolved::Line("x javascript: {c} {".to_owned()));
        assert_eq!(attributes.resolve("x {c}"), Resolved::Same);
        attributes.set("!b", "");
        assert_eq!(attributes.resolve("{b}"), Resolved::Same);
    }

    #[test]
    fn values_do_not_grow_without_bound() {
        let mut attributes = PageAttributes::of_page("");
        attributes.set("a", "xxxxxxxxxxxxxxxx");
        for _ in 0..100 {
            attributes.set("a", "{a}{a}");
        }
        assert_eq!(attributes.resolve("{a}"), Resolved::TooLong);
        attributes.set("a", "short");
        assert_eq!(attributes.resolve("{a}"), Resolved::Line("short".to_owned()));
    }

    #[test]
    fn a_page_has_so_many_values() {
        let mut attributes = PageAttributes::of_page("");
        attributes.set("a", &"x".repeat(8_000));
        let lines = (0..1_000).map(|_| attributes.resolve("{a}"));
        assert_eq!(lines.filter(|line| *line != Resolved::TooLong).count(), MAX_VALUE_BYTES / 8_000);
    }
}
