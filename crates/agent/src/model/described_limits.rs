//! Reads a model's limits from what its provider says about it, and remembers them.

use std::sync::Mutex;

use serde_json::Value;
use tokio::sync::OnceCell;

use super::TokenLimits;

/// Fields in use for the context window: OpenRouter, vLLM, Groq, LM Studio, Gemini, Anthropic, llama.cpp.
const CONTEXT: &[&str] = &[
    "loaded_context_length",
    "context_length",
    "max_model_len",
    "context_window",
    "max_context_length",
    "inputTokenLimit",
    "max_input_tokens",
    "n_ctx",
];
const OUTPUT: &[&str] = &["max_completion_tokens", "max_output_tokens", "outputTokenLimit", "max_tokens"];
/// Longer answers are rarely useful, and some providers require credit for the whole length.
const MAX_OUTPUT: u32 = 16_000;
/// Objects within a description that can have the fields.
const PARTS: &[&str] = &["top_provider", "meta", "limits"];

/// The limits in a description: of one model, or of a list of models.
pub(super) fn parse(description: &Value, model: &str) -> TokenLimits {
    let Some(entry) = find_entry(description, model) else { return TokenLimits::default() };
    let parts: Vec<_> = std::iter::once(entry).chain(PARTS.iter().map(|part| &entry[*part])).collect();
    let find = |names: &[&str]| {
        let values = names.iter().flat_map(|name| parts.iter().map(move |part| part[*name].as_u64()));
        values.flatten().find_map(|tokens| u32::try_from(tokens).ok().filter(|tokens| *tokens > 0))
    };
    TokenLimits { output: find(OUTPUT).map(|tokens| tokens.min(MAX_OUTPUT)), context: find(CONTEXT) }
}

/// A server with one model often has another name for it than the settings.
fn find_entry<'a>(description: &'a Value, model: &str) -> Option<&'a Value> {
    let Some(list) = description["data"].as_array() else { return Some(description) };
    let named = list.iter().find(|entry| entry["id"] == model);
    named.or_else(|| list.first().filter(|_| list.len() == 1))
}

/// The limits of a model. A refusal is more reliable than the settings, and the settings more than its description.
pub(super) struct KnownLimits {
    configured: TokenLimits,
    described: OnceCell<TokenLimits>,
    learned: Mutex<TokenLimits>,
}

impl KnownLimits {
    pub(super) fn new(configured: TokenLimits) -> Self {
        Self { configured, described: OnceCell::new(), learned: Mutex::default() }
    }

    /// `None` if a description could add something, and has not been read yet.
    pub(super) fn known(&self, has_description: bool) -> Option<TokenLimits> {
        let known = self.without_description();
        let is_complete = known.output.is_some() && known.context.is_some();
        match self.described.get() {
            Some(described) => Some(known.or(*described)),
            None => Some(known).filter(|_| is_complete || !has_description),
        }
    }

    /// Reads the description, once.
    pub(super) async fn look_up(&self, description: impl Future<Output = TokenLimits>) -> TokenLimits {
        let described = *self.described.get_or_init(|| description).await;
        self.without_description().or(described)
    }

    fn without_description(&self) -> TokenLimits {
        let learned = *self.learned.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        learned.or(self.configured)
    }

    pub(super) fn remember(&self, limits: TokenLimits) {
        let mut learned = self.learned.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *learned = limits.or(*learned);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn descriptions_of_several_providers() {
        let check = |description: Value, context: Option<u32>, output: Option<u32>| {
            assert_eq!(parse(&description, "m"), TokenLimits { output, context }, "{description}");
        };
        let list = |entry: Value| json!({ "object": "list", "data": [{ "id": "other", "context_length": 1 }, entry] });
        check(
            list(
                json!({ "id": "m", "context_length": 32768, "top_provider": { "max_completion_tokens": 4096 } }),
            ),
            Some(32768),
            Some(4096),
        );
        check(list(json!({ "id": "m", "max_model_len": 8192 })), Some(8192), None);
        check(
            json!({ "name": "models/m", "inputTokenLimit": 1048576, "outputTokenLimit": 65536 }),
            Some(1_048_576),
            Some(16_000),
        );
        check(json!({ "data": [{ "id": "/models/x.gguf", "meta": { "n_ctx": 4096 } }] }), Some(4096), None);
        check(list(json!({ "id": "unknown", "max_model_len": 8192 })), None, None);
        check(json!({ "data": [{ "id": "m", "max_model_len": "8192" }] }), None, None);
        check(json!([]), None, None);
    }
}
