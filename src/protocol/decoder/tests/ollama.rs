//! Ollama's chat and generate.

use super::*;

fn line(time: u32, message: &str) -> String {
    format!(
        "{{\"model\":\"m\",\"created_at\":\"2026-12-01T00:00:00.{time}Z\",\"message\":{message},\"done\":false}}\n"
    )
}

fn content(time: u32, text: &str) -> String {
    line(time, &format!(r#"{{"role":"assistant","content":"{text}"}}"#))
}

const LAST: &str = concat!(
    r#"{"model":"m","created_at":"2026-12-01T00:00:01Z","message":{"role":"assistant","content":""},"done":true,"#,
    r#""done_reason":"length","total_duration":9,"load_duration":1,"prompt_eval_count":26,"#,
    r#""prompt_eval_duration":2,"eval_count":3,"eval_duration":4}"#
);

#[test]
fn a_stream_ends_with_its_last_line() {
    for end in ["", "\n", "\r\n\r\n", "\n{\"more\":1}\n"] {
        let stream = [content(1, "one"), content(2, " two"), content(3, "\\n"), LAST.to_owned() + end];
        let read = read_as(Api::Ollama, &stream.concat());
        assert_eq!(read.steps, [TOKEN, TOKEN, TOKEN, FINISH], "{end:?}");
        assert_eq!((read.text(), read.answer.outcome()), ("one two\n", Outcome::Ok));
        assert_eq!(read.answer.usage(), usage_of(26, 3));
        assert_eq!(read.answer.finish_reason.as_deref(), Some("length"));
    }
}

#[test]
fn a_stream_without_its_last_line_is_truncated() {
    assert_eq!(read_as(Api::Ollama, &content(1, "one")).answer.outcome(), Outcome::Truncated);
}

#[test]
fn an_end_without_a_reason_is_an_end() {
    let last = LAST.replace("\"done_reason\":\"length\",", "");
    let read = read_as(Api::Ollama, &(content(1, "one") + &last));
    assert_eq!(read.steps, [TOKEN, Step::Done]);
    assert_eq!((read.answer.outcome(), read.answer.usage()), (Outcome::Ok, usage_of(26, 3)));
}

#[test]
fn thinking_and_tools_are_output() {
    let call = r#"{"role":"assistant","content":"","tool_calls":[{"function":{"index":1,"name":"f","arguments":{"a":1}}}]}"#;
    let stream =
        [line(1, r#"{"role":"assistant","content":"","thinking":"hm"}"#), line(2, call), LAST.to_owned()];
    let read = read_as(Api::Ollama, &stream.concat());
    assert_eq!(read.steps, [ASIDE, ASIDE, FINISH]);
    assert_eq!(read.texts().reasoning, "hm");
    assert_eq!(read.texts().tool_calls, [tool_call(1, "f", "{\"a\":1}")]);
}

#[test]
fn generated_text_and_thinking_stand_at_the_top() {
    let stream = concat!(
        "{\"model\":\"m\",\"created_at\":\"x\",\"response\":\"\",\"thinking\":\"hm\",\"done\":false}\n",
        "{\"model\":\"m\",\"created_at\":\"x\",\"response\":\"one\",\"done\":false}\n",
        "{\"model\":\"m\",\"created_at\":\"y\",\"response\":\"\",\"done\":true,\"done_reason\":\"stop\",",
        "\"context\":[1,2,3],\"prompt_eval_count\":4,\"eval_count\":2}\n",
    );
    let read = read_as(Api::OllamaGenerate, stream);
    assert_eq!(read.steps, [ASIDE, TOKEN, FINISH]);
    assert_eq!((read.text(), read.texts().reasoning.as_str()), ("one", "hm"));
    assert_eq!(read.answer.usage(), usage_of(4, 2));
}

#[test]
fn a_line_with_an_error_fails_the_request() {
    let read = read_as(Api::Ollama, &(content(1, "one") + "{\"error\":\"llama runner has stopped\"}\n"));
    assert_eq!(read.steps, [TOKEN, Step::Error]);
    assert_eq!((read.answer.outcome(), read.error()), (Outcome::StreamError, "llama runner has stopped"));
}

#[test]
fn an_event_stream_is_malformed_and_says_why() {
    let read = read_as(Api::Ollama, "data: {\"choices\":[]}\n\n");
    assert_eq!(read.answer.outcome(), Outcome::Malformed);
    insta::assert_snapshot!(read.error(), @r#"an event cannot be read: expected an object at byte 0: data: {"choices":[]}"#);
}

#[test]
fn a_document_is_the_last_line_with_all_the_text() {
    let body = LAST.replace("\"content\":\"\"", "\"content\":\"one two\"");
    let read = read_document_as(Api::Ollama, &body);
    assert_eq!(
        (read.text(), read.answer.usage(), read.answer.outcome()),
        ("one two", usage_of(26, 3), Outcome::Ok)
    );
    assert_eq!(
        read_document_as(Api::Ollama, r#"{"error":"model \"x\" not found"}"#).error(),
        "model \"x\" not found"
    );
}
