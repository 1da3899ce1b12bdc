//! Reads the styles above blocks of AsciiDoc, such as `[source,js]`.

use super::lines::stripped;
use super::quotes::is_plainly_quoted;
use crate::WordList;

const STYLES: WordList = WordList(
    "source listing NOTE TIP IMPORTANT WARNING CAUTION quote horizontal arabic literal abstract sidebar \
     example",
);
/// Styles that show a block as it is written.
const LISTING_STYLES: WordList =
    WordList("source listing literal example quote note tip important warning caution");

/// `[style]` above a block.
pub(super) fn is_style_line(line: &str) -> bool {
    line.starts_with('[') && stripped(line).ends_with(']')
}

/// The lines with styles that belong to the block below them. Asciidoctor skips blank lines and comments in between.
pub(super) fn block_styles(above: &[(usize, &str)]) -> String {
    let is_about_block = |line: &&str| line.trim().is_empty() || line.starts_with(['[', '.', '/']);
    let lines = above.iter().rev().map(|(_, line)| *line).take_while(is_about_block);
    let mut styles: Vec<&str> = lines.filter(|line| is_style_line(line)).collect();
    styles.reverse();
    styles.concat()
}

/// Whether a block below this line is shown as it is written.
pub(super) fn is_listing_style(line: &str) -> bool {
    let style = line.trim_start_matches('[').split([',', ']', '#', '.', '%']).next().unwrap_or_default();
    is_plain_style(line) && (style.is_empty() || LISTING_STYLES.contains(&style.to_lowercase()))
}

/// `[source,js]`, `[NOTE]`, `[[id]]`, `[#id]`, `[cols="1,2"]`
pub(super) fn is_plain_style(content: &str) -> bool {
    let Some(inside) = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        // A link text or a list item.
        return true;
    };
    let is_word = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '+' | '#' | ' ' | '.'))
    };
    let id = inside.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(id) = id.or_else(|| inside.strip_prefix('#')) {
        return is_word(id.split(',').next().unwrap_or_default());
    }
    let style = inside.split(',').next().unwrap_or_default().trim();
    let starts = ["cols=", "options=", "width=", "caption="];
    let is_style = STYLES.contains(style)
        || style.is_empty()
        || style == "%header"
        || starts.iter().any(|start| style.starts_with(start));
    let lower = inside.to_lowercase();
    let is_plain = |c: char| c.is_alphanumeric() || "\"'=%*^<>.-_~+, #;:/".contains(c);
    is_style
        && (!lower.contains("subs") || keeps_special_characters(&lower))
        && inside.chars().all(is_plain)
        && !inside.contains("//")
        && is_plainly_quoted(inside)
}

/// Whether the substitutions of a style escape angle brackets.
fn keeps_special_characters(style: &str) -> bool {
    let list = style.split_once("subs=").map_or("", |(_, rest)| rest);
    let end = list.strip_prefix('"').map_or(list.find([',', ']']), |rest| rest.find('"').map(|end| end + 1));
    let names = list[..end.unwrap_or(list.len())].trim_matches(['"', ' ']).split(',').map(str::trim);
    let (mut keeps, mut is_plain) = (false, true);
    for name in names {
        let bare = name.trim_matches('+');
        keeps |= matches!(bare, "verbatim" | "specialchars" | "specialcharacters") || name != bare;
        is_plain &=
            matches!(bare, "verbatim" | "specialchars" | "specialcharacters" | "attributes" | "callouts");
    }
    keeps && is_plain
}
