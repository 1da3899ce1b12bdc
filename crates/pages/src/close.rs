//! Whether one anchor is a misspelling of another.

/// An anchor longer than this is not compared letter by letter.
const MAX_COMPARED: usize = 100;
/// A word shorter than this is another word rather than a misspelled one: `get` and `set`, `max` and `min`.
const MIN_LETTERS: usize = 6;
/// A misspelled word is at most this many letters away from the right one, and one for every four of its own.
const MAX_DISTANCE: usize = 2;

/// All words but one are the same, and that one is long, begins alike and differs by a letter or two.
/// A word that goes on where the other ends (`create`, `created`) is another form of it, not a mistake.
/// Both are in lower case; nothing is copied before all but one word agree, for a page may have many anchors.
pub(crate) fn is_misspelled(wanted: &str, anchor: &str) -> bool {
    if wanted.len().max(anchor.len()) > MAX_COMPARED {
        return false;
    }
    let (mut wanted, mut anchor) = (wanted.split(['-', '_']), anchor.split(['-', '_']));
    let mut different = None;
    loop {
        match (wanted.next(), anchor.next()) {
            (None, None) => return different.is_some_and(|(a, b)| is_one_word(a, b)),
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) if different.is_none() => different = Some((a, b)),
            _ => return false,
        }
    }
}

fn is_one_word(a: &str, b: &str) -> bool {
    let (x, y): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let shorter = x.len().min(y.len());
    shorter >= MIN_LETTERS
        && x.iter().chain(&y).all(|c| c.is_alphabetic())
        && x.first() == y.first()
        && !a.starts_with(b)
        && !b.starts_with(a)
        && distance(&x, &y) <= MAX_DISTANCE.min(shorter / 4)
}

/// The number of letters to put in, take out or exchange.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let exchange = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = exchange.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
