//! Maps characters to ASCII characters that look the same, because copies of a text often mix them up.

/// The ASCII characters that look like `ch`. Empty if there are none.
pub(super) fn lookalikes(ch: char) -> &'static [char] {
    match ch {
        '‘' | '’' | '‚' | '‛' | '′' | '´' | 'ʼ' => &['\''],
        '“' | '”' | '„' | '‟' | '″' => &['"'],
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '﹣' => &['-'],
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => &[' '],
        '…' => &['.', '.', '.'],
        '\u{ff01}'..='\u{ff5e}' => full_width(ch),
        _ => &[],
    }
}

/// Whether a character has no width: joiners, soft hyphens, byte-order marks, variation selectors.
pub(super) fn is_invisible(ch: char) -> bool {
    matches!(ch, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' | '\u{fe00}'..='\u{fe0f}')
}

/// Returns the length and the character of an entity at the start of `text`. Entities of markup (`&lt;`) are excluded,
/// because the character itself would mean something else.
pub(super) fn entity(text: &str) -> Option<(usize, char)> {
    const ENTITIES: [(&str, char); 8] = [
        ("&nbsp;", ' '),
        ("&ndash;", '-'),
        ("&mdash;", '-'),
        ("&hellip;", '…'),
        ("&lsquo;", '\''),
        ("&rsquo;", '\''),
        ("&ldquo;", '"'),
        ("&rdquo;", '"'),
    ];
    ENTITIES.iter().find(|(name, _)| text.starts_with(name)).map(|(name, ch)| (name.len(), *ch))
}

fn full_width(ch: char) -> &'static [char] {
    const ASCII: [char; 94] = {
        let mut table = ['!'; 94];
        let mut at = 0;
        while at < table.len() {
            table[at] = (b'!' + at as u8) as char;
            at += 1;
        }
        table
    };
    let at = ch as usize - 0xff01;
    &ASCII[at..=at]
}
