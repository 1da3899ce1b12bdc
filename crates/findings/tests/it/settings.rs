use findings::{Settings, StaleTier};

#[test]
fn the_defaults_are_valid_and_an_empty_object_means_them() {
    assert_eq!(Settings::default().validate(), Ok(Settings::default()));
    assert_eq!(serde_json::from_str::<Settings>("{}").unwrap(), Settings::default());
    let text = serde_json::to_string(&Settings::default()).unwrap();
    assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), Settings::default());
    assert!(serde_json::from_str::<Settings>(r#"{"minRequest":3}"#).is_err(), "a typo is no setting");
}

#[test]
fn errors_say_which_values_are_possible() {
    #[track_caller]
    fn check(change: impl Fn(&mut Settings), expected: &str) {
        let mut settings = Settings::default();
        change(&mut settings);
        assert_eq!(settings.validate().unwrap_err().to_string(), expected);
    }
    fn tier(glob: &str, days: u32) -> Vec<StaleTier> {
        vec![StaleTier { glob: glob.to_owned(), days }]
    }
    check(|all| all.min_requests = 0, "`minRequests` must be a number from 1 to 1,000,000");
    check(|all| all.window_days = 91, "`windowDays` must be a number from 1 to 90");
    check(|all| all.min_days = 31, "`minDays` must be a number from 1 to 30");
    check(|all| all.max_findings = 10_001, "`maxFindings` must be a number from 1 to 10,000");
    check(|all| all.judge_days = 0, "`judgeDays` must be a number from 1 to 90");
    check(|all| all.reopen_factor = f64::NAN, "`reopenFactor` must be a number from 1 to 100");
    check(|all| all.reopen_factor = 0.9, "`reopenFactor` must be a number from 1 to 100");
    check(|all| all.stale_tiers = tier("/api/**", 0), "`staleTiers.days` must be a number from 1 to 3,650");
    check(
        |all| all.stale_tiers = tier("api/**", 9),
        "the glob `api/**` of `staleTiers` must begin with `/`, such as `/guides/**`",
    );
    check(
        |all| all.stale_tiers = tier("/a[", 9),
        "the glob `/a[` of `staleTiers` is invalid: unclosed character class; missing ']'",
    );
    check(
        |all| all.stale_tiers = vec![tier("/a", 9).remove(0); 101],
        "`staleTiers` can have at most 100 entries",
    );
    check(
        |all| all.stale_tiers = tier(&"/a".repeat(300), 9),
        "a glob of `staleTiers` can have at most 500 characters",
    );
}
