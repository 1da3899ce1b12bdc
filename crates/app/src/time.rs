//! Formats times and durations, for the API and for people.

use jiff::{SignedDuration, Timestamp};

/// RFC 3339 in UTC with milliseconds, as everywhere in the API.
pub fn rfc3339(moment: Timestamp) -> String {
    format!("{moment:.3}")
}

/// `2 minutes ago`, `in 5 days`. Approximate: pages show the exact time next to it.
pub fn relative(moment: Timestamp, now: Timestamp) -> String {
    let ago = now.duration_since(moment);
    match (span(ago.abs()), ago.is_negative()) {
        (None, _) => "just now".into(),
        (Some(span), false) => format!("{span} ago"),
        (Some(span), true) => format!("in {span}"),
    }
}

pub fn duration(length: SignedDuration) -> String {
    match length.as_millis() {
        ms @ 0..1_000 => format!("{ms} ms"),
        ms @ 1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

fn span(length: SignedDuration) -> Option<String> {
    // Rounds to the nearest unit, so that almost seven days are seven days, not six.
    let minutes = (length.as_secs() + 30) / 60;
    let (count, unit) = match minutes {
        0 => return None,
        1..60 => (minutes, "minute"),
        60..1_410 => ((minutes + 30) / 60, "hour"),
        _ => ((minutes + 720) / 1_440, "day"),
    };
    Some(format!("{count} {unit}{}", if count == 1 { "" } else { "s" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_times() {
        let at: Timestamp = "2026-11-15T12:00:00.1239Z".parse().unwrap();
        assert_eq!(rfc3339(at), "2026-11-15T12:00:00.123Z");
        assert_eq!(rfc3339("2026-11-15T12:00:00Z".parse().unwrap()), "2026-11-15T12:00:00.000Z");
    }

    #[test]
    fn relative_times() {
        #[track_caller]
        fn check(seconds: i64, expected: &str) {
            let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
            let moment = now.saturating_sub(SignedDuration::from_secs(seconds)).unwrap();
            assert_eq!(relative(moment, now), expected);
        }
        check(29, "just now");
        check(3_600, "1 hour ago");
        check(-(86_400 * 7 - 2), "in 7 days");
        check(60, "1 minute ago");
        check(7_200, "2 hours ago");
        check(-86_400 * 5, "in 5 days");
    }
}
