//! Finds the content of indented containers such as `!!! note`. Generators that know them don't read it as code.

use super::super::lines;
use super::super::overlaps::Overlaps;

/// The offset of each container, and its content without indentation. `None` for a container inside of too many others,
/// because each of them is read separately.
pub(super) fn containers(text: &str, body: usize) -> Vec<(usize, Option<String>)> {
    let all: Vec<(usize, &str)> = lines(text, body).collect();
    let (mut found, mut index) = (Vec::new(), 0);
    let mut overlaps = Overlaps::default();
    while let Some((at, line)) = all.get(index) {
        let content = line.trim_start_matches([' ', '\t']);
        index += 1;
        if !["!!!", "???", "=== \""].iter().any(|mark| content.starts_with(mark)) {
            continue;
        }
        if overlaps.is_full_at(index - 1) {
            found.push((*at, None));
            continue;
        }
        let depth = line.len() - content.len() + 4;
        let is_inside =
            |line: &str| line.trim().is_empty() || line.len() - line.trim_start_matches(' ').len() >= depth;
        let inside = all[index..].iter().take_while(|(_, line)| is_inside(line));
        let inside: Vec<&str> = inside.map(|(_, line)| line.get(depth..).unwrap_or("\n")).collect();
        overlaps.push(index + inside.len());
        found.push((*at, Some(inside.concat())));
    }
    found
}
