//! What an operator says about a model.

use std::str::FromStr;
use std::time::Duration;

use net::Secret;

use super::Usage;

#[derive(Debug, Clone)]
pub struct Settings {
    pub provider: Provider,
    /// As the provider names it.
    pub model: String,
    /// `None`: the provider's own address.
    pub base_url: Option<String>,
    pub api_key: Option<Secret>,
    pub prices: Option<Prices>,
    /// Whether it may be on this machine or in this network.
    pub allow_private: bool,
    /// Whether to go through the proxy that the environment names. It is the proxy then that looks
    /// names up and decides what can be reached.
    pub use_proxy: bool,
    pub limits: Limits,
}

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
        }
    }
}

/// Who is spoken to, and in which wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    /// OpenAI's chat completions.
    OpenAi,
    OpenAiResponses,
    Gemini,
    /// Chat completions as everybody else speaks them.
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

    /// Where the provider is, if it is one.
    pub fn usual_url(self) -> Option<&'static str> {
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

/// Of a million tokens each, in the operator's currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    /// Of input that the provider still knew.
    pub cached: f64,
}

impl Prices {
    /// To a billionth: a sum of binary fractions has a tail that nobody is billed for.
    pub fn cost(&self, usage: Usage) -> f64 {
        let known = usage.cached.min(usage.input);
        let parts = [(usage.input - known, self.input), (known, self.cached), (usage.output, self.output)];
        let millionths: f64 = parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum();
        (millionths * 1e3).round() / 1e9
    }
}

/// How long and how large an answer may be.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A stream that says nothing for so long is given up.
    pub silence: Duration,
    /// The whole call.
    pub whole: Duration,
    /// Bytes of text and arguments.
    pub kept: usize,
    /// Bytes on the wire: a stream wraps a few letters in hundreds.
    pub received: usize,
    /// Tool calls in one turn.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(60),
            whole: Duration::from_secs(600),
            kept: 4 << 20,
            received: 32 << 20,
            calls: 128,
        }
    }
}
