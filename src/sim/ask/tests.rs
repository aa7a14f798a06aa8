//! Bodies of requests, well and ill written.

use super::super::knowledge::NEEDLE_QUESTION;
use super::*;
use crate::sim::{Parameters, Words};

fn reader() -> Reader {
    Reader {
        tokenizer: Arc::new(Words),
        answer_key: None,
        seed: 0,
        vocabulary: Vocabulary::new(&Words),
        parameters: Parameters { mean_answer_tokens: 8, ..Parameters::default() },
    }
}

fn read(body: &str) -> Result<Ask, Problem> {
    reader().read(Form::Chat, body.as_bytes(), false)
}

fn read_completion(body: &str) -> Result<Ask, Problem> {
    reader().read(Form::Completion, body.as_bytes(), false)
}

fn refusal(body: &str) -> String {
    let problem = read(body).unwrap_err();
    assert_eq!(problem.status, 400);
    format!("{} [{}]", problem.message, problem.param.unwrap_or_default())
}

/// A request with one short message and further members.
fn with(members: &str) -> String {
    format!(r#"{{"messages":[{{"role":"user","content":"one two"}}]{members}}}"#)
}

#[test]
fn a_prompt_counts_its_words_and_four_tokens_a_message() {
    let chat = read(
        r#"{"messages":[{"role":"system","content":"be brief"},
                        {"role":"user","content":[{"type":"text","text":"one two"},{"type":"text","text":"three"}]},
                        {"role":"assistant","content":null},
                        {"role":"user","content":"four\nfive \"six\""}]}"#,
    )
    .unwrap();
    assert_eq!(chat.request.prompt_tokens, (2 + 4) + (3 + 4) + 4 + (3 + 4));
}

#[test]
fn parts_are_the_same_prompt_as_their_lines() {
    let parts =
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}"#;
    let lines = r#"{"messages":[{"role":"user","content":"a\nb"}]}"#;
    assert_eq!(read(parts).unwrap().answer, read(lines).unwrap().answer);
}

#[test]
fn lengths_follow_from_limits_and_from_the_answers_own_end() {
    let request = |members: &str| read(&with(members)).unwrap().request;
    let own = request("").stop_after.unwrap();
    assert!((4..=12).contains(&own));
    assert_eq!(request("").max_tokens, None);
    let limited = request(r#","max_tokens":20"#);
    assert_eq!((limited.prompt_tokens, limited.max_tokens, limited.stop_after), (6, Some(20), Some(own)));
    assert_eq!(request(r#","max_tokens":20,"max_completion_tokens":7"#).max_tokens, Some(7));
    assert_eq!(request(r#","max_tokens":20,"ignore_eos":true"#).stop_after, None);
    assert_eq!(request(r#","max_tokens":20,"min_tokens":15"#).stop_after, Some(15));
    assert_eq!(request(r#","min_tokens":1"#).stop_after, Some(own));
    assert_eq!(request(r#","max_tokens":null,"ignore_eos":false"#).stop_after, Some(own));
}

#[test]
fn delivery_is_whole_unless_a_stream_is_asked_for() {
    let delivery = |members: &str| read(&with(members)).unwrap().delivery;
    assert_eq!(delivery(""), Delivery::Whole);
    assert_eq!(delivery(r#","stream":false,"stream_options":{"include_usage":true}"#), Delivery::Whole);
    assert_eq!(delivery(r#","stream":true"#), Delivery::Streamed(StreamUsage::None));
    assert_eq!(delivery(r#","stream":true,"stream_options":null"#), Delivery::Streamed(StreamUsage::None));
    let asked = r#","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":false}"#;
    assert_eq!(delivery(asked), Delivery::Streamed(StreamUsage::Final));
    let asked = r#","stream":true,"stream_options":{"continuous_usage_stats":true}"#;
    assert_eq!(delivery(asked), Delivery::Streamed(StreamUsage::Continuous));
}

#[test]
fn what_is_not_simulated_is_refused_by_name() {
    for (members, param) in [
        (r#","n":2"#, "n"),
        (r#","tools":[{"type":"function"}]"#, "tools"),
        (r#","functions":[{}]"#, "functions"),
        (r#","logprobs":true"#, "logprobs"),
        (r#","echo":true"#, "echo"),
        (r#","best_of":2"#, "best_of"),
        (r#","stop_token_ids":[7]"#, "stop_token_ids"),
        (r#","response_format":{"type":"json_object"}"#, "response_format"),
        (r#","structured_outputs":{"json":{}}"#, "structured_outputs"),
        (r#","return_token_ids":true"#, "return_token_ids"),
    ] {
        let expected = format!("The simulated server does not support `{param}`. [{param}]");
        assert_eq!(refusal(&with(members)), expected);
    }
}

#[test]
fn what_changes_nothing_is_accepted() {
    for members in [
        r#","n":1,"tools":[],"functions":null,"logprobs":false,"stop":"","stop_token_ids":[]"#,
        r#","response_format":{"type":"text"},"structured_outputs":{},"tool_choice":"none""#,
        r#","temperature":0.7,"top_p":1,"top_k":1,"seed":5,"user":"u","unheard_of":{"a":[1]}"#,
    ] {
        read(&with(members)).unwrap();
    }
}

#[test]
fn what_is_no_chat_request_is_refused_with_the_reason() {
    insta::assert_snapshot!(refusal("{"), @"JSON decode error: EOF while parsing an object at line 1 column 1 []");
    insta::assert_snapshot!(refusal(""), @"JSON decode error: EOF while parsing a value at line 1 column 0 []");
    insta::assert_snapshot!(refusal("[]"), @"The request body is not a chat request: invalid length 0, expected an object at line 1 column 2 []");
    insta::assert_snapshot!(refusal("{}"), @"`messages` must hold at least one message. [messages]");
    insta::assert_snapshot!(refusal(r#"{"messages":[]}"#), @"`messages` must hold at least one message. [messages]");
    insta::assert_snapshot!(refusal(r#"{"messages":"hello"}"#), @r#"The request body is not a chat request: invalid type: string "hello", expected a sequence at line 1 column 19 []"#);
    insta::assert_snapshot!(refusal(r#"{"messages":[{"role":"user"}]}"#), @"The request body is not a chat request: missing field `content` at line 1 column 28 []");
    insta::assert_snapshot!(refusal(r#"{"messages":[{"role":"user","content":7}]}"#), @"The request body is not a chat request: invalid type: integer `7`, expected a string or an array of parts at line 1 column 39 []");
    insta::assert_snapshot!(refusal(r#"{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}"#), @"The request body is not a chat request: the model reads only parts of type `text` at line 1 column 60 []");
    insta::assert_snapshot!(refusal(&with(r#","max_tokens":"eight""#)), @r#"The request body is not a chat request: invalid type: string "eight", expected u64 at line 1 column 70 []"#);
    insta::assert_snapshot!(refusal(&with(r#","max_tokens":-1"#)), @"The request body is not a chat request: invalid value: integer `-1`, expected u64 at line 1 column 65 []");
    insta::assert_snapshot!(refusal(&with(r#","max_tokens":3,"min_tokens":4"#)), @"min_tokens must not exceed max_tokens=3, got 4. [min_tokens]");
}

#[test]
fn thoughts_come_on_top_of_the_answer_by_effort() {
    let thoughts = |members: &str| read(&with(members)).unwrap().answer.thoughts();
    assert_eq!(thoughts(""), 0);
    assert_eq!(thoughts(r#","reasoning_effort":"none""#), 0);
    assert_eq!(thoughts(r#","reasoning_effort":"low""#), 2);
    assert_eq!(thoughts(r#","reasoning_effort":"medium""#), 4);
    assert_eq!(thoughts(r#","reasoning_effort":"high""#), 8);
    assert_eq!(thoughts(r#","chat_template_kwargs":{"enable_thinking":true}"#), 4);
    assert_eq!(thoughts(r#","chat_template_kwargs":{"enable_thinking":false}"#), 0);
    let own = |members: &str| read(&with(members)).unwrap().request.stop_after.unwrap();
    assert_eq!(own(r#","reasoning_effort":"high""#), own("") + 8);
    insta::assert_snapshot!(refusal(&with(r#","reasoning_effort":"utmost""#)), @"`reasoning_effort` is one of none, minimal, low, medium, high. [reasoning_effort]");
}

#[test]
fn stops_end_the_answer_early_and_empty_ones_are_none() {
    let whole = read(&with(r#","max_tokens":8,"ignore_eos":true"#)).unwrap();
    let text = whole.answer.text(8, super::super::answer::Channel::Answer);
    let third = text.split(' ').nth(2).unwrap();
    let stopped = read(&with(&format!(r#","max_tokens":8,"ignore_eos":true,"stop":["{third}"]"#))).unwrap();
    assert_eq!(stopped.request.stop_after, Some(3));
    let kept = read(&with(r#","max_tokens":8,"ignore_eos":true,"stop":["",""]"#)).unwrap();
    assert_eq!((kept.request.stop_after, kept.answer), (None, whole.answer));
    assert_eq!(
        read(&with(r#","max_tokens":8,"ignore_eos":true,"stop":null"#)).unwrap().request.stop_after,
        None
    );
}

#[test]
fn a_completion_takes_a_text_or_the_ids_of_its_tokens() {
    let prompt_tokens = |prompt: &str| {
        read_completion(&format!(r#"{{"prompt":{prompt},"max_tokens":3}}"#))
            .map(|ask| ask.request.prompt_tokens)
    };
    assert_eq!(prompt_tokens(r#""one two three""#).unwrap(), 3);
    assert_eq!(prompt_tokens(r#"["one two"]"#).unwrap(), 2);
    assert_eq!(prompt_tokens("[5,6,7,8]").unwrap(), 4);
    assert_eq!(prompt_tokens("[[5,6,7]]").unwrap(), 3);
    assert_eq!(prompt_tokens("[]").unwrap(), 0);
    let refusal = |body: &str| read_completion(body).unwrap_err().message;
    insta::assert_snapshot!(refusal(r#"{"prompt":["one","two"]}"#), @"The simulated server answers one prompt a request.");
    insta::assert_snapshot!(refusal(r#"{"prompt":[[1],[2]]}"#), @"The simulated server answers one prompt a request.");
    insta::assert_snapshot!(refusal("{}"), @"`prompt` is missing.");
    insta::assert_snapshot!(refusal(r#"{"prompt":7}"#), @"The request body is not a completions request: invalid type: integer `7`, expected a string or an array of tokens at line 1 column 11");
    insta::assert_snapshot!(refusal(r#"{"prompt":[true]}"#), @"The request body is not a completions request: a text, a token's number or a list of them at line 1 column 16");
}

#[test]
fn a_prompt_and_its_answer_are_the_beginning_of_the_next_turn() {
    let message = |role: &str, text: &str| format!(r#"{{"role":"{role}","content":"{text}"}}"#);
    let long = "word ".repeat(40);
    let first = message("user", &long);
    let ask = read(&format!(r#"{{"messages":[{first}],"max_tokens":30,"ignore_eos":true}}"#)).unwrap();
    let answer = message("assistant", &ask.answer.text(30, super::super::answer::Channel::Answer));
    let next = message("user", "and then?");
    let turn = read(&format!(r#"{{"messages":[{first},{answer},{next}],"max_tokens":1}}"#)).unwrap();
    // 44 tokens of prompt, 30 of answer, the last of which is never computed: four whole blocks of 16.
    assert_eq!(ask.request.blocks.len(), 4);
    assert_eq!(turn.request.blocks[..4], ask.request.blocks);
    let other = read(&format!(r#"{{"messages":[{}],"max_tokens":1}}"#, message("system", &long))).unwrap();
    assert_eq!(other.request.blocks.len(), 2);
    assert_eq!(other.request.blocks[..2], ask.request.blocks[..2], "who speaks shows after the text");
}

#[test]
fn the_last_message_of_the_user_is_the_question() {
    let question = format!("{NEEDLE_QUESTION}keel?");
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"The secret number for keel is 9."}},
            {{"role":"assistant","content":"Noted."}},{{"role":"user","content":"{question}"}}]}}"#
    );
    let ask = read(&body).unwrap();
    let tokens = ask.request.stop_after.unwrap();
    assert_eq!(
        ask.answer.text(tokens, super::super::answer::Channel::Answer),
        "The secret number for keel is 9."
    );
}
