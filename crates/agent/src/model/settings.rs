//! Defines the settings of a model: provider, address, key, prices and limits.

use std::str::FromStr;
use std::time::Duration;

use net::Secret;

use super::{TokenLimits, Usage};

#[derive(Debug, Clone)]
pub struct Settings {
    pub provider: Provider,
    /// The provider's name of the model.
    pub model: String,
    /// `None` means the provider's own address.
    pub base_url: Option<String>,
    pub api_key: Option<Secret>,
    pub prices: Option<Prices>,
    /// Whether the address can be on this machine or in a private network.
    pub allow_private: bool,
    /// Whether to use the proxy of the environment. The proxy then resolves names and decides what can be reached.
    pub use_proxy: bool,
    pub limits: Limits,
    /// What the operator knows about the model. The provider is asked for the rest.
    pub token_limits: TokenLimits,
    pub profile: Profile,
    /// Requests to the model at the same time. `None` means [`Settings::max_concurrent_calls`] by the address.
    pub concurrent_calls: Option<u32>,
}

/// A machine of one's own runs few requests at the same time, and more of them make each one slower.
const PRIVATE_CONCURRENT_CALLS: u32 = 2;
const CONCURRENT_CALLS: u32 = 16;

impl Settings {
    pub fn new(provider: Provider, model: &str) -> Self {
        Self {
            provider,
            model: model.to_owned(),
            base_url: None,
            api_key: None,
            prices: None,
            allow_private: false,
            use_proxy: false,
            limits: Limits::default(),
            token_limits: TokenLimits::default(),
            profile: Profile::default(),
            concurrent_calls: None,
        }
    }

    /// The number of requests to the model at the same time.
    pub fn max_concurrent_calls(&self) -> usize {
        let is_private = self.base_url.as_deref().is_some_and(net::is_private_url);
        let default = if is_private { PRIVATE_CONCURRENT_CALLS } else { CONCURRENT_CALLS };
        self.concurrent_calls.unwrap_or(default) as usize
    }
}

/// How the agent talks to a model.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    #[default]
    Full,
    /// For models of a few billion parameters: few words, few tools, small parts of pages.
    Small,
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "full" => Ok(Self::Full),
            "small" => Ok(Self::Small),
            _ => Err("a profile is full or small".to_owned()),
        }
    }
}

/// A provider and its wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    /// OpenAI's Chat Completions API.
    OpenAi,
    OpenAiResponses,
    Gemini,
    /// A server that is compatible with the Chat Completions API.
    Compatible,
}

impl Provider {
    pub const ALL: [Self; 5] =
        [Self::Anthropic, Self::OpenAi, Self::OpenAiResponses, Self::Gemini, Self::Compatible];

    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Gemini => "gemini",
            Self::Compatible => "compatible",
        }
    }

    /// The provider's own address. Compatible servers have none.
    pub fn default_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAi | Self::OpenAiResponses => Some("https://api.openai.com/v1"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com/v1beta"),
            Self::Compatible => None,
        }
    }
}

impl FromStr for Provider {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|provider| provider.name() == text);
        known.ok_or_else(|| format!("a provider is one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// Prices of a million tokens, in the operator's currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    /// The price of input in the provider's cache.
    pub cached: f64,
}

impl Prices {
    /// The cost, rounded to a billionth to remove the error of binary fractions.
    pub fn cost(&self, usage: Usage) -> f64 {
        let cached = usage.cached.min(usage.input);
        let parts = [(usage.input - cached, self.input), (cached, self.cached), (usage.output, self.output)];
        let millionths: f64 = parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum();
        (millionths * 1e3).round() / 1e9
    }
}

/// Limits of one response.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest time without data.
    pub idle_timeout: Duration,
    /// The longest time of the whole request.
    pub total_timeout: Duration,
    /// Bytes of text and arguments.
    pub max_reply_bytes: usize,
    /// Bytes on the wire. A stream needs hundreds of bytes for a few characters.
    pub max_received_bytes: usize,
    /// Tool calls in one turn.
    pub max_calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_secs(60),
            total_timeout: Duration::from_secs(600),
            max_reply_bytes: 4 << 20,
            max_received_bytes: 32 << 20,
            max_calls: 128,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_model_gets_fewer_calls_at_the_same_time() {
        let calls = |base_url: Option<&str>, concurrent_calls| {
            let base_url = base_url.map(str::to_owned);
            let settings = Settings { base_url, concurrent_calls, ..Settings::new(Provider::OpenAi, "m") };
            settings.max_concurrent_calls()
        };
        assert_eq!(calls(None, None), 16);
        assert_eq!(calls(Some("https://models.example.com/v1"), None), 16);
        assert_eq!(calls(Some("http://127.0.0.1:11434/v1"), None), 2);
        assert_eq!(calls(Some("http://127.0.0.1:11434/v1"), Some(40)), 40);
    }
}
