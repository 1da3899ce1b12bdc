//! Recognizes SVG files that neither run nor load anything.

use pages::{Attribute, AttributeValue, ConstructKind, Element, FileKind, WordList, constructs};

/// Elements that draw.
const TAGS: WordList = WordList(
    "svg g path rect circle ellipse line polyline polygon text tspan textpath title desc defs use symbol marker mask \
     clippath pattern lineargradient radialgradient stop filter feblend fecolormatrix fecomponenttransfer fecomposite \
     fedropshadow feflood fefunca fefuncb fefuncg fefuncr fegaussianblur femerge femergenode femorphology feoffset \
     metadata",
);

/// Whether an SVG has no script, no event handler, no style sheet, and addresses only of its own parts.
pub(super) fn is_inert(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    // The HTML reading doesn't resolve these declarations.
    let has_declaration = ["<!ENTITY", "<![", "<?xml-"].iter().any(|mark| text.contains(mark));
    !has_declaration
        && constructs(FileKind::Html, text).iter().all(|construct| is_inert_construct(&construct.kind))
}

fn is_inert_construct(kind: &ConstructKind) -> bool {
    match kind {
        ConstructKind::Html(element) | ConstructKind::Component(element) => is_inert_element(element),
        ConstructKind::Comment(_) => true,
        _ => false,
    }
}

fn is_inert_element(element: &Element) -> bool {
    TAGS.contains(&element.name.to_lowercase()) && element.attributes.iter().all(is_inert_attribute)
}

fn is_inert_attribute(attribute: &Attribute) -> bool {
    let name = attribute.name.to_lowercase();
    let value = match &attribute.value {
        AttributeValue::None => "",
        AttributeValue::Text(value) => value,
        AttributeValue::Expression(_) => return false,
    };
    let is_own_part = |address: &str| address.trim().trim_matches(['"', '\'']).starts_with('#');
    match name.as_str() {
        name if name.starts_with("on") => false,
        "href" | "xlink:href" => is_own_part(value),
        name if name == "xmlns" || name.starts_with("xmlns:") => true,
        _ => value.to_lowercase().split("url(").skip(1).all(is_own_part) && !value.contains(['\\', '@']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings() {
        let svg = |inside: &str| {
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\">{inside}</svg>")
        };
        for inside in [
            "",
            "<g fill=\"url(#a)\"><path d=\"M0 0h9\"/><use xlink:href=\"#b\"/></g>",
            "<!-- a --><linearGradient id=\"a\"><stop offset=\"0\" style=\"stop-color:red\"/></linearGradient>",
        ] {
            assert!(is_inert(svg(inside).as_bytes()), "{inside}");
        }
        for inside in [
            "<script>x</script>",
            "<g onload=\"x\"/>",
            "<a href=\"javascript:x\"/>",
            "<use href=\"https://e.example/x.svg#a\"/>",
            "<image href=\"x.png\"/>",
            "<g style=\"fill:url(https://e.example)\"/>",
            "<style>@import 'x'</style>",
            "<foreignObject><b/></foreignObject>",
            "<set attributeName=\"href\" to=\"javascript:x\"/>",
            "<![CDATA[<script>]]>",
        ] {
            assert!(!is_inert(svg(inside).as_bytes()), "{inside}");
        }
    }
}
