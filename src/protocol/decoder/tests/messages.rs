//! Anthropic's messages.

use super::*;

fn start(usage: &str) -> String {
    let json = format!(
        r#"{{"type":"message_start","message":{{"type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{usage}}}}}"#
    );
    named(&[("message_start", &json)])
}

fn block(block: &str) -> String {
    let json = format!(r#"{{"type":"content_block_start","index":1,"content_block":{block}}}"#);
    named(&[("content_block_start", &json)])
}

fn piece(delta: &str) -> String {
    let json = format!(r#"{{"type":"content_block_delta","index":1,"delta":{delta}}}"#);
    named(&[("content_block_delta", &json)])
}

fn text(text: &str) -> String {
    piece(&format!(r#"{{"type":"text_delta","text":"{text}"}}"#))
}

fn end(usage: &str) -> String {
    let json = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"max_tokens","stop_sequence":null}},"usage":{usage}}}"#
    );
    named(&[
        ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
        ("message_delta", &json),
        ("message_stop", r#"{"type":"message_stop"}"#),
    ])
}

#[test]
fn a_stream_is_read_and_its_prompt_counts_what_the_cache_gave() {
    let stream = [
        start(r#"{"cache_read_input_tokens":10,"input_tokens":1,"output_tokens":1}"#),
        named(&[("ping", r#"{"type": "ping"}"#)]),
        block(r#"{"type":"text","text":""}"#),
        text("one"),
        text(" two"),
        end(r#"{"output_tokens":8}"#),
        "data: after\n\n".to_owned(),
    ];
    let read = read_as(Api::Messages, &stream.concat());
    let opening = vec![Step::Usage, Step::Ignored, Step::Ignored];
    let rest = vec![TOKEN, TOKEN, Step::Ignored, FINISH, Step::Done];
    assert_eq!(read.steps, [opening, rest].concat());
    assert_eq!((read.text(), read.answer.outcome()), ("one two", Outcome::Ok));
    assert_eq!(read.answer.usage(), Usage { cached: Some(10), ..usage_of(11, 8) });
    assert_eq!(read.answer.finish_reason.as_deref(), Some("max_tokens"));
}

#[test]
fn the_counts_of_the_end_complete_those_of_the_start() {
    for (at_start, at_end, expected) in [
        (
            r#"{"input_tokens":11,"output_tokens":0}"#,
            r#"{"input_tokens":11,"output_tokens":8}"#,
            usage_of(11, 8),
        ),
        (
            r#"{"input_tokens":0,"output_tokens":0}"#,
            r#"{"input_tokens":11,"output_tokens":8}"#,
            usage_of(11, 8),
        ),
        (
            r#"{"input_tokens":1,"cache_creation_input_tokens":4,"cache_read_input_tokens":6}"#,
            r#"{"input_tokens":1,"output_tokens":8}"#,
            Usage { cached: Some(6), ..usage_of(11, 8) },
        ),
    ] {
        let read = read_as(Api::Messages, &[start(at_start), text("a"), end(at_end)].concat());
        assert_eq!(read.answer.usage(), expected, "{at_start} {at_end}");
    }
}

#[test]
fn the_first_count_of_output_tokens_is_no_count_of_an_answer() {
    let read = read_as(
        Api::Messages,
        &[start(r#"{"input_tokens":3,"output_tokens":1}"#), text("a"), text("b")].concat(),
    );
    assert_eq!((read.answer.usage().completion, read.answer.outcome()), (None, Outcome::Truncated));
}

#[test]
fn thinking_and_tools_are_output() {
    let stream = [
        block(r#"{"type":"thinking","thinking":"","signature":""}"#),
        piece(r#"{"type":"thinking_delta","thinking":"hm"}"#),
        piece(r#"{"type":"signature_delta","signature":"xyz"}"#),
        block(r#"{"type":"tool_use","id":"t","name":"f","input":{}}"#),
        piece(r#"{"type":"input_json_delta","partial_json":""}"#),
        piece(r#"{"type":"input_json_delta","partial_json":"{\"a\":"}"#),
        piece(r#"{"type":"input_json_delta","partial_json":"1}"}"#),
    ];
    let read = read_as(Api::Messages, &stream.concat());
    let ignored = Step::Ignored;
    assert_eq!(read.steps, [ignored, ASIDE, ignored, ASIDE, ignored, ASIDE, ASIDE]);
    assert_eq!(read.texts().reasoning, "hm");
    assert_eq!(read.texts().tool_calls, [tool_call(1, "f", "{\"a\":1}")]);
}

#[test]
fn an_error_event_fails_the_request() {
    let error =
        named(&[("error", r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#)]);
    let read = read_as(Api::Messages, &[text("a"), error.clone()].concat());
    assert_eq!(read.steps, [TOKEN, Step::Error]);
    assert_eq!((read.answer.outcome(), read.error()), (Outcome::StreamError, "Overloaded"));
    let unnamed = error.replace("event: error\n", "");
    assert_eq!(read_as(Api::Messages, &unnamed).error(), "Overloaded");
}

#[test]
fn events_of_unknown_types_are_ignored() {
    let read = read_as(Api::Messages, &named(&[("new", r#"{"type":"new","content":{"text":"x"}}"#)]));
    assert_eq!(read.steps, [Step::Ignored]);
}

#[test]
fn a_document_is_read_with_all_its_blocks() {
    let body = concat!(
        r#"{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},"#,
        r#"{"type":"text","text":"one"},{"type":"tool_use","id":"t","name":"f","input":{"a": 1}}],"#,
        r#""stop_reason":"tool_use","usage":{"input_tokens":2,"output_tokens":9}}"#
    );
    let read = read_document_as(Api::Messages, body);
    assert_eq!((read.text(), read.texts().reasoning.as_str()), ("one", "hm"));
    assert_eq!(read.texts().tool_calls, [tool_call(2, "f", "{\"a\": 1}")]);
    assert_eq!((read.answer.outcome(), read.answer.usage()), (Outcome::Ok, usage_of(2, 9)));
    let failed = r#"{"type":"error","error":{"type":"x","message":"no"}}"#;
    assert_eq!(read_document_as(Api::Messages, failed).error(), "no");
}
