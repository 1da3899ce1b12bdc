//! Signs the quotations that a page offers, so that its form can send them back in a field of their own.
//!
//! A signature is made with the master key, for one project. The server takes no quotation that it did not offer, so
//! what a form sends as a quotation is what the person saw beside the box.

use form_urlencoded::{Serializer, parse};
use store::{ProjectId, Quotation};
use subtle::ConstantTimeEq;

use super::session::Fields;
use super::view::QuotationField;
use app::App;

/// What signatures are made for; nothing else is signed by this name.
const PURPOSE: &str = "quotation of a form";
const REFUSAL: &str = "A quotation of this form was altered, or this server did not make it, so nothing was started. \
                       Open the row under Readers and choose Create a job again.";

pub(super) fn signature(app: &App, project: &ProjectId, quotation: &Quotation) -> String {
    let Quotation { label, text } = quotation;
    let message = serde_json::json!([project.0, label, text]).to_string();
    app.secrets.sign(PURPOSE, message.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn is_signed(app: &App, project: &ProjectId, quotation: &Quotation, given: &str) -> bool {
    signature(app, project, quotation).as_bytes().ct_eq(given.as_bytes()).into()
}

/// As a form shows and sends it. The value is ASCII, so that a page cannot change it by spelling a character out.
pub(super) fn field(app: &App, project: &ProjectId, quotation: &Quotation) -> QuotationField {
    let Quotation { label, text } = quotation.clone();
    let pairs = [("label", &label), ("text", &text), ("signature", &signature(app, project, quotation))];
    let value = Serializer::new(String::new()).extend_pairs(pairs).finish();
    QuotationField { label, text, value }
}

/// The quotations that a form sends. `Err` has a sentence for the person.
pub(super) fn read(app: &App, project: &ProjectId, fields: &Fields) -> Result<Vec<Quotation>, &'static str> {
    let one = |sent: String| {
        let value =
            |wanted: &str| parse(sent.as_bytes()).find(|(name, _)| name == wanted).map(|(_, value)| value);
        let quotation = Quotation { label: value("label")?.into_owned(), text: value("text")?.into_owned() };
        is_signed(app, project, &quotation, &value("signature")?).then_some(quotation)
    };
    fields.all("quotation").into_iter().map(|sent| one(sent).ok_or(REFUSAL)).collect()
}
