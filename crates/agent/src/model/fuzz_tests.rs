//! Tests that any stream is decoded without a panic, and that every reply can be sent to any provider.

use pages::WordList;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::client::format_of;
use super::draft::Draft;
use super::provider_error::ProviderError;
use super::sse::SseParser;
use super::{Arguments, Message, ModelRequest, Provider};

const WORDS: WordList = WordList(
    "type index delta text content_block content_block_start content_block_delta thinking signature tool_use \
     partial_json message_start message_delta message usage input_tokens output_tokens \
     cache_read_input_tokens stop_reason choices content tool_calls function arguments name id finish_reason \
     reasoning_content refusal prompt_tokens response.output_item.added response.output_item.done \
     response.function_call_arguments.delta response.completed response item function_call call_id \
     output_index reasoning error incomplete_details reason candidates parts functionCall args thought \
     thoughtSignature finishReason usageMetadata candidatesTokenCount thoughtsTokenCount promptFeedback code \
     details retryDelay 1e999s",
);

fn word() -> impl Strategy<Value = String> {
    let unusual = ["", "{\"a\":", "é\u{0}"];
    prop::sample::select(WORDS.iter().chain(unusual).collect::<Vec<_>>()).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(&[0, 1, 429, u64::MAX][..]).prop_map(Value::from),
        Just(json!(-1.5)),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..6).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

/// An event of a known kind with any content: such events get furthest.
fn event() -> impl Strategy<Value = Value> {
    let parts = (word(), value(), value(), value(), value());
    parts.prop_map(|(kind, a, b, c, d)| {
        json!({
            "type": kind, "index": 0, "output_index": 0, "content_block": a, "item": a, "response": a, "message": a,
            "delta": b, "usage": c, "usageMetadata": c,
            "choices": [{ "delta": { "tool_calls": [b], "content": d }, "finish_reason": d }],
            "candidates": [{ "content": { "parts": [a, b] }, "finishReason": d }],
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_events_make_a_reply_that_can_be_sent(
        events in prop::collection::vec(prop_oneof![event(), value()], 0..12),
    ) {
        for provider in Provider::ALL {
            let (mut draft, mut decoder) = (Draft::default(), format_of(provider).decoder());
            for event in &events {
                let _ = ProviderError::parse(event);
                decoder.decode(event, &mut draft);
                for event in format_of(provider).events(event.clone()) {
                    decoder.decode(&event, &mut draft);
                }
            }
            draft.stop = draft.stop.or(Some(super::StopReason::Done));
            let Some(reply) = draft.finish(1, decoder) else { continue };
            for call in &reply.turn.calls {
                prop_assert!(!matches!(&call.arguments, Arguments::Json(value) if !value.is_object()));
            }
            let messages = [Message::Assistant(reply.turn)];
            let messages: Vec<_> = messages.iter().collect();
            let request =
                ModelRequest { system: "", messages: &messages, tools: &[], max_output: 1, temperature: None };
            for other in Provider::ALL {
                prop_assert!(format_of(other).request("m", &request).is_object());
            }
        }
    }

    #[test]
    fn any_chunks_are_parsed_like_the_whole(chunks in prop::collection::vec(any::<Vec<u8>>(), 0..8)) {
    let mut parser = SseParser::default();
    let whole = chunks.concat();
    let from_chunks: Vec<_> = chunks.iter().flat_map(|chunk| parser.push(chunk)).collect();
    prop_assert_eq!(from_chunks, SseParser::default().push(&whole));
    }
}
