//! Tests the settings of a model.

use agent::model::{Prices, Provider, Secret, Settings, Usage};

#[test]
fn debug_output_contains_no_key() {
    let key = Secret::parse(" sk-very-secret\n").unwrap();
    assert_eq!(key.reveal(), "sk-very-secret");
    let settings = Settings { api_key: Some(key), ..Settings::new(Provider::OpenAi, "m") };
    assert!(!format!("{settings:?}").contains("very"));
}

#[test]
fn the_cost_of_a_turn() {
    #[track_caller]
    fn check(input: u64, output: u64, cached: u64, expected: f64) {
        let prices = Prices { input: 3.0, output: 15.0, cached: 0.3 };
        assert_eq!(prices.cost(Usage { input, output, cached }), expected);
    }
    check(0, 0, 0, 0.0);
    check(1_000, 100, 0, 0.0045);
    // Cached tokens are part of the input, and are not paid for twice.
    check(1_000_000, 100_000, 500_000, 3.15);
    check(115, 42, 100, 0.000_705);
    check(1, 0, 1, 0.000_000_3);
    // A provider that reports more cached tokens than input.
    check(10, 0, 20, 0.000_003);
}

#[test]
fn providers_are_known_by_name() {
    for provider in Provider::ALL {
        assert_eq!(provider.name().parse(), Ok(provider));
    }
    let error = "claude".parse::<Provider>().unwrap_err();
    assert_eq!(error, "a provider is one of anthropic, openai, openai-responses, gemini, compatible");
}
