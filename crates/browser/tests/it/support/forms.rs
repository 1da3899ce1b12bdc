//! Forms as somebody sends them who knows how: with whatever values, past every check of the browser.

use serde_json::json;

use super::browser::Browser;

/// What would run if a page took it for its own.
pub(crate) const MARKUP: &str = "\"'><img src=x onerror=\"window.ran=1\"><script>window.ran=1</script>";

/// A copy of the form with hidden fields alone, which hold any text.
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
    /// Sends a form of the page with some fields otherwise, and waits for the answer's page.
    pub(crate) async fn send(&self, form: &str, changes: &[(&str, &str)]) {
        self.send_elsewhere(form, changes, ("", "")).await;
    }

    /// The same, to an address in which something stands for something else.
    pub(crate) async fn send_elsewhere(
        &self,
        form: &str,
        changes: &[(&str, &str)],
        (from, to): (&str, &str),
    ) {
        self.see(form).await;
        self.ask_with(SEND, vec![json!(form), json!(changes), json!(from), json!(to)]).await;
        self.see("body:not([data-sent])").await;
    }

    /// What the server said of the page that is shown.
    pub(crate) async fn status(&self) -> u64 {
        let asked = "return performance.getEntriesByType('navigation')[0].responseStatus";
        self.ask(asked).await.as_u64().unwrap()
    }

    /// The page has one sentence for whoever sent it junk, and nothing of the junk lives.
    pub(crate) async fn is_refused(&self, status: u64, sentence: &str) {
        assert_eq!(self.status().await, status, "{sentence}: {}", self.text().await);
        let told = self.see(".problem, .status ~ h1").await.text().await.unwrap();

        assert!(told.contains(sentence), "{told:?} is not {sentence:?}");
        self.nothing_ran().await;
    }

    /// [`MARKUP`] that was typed somewhere is text on this page, if it is there at all.
    pub(crate) async fn nothing_ran(&self) {
        let alive =
            "return window.ran ?? document.querySelectorAll('[onerror], body script, img[src=x]').length";
        assert_eq!(self.ask(alive).await, 0, "something of {} lives", self.path().await);
    }

    /// What a copyable field holds.
    pub(crate) async fn copied(&self, id: &str) -> String {
        self.see(&format!("code#{id}")).await.text().await.unwrap()
    }
}
