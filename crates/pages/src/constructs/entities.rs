//! Decides which HTML entities stand for visible characters.

use crate::WordList;

/// Names of visible characters and spaces.
const NAMES: WordList = WordList(
    "amp lt gt quot apos nbsp copy reg trade mdash ndash hellip rarr larr uarr darr harr rArr lArr times \
     divide deg middot bull laquo raquo ldquo rdquo lsquo rsquo check cross ge le ne plusmn minus infin euro \
     pound yen cent sect para micro frac12 frac14 frac34 sup1 sup2 sup3 ensp emsp thinsp lbrace rbrace lcub \
     rcub lbrack rbrack lsqb rsqb lpar rpar vert verbar ast lowbar grave num commat dollar percnt plus equals \
     excl quest comma period sol bsol semi colon hyphen dash tilde star starf alpha beta gamma delta epsilon \
     theta lambda mu pi sigma tau phi omega Delta Sigma Omega Pi Phi Lambda sum prod radic asymp equiv and or \
     not cap cup isin forall exist empty nabla part int prime Prime dagger permil iexcl iquest szlig oslash \
     aring aelig ccedil ntilde auml ouml uuml Auml Ouml Uuml eacute egrave aacute agrave oacute iacute uacute \
     ecirc acirc ocirc hearts spades clubs diams lsaquo rsaquo sbquo bdquo crarr there4 sim cong sub sup \
     oplus",
);

/// Whether an entity, without its ampersand and semicolon, stands for a visible character or a space.
pub(super) fn is_visible(entity: &str) -> bool {
    let Some(number) = entity.strip_prefix('#') else { return NAMES.contains(entity) };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    let is_visible = |c: char| {
        let is_space = matches!(c, ' ' | '\n' | '\u{a0}');
        let is_invisible = c.is_control()
            || matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{e0fff}');
        is_space || !is_invisible
    };
    code.ok().and_then(char::from_u32).is_some_and(is_visible)
}
