//! Decides whether one anchor is a misspelling of another.

/// A longer anchor is not compared letter by letter.
const MAX_COMPARED_BYTES: usize = 100;
/// A shorter word is another word rather than a misspelled one: `get` and `set`, `max` and `min`.
const MIN_LETTERS: usize = 6;
/// The largest edit distance of a misspelling. It is also at most one per four letters of the word.
const MAX_DISTANCE: usize = 2;

/// Whether all words but one are the same, and that one is long, has the same first letter and differs by a letter or two.
/// A word that is the beginning of the other (`create`, `created`) is another form of it, not a mistake.
/// Both must be in lower case. Nothing is allocated before all words but one agree, because a page can have many anchors.
pub(crate) fn is_misspelling(wanted: &str, anchor: &str) -> bool {
    if wanted.len().max(anchor.len()) > MAX_COMPARED_BYTES {
        return false;
    }
    let (mut wanted, mut anchor) = (wanted.split(['-', '_']), anchor.split(['-', '_']));
    let mut different = None;
    loop {
        match (wanted.next(), anchor.next()) {
            (None, None) => return different.is_some_and(|(a, b)| is_misspelled_word(a, b)),
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) if different.is_none() => different = Some((a, b)),
            _ => return false,
        }
    }
}

fn is_misspelled_word(a: &str, b: &str) -> bool {
    let (x, y): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let shorter = x.len().min(y.len());
    shorter >= MIN_LETTERS
        && x.iter().chain(&y).all(|c| c.is_alphabetic())
        && x.first() == y.first()
        && !a.starts_with(b)
        && !b.starts_with(a)
        && edit_distance(&x, &y) <= MAX_DISTANCE.min(shorter / 4)
}

/// The Levenshtein distance.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substitution = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitution.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
