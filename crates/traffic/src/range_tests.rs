//! Tables of dates and date-times in queries.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    let expected: Timestamp = expected.parse().unwrap();
    assert_eq!(parse_bound(text), Ok(expected.as_millisecond()), "{text}");
}

#[test]
fn dates_are_parsed() {
    check("2026-01-31", "2026-01-31T00:00:00Z");
    check("20260131", "2026-01-31T00:00:00Z");
    check(" 2026-01-31 ", "2026-01-31T00:00:00Z");
    check("2024-02-29", "2024-02-29T00:00:00Z");
    check("2000-02-29", "2000-02-29T00:00:00Z");
    check("1970-01-01", "1970-01-01T00:00:00Z");
    check("1969-12-31", "1969-12-31T00:00:00Z");
    check("0000-01-01", "0000-01-01T00:00:00Z");
    check("9999-12-30", "9999-12-30T00:00:00Z");
}

#[test]
fn date_times_are_parsed() {
    check("2026-01-31T09:30:00Z", "2026-01-31T09:30:00Z");
    check("2026-01-31t09:30:00z", "2026-01-31T09:30:00Z");
    check("2026-01-31 09:30:00", "2026-01-31T09:30:00Z");
    check("2026-01-31T09:30:00", "2026-01-31T09:30:00Z");
    check("2026-01-31T09:30", "2026-01-31T09:30:00Z");
    check("2026-01-31T09:30Z", "2026-01-31T09:30:00Z");
    check("2026-01-31T09", "2026-01-31T09:00:00Z");
    check("20260131T093015Z", "2026-01-31T09:30:15Z");
    check("20260131T0930", "2026-01-31T09:30:00Z");
    check("2026-01-31T24:00:00Z", "2026-02-01T00:00:00Z");
    check("2026-01-31T24:00", "2026-02-01T00:00:00Z");
    check("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z");
    check("2016-12-31T23:59:60.5Z", "2017-01-01T00:00:00.5Z");
}

#[test]
fn offsets_are_applied() {
    check("2026-01-31T09:30:00+02:00", "2026-01-31T07:30:00Z");
    check("2026-01-31T09:30:00 02:00", "2026-01-31T07:30:00Z");
    check("2026-01-31 09:30:00 02:00", "2026-01-31T07:30:00Z");
    check("2026-01-31 09:30:00 +02:00", "2026-01-31T07:30:00Z");
    check("2026-01-31T09:30:00 Z", "2026-01-31T09:30:00Z");
    check("2026-01-31T09:30:00-05:30", "2026-01-31T15:00:00Z");
    check("2026-01-31T09:30:00\u{2212}05:30", "2026-01-31T15:00:00Z");
    check("2026-01-31T09:30:00-0530", "2026-01-31T15:00:00Z");
    check("2026-01-31T09:30:00+02", "2026-01-31T07:30:00Z");
    check("2026-01-31T09:30+02:00", "2026-01-31T07:30:00Z");
    check("2026-01-31T00:30:00+02:00", "2026-01-30T22:30:00Z");
    check("2026-01-31T09:30:00.25-00:00", "2026-01-31T09:30:00.25Z");
}

#[test]
fn fractions_round_up() {
    check("2026-01-31T09:30:00.1Z", "2026-01-31T09:30:00.100Z");
    check("2026-01-31T09:30:00,12Z", "2026-01-31T09:30:00.120Z");
    check("2026-01-31T09:30:00.123Z", "2026-01-31T09:30:00.123Z");
    check("2026-01-31T09:30:00.123000000Z", "2026-01-31T09:30:00.123Z");
    check("2026-01-31T09:30:00.1230001Z", "2026-01-31T09:30:00.124Z");
    check("2026-01-31T09:30:00.000000000000000000000000000001", "2026-01-31T09:30:00.001Z");
    check("2026-01-31T23:59:59.9999Z", "2026-02-01T00:00:00Z");
    check("1969-12-31T23:59:59.9991Z", "1970-01-01T00:00:00Z");
}

#[test]
fn invalid_dates_are_refused() {
    #[track_caller]
    fn refuse(text: &str) {
        assert_eq!(parse_bound(text), Err(BadDate(text.to_owned())));
    }
    for text in [
        "",
        "yesterday",
        "2026",
        "2026-01",
        "2026-1-31",
        "2026-13-01",
        "2026-00-10",
        "2026-01-00",
        "2026-02-29",
        "1900-02-29",
        "2026-04-31",
        "31-01-2026",
        "01/31/2026",
        "2026-0131",
        "1769844600",
        "+2026-01-31",
        "-2026-01-31",
        "2026-01-31Z",
        "2026-01-31T",
        "2026-01-31T25:00",
        "2026-01-31T24:01",
        "2026-01-31T09:60",
        "2026-01-31T09:30:61",
        "2026-01-31T9:30",
        "2026-01-31T09:30:",
        "2026-01-31T09:30:00.",
        "2026-01-31T09:30:00.Z",
        "2026-01-31T09:30:00+24:00",
        "2026-01-31T09:30:00+2:00",
        "2026-01-31T09:30:00+",
        "2026-01-31T09:30:00ZZ",
        "2026-01-31T09:30:00 Paris",
        "2026-01-31x09:30",
        "２０２６-01-31",
        "2026-01-3é",
    ] {
        refuse(text);
    }
    assert_eq!(
        parse_bound("2026-01-31\n\u{1b}[2K"),
        Err(BadDate("2026-01-31[2K".into())),
        "a sentence is one line"
    );
    let long = parse_bound(&"9".repeat(1000)).unwrap_err().to_string();
    assert!(long.len() < 200, "{long}");
}

#[test]
fn the_first_and_last_years_are_parsed() {
    assert!(parse_bound("9999-12-31T23:59:60.999-23:59").is_ok());
    assert!(parse_bound("0000-01-01T00:00:00+23:59").is_ok());
}

#[test]
fn ranges_are_half_open() {
    let day = |text| Some(parse_bound(text).unwrap());
    let january = Range::new(day("2026-01-01"), day("2026-02-01")).unwrap();
    assert!(january.contains(day("2026-01-01").unwrap()));
    assert!(january.contains(day("2026-02-01").unwrap() - 1));
    assert!(!january.contains(day("2026-02-01").unwrap()));
    assert!(!Range::new(Some(5), Some(5)).unwrap().contains(5));
    assert!(Range::default().contains(i64::MIN));
    let backwards = Range::new(day("2026-02-01"), day("2026-01-01")).unwrap_err();
    assert_eq!(
        backwards.to_string(),
        "dateFrom (2026-02-01T00:00:00Z) must not be after dateTo (2026-01-01T00:00:00Z)"
    );
    assert!(Range::new(Some(i64::MAX), Some(i64::MIN)).is_err());
}

proptest! {
    #[test]
    fn any_text_does_not_panic(text in any::<String>()) {
        let _ = parse_bound(&text);
    }

    #[test]
    fn similar_texts_do_not_panic(text in "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]?[0-9:.,]{0,12}[Zz+ −é-]{0,2}[0-9:]{0,6}") {
        let _ = parse_bound(&text);
    }

    #[test]
    fn every_timestamp_round_trips(ms in -62_000_000_000_000_i64..253_000_000_000_000) {
        let text = Timestamp::from_millisecond(ms).unwrap().to_string();
        prop_assert_eq!(parse_bound(&text), Ok(ms));
    }
}

#[test]
fn timestamps_of_events_round_down() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(parse_timestamp(text).map(|at| at.to_string()).unwrap(), expected);
    }
    check("2026-03-01T00:00:00.1239Z", "2026-03-01T00:00:00.123Z");
    check("2026-03-01T00:00:00.999999+00:00", "2026-03-01T00:00:00.999Z");
    check("2026-03-01", "2026-03-01T00:00:00Z");
    check("2026-03-01T05:30:00+05:30", "2026-03-01T00:00:00Z");
    assert!(parse_timestamp("yesterday").is_err());
    assert!(parse_timestamp("9999-12-31T23:59:59-23:59").is_err());
}
