//! Whatever a stream holds, it is read to its end without a panic, and what is made of it can be
//! sent to anybody.

use pages::WordList;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::client::format_of;
use super::draft::Draft;
use super::events::Events;
use super::refusal::Said;
use super::{Arguments, Call, Message, Provider};

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
    let odd = ["", "{\"a\":", "é\u{0}"];
    prop::sample::select(WORDS.iter().chain(odd).collect::<Vec<_>>()).prop_map(str::to_owned)
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

/// An event of the right kind with anything in it: those get furthest.
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
            let (mut draft, mut ear) = (Draft::default(), format_of(provider).ear());
            for event in &events {
                let _ = Said::of(event);
                ear.hear(event, &mut draft);
            }
            draft.stop = draft.stop.or(Some(super::Stop::Done));
            let Some(reply) = draft.finish(1, ear) else { continue };
            for call in &reply.turn.calls {
                prop_assert!(!matches!(&call.arguments, Arguments::Json(value) if !value.is_object()));
            }
            let messages = [Message::Assistant(reply.turn)];
            let call = Call { system: "", messages: &messages, tools: &[], max_output: 1 };
            for other in Provider::ALL {
                prop_assert!(format_of(other).request("m", &call).is_object());
            }
        }
    }

    #[test]
    fn any_bytes_are_events_or_none(pieces in prop::collection::vec(any::<Vec<u8>>(), 0..8)) {
        let mut events = Events::default();
        let together = pieces.concat();
        let apart: Vec<_> = pieces.iter().flat_map(|piece| events.push(piece)).collect();
        prop_assert_eq!(apart, Events::default().push(&together));
    }
}
