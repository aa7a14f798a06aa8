//! What servers are known to send, a test a case.

use super::*;

#[test]
fn c001_the_event_that_names_the_role_is_no_token() {
    for opening in [
        role(),
        delta(r#"{"role":"assistant","content":null}"#),
        delta(r#"{"role":"assistant"}"#),
        delta("{}"),
    ] {
        let read =
            read(&[opening.clone(), content("Hi"), content(" you"), finish("stop"), usage(4, 2), done()]);
        assert_eq!(read.steps, [Step::Ignored, TOKEN, TOKEN, FINISH, Step::Usage, Step::Done], "{opening}");
        assert_eq!(read.answer.usage(), usage_of(4, 2));
        assert_eq!((read.answer.outcome(), read.text()), (Outcome::Ok, "Hi you"));
    }
}

#[test]
fn c003_usage_is_read_beside_empty_and_absent_choices() {
    for last in [
        usage(7, 2),
        data(r#"{"usage":{"prompt_tokens":7,"completion_tokens":2}}"#),
        data(r#"{"choices":null,"usage":{"prompt_tokens":7,"completion_tokens":2}}"#),
    ] {
        let read = read(&[role(), content("a"), content("b"), finish("stop"), last, done()]);
        assert_eq!(read.steps[4], Step::Usage);
        assert_eq!(read.answer.usage(), usage_of(7, 2));
        assert_eq!(read.answer.outcome(), Outcome::Ok);
    }
}

#[test]
fn c005_a_comment_and_its_blank_line_say_nothing_although_an_id_was_set() {
    let with_id = |event: String| format!("id: 3\n{event}");
    let ping = ": ping\n\n".to_owned();
    let read = read(&[with_id(content("a")), with_id(content("b")), ping, content("c"), finish("stop")]);
    assert_eq!(read.steps, [TOKEN, TOKEN, TOKEN, FINISH]);
    assert_eq!(read.text(), "abc");
}

#[test]
fn c006_pings_before_the_first_token_are_no_events() {
    let pings = ":\n\n:\n\n:\n\n".to_owned();
    let read = read(&[pings, role(), content("x"), finish("stop"), usage(3, 1), done()]);
    assert_eq!(read.steps, [Step::Ignored, TOKEN, FINISH, Step::Usage, Step::Done]);
}

#[test]
fn c008_empty_data_lines_are_no_events() {
    let beat = || "data:\n\ndata: \n\n".to_owned();
    let read = read(&[beat(), content("a"), beat(), content("b"), beat(), finish("stop"), done()]);
    assert_eq!(read.steps, [TOKEN, TOKEN, FINISH, Step::Done]);
}

#[test]
fn c009_data_needs_no_space() {
    let bare = |event: String| event.replace("data: ", "data:");
    let read = read(&[bare(content("ok")), bare(finish("stop")), bare(done())]);
    assert_eq!(read.steps, [TOKEN, FINISH, Step::Done]);
}

#[test]
fn c011_c013_line_ends_of_every_kind_give_the_same_steps() {
    let text = [role(), content("a"), content("b"), finish("stop"), usage(1, 2), done()].concat();
    let expected = read_pieces([text.as_bytes()]);
    for end in ["\r\n", "\r"] {
        let read = read_pieces([text.replace('\n', end).as_bytes()]);
        assert_eq!(read.steps, expected.steps, "{end:?}");
        assert_eq!(read.answer, expected.answer, "{end:?}");
    }
}

#[test]
fn c015_c017_c018_text_and_steps_are_the_same_at_every_cut_and_byte_by_byte() {
    let tokens = [content("你好🙂"), content("é\\n"), content("c")].concat();
    let text = [role(), tokens, finish("stop"), usage(2, 3), done()].concat();
    let bytes = text.as_bytes();
    let whole = read_pieces([bytes]);
    assert_eq!(whole.text(), "你好🙂é\nc");
    assert_eq!(whole.answer.outcome(), Outcome::Ok);
    for cut in 0..=bytes.len() {
        let read = read_pieces([&bytes[..cut], &bytes[cut..]]);
        assert_eq!(read.steps, whole.steps, "cut at {cut}");
        assert_eq!(read.answer, whole.answer, "cut at {cut}");
    }
    let read = read_pieces(bytes.chunks(1));
    assert_eq!((read.steps, read.answer), (whole.steps, whole.answer));
}

#[test]
fn c020_a_bare_error_field_fails_the_request_and_keeps_the_message() {
    let error = "error: {\"code\":400,\"message\":\"prompt too long\"}\n\n".to_owned();
    let read = read(&[error, done()]);
    assert_eq!(read.steps, [Step::Error, Step::Done]);
    assert_eq!((read.answer.outcome(), read.error()), (Outcome::StreamError, "prompt too long"));
}

#[test]
fn c021_only_choices_are_needed() {
    let read = read(&[
        data(r#"{"choices":[{"delta":{"content":"a"}}]}"#),
        data(r#"{"choices":[{"delta":{"content":"b","new":[{}]},"finish_reason":"stop"}],"new":{"a":[1]}}"#),
    ]);
    let last = Step::Output { generated: Generated::Answer, tokens: None, finished: true };
    assert_eq!(read.steps, [TOKEN, last]);
    assert_eq!((read.answer.outcome(), read.text()), (Outcome::Ok, "ab"));
}

#[test]
fn c022_usage_beside_choices_is_read_and_is_not_the_count_of_its_event() {
    let last = data(concat!(
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"#,
        r#""usage":{"prompt_tokens":5,"completion_tokens":2},"timings":{}}"#
    ));
    let read = read(&[content("a"), content("b"), last, done()]);
    assert_eq!(read.steps, [TOKEN, TOKEN, FINISH, Step::Done]);
    assert_eq!(read.answer.usage(), usage_of(5, 2));
    assert_eq!(read.answer.finish_reason.as_deref(), Some("length"));
}

#[test]
fn c023_an_empty_finish_reason_is_none_and_zero_tokens_beside_text_are_not_believed() {
    let open = data(r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":""}]}"#);
    let cut_off = read(&[open.clone(), open.clone()]);
    assert_eq!(cut_off.steps, [TOKEN, TOKEN]);
    assert_eq!(cut_off.answer.outcome(), Outcome::Truncated);

    let last = data(concat!(
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"#,
        r#""usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}"#
    ));
    let whole = read(&[open.clone(), open, last, done()]);
    assert_eq!(whole.steps, [TOKEN, TOKEN, FINISH, Step::Done]);
    assert_eq!(whole.answer.usage(), Usage::default());
    assert_eq!(whole.answer.counted_tokens(), None);
    assert_eq!(whole.answer.outcome(), Outcome::Ok);
}

#[test]
fn zeros_beside_every_token_are_no_counts() {
    let token = data(concat!(
        r#"{"choices":[{"index":0,"delta":{"content":"a"}}],"#,
        r#""usage":{"prompt_tokens":0,"completion_tokens":0}}"#
    ));
    let last = data(concat!(
        r#"{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}],"#,
        r#""usage":{"prompt_tokens":3,"completion_tokens":9}}"#
    ));
    let read = read(&[token.clone(), token, last]);
    assert_eq!(read.tokens(), [None, None, None]);
    assert_eq!(read.answer.usage(), usage_of(3, 9));
}

#[test]
fn a_later_usage_of_zeros_does_not_undo_an_earlier_one() {
    let full = data(concat!(
        r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"#,
        r#""prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":null}}"#
    ));
    let read = read(&[content("a"), full, usage(0, 0)]);
    assert_eq!(read.answer.usage(), Usage { cached: Some(0), ..usage_of(9, 4) });
}

#[test]
fn c024_a_whole_document_is_read_as_one() {
    let read = read_document(concat!(
        r#"{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","#,
        r#""content":"Hello \"you\"","reasoning_content":"hm"},"finish_reason":"stop"}],"#,
        r#""usage":{"prompt_tokens":3,"completion_tokens":20}}"#
    ));
    assert!(read.steps[0].has_answer());
    assert_eq!((read.answer.outcome(), read.text()), (Outcome::Ok, "Hello \"you\""));
    assert_eq!(read.texts().reasoning, "hm");
    assert_eq!(read.answer.usage(), usage_of(3, 20));
}

#[test]
fn c024_a_document_that_only_calls_tools_is_an_answer() {
    let read = read_document(concat!(
        r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","type":"function","#,
        r#""function":{"name":"f","arguments":"{}"}}]}}]}"#
    ));
    assert_eq!(read.steps, [ASIDE]);
    assert_eq!(read.answer.outcome(), Outcome::Ok, "a whole document needs no finish reason");
    assert_eq!(read.texts().tool_calls, [tool_call(0, "f", "{}")]);
}

#[test]
fn c025_an_end_marker_after_a_document_is_allowed_and_other_bytes_are_named() {
    let body = concat!(
        r#"{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}],"#,
        r#""usage":{"prompt_tokens":1,"completion_tokens":1}}"#
    );
    for after in ["\n\ndata: [DONE]\n\n", "data:[DONE]", "\n", ""] {
        let read = read_document(&format!("{body}{after}"));
        assert_eq!((read.answer.outcome(), read.answer.usage()), (Outcome::Ok, usage_of(1, 1)), "{after:?}");
    }
    let read = read_document(&format!("{body}\n{{\"more\":1}}"));
    assert_eq!(read.answer.outcome(), Outcome::Malformed);
    insta::assert_snapshot!(read.error(), @r#"bytes after the answer's JSON: {"more":1}"#);
}

#[test]
fn documents_that_are_no_chat_completions_are_malformed() {
    let bodies = ["", "<html>", r#"{"message":{"content":"a"},"done":false}"#, "[]", r#"{"choices":[]}"#];
    let errors = bodies.map(|body| {
        let read = read_document(body);
        assert_eq!(read.answer.outcome(), Outcome::Malformed, "{body}");
        read.error().to_owned()
    });
    insta::assert_snapshot!(errors.join("\n"), @r#"
    the answer is empty
    the answer cannot be read: expected an object at byte 0: <html>
    the document holds no answer: {"message":{"content":"a"},"done":false}
    the answer cannot be read: expected an object at byte 0: []
    the document holds no answer: {"choices":[]}
    "#);
}

#[test]
fn an_error_as_the_document_is_the_servers() {
    let read = read_document(r#"{"error":{"message":"no such model"}}"#);
    assert_eq!((read.answer.outcome(), read.error()), (Outcome::StreamError, "no such model"));
}

#[test]
fn c026_lines_of_json_are_no_events_and_no_answer() {
    let read = read(&["{\"message\":{\"content\":\"a\"},\"done\":false}\n".repeat(3)]);
    assert_eq!(read.steps, []);
    assert_eq!(read.answer.outcome(), Outcome::Truncated);
}

#[test]
fn c027_nothing_is_read_after_the_end_marker() {
    let read = read(&[content("a"), finish("stop"), done(), content("b"), data("garbage")]);
    assert_eq!(read.steps, [TOKEN, FINISH, Step::Done]);
    assert_eq!((read.answer.outcome(), read.text()), (Outcome::Ok, "a"));
}

#[test]
fn c029_an_error_after_tokens_fails_the_request_although_an_end_marker_follows() {
    let error = data(r#"{"error":{"message":"engine died","code":500}}"#);
    let read = read(&[role(), content("a"), content("b"), content("c"), error, done()]);
    assert_eq!(read.steps[4..], [Step::Error, Step::Done]);
    assert_eq!((read.answer.outcome(), read.error()), (Outcome::StreamError, "engine died"));
}

#[test]
fn c031_an_error_beside_choices_fails_the_request() {
    for choices in ["[]", "null", r#"[{"index":0,"delta":{"content":"a"}}]"#] {
        let error = format!(r#"{{"choices":{choices},"error":{{"code":502,"message":"provider busy"}}}}"#);
        let read = read(&[data(&error), done()]);
        assert_eq!(read.steps, [Step::Error, Step::Done], "{choices}");
        assert_eq!((read.answer.outcome(), read.error()), (Outcome::StreamError, "provider busy"));
    }
}

#[test]
fn c032_an_answer_without_a_token_is_no_success() {
    assert_eq!(read::<&str>(&[]).answer.outcome(), Outcome::Truncated);
    assert_eq!(read(&[done()]).answer.outcome(), Outcome::Empty);
    let read = read(&[role(), finish("stop"), done()]);
    assert_eq!(read.steps, [Step::Ignored, FINISH, Step::Done]);
    assert_eq!(read.answer.outcome(), Outcome::Empty);
}

#[test]
fn a_token_that_only_usage_knows_of_makes_a_success() {
    let read = read(&[role(), finish("stop"), usage(9, 1), done()]);
    assert_eq!(read.steps, [Step::Ignored, FINISH, Step::Usage, Step::Done]);
    assert_eq!((read.answer.outcome(), read.answer.usage()), (Outcome::Ok, usage_of(9, 1)));
}

#[test]
fn c034_a_named_error_event_fails_the_request() {
    for (event, message) in [
        ("event: error\ndata: {\"message\":\"overloaded\"}\n\n", "overloaded"),
        ("data: {\"error\":{\"message\":\"overloaded\"}}\nevent: error\n\n", "overloaded"),
        ("event: error\ndata: overloaded\n\n", "overloaded"),
        ("event: error\n\n", "an error without a message"),
        ("error:\n\n", "an error without a message"),
    ] {
        let read = read(&[role(), content("a"), event.to_owned()]);
        assert_eq!(read.steps, [Step::Ignored, TOKEN, Step::Error], "{event}");
        assert_eq!((read.answer.outcome(), read.error()), (Outcome::StreamError, message));
    }
}

#[test]
fn a_named_error_event_that_looks_like_a_token_is_an_error_still() {
    let read = read(&[content("a"), format!("event: error\n{}", content("b"))]);
    assert_eq!(read.steps, [TOKEN, Step::Error]);
    assert_eq!(read.text(), "a");
}

#[test]
fn errors_are_found_in_every_shape_servers_give_them() {
    for (json, message) in [
        (r#"{"error":"Unauthorized"}"#, "Unauthorized"),
        (r#"{"error":{"message":"busy","type":"server_error"}}"#, "busy"),
        (r#"{"detail":"Not Found"}"#, "Not Found"),
        (r#"{"choices":[],"detail":"Not Found"}"#, "Not Found"),
        (r#"{"object":"error","message":"too long","code":40303}"#, "too long"),
        (r#"{"error":{}}"#, "{}"),
        (r#"{"error":true}"#, "true"),
    ] {
        let read = read(&[data(json)]);
        assert_eq!(read.steps, [Step::Error], "{json}");
        assert_eq!(read.error(), message, "{json}");
    }
}

#[test]
fn members_that_say_there_is_no_error_are_none() {
    for nothing in ["null", "\"\"", "false"] {
        let json =
            format!(r#"{{"error":{nothing},"detail":null,"choices":[{{"delta":{{"content":"a"}}}}]}}"#);
        assert_eq!(read(&[data(&json)]).steps, [TOKEN], "{json}");
    }
}

#[test]
fn the_first_failure_stands() {
    let read = read(&[data("{"), data(r#"{"error":"later"}"#), done()]);
    assert_eq!(read.steps, [Step::Malformed, Step::Error, Step::Done]);
    assert_eq!(read.answer.outcome(), Outcome::Malformed);
}

#[test]
fn events_that_are_no_json_of_the_api_are_malformed_and_say_why() {
    let events = [
        r#"{"choices":[{"delta":{"content":"a""#,
        r#"{"choices":[]} {"choices":[]}"#,
        "plain text",
        "[]",
        "5",
        r#"{"choices":[{"delta":{"content":[1]}}]}"#,
        r#"{"choices":[{"delta":{"content":"\ud800"}}]}"#,
    ];
    let errors = events.map(|json| {
        let read = read(&[data(json)]);
        assert_eq!(read.steps, [Step::Malformed], "{json}");
        read.error().to_owned()
    });
    insta::assert_snapshot!(errors.join("\n"), @r#"
    an event cannot be read: expected a comma or `}` at byte 35: {"choices":[{"delta":{"content":"a"
    an event cannot be read: expected the end at byte 15: {"choices":[]} {"choices":[]}
    an event cannot be read: expected an object at byte 0: plain text
    an event cannot be read: expected an object at byte 0: []
    an event cannot be read: expected an object at byte 0: 5
    an event cannot be read: expected a string or null at byte 32: {"choices":[{"delta":{"content":[1]}}]}
    an event cannot be read: expected a pair of surrogates at byte 39: {"choices":[{"delta":{"content":"\ud800"}}]}
    "#);
}

#[test]
fn text_that_is_not_utf8_is_malformed_before_and_after_a_template_was_learnt() {
    let token = content("a");
    let (head, tail) = token.split_once("\"a\"").expect("has text");
    let broken = [head.as_bytes(), b"\"\xFF\"", tail.as_bytes()].concat();
    assert_eq!(read_pieces([broken.as_slice()]).steps, [Step::Malformed]);
    assert_eq!(read_pieces([token.as_bytes(), &broken]).steps, [TOKEN, Step::Malformed]);
}

#[test]
fn events_that_say_nothing_are_ignored() {
    for json in [
        "null",
        " null ",
        "{}",
        r#"{"choices":[]}"#,
        r#"{"choices":[],"usage":null}"#,
        r#"{"choices":[],"usage":{}}"#,
        r#"{"choices":[{"delta":null}]}"#,
        r#"{"choices":[{}]}"#,
        r#"{"choices":[{"delta":{"content":""}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":"","reasoning_content":null,"tool_calls":[]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"role":"assistant","content":null}}],"prompt_progress":{"total":6}}"#,
        r#"{"prompt_filter_results":[{"prompt_index":0}]}"#,
        r#"{"type":"ping"}"#,
    ] {
        let read = read(&[data(json)]);
        assert_eq!(read.steps, [Step::Ignored], "{json}");
        assert!(!read.answer.has_tokens() && !read.answer.is_terminal(), "{json}");
    }
}

#[test]
fn c044_c046_reasoning_is_output_under_each_of_its_names() {
    for name in ["reasoning_content", "reasoning"] {
        let thoughts = vec![delta(&format!(r#"{{"{name}":"t"}}"#)); 10];
        let rest = vec![content("a"), content("b"), finish("stop"), usage(9, 12)];
        let read = read(&[vec![role()], thoughts, rest].concat());
        let expected = [vec![Step::Ignored], vec![ASIDE; 10], vec![TOKEN, TOKEN, FINISH, Step::Usage]];
        assert_eq!(read.steps, expected.concat(), "{name}");
        assert_eq!((read.texts().reasoning.as_str(), read.text()), ("tttttttttt", "ab"));
        assert_eq!(read.answer.usage().completion, Some(12));
    }
}

#[test]
fn reasoning_told_twice_counts_once() {
    let read = read(&[
        delta(
            r#"{"content":"","reasoning":"one","reasoning_details":[{"type":"reasoning.text","text":"one"}]}"#,
        ),
        delta(r#"{"reasoning_details":[{"text":" two"},{"type":"reasoning.summary","summary":" three"}]}"#),
        delta(r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"xyz"}]}"#),
        delta(r#"{"reasoning_content":"\n","reasoning":"\n"}"#),
    ]);
    assert_eq!(read.steps, [ASIDE, ASIDE, Step::Ignored, ASIDE]);
    assert_eq!(read.texts().reasoning, "one two three\n");
}

#[test]
fn an_event_with_reasoning_and_answer_carries_the_answer() {
    let read = read(&[delta(r#"{"reasoning":"t","content":"a"}"#)]);
    assert_eq!(read.steps, [TOKEN]);
    assert_eq!((read.texts().reasoning.as_str(), read.text()), ("t", "a"));
}

#[test]
fn c048_reasoning_tokens_are_part_of_the_completion() {
    let last = data(concat!(
        r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":100,"#,
        r#""completion_tokens_details":{"reasoning_tokens":80},"prompt_tokens_details":{"cached_tokens":4}}}"#
    ));
    let read = read(&[content("a"), finish("stop"), last]);
    let expected = Usage { prompt: Some(5), completion: Some(100), cached: Some(4), reasoning: Some(80) };
    assert_eq!(read.answer.usage(), expected);
}

#[test]
fn c050_c052_events_of_several_tokens_have_no_count_of_their_own() {
    let rest = vec![finish("stop"), usage(5, 60), done()];
    let read = read(&[vec![role()], vec![content("one two three"); 20], rest].concat());
    assert_eq!(read.steps.iter().filter(|step| step.is_token_bearing()).count(), 20);
    assert!(read.tokens().iter().all(Option::is_none));
    assert_eq!(read.answer.usage().completion, Some(60));
}

#[test]
fn c054_a_one_token_answer_is_a_success() {
    let read = read(&[role(), content("x"), finish("length"), usage(3, 1), done()]);
    assert_eq!(read.steps.iter().filter(|step| step.is_token_bearing()).count(), 1);
    assert_eq!(read.answer.outcome(), Outcome::Ok);
}

#[test]
fn c055_all_text_in_one_event_is_one_event() {
    let read = read(&[role(), content(&"word ".repeat(100)), finish("length"), usage(5, 100), done()]);
    assert_eq!(read.steps, [Step::Ignored, TOKEN, FINISH, Step::Usage, Step::Done]);
    assert_eq!(read.answer.usage(), usage_of(5, 100));
}

#[test]
fn c056_an_answer_of_zero_tokens_is_empty_and_states_zero() {
    let read = read(&[role(), finish("stop"), usage(5, 0), done()]);
    assert_eq!(read.answer.outcome(), Outcome::Empty);
    assert_eq!(read.answer.usage(), usage_of(5, 0));
}

#[test]
fn c070_names_and_arguments_of_tools_are_output() {
    let call = |call: &str| delta(&format!(r#"{{"content":null,"tool_calls":[{{"index":0,{call}}}]}}"#));
    let name = call(r#""id":"c1","type":"function","function":{"name":"f","arguments":""}"#);
    let pieces = ["{", r#"\"a\""#, ":", "1", "}"];
    let arguments = pieces.map(|piece| call(&format!(r#""function":{{"arguments":"{piece}"}}"#)));
    let rest = vec![finish("tool_calls"), usage(30, 12), done()];
    let read = read(&[vec![role(), name], arguments.to_vec(), rest].concat());
    let expected = [vec![Step::Ignored], vec![ASIDE; 6], vec![FINISH, Step::Usage, Step::Done]];
    assert_eq!(read.steps, expected.concat());
    assert_eq!(read.answer.outcome(), Outcome::Ok);
    assert_eq!(read.answer.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(read.texts().tool_calls, [tool_call(0, "f", "{\"a\":1}")]);
}

#[test]
fn pieces_of_several_tools_are_kept_apart() {
    let read = read(&[
        delta(r#"{"tool_calls":[{"index":0,"function":{"name":"f"}},{"index":7,"function":{"name":"g"}}]}"#),
        delta(r#"{"tool_calls":[{"index":7,"function":{"arguments":"1"}}]}"#),
        delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"2"}}]}"#),
    ]);
    assert_eq!(read.texts().tool_calls, [tool_call(0, "f", "2"), tool_call(7, "g", "1")]);
}

#[test]
fn listed_token_ids_count_the_tokens_of_an_event_with_text_or_without() {
    let read = read(&[
        stating(r#"{"role":"assistant","content":""}"#, "", None),
        stating(r#"{"content":"a"}"#, r#","token_ids":[1]"#, None),
        stating(r#"{"content":""}"#, r#","token_ids":[2]"#, None),
        stating(r#"{"content":"bc"}"#, r#","token_ids":[3,4]"#, None),
        finish("stop"),
    ]);
    let answer = |tokens| counted(Generated::Answer, tokens);
    assert_eq!(read.steps, [Step::Ignored, answer(1), counted(Generated::Nothing, 1), answer(2), FINISH]);
    assert!(read.steps[2].is_token_bearing() && !read.steps[2].has_text());
    assert_eq!(read.answer.counted_tokens(), Some(4));
}

#[test]
fn log_probabilities_count_the_tokens_of_an_event() {
    let listed = |tokens: usize| {
        let one = r#"{"token":"x","logprob":-1.5,"bytes":[1],"top_logprobs":[{"token":"y"}]}"#;
        format!(r#","token_ids":null,"logprobs":{{"content":[{}]}}"#, vec![one; tokens].join(","))
    };
    let read = read(&[
        stating(r#"{"content":"ab"}"#, &listed(2), None),
        stating(r#"{"content":"c"}"#, &listed(1), None),
    ]);
    assert_eq!(read.steps, [counted(Generated::Answer, 2), counted(Generated::Answer, 1)]);
    assert_eq!(read.answer.counted_tokens(), Some(3));
}

#[test]
fn tokens_listed_for_some_events_only_are_not_a_count_of_the_answer() {
    let read =
        read(&[content("a"), stating(r#"{"content":"b"}"#, r#","token_ids":[3]"#, None), content("c")]);
    assert_eq!(read.steps, [TOKEN, counted(Generated::Answer, 1), TOKEN]);
    assert_eq!(read.answer.counted_tokens(), None);
}

#[test]
fn usage_at_every_event_counts_the_tokens_of_each() {
    let text = |completion| stating(r#"{"content":"a"}"#, "", Some(completion));
    let read = read(&[
        stating(r#"{"role":"assistant","content":""}"#, "", Some(0)),
        text(1),
        text(11),
        stating(r#"{"content":""}"#, "", Some(12)),
        text(12),
        stating(r#"{"reasoning":"r"}"#, "", Some(14)),
        finish("stop"),
        usage(9, 14),
        done(),
    ]);
    let expected = [
        Step::Usage,
        counted(Generated::Answer, 1),
        counted(Generated::Answer, 10),
        counted(Generated::Nothing, 1),
        counted(Generated::Answer, 0),
        counted(Generated::Aside, 2),
        FINISH,
        Step::Usage,
        Step::Done,
    ];
    assert_eq!(read.steps, expected);
    assert_eq!(read.answer.usage(), usage_of(9, 14));
    assert_eq!(read.answer.counted_tokens(), None, "usage is not a list of tokens");
}

#[test]
fn usage_that_covers_more_than_its_event_counts_no_event() {
    let text = |completion| stating(r#"{"content":"a"}"#, "", completion);
    for (what, events, expected) in [
        (
            "text without a count came before",
            vec![text(None), text(Some(2)), text(Some(3))],
            vec![None, None, Some(1)],
        ),
        ("the only count, at the end", vec![role(), stating("{}", "", Some(6))], vec![None, None]),
        (
            "a count that falls",
            vec![text(Some(5)), text(Some(3)), text(Some(6))],
            vec![Some(5), None, Some(1)],
        ),
        ("a count beside no choice", vec![text(Some(1)), usage(9, 2)], vec![Some(1), None]),
    ] {
        assert_eq!(read(&events).tokens(), expected, "{what}");
    }
}

#[test]
fn choices_beside_the_first_count_as_the_same_answer() {
    let read = read(&[data(concat!(
        r#"{"choices":[{"index":0,"delta":{"content":"a"},"token_ids":[1]},"#,
        r#"{"index":1,"delta":{"content":"b","reasoning":"r"},"token_ids":[2,3],"finish_reason":"stop"}]}"#
    ))]);
    assert_eq!(read.steps, [Step::Output { generated: Generated::Answer, tokens: Some(3), finished: true }]);
    assert_eq!((read.text(), read.texts().reasoning.as_str()), ("ab", "r"));
}

#[test]
fn texts_are_kept_up_to_the_limit_and_cut_between_characters() {
    let mut decoder = Decoder::new(Api::Chat, Some(5));
    for text in ["é", "é", "é", "a"] {
        decoder.event(event_of(&format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#)));
    }
    let texts = decoder.answer().texts.as_ref().expect("kept");
    assert_eq!((texts.answer.as_str(), texts.cut), ("ééa", true));
}

#[test]
fn tool_calls_without_end_take_no_more_than_the_limit() {
    let mut decoder = Decoder::new(Api::Chat, Some(1_000));
    for index in 0..1_000 {
        let call = format!(r#"{{"index":{index},"function":{{"name":"f"}}}}"#);
        let step =
            decoder.event(event_of(&format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#)));
        assert_eq!(step, ASIDE);
    }
    let texts = decoder.into_answer().texts.expect("kept");
    assert!(texts.cut && texts.tool_calls.len() <= 1_000 / size_of::<ToolCall>());
}

#[test]
fn texts_are_not_kept_unasked() {
    let mut decoder = Decoder::new(Api::Chat, None);
    assert_eq!(decoder.event(event_of(r#"{"choices":[{"delta":{"content":"a"}}]}"#)), TOKEN);
    assert_eq!(decoder.answer().texts, None);
}

#[test]
fn long_finish_reasons_and_messages_are_bounded() {
    let long = "x".repeat(100_000);
    let failed = read(&[finish(&long), data(&format!(r#"{{"error":"{long}"}}"#))]);
    assert_eq!(failed.answer.finish_reason.as_ref().map(String::len), Some(100));
    assert_eq!(failed.error().len(), crate::protocol::ERROR_LIMIT_CHARS);
    let malformed = read(&[data(&long)]);
    assert!(malformed.error().len() < 400, "{}", malformed.error().len());
}
