//! Defines the message that a page shows beside a form after it was submitted.

pub(crate) struct FormMessage<F> {
    pub(crate) form: F,
    pub(crate) is_error: bool,
    pub(crate) sentence: String,
}

impl<F> FormMessage<F> {
    pub(crate) fn success(form: F, sentence: impl Into<String>) -> Self {
        Self { form, is_error: false, sentence: sentence.into() }
    }

    pub(crate) fn error(form: F, sentence: impl Into<String>) -> Self {
        Self { form, is_error: true, sentence: sentence.into() }
    }
}
