//! Recognizes values that are only text or layout: no addresses, no code, nothing that hides text.

use pages::WordList;

/// Properties that a style can set.
const STYLES: WordList = WordList(
    "text-align width max-width min-width height max-height min-height vertical-align float font-weight \
     font-style white-space word-break border-collapse list-style-type padding padding-left padding-right \
     padding-top padding-bottom border-radius margin-top margin-bottom margin-left margin-right margin",
);

/// Whether a value is plain words, without an address or code.
pub(super) fn is_plain_words(value: &str) -> bool {
    let lower = value.to_lowercase();
    !lower.contains("//")
        && !lower.contains("](")
        && !lower.contains("![")
        && !lower.contains("script:")
        && !lower.contains("data:")
        && !lower.contains("url(")
        && !lower.contains("%2f%2f")
        && !lower.contains("@import")
        // Some themes copy a title into an HTML attribute without escaping it.
        && !(value.contains('"') && value.contains('='))
        && !value.contains(['<', '`', '{', '}'])
}

/// Whether a style neither hides text nor loads something.
pub(super) fn is_plain_style(style: &str) -> bool {
    style.split(';').filter(|part| !part.trim().is_empty()).all(|part| {
        let Some((name, value)) = part.split_once(':') else { return false };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '%' | ' '));
        let is_huge = value.split(|c: char| !c.is_ascii_digit()).any(|number| number.len() > 3);
        let is_zero_size = (name.ends_with("width") || name.ends_with("height"))
            && value.trim_start_matches('0').starts_with(|c: char| !c.is_ascii_digit() && c != '.')
            && value.starts_with('0')
            || value == "0" && (name.ends_with("width") || name.ends_with("height"));
        let is_moved_away = name.starts_with("margin") && value.contains('%');
        STYLES.contains(&name) && plain && !is_zero_size && !is_huge && !is_moved_away
    })
}
