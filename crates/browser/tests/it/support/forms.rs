//! Submits forms with any values, without the checks of the browser.

use serde_json::json;

use super::browser::Browser;

/// Runs a script if a page doesn't escape it.
pub(crate) const MARKUP: &str = "\"'><img src=x onerror=\"window.ran=1\"><script>window.ran=1</script>";

/// Submits a copy of the form that has only hidden fields, because these accept any text.
const SEND: &str = "
    const [selector, changes, from, to] = arguments;
    const form = document.querySelector(selector);
    const fields = new FormData(form);
    for (const [name, value] of changes) fields.set(name, value);
    const copy = document.createElement('form');
    copy.method = 'post';
    copy.action = form.getAttribute('action').replace(from, to);
    for (const [name, value] of fields) {
        const field = document.createElement('input');
        Object.assign(field, { type: 'hidden', name, value });
        copy.append(field);
    }
    document.body.append(copy);
    document.body.dataset.sent = '';
    copy.submit();";

impl Browser<'_> {
    /// Submits a form with some fields changed, and waits for the next page.
    pub(crate) async fn send(&self, form: &str, changes: &[(&str, &str)]) {
        self.send_to_other_url(form, changes, ("", "")).await;
    }

    /// Also replaces `from` with `to` in the URL of the form.
    pub(crate) async fn send_to_other_url(
        &self,
        form: &str,
        changes: &[(&str, &str)],
        (from, to): (&str, &str),
    ) {
        self.see(form).await;
        self.ask_with(SEND, vec![json!(form), json!(changes), json!(from), json!(to)]).await;
        self.see("body:not([data-sent])").await;
    }

    /// The HTTP status of the current page.
    pub(crate) async fn status(&self) -> u64 {
        let script = "return performance.getEntriesByType('navigation')[0].responseStatus";
        self.ask(script).await.as_u64().unwrap()
    }

    /// Checks the status and the sentence of a refusal, and that no script ran.
    pub(crate) async fn is_refused(&self, status: u64, sentence: &str) {
        assert_eq!(self.status().await, status, "{sentence}: {}", self.text().await);
        let shown_sentence = self.see(".problem, .status ~ h1").await.text().await.unwrap();
        assert!(shown_sentence.contains(sentence), "{shown_sentence:?} does not contain {sentence:?}");
        self.check_nothing_ran().await;
    }

    /// Checks that [`MARKUP`] is only text on this page.
    pub(crate) async fn check_nothing_ran(&self) {
        let active =
            "return window.ran ?? document.querySelectorAll('[onerror], body script, img[src=x]').length";
        assert_eq!(self.ask(active).await, 0, "markup is active on {}", self.path().await);
    }

    /// The text of a copyable field.
    pub(crate) async fn copied(&self, id: &str) -> String {
        self.see(&format!("code#{id}")).await.text().await.unwrap()
    }
}
