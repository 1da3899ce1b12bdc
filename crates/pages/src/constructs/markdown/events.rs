//! Turns events of the Markdown parser into constructs.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Parser, Tag};

use super::super::ConstructKind;
use crate::commonmark;

/// The links, images, headings and definitions of a text.
pub(super) fn parse(text: &str) -> impl Iterator<Item = (ConstructKind, Range<usize>)> {
    let mut parser = Parser::new_ext(text, commonmark::options()).into_offset_iter();
    let mut found: Vec<_> =
        parser.by_ref().filter_map(|(event, range)| construct(event).map(|kind| (kind, range))).collect();
    let definitions = parser.reference_definitions().iter();
    found.extend(definitions.map(|(_, definition)| {
        (definition_kind(&definition.dest, definition.title.as_deref()), definition.span.clone())
    }));
    found.into_iter()
}

/// A definition without an address is how comments are written where HTML is not allowed: `[//]: # (words)`.
pub(super) fn definition_kind(address: &str, title: Option<&str>) -> ConstructKind {
    match title {
        Some(words) if matches!(address, "#" | "") => ConstructKind::Comment(words.to_string()),
        _ => ConstructKind::Link(address.to_owned()),
    }
}

/// The construct that an event begins, if it is a link, an image or a heading.
pub(super) fn construct(event: Event<'_>) -> Option<ConstructKind> {
    match event {
        // Docsify reads settings in the title of a link.
        Event::Start(Tag::Link { title, .. } | Tag::Image { title, .. }) if title.starts_with(':') => {
            Some(ConstructKind::Unknown(title.to_string()))
        }
        Event::Start(Tag::Image { dest_url, .. }) => Some(ConstructKind::Image(dest_url.to_string())),
        Event::Start(Tag::Link { dest_url, link_type: LinkType::Email, .. }) => {
            Some(ConstructKind::Link(format!("mailto:{dest_url}")))
        }
        Event::Start(Tag::Link { dest_url, .. }) => Some(ConstructKind::Link(dest_url.to_string())),
        Event::Start(Tag::Heading { .. }) => Some(ConstructKind::Heading),
        _ => None,
    }
}
