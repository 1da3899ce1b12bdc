//! How the file's indentation answers to that of the old text.

/// Indentations of the old text, each with what the file has in its place.
#[derive(Debug, Default)]
pub(super) struct Indents<'a> {
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Indents<'a> {
    /// From the pairs of each line, in order.
    pub(super) fn new(mut pairs: Vec<(&'a str, &'a str)>) -> Self {
        // Who copies from the first word on leaves out the indentation of the first line alone.
        if pairs.len() > 1 && pairs[0].0.is_empty() && !in_order(&pairs) && in_order(&pairs[1..]) {
            pairs.remove(0);
        }
        pairs.sort_unstable();
        pairs.dedup();
        Self { pairs }
    }

    /// What an indentation of the new text is in this file; `None` when the lines do not tell.
    pub(super) fn of(&self, indent: &str) -> Option<String> {
        if self.pairs.iter().all(|(old, file)| old == file) {
            return Some(indent.to_owned());
        }
        if !in_order(&self.pairs) {
            return None;
        }
        let shallower = |(old, _): &&(&'a str, &'a str)| indent.starts_with(old);
        match self.pairs.iter().rev().find(shallower) {
            Some((old, file)) => Some(format!("{file}{}", self.convert(&indent[old.len()..]))),
            None => {
                let (old, file) = self.pairs.first()?;
                let surplus = self.convert(old.strip_prefix(indent)?);
                Some(file.strip_suffix(surplus.as_str())?.to_owned())
            }
        }
    }

    /// Spaces become the tabs that the file has for so many, and tabs its spaces.
    fn convert(&self, indent: &str) -> String {
        let known = self.pairs.iter().rev().find(|(old, file)| !old.is_empty() && !file.is_empty());
        let Some((old, file)) = known else { return indent.to_owned() };
        let all = |text: &str, ch| text.bytes().all(|byte| byte == ch);
        let (wide, narrow) = (old.len().max(file.len()), old.len().min(file.len()));
        let width = wide / narrow;
        match wide % narrow {
            0 if all(old, b' ')
                && all(file, b'\t')
                && all(indent, b' ')
                && indent.len().is_multiple_of(width) =>
            {
                "\t".repeat(indent.len() / width)
            }
            0 if all(old, b'\t') && all(file, b' ') && all(indent, b'\t') => " ".repeat(indent.len() * width),
            _ => indent.to_owned(),
        }
    }
}

/// Whether lines that are as deep in the one are as deep in the other, and deeper ones deeper.
fn in_order(pairs: &[(&str, &str)]) -> bool {
    let mut sorted = pairs.to_vec();
    sorted.sort_unstable_by_key(|(old, _)| old.len());
    sorted.windows(2).all(|pair| {
        let ((old, file), (next_old, next_file)) = (pair[0], pair[1]);
        if old.len() == next_old.len() {
            old == next_old && file == next_file
        } else {
            file.len() < next_file.len()
        }
    })
}
