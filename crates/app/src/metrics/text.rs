//! Renders Prometheus' text format, version 0.0.4: the `HELP` and `TYPE` of a family, then its samples.

use std::fmt::{Display, Write};

/// Labels in rendered and escaped form.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Labels(String);

impl Labels {
    pub fn of(pairs: &[(&str, &str)]) -> Self {
        pairs.iter().fold(Self::default(), |labels, (name, value)| labels.with(name, value))
    }

    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let comma = if self.0.is_empty() { "" } else { "," };
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        Self(format!("{}{comma}{name}=\"{value}\"", self.0))
    }
}

#[derive(Default)]
pub(super) struct Text(String);

impl Text {
    /// `help` isn't escaped, because it's never user input.
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.push(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    pub(super) fn sample(&mut self, name: &str, labels: &Labels, value: impl Display) {
        match labels.0.as_str() {
            "" => self.push(format_args!("{name} {value}\n")),
            labels => self.push(format_args!("{name}{{{labels}}} {value}\n")),
        }
    }

    /// A family with one sample.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, &Labels::default(), value);
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_values_are_escaped() {
        let labels = Labels::of(&[("a", "x\"y\\z\nw"), ("b", "ü{}")]);
        let mut text = Text::default();
        text.sample("m", &labels, 1.5);
        assert_eq!(text.into_string(), "m{a=\"x\\\"y\\\\z\\nw\",b=\"ü{}\"} 1.5\n");
    }
}
