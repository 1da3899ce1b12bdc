//! Decides how large requests to a model and its answers can be, and lowers the sizes when the provider refuses them.

use crate::budget::Limits;
use crate::model::{Profile, SizeRefusal, TokenLimits};

/// Bytes that a token has at least, on average. English text has about four.
const BYTES_PER_TOKEN: usize = 3;
/// Small models write short answers, or none that can be used.
const SMALL_OUTPUT: u32 = 1_024;
const MIN_OUTPUT: u32 = 256;
/// Lowering the output further saves less than dropping old results.
const ENOUGH_OUTPUT: u32 = 2_048;
/// A conversation needs room for the task and one page.
const MIN_BYTES: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Tokens of one answer.
    pub(crate) max_output: u32,
    /// Bytes of the conversation.
    pub(crate) max_bytes: usize,
    /// Bytes of a request besides the conversation: the system prompt and the tools.
    overhead: usize,
    /// The largest conversation, even if the model would accept more.
    max_conversation: usize,
    known: TokenLimits,
}

impl Sizes {
    pub(crate) fn new(limits: &Limits, known: TokenLimits, profile: Profile, overhead: usize) -> Self {
        let output = known.output.unwrap_or(limits.answer);
        let max_output = if profile == Profile::Small { output.min(SMALL_OUTPUT) } else { output };
        let mut sizes =
            Self { max_output, max_bytes: limits.context, overhead, max_conversation: limits.context, known };
        sizes.fit_context();
        sizes
    }

    /// Divides the context window between the answer and the conversation.
    fn fit_context(&mut self) {
        let Some(context) = self.known.context else { return };
        let share = if self.known.output.is_some() { context / 2 } else { context / 4 };
        self.max_output = self.max_output.min(share.max(MIN_OUTPUT));
        let input = context.saturating_sub(self.max_output) as usize * BYTES_PER_TOKEN;
        self.max_bytes =
            input.saturating_sub(self.overhead).clamp(MIN_BYTES, self.max_conversation.max(MIN_BYTES));
    }

    /// Lowers a size after a refusal. `bytes` is the size of the refused conversation. Returns false if nothing can be
    /// lowered any more.
    pub(crate) fn lower(&mut self, refusal: &SizeRefusal, bytes: usize) -> bool {
        let before = *self;
        let is_new = |context: &u32| self.known.context.is_none_or(|known| *context < known);
        // With a context, the conversation and the answer are too long together.
        let is_only_output = refusal.is_about_output && refusal.context.is_none();
        let enough = if is_only_output { MIN_OUTPUT } else { ENOUGH_OUTPUT };
        if let Some(output) = refusal.output_below(self.max_output) {
            (self.max_output, self.known.output) = (output, Some(output));
        } else if let Some(context) = refusal.context.filter(is_new) {
            self.known.context = Some(context);
            self.fit_context();
        } else if self.max_output > enough {
            self.max_output = (self.max_output / 2).max(enough);
        } else if !is_only_output {
            self.max_bytes = (self.max_bytes.min(bytes) / 2).max(MIN_BYTES);
        }
        *self != before
    }

    /// What the next run with this model should know: what the provider said, without guesses.
    pub(crate) fn learned(&self) -> TokenLimits {
        self.known
    }

    /// Bytes of the results of one answer.
    pub(crate) fn max_results(&self) -> usize {
        self.max_bytes / 3
    }

    /// Bytes that one tool shows of a file.
    pub(crate) fn max_shown(&self) -> usize {
        self.max_bytes / 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(output: Option<u32>, context: Option<u32>) -> Sizes {
        Sizes::new(&Limits::default(), TokenLimits { output, context }, Profile::Full, 6_000)
    }

    #[test]
    fn a_context_is_divided_between_answer_and_conversation() {
        let size = |sizes: Sizes| (sizes.max_output, sizes.max_bytes);
        assert_eq!(size(sizes(None, None)), (16_000, 400_000));
        assert_eq!(size(sizes(None, Some(8_192))), (2_048, 6_144 * 3 - 6_000));
        assert_eq!(size(sizes(Some(4_096), Some(8_192))), (4_096, 4_096 * 3 - 6_000));
        assert_eq!(size(sizes(Some(64_000), Some(1_000_000))), (64_000, 400_000));
        assert_eq!(size(sizes(None, Some(1_000))), (256, MIN_BYTES));
        let small = Sizes::new(&Limits::default(), TokenLimits::default(), Profile::Small, 0);
        assert_eq!(size(small), (1_024, 400_000));
    }

    #[test]
    fn refusals_lower_sizes_until_nothing_is_left() {
        let mut sizes = sizes(None, None);
        let told =
            SizeRefusal::parse("max_tokens is too large: 16000. This model supports at most 4096", None);
        assert!(sizes.lower(&told, 10_000));
        assert_eq!((sizes.max_output, sizes.learned().output), (4_096, Some(4_096)));
        let context = SizeRefusal::parse("maximum context length is 8192 tokens", None);
        assert!(sizes.lower(&context, 10_000));
        assert_eq!((sizes.max_output, sizes.max_bytes), (4_096, 6_288));
        let mut lowered = 0;
        while sizes.lower(&SizeRefusal::default(), 10_000) {
            lowered += 1;
        }
        assert_eq!((sizes.max_output, sizes.max_bytes, lowered), (ENOUGH_OUTPUT, MIN_BYTES, 3));
    }
}
