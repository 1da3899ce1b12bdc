//! Maps the indentation of the old and new text to that of the file.

/// Pairs of indentations: in the old text, and in the file.
#[derive(Debug, Default)]
pub(super) struct Indents<'a> {
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Indents<'a> {
    /// `pairs` has one pair for each line, in order.
    pub(super) fn new(mut pairs: Vec<(&'a str, &'a str)>) -> Self {
        // A copy that begins at the first word lacks only the indentation of the first line.
        if pairs.len() > 1 && pairs[0].0.is_empty() && !is_monotonic(&pairs) && is_monotonic(&pairs[1..]) {
            pairs.remove(0);
        }
        pairs.sort_unstable();
        pairs.dedup();
        Self { pairs }
    }

    /// Maps an indentation of the new text to one of the file. `None` if the pairs don't determine it.
    pub(super) fn map(&self, indent: &str) -> Option<String> {
        if self.pairs.iter().all(|(old, file)| old == file) {
            return Some(indent.to_owned());
        }
        if !is_monotonic(&self.pairs) {
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

    /// Converts between spaces and tabs, with the tab width that the pairs imply.
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

/// Whether equal indentations map to equal ones, and deeper indentations to deeper ones.
fn is_monotonic(pairs: &[(&str, &str)]) -> bool {
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
