//! Finds addresses in reStructuredText, also those that continue over several lines.

use super::super::ConstructKind;
use super::super::overlaps::{NextMatch, Overlaps};
use super::Reader;
use super::lines::without_list_markers;

/// How an address begins that leads to another site or runs.
const EXTERNAL_SCHEMES: [&str; 7] = ["javascript:", "vbscript:", "data:", "http:", "https:", "ftp:", "//"];
/// How many further lines an address can continue over.
const MAX_ADDRESS_LINES: usize = 8;

/// An external address that begins on the first line and continues below. Readers drop blanks and line ends in it.
pub(super) fn continued_address(lines: &[(usize, &str)]) -> Option<String> {
    let first = lines.first()?.1.trim_end().replace(char::is_whitespace, " ");
    let first = first.as_str();
    let words = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let content = without_list_markers(&words);
    let open = first.rfind('<').filter(|open| !first[*open..].contains('>'));
    let is_marked = [".. ", "__ ", ":"].iter().any(|mark| content.starts_with(mark));
    let start = match open {
        Some(open) => &first[open + 1..],
        None if is_marked && content.ends_with(':') => "",
        None if is_marked => content.rsplit_once(": ").or_else(|| content.split_once(' '))?.1,
        None => return None,
    };
    let indent = |line: &str| line.len() - line.trim_start().len();
    let continues = |line: &&str| !line.trim().is_empty() && (open.is_some() || indent(line) > indent(first));
    let is_part = |c: &char| !c.is_whitespace() && *c != '\\';
    let mut address: String = start.chars().filter(is_part).collect();
    for line in lines[1..].iter().map(|(_, line)| *line).take(MAX_ADDRESS_LINES).take_while(continues) {
        let is_target = content.starts_with(".. _") || content.starts_with("__ ");
        if open.is_none() && !is_target && line.trim_start().starts_with(':') {
            break;
        }
        let (part, is_end) = line.split_once('>').map_or((line, false), |(part, _)| (part, true));
        address.extend(part.chars().filter(is_part));
        if is_end {
            break;
        }
    }
    let lower = address.to_lowercase();
    let is_external = EXTERNAL_SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
    (address != start && is_external).then_some(address)
}

/// Whether the address on a line is that of an image.
pub(super) fn is_image_address(line: &str) -> bool {
    let content = without_list_markers(line.trim_start());
    let name = content.trim_start_matches(['.', ' ', '\t', ':']);
    content.starts_with("..") && name.starts_with('|')
        || ["image", "figure", "img", "icon", "logo"].iter().any(|part| name.starts_with(part))
}

impl Reader {
    /// Reads the addresses of a line. Returns `false` when too many of them begin inside of each other.
    pub(super) fn read_addresses(&mut self, plain: &str, at: usize, line: &str) -> bool {
        self.read_bare_addresses(plain, at, line) && self.read_bracketed_addresses(plain, at, line)
    }

    /// Bare addresses are links, whatever their scheme.
    fn read_bare_addresses(&mut self, plain: &str, at: usize, line: &str) -> bool {
        // The ASCII lower case has the same length, so offsets in one are offsets in the other.
        let lower = plain.to_ascii_lowercase();
        for scheme in ["javascript:", "vbscript:", "data:"] {
            let mut overlaps = Overlaps::default();
            for (start, _) in lower.match_indices(scheme) {
                if overlaps.is_full_at(start) {
                    return false;
                }
                let address = plain.get(start..).and_then(|rest| rest.split_whitespace().next());
                let address = address.unwrap_or(scheme).trim_end_matches(['`', '"', '\'', '.', ',', ')']);
                let is_role = plain[..start].ends_with(':')
                    && plain.get(start + scheme.len()..).is_some_and(|rest| rest.starts_with('`'))
                    || plain[..start].ends_with(|c: char| c.is_alphanumeric());
                overlaps.push(start + address.len());
                if address.len() > scheme.len() && !is_role {
                    self.push(ConstructKind::Link(address.to_owned()), at, line);
                }
            }
        }
        true
    }

    /// `` `text <address>`_ ``
    fn read_bracketed_addresses(&mut self, plain: &str, at: usize, line: &str) -> bool {
        let (mut ends, mut overlaps) = (NextMatch::default(), Overlaps::default());
        for (start, _) in plain.match_indices('<') {
            let end = ends.find(plain, start, |rest| rest.find('>'));
            if !plain[end..].starts_with(">`_") {
                continue;
            }
            if overlaps.is_full_at(start) {
                return false;
            }
            overlaps.push(end);
            self.push(ConstructKind::Link(plain[start + 1..end].to_owned()), at, line);
        }
        true
    }
}
