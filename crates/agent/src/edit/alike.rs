//! Characters that look alike, and are mistaken for each other by whoever copies a text.

/// What `ch` is taken for; itself when nothing is like it, and nothing when it cannot be seen.
pub(super) fn alike(ch: char) -> &'static [char] {
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

/// Characters of no width: joiners, soft hyphens, marks of byte order, selectors of a glyph's variant.
pub(super) fn unseen(ch: char) -> bool {
    matches!(ch, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}' | '\u{fe00}'..='\u{fe0f}')
}

/// The entity at the start of `text` that stands for such a character: how long it is, and the character.
/// Entities of markup (`&lt;`) are not among them; there a character and its entity mean different things.
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
