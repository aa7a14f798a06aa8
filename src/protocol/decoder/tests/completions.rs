//! Text completions.

use super::*;

fn text(text: &str, rest: &str) -> String {
    data(&format!(
        r#"{{"id":"c","object":"text_completion","choices":[{{"index":0,"text":"{text}","logprobs":null{rest}}}]}}"#
    ))
}

#[test]
fn a_stream_with_usage_after_the_finish_is_read() {
    let read = read_as(
        Api::Completions,
        &[text("a", ""), text(" b\\n", ""), text("c", r#","finish_reason":"length""#), usage(4, 3), done()]
            .concat(),
    );
    let last = Step::Output { generated: Generated::Answer, tokens: None, finished: true };
    assert_eq!(read.steps, [TOKEN, TOKEN, last, Step::Usage, Step::Done]);
    assert_eq!((read.text(), read.answer.outcome()), ("a b\nc", Outcome::Ok));
    assert_eq!(read.answer.usage(), usage_of(4, 3));
}

#[test]
fn a_null_event_is_nothing_and_usage_may_stand_in_the_finish_event() {
    let last = concat!(
        r#"{"choices":[{"text":"","index":0,"finish_reason":"length"}],"#,
        r#""usage":{"completion_tokens":8,"prompt_tokens":4,"prompt_tokens_details":{"cached_tokens":3}}}"#
    );
    let read = read_as(Api::Completions, &[data("null"), text("a", ""), data(last), done()].concat());
    assert_eq!(read.steps, [Step::Ignored, TOKEN, FINISH, Step::Done]);
    assert_eq!(read.answer.usage(), Usage { cached: Some(3), ..usage_of(4, 8) });
}

#[test]
fn tokens_are_counted_by_ids_and_by_log_probabilities_of_both_forms() {
    let with = |logprobs: &str, ids: &str| {
        data(&format!(r#"{{"choices":[{{"text":"ab","logprobs":{logprobs},"token_ids":{ids}}}]}}"#))
    };
    let read = read_as(
        Api::Completions,
        &[
            with("null", "[7,8]"),
            with(r#"{"text_offset":[0,1],"tokens":["a","b"],"token_logprobs":[-1,-2]}"#, "null"),
            with(r#"{"content":[{"id":1,"token":"ab","top_logprobs":[{"token":"\ud800"}]}]}"#, "null"),
        ]
        .concat(),
    );
    assert_eq!(read.tokens(), [Some(2), Some(2), Some(1)]);
    assert_eq!(read.answer.counted_tokens(), Some(5));
}

#[test]
fn usage_at_every_event_counts_the_tokens_of_each() {
    let with = |tokens: u32| {
        data(&format!(
            r#"{{"choices":[{{"text":"a","index":0}}],"usage":{{"prompt_tokens":9,"total_tokens":{},"completion_tokens":{tokens}}}}}"#,
            9 + tokens
        ))
    };
    let read = read_as(Api::Completions, &[with(1), with(2), with(12)].concat());
    assert_eq!(read.tokens(), [Some(1), Some(1), Some(10)]);
    assert_eq!(read.answer.usage(), usage_of(9, 12));
}

#[test]
fn an_error_in_the_stream_fails_the_request() {
    let error = data(r#"{"error":{"code":500,"message":"no match","type":"server_error"}}"#);
    let read = read_as(Api::Completions, &[text("a", ""), error].concat());
    assert_eq!(read.steps, [TOKEN, Step::Error]);
    assert_eq!((read.answer.outcome(), read.error()), (Outcome::StreamError, "no match"));
}

#[test]
fn a_document_is_read() {
    let body = concat!(
        r#"{"choices":[{"text":"a b","index":0,"logprobs":null,"finish_reason":"length"}],"#,
        r#""usage":{"completion_tokens":2,"prompt_tokens":4}}"#
    );
    let read = read_document_as(Api::Completions, body);
    assert_eq!(
        (read.text(), read.answer.usage(), read.answer.outcome()),
        ("a b", usage_of(4, 2), Outcome::Ok)
    );
}
