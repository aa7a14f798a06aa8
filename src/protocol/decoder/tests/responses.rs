//! OpenAI's responses.

use super::*;

fn delta_of(kind: &str, at: u32, delta: &str) -> (String, String) {
    let json = format!(
        r#"{{"content_index":0,"delta":"{delta}","item_id":"i","logprobs":[],"output_index":1,"sequence_number":{at},"type":"{kind}"}}"#
    );
    (kind.to_owned(), json)
}

fn stream(events: &[(String, String)]) -> String {
    let events: Vec<_> = events.iter().map(|(name, json)| (name.as_str(), json.as_str())).collect();
    named(&events)
}

fn last(kind: &str, members: &str) -> (String, String) {
    let output = r#""output":[{"type":"message","content":[{"type":"output_text","text":"again"}]}]"#;
    (
        kind.to_owned(),
        format!(r#"{{"response":{{"id":"r","error":null,{output},{members}}},"type":"{kind}"}}"#),
    )
}

const USAGE: &str = concat!(
    r#""usage":{"input_tokens":11,"input_tokens_details":{"cached_tokens":10},"output_tokens":16,"#,
    r#""output_tokens_details":{"reasoning_tokens":3},"total_tokens":27}"#
);

#[test]
fn a_stream_ends_with_the_completed_response_and_its_repeats_count_once() {
    let created = (
        "response.created",
        r#"{"type":"response.created","response":{"status":"in_progress","usage":null,"error":null,"output":[]}}"#,
    );
    let item = (
        "response.output_item.added",
        r#"{"type":"response.output_item.added","item":{"content":[],"role":"assistant","type":"message"}}"#,
    );
    let part = (
        "response.content_part.added",
        r#"{"type":"response.content_part.added","part":{"type":"output_text","text":""}}"#,
    );
    let text_done = ("response.output_text.done", r#"{"type":"response.output_text.done","text":"one two"}"#);
    let item_done = (
        "response.output_item.done",
        r#"{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"one two"}]}}"#,
    );
    let deltas =
        [delta_of("response.output_text.delta", 4, "one"), delta_of("response.output_text.delta", 5, " two")];
    let end = [last("response.completed", &format!(r#""status":"completed",{USAGE}"#))];
    let text = [named(&[created, item, part]), stream(&deltas), named(&[text_done, item_done]), stream(&end)]
        .concat();
    let read = read_as(Api::Responses, &(text + "data: after\n\n"));
    let opening = vec![Step::Ignored; 3];
    let rest = vec![TOKEN, TOKEN, Step::Ignored, Step::Ignored, FINISH];
    assert_eq!(read.steps, [opening, rest].concat());
    assert!(read.answer.done);
    assert_eq!((read.text(), read.answer.outcome()), ("one two", Outcome::Ok));
    assert_eq!(read.answer.finish_reason.as_deref(), Some("completed"));
    let usage = Usage { prompt: Some(11), completion: Some(16), cached: Some(10), reasoning: Some(3) };
    assert_eq!(read.answer.usage(), usage);
}

#[test]
fn an_answer_cut_by_its_limit_says_so_in_either_event() {
    for kind in ["response.incomplete", "response.completed"] {
        let end = last(kind, r#""status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}"#);
        let read = read_as(Api::Responses, &stream(&[delta_of("response.output_text.delta", 1, "a"), end]));
        assert_eq!(read.answer.finish_reason.as_deref(), Some("max_output_tokens"), "{kind}");
        assert_eq!(read.answer.outcome(), Outcome::Ok, "{kind}");
    }
}

#[test]
fn reasoning_tools_and_refusals_are_output() {
    let call = r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","name":"f","arguments":"","call_id":"c"}}"#;
    let events = [
        delta_of("response.reasoning_text.delta", 1, "t"),
        delta_of("response.reasoning_summary_text.delta", 2, "u"),
        ("response.output_item.added".to_owned(), call.to_owned()),
        delta_of("response.function_call_arguments.delta", 3, "{"),
        delta_of("response.function_call_arguments.delta", 4, "}"),
        delta_of("response.refusal.delta", 5, "no"),
        delta_of("response.audio.delta", 6, "AAAA"),
    ];
    let read = read_as(Api::Responses, &stream(&events));
    assert_eq!(read.steps, [ASIDE, ASIDE, ASIDE, ASIDE, ASIDE, TOKEN, Step::Ignored]);
    assert_eq!((read.texts().reasoning.as_str(), read.text()), ("tu", "no"));
    assert_eq!(read.texts().tool_calls, [tool_call(1, "f", "{}")]);
    assert_eq!(read.answer.outcome(), Outcome::Truncated, "no end came");
}

#[test]
fn failures_are_found_in_every_form() {
    for (name, json, message) in [
        (
            "response.failed",
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"broke"}}}"#,
            "broke",
        ),
        (
            "error",
            r#"{"type":"error","code":"x","message":"broke","param":null,"sequence_number":3}"#,
            "broke",
        ),
        ("", r#"{"type":"error","message":"broke"}"#, "broke"),
        ("", r#"{"error":{"message":"broke"}}"#, "broke"),
        ("response.failed", r#"{"type":"response.failed"}"#, r#"{"type":"response.failed"}"#),
    ] {
        let read = read_as(
            Api::Responses,
            &[stream(&[delta_of("response.output_text.delta", 1, "a")]), named(&[(name, json)])].concat(),
        );
        assert_eq!(read.steps, [TOKEN, Step::Error], "{json}");
        assert_eq!((read.answer.outcome(), read.error()), (Outcome::StreamError, message), "{json}");
    }
}

#[test]
fn a_document_is_read_with_all_its_items() {
    let body = format!(
        r#"{{"id":"r","object":"response","status":"completed","error":null,"text":{{"format":{{}}}},"output":[
        {{"type":"reasoning","summary":[{{"type":"summary_text","text":"s"}}],"content":[{{"type":"reasoning_text","text":"t"}}]}},
        {{"type":"function_call","name":"f","arguments":"{{}}"}},
        {{"type":"message","content":[{{"type":"output_text","text":"one"}},{{"type":"refusal","refusal":" no"}}]}}],{USAGE}}}"#
    );
    let read = read_document_as(Api::Responses, &body);
    assert_eq!((read.text(), read.texts().reasoning.as_str()), ("one no", "st"));
    assert_eq!(read.texts().tool_calls, [tool_call(1, "f", "{}")]);
    assert_eq!((read.answer.outcome(), read.answer.usage().completion), (Outcome::Ok, Some(16)));
    assert_eq!(read.answer.finish_reason.as_deref(), Some("completed"));

    let failed = r#"{"object":"response","status":"failed","output":[],"error":{"message":"broke"}}"#;
    assert_eq!(read_document_as(Api::Responses, failed).error(), "broke");
}
