//! Recognizes directives of MyST, and reads their options.

use std::ops::Range;

use super::code;
use super::{ConstructKind, is_executable_directive, lines, yaml};

/// Whether an info string is `{name}`, and not a list of lines or classes.
pub(super) fn is_directive(info: &str) -> bool {
    let name = info.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.contains([' ', '=', '"'])
}

/// What follows the colons of `:::{name} arguments`.
pub(super) fn colon_fence(line: &str) -> Option<&str> {
    let info =
        code::strip_block_markers(line).trim().strip_prefix(":::")?.trim_start_matches(':').trim_start();
    is_directive(info).then_some(info)
}

/// Whether the content of a directive is rendered, run or loaded as code.
pub(super) fn is_active(info: &str) -> bool {
    is_executable_directive(info.split('}').next().unwrap_or_default())
        || info.to_lowercase().contains("autosummary")
}

/// Where a directive of colons ends whose first line ends at `start`.
pub(super) fn colon_end(file: &str, start: usize) -> usize {
    let is_end = |line: &str| line.trim().len() > 2 && line.trim().bytes().all(|byte| byte == b':');
    lines(file, start).find(|(_, line)| is_end(line)).map_or(file.len(), |(at, _)| at)
}

/// The options of a directive whose first line ends at `start`.
pub(super) fn options(file: &str, start: usize) -> Vec<(ConstructKind, Range<usize>)> {
    let body = lines(file, start)
        .map(|(at, line)| (at, line.trim_start_matches(|c: char| c == '>' || c.is_whitespace()).trim_end()));
    let mut body = body.skip_while(|(_, line)| line.is_empty()).peekable();
    let is_fence = |line: &str| ["```", "~~~", ":::"].iter().any(|mark| line.starts_with(mark));
    let is_dashes = |line: &str| line.starts_with("---");
    if let Some((start, _)) = body.next_if(|(_, line)| is_dashes(line)) {
        let block: Vec<_> =
            body.by_ref().take_while(|(_, line)| !is_fence(line) && !is_dashes(line)).collect();
        let is_closed = file[start..].lines().nth(block.len() + 1).is_some_and(|line| line.contains("---"));
        return match is_closed {
            true => entries(&block, true),
            // It can continue after what looks like the end of the directive.
            false => vec![(ConstructKind::Unknown(concat(&block)), start..start + 1)],
        };
    }
    let mut block = Vec::new();
    while let Some((at, line)) = body.next_if(|(_, line)| line.starts_with(':') && !is_fence(line)) {
        block.push((at, &line[1..]));
    }
    entries(&block, false)
}

fn concat(block: &[(usize, &str)]) -> String {
    block.iter().flat_map(|(_, line)| [*line, "\n"]).collect()
}

/// MyST reads options as YAML, so a quoted value can contain escapes.
fn entries(block: &[(usize, &str)], is_block: bool) -> Vec<(ConstructKind, Range<usize>)> {
    let Some((start, _)) = block.first() else { return Vec::new() };
    let text = concat(block);
    let span = *start..*start + 1;
    if let Some(entries) = yaml::entries(&text) {
        let kinds = entries.into_iter().map(|(entry, _)| directive(format!(":{}:", entry.key), &entry.value));
        return kinds.map(|kind| (kind, span.clone())).collect();
    }
    if is_block {
        return vec![(ConstructKind::Unknown(text), span)];
    }
    block.iter().map(|(at, line)| (plain_option(line), *at..*at + 1)).collect()
}

/// An option that is not YAML. All readers agree on a value that begins with a letter or digit and has no escapes.
fn plain_option(line: &str) -> ConstructKind {
    let option = line.split_once(':').map(|(name, value)| (name, value.trim()));
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let is_plain = |value: &str| {
        (value.is_empty() || value.starts_with(char::is_alphanumeric)) && !value.contains(['\\', '"'])
    };
    match option.filter(|(name, value)| is_name(name) && is_plain(value)) {
        Some((name, value)) => directive(format!(":{name}:"), value),
        None => ConstructKind::Unknown(line.to_owned()),
    }
}

fn directive(name: String, arguments: &str) -> ConstructKind {
    ConstructKind::Directive { name, arguments: arguments.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_directives() {
        #[track_caller]
        fn check(body: &str, expected: &[&str]) {
            let show = |(kind, _): (ConstructKind, _)| match kind {
                ConstructKind::Directive { name, arguments } => format!("{name} {arguments}"),
                other => format!("{other:?}"),
            };
            let found: Vec<_> = options(body, 0).into_iter().map(show).collect();
            assert_eq!(found, expected, "{body}");
        }
        check(":class: hidden\ntext\n:a: b\n", &[":class: hidden"]);
        check("\n:class: \"hid\\x64en\"\n", &[":class: hidden"]);
        check("---\nclass: hidden\nname: x\n---\ntext\n", &[":class: hidden", ":name: x"]);
        check(":caption: Use this: that\n", &[":caption: Use this: that"]);
        check(":a: *b\n", &["Unknown(\"a: *b\")"]);
        check("text\n:class: hidden\n", &[]);
        check(":::\n", &[]);
        check("---\nclass: hidden\n```\n---\n", &["Unknown(\"class: hidden\\n\")"]);
    }
}
