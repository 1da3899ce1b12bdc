//! Writes numbers and errors for people: with commas, with a noun in the right number, as a sentence.

/// `18204` as `18,204`.
pub(crate) fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 file`, `2,000 files`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", with_commas(number))
}

/// The message of an error as a sentence: with a capital letter and a period.
pub(crate) fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    let sentence: String = first.into_iter().chain(chars).collect();
    if sentence.ends_with('.') { sentence } else { format!("{sentence}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (18_204, "18,204"),
            (41_930, "41,930"),
            (1_234_567, "1,234,567"),
            (123_456_789, "123,456,789"),
        ] {
            assert_eq!(with_commas(number), text);
        }
        assert_eq!(with_commas(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn nouns_agree_with_their_number() {
        for (number, text) in [(0, "0 files"), (1, "1 file"), (2_000, "2,000 files")] {
            assert_eq!(count(number, "file"), text);
        }
    }
}
