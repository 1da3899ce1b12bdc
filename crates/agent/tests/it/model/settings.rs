//! What an operator says about a model.

use agent::model::{Prices, Provider, Secret, Settings, Usage};

#[test]
fn a_key_is_shown_to_nobody() {
    let key = Secret::parse(" sk-very-secret\n").unwrap();
    assert_eq!(key.reveal(), "sk-very-secret");
    let settings = Settings { api_key: Some(key), ..Settings::new(Provider::OpenAi, "m") };
    assert!(!format!("{settings:?}").contains("very"));
}

#[test]
fn what_a_turn_costs() {
    #[track_caller]
    fn check(input: u64, output: u64, cached: u64, expected: f64) {
        let prices = Prices { input: 3.0, output: 15.0, cached: 0.3 };
        assert_eq!(prices.cost(Usage { input, output, cached }), expected);
    }
    check(0, 0, 0, 0.0);
    check(1_000, 100, 0, 0.0045);
    // What was known is part of the input, and is not paid for twice.
    check(1_000_000, 100_000, 500_000, 3.15);
    check(115, 42, 100, 0.000_705);
    check(1, 0, 1, 0.000_000_3);
    // A provider that says that it knew more than it was sent.
    check(10, 0, 20, 0.000_003);
}

#[test]
fn providers_are_known_by_name() {
    for provider in Provider::ALL {
        assert_eq!(provider.name().parse(), Ok(provider));
    }
    let told = "claude".parse::<Provider>().unwrap_err();
    assert_eq!(told, "a provider is one of anthropic, openai, openai-responses, gemini, compatible");
}
