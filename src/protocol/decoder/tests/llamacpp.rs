//! llama.cpp's own completions.

use super::*;

fn token(text: &str, predicted: u32) -> String {
    data(&format!(
        r#"{{"index":0,"content":"{text}","tokens":[{predicted}7],"stop":false,"id_slot":-1,"tokens_predicted":{predicted},"tokens_evaluated":4}}"#
    ))
}

const LAST: &str = concat!(
    r#"{"index":0,"content":"","tokens":[],"id_slot":0,"stop":true,"model":"tiny","tokens_predicted":3,"#,
    r#""tokens_evaluated":4,"generation_settings":{"seed":1,"stop":[],"stream":true},"prompt":"p","#,
    r#""stop_type":"limit","stopping_word":"","tokens_cached":11,"timings":{"cache_n":3,"prompt_n":1}}"#
);

#[test]
fn every_event_states_its_tokens_and_the_last_one_ends_the_stream() {
    let stream = [token("one", 1), token(" two", 2), token("\\n", 3), data(LAST), data("{}")].concat();
    let read = read_as(Api::LlamaCpp, &stream);
    let one = counted(Generated::Answer, 1);
    let last = Step::Output { generated: Generated::Nothing, tokens: Some(0), finished: true };
    assert_eq!(read.steps, [one, one, one, last]);
    assert_eq!((read.text(), read.answer.outcome()), ("one two\n", Outcome::Ok));
    assert_eq!(read.answer.usage(), Usage { cached: Some(3), ..usage_of(4, 3) });
    assert_eq!(read.answer.finish_reason.as_deref(), Some("limit"));
    assert_eq!(read.answer.counted_tokens(), None, "usage is not a list of tokens");
}

#[test]
fn progress_of_the_prompt_is_no_token() {
    let progress = data(concat!(
        r#"{"index":0,"content":"","tokens":[0],"stop":false,"id_slot":-1,"tokens_predicted":0,"#,
        r#""tokens_evaluated":4,"prompt_progress":{"total":4,"cache":2,"processed":2,"time_ms":0}}"#
    ));
    let read = read_as(Api::LlamaCpp, &[progress.clone(), progress, token("a", 1), data(LAST)].concat());
    assert_eq!(read.tokens(), [None, None, Some(1), Some(2)]);
    assert!(!read.steps[0].is_token_bearing() && !read.steps[1].is_token_bearing());
}

#[test]
fn events_that_cover_several_tokens_say_so() {
    let read = read_as(Api::LlamaCpp, &[token("a", 1), token("bcd", 12), token("e", 13)].concat());
    assert_eq!(read.tokens(), [Some(1), Some(11), Some(1)]);
    assert_eq!(read.answer.outcome(), Outcome::Truncated);
}

#[test]
fn an_error_in_the_stream_fails_the_request() {
    let error = data(r#"{"error":{"code":500,"message":"no match","type":"server_error"}}"#);
    let read = read_as(Api::LlamaCpp, &[token("a", 1), error].concat());
    assert_eq!((read.answer.outcome(), read.error()), (Outcome::StreamError, "no match"));
}

#[test]
fn a_document_is_the_last_event_with_all_the_text() {
    let body = LAST.replacen("\"content\":\"\"", "\"content\":\"one two\"", 1);
    let read = read_document_as(Api::LlamaCpp, &body);
    assert_eq!((read.text(), read.answer.outcome()), ("one two", Outcome::Ok));
    assert_eq!(read.answer.usage(), Usage { cached: Some(3), ..usage_of(4, 3) });
}
