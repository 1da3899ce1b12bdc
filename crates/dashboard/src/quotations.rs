//! Signs the quotations that a page shows, so that its form can send them back in a separate field.
//!
//! A signature is made with the master key, for one project. The server accepts no quotation that it didn't sign. So
//! a quotation that a form sends is what the person saw beside the prompt box.

use form_urlencoded::{Serializer, parse};
use store::{ProjectId, Quotation};
use subtle::ConstantTimeEq;

use super::session::FormFields;
use super::view::QuotationField;
use app::App;

/// Separates these signatures from other signatures by the same key.
const PURPOSE: &str = "quotation of a form";
const REFUSAL: &str = "The job was not created, because a quotation of the form was altered, or this server didn't create it. \
                       Go to Readers, and click Create a job in the row again.";

pub(super) fn signature(app: &App, project: &ProjectId, quotation: &Quotation) -> String {
    let Quotation { label, text } = quotation;
    let message = serde_json::json!([project.0, label, text]).to_string();
    app.secrets.sign(PURPOSE, message.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn is_signed(app: &App, project: &ProjectId, quotation: &Quotation, claimed: &str) -> bool {
    signature(app, project, quotation).as_bytes().ct_eq(claimed.as_bytes()).into()
}

/// The field of a form for a quotation. Its value is ASCII, so that `escape_control_characters` can't change it.
pub(super) fn field(app: &App, project: &ProjectId, quotation: &Quotation) -> QuotationField {
    let Quotation { label, text } = quotation.clone();
    let pairs = [("label", &label), ("text", &text), ("signature", &signature(app, project, quotation))];
    let value = Serializer::new(String::new()).extend_pairs(pairs).finish();
    QuotationField { label, text, value }
}

/// Reads the quotations that a form sends. `Err` is a sentence for the person.
pub(super) fn read(
    app: &App,
    project: &ProjectId,
    fields: &FormFields,
) -> Result<Vec<Quotation>, &'static str> {
    let read_field = |sent: String| {
        let value = |key: &str| parse(sent.as_bytes()).find(|(name, _)| name == key).map(|(_, value)| value);
        let quotation = Quotation { label: value("label")?.into_owned(), text: value("text")?.into_owned() };
        is_signed(app, project, &quotation, &value("signature")?).then_some(quotation)
    };
    fields.all("quotation").into_iter().map(|sent| read_field(sent).ok_or(REFUSAL)).collect()
}
