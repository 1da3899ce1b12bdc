//! Defines the sizes that a model accepts, and reads them from the sentences with which providers refuse a request.

/// The limits of a model in tokens. `None` means unknown.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct TokenLimits {
    /// Tokens of one response.
    pub output: Option<u32>,
    /// Tokens of a request and its response together.
    pub context: Option<u32>,
}

impl TokenLimits {
    /// Takes each limit from `self`, or else from `other`.
    pub fn or(self, other: Self) -> Self {
        Self { output: self.output.or(other.output), context: self.context.or(other.context) }
    }
}

/// What a provider said when it refused a request for its size.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SizeRefusal {
    /// The requested output is the problem. The conversation may be short.
    pub is_about_output: bool,
    pub context: Option<u32>,
    /// Other numbers of the sentence. One of them can be the limit of the output.
    numbers: Vec<u32>,
}

/// Names of the field that limits the output, and what providers call the output.
const OUTPUT: &[&str] = &[
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxoutputtokens",
    "completion tokens",
    "output tokens",
];
/// How providers say that the output limit is too high.
const EXCESS: &[&str] = &["too large", "at most", "maximum", "less than", "range", "exceed", "greater", ">"];
/// What precedes the size of the context window.
const CONTEXT: &[&str] =
    &["context length", "context size", "context window", "context limit", "tokens allowed"];
/// How far from such a mark the number is looked for.
const MAX_DISTANCE: usize = 40;
const MAX_NUMBERS: usize = 16;
/// A smaller number is a position, a status or the start of a range.
const MIN_LIMIT: u32 = 32;

impl SizeRefusal {
    pub(crate) fn parse(message: &str, context: Option<u32>) -> Self {
        let message = message.to_lowercase();
        let numbers = numbers(&message);
        let context = context.or_else(|| context_limit(&message, &numbers));
        let numbers = numbers.into_iter().map(|(_, number)| number).take(MAX_NUMBERS);
        Self { is_about_output: is_about_output(&message), context, numbers: numbers.collect() }
    }

    /// The limit of the output that the sentence contains: the largest number below the request.
    pub fn output_below(&self, requested: u32) -> Option<u32> {
        let limits = self.numbers.iter().copied().filter(|number| (MIN_LIMIT..requested).contains(number));
        limits.max().filter(|_| self.is_about_output && self.context.is_none())
    }
}

/// Whether the message says that a response can't be as long as requested.
pub(super) fn is_about_output(message: &str) -> bool {
    let message = message.to_lowercase();
    let has_any = |marks: &[&str]| marks.iter().any(|mark| message.contains(mark));
    has_any(OUTPUT) && has_any(EXCESS)
}

/// The number behind `>`, or else behind a mark such as "context length is".
fn context_limit(message: &str, numbers: &[(usize, u32)]) -> Option<u32> {
    let is_context = CONTEXT.iter().any(|mark| message.contains(mark)) || message.contains("too long");
    let behind = |mark: &&str| {
        let start = message.find(mark)? + mark.len();
        let near = |(at, _): &&(usize, u32)| (start..start + MAX_DISTANCE).contains(at);
        numbers.iter().find(near).map(|(_, number)| *number)
    };
    let behind_sign = || behind(&">").filter(|_| is_context);
    let limit = behind_sign().or_else(|| CONTEXT.iter().find_map(behind));
    limit.filter(|limit| *limit >= MIN_LIMIT)
}

/// The whole numbers of a text with their positions. `8,192` is one number.
fn numbers(text: &str) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(start) = text[rest..].find(|c: char| c.is_ascii_digit()).map(|at| rest + at) {
        let is_part = |c: char| c.is_ascii_digit() || c == ',' || c == '_';
        let end = text[start..].find(|c: char| !is_part(c)).map_or(text.len(), |length| start + length);
        let digits: String = text[start..end].chars().filter(char::is_ascii_digit).collect();
        if let Ok(number) = digits.parse() {
            found.push((start, number));
        }
        rest = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_the_sentences_of_providers() {
        let check = |message: &str, context: Option<u32>, output: Option<u32>| {
            let refusal = SizeRefusal::parse(message, None);
            assert_eq!((refusal.context, refusal.output_below(16_000)), (context, output), "{message}");
        };
        let output = |message, limit| check(message, None, Some(limit));
        output(
            "max_tokens is too large: 16000. This model supports at most 4096 completion tokens, whereas you provided 16000.",
            4096,
        );
        output(
            "max_tokens: 16000 > 8192, which is the maximum allowed number of output tokens for claude",
            8192,
        );
        output("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192);
        output("`max_tokens` must be less than or equal to `8,192`", 8192);
        let context = |message, limit| check(message, Some(limit), None);
        context(
            "This model's maximum context length is 8192 tokens. However, you requested 17000 tokens (1000 in the messages, 16000 in the completion).",
            8192,
        );
        context(
            "'max_tokens' or 'max_completion_tokens' is too large: 16000. This model's maximum context length is 8192 tokens and your request has 1200 input tokens (16000 > 8192 - 1200).",
            8192,
        );
        context(
            "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
            8192,
        );
        context("prompt is too long: 210000 tokens > 200000 maximum", 200_000);
        context(
            "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000, decrease input length",
            200_000,
        );
        context(
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1_048_576,
        );
        check("the request is too large", None, None);
        check("max_tokens is too large", None, None);
    }
}
