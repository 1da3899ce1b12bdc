//! Formats durations for people: "3 days".

const UNITS: [(i64, &str); 4] = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];

/// In the largest unit that fits, rounded down.
pub(super) fn format_duration(seconds: i64) -> String {
    let unit = UNITS.iter().find(|(length, _)| seconds >= *length);
    let Some((length, name)) = unit else { return "less than a second".into() };
    match seconds / length {
        1 => format!("1 {name}"),
        count => format!("{count} {name}s"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn durations() {
        for (seconds, text) in [
            (-5, "less than a second"),
            (0, "less than a second"),
            (1, "1 second"),
            (59, "59 seconds"),
            (60, "1 minute"),
            (7_199, "1 hour"),
            (7_200, "2 hours"),
            (86_400 * 3 + 5, "3 days"),
        ] {
            assert_eq!(super::format_duration(seconds), text);
        }
    }
}
