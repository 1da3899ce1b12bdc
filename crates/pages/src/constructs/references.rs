//! Resolves the attribute references of AsciiDoc, such as `{name}`.
//!
//! Asciidoctor puts the values in before it looks for macros, so `link:{name}:x[]` is a link to whatever `name` makes of
//! it. Values that a page does not set itself are not known here.

use std::collections::HashMap;

use super::MAX_LINE_BYTES;

/// The attributes that a page has set so far.
#[derive(Default)]
pub(super) struct PageAttributes(HashMap<String, String>);

impl PageAttributes {
    /// Asciidoctor resolves references in a value when it is set.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        match name.strip_prefix('!').or_else(|| name.strip_suffix('!')) {
            Some(name) => drop(self.0.remove(name)),
            None => {
                let value = self.resolve(value).unwrap_or_else(|| value.to_owned());
                self.0.insert(name.to_owned(), value);
            }
        }
    }

    /// The line with the values in it; `None` when it has no reference to a known attribute, or becomes too long.
    pub(super) fn resolve(&self, line: &str) -> Option<String> {
        if self.0.is_empty() || !line.contains('{') {
            return None;
        }
        let (mut resolved, mut rest, mut is_changed) = (String::new(), line, false);
        while let Some(open) = rest.find('{') {
            let (before, reference) = rest.split_at(open);
            resolved.push_str(before);
            let name = reference.find('}').map(|end| &reference[1..end]);
            let value = name.and_then(|name| Some((name.len() + 2, self.0.get(&name.to_lowercase())?)));
            let (length, value) = value.map_or((1, "{"), |(length, value)| (length, value.as_str()));
            is_changed |= length > 1;
            resolved.push_str(value);
            rest = &reference[length..];
            if resolved.len() > MAX_LINE_BYTES {
                return None;
            }
        }
        resolved.push_str(rest);
        is_changed.then_some(resolved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in() {
        let mut attributes = PageAttributes::default();
        attributes.set("a", "java");
        attributes.set("b", "{a}script");
        assert_eq!(attributes.resolve("x {B}: {c} {").as_deref(), Some("x javascript: {c} {"));
        assert_eq!(attributes.resolve("x {c}"), None);
        attributes.set("!b", "");
        assert_eq!(attributes.resolve("{b}"), None);
    }

    #[test]
    fn values_do_not_grow_without_bound() {
        let mut attributes = PageAttributes::default();
        attributes.set("a", "xxxxxxxxxxxxxxxx");
        for _ in 0..100 {
            attributes.set("a", "{a}{a}");
        }
        assert!(attributes.resolve("{a}").is_none_or(|line| line.len() <= 2 * MAX_LINE_BYTES));
    }
}
