//! The template changes what a token event costs and nothing else.

use proptest::prelude::*;

use super::*;

/// Data of an event, and its name.
type Sent = (Vec<u8>, &'static [u8]);

/// Steps and answer of a stream of events, by the decoder or by a full parse of each event.
fn decode(events: &[Sent], is_fast: bool) -> (Vec<Step>, Answer) {
    let mut decoder = Decoder::new(Api::Chat, Some(1 << 20));
    let mut steps = Vec::new();
    for (data, name) in events {
        let event = Event { name, field: Field::Data, data };
        steps.push(if is_fast { decoder.event(event) } else { decoder.take(chat::read_event(event)) });
    }
    (steps, decoder.into_answer())
}

/// Token events in the manner of servers we know, with `@` in place of the text.
const SHAPES: [&str; 5] = [
    concat!(
        r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"#,
        r#""delta":{"content":"@"},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#
    ),
    r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"@"}}],"created":1,"id":"c-1"}"#,
    r#"{"id": "c", "choices": [{"index": 0, "delta": {"content": "@"}, "finish_reason": null}]}"#,
    r#"{"id":"c-1","choices":[{"index":0,"delta":{"reasoning":"@"},"logprobs":null,"finish_reason":null}]}"#,
    r#"{"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":"@"}}],"usage":null}"#,
];

#[test]
fn the_second_token_event_of_a_stream_needs_no_parse() {
    for shape in SHAPES {
        let mut decoder = Decoder::new(Api::Chat, None);
        for (text, is_known) in
            [(r"a\n", false), ("a", false), ("b c", true), ("é🙂", true), (r"c\n", false), ("d", true)]
        {
            let json = shape.replace('@', text);
            assert_eq!(decoder.template.match_text(json.as_bytes()).is_some(), is_known, "{json}");
            assert!(decoder.event(event_of(&json)).has_text());
        }
    }
}

#[test]
fn a_changed_head_is_learnt_anew() {
    let mut decoder = Decoder::new(Api::Chat, None);
    for (second, is_known) in [(1, false), (1, true), (2, false), (2, true)] {
        let json = SHAPES[0].replace("\"created\":1", &format!("\"created\":{second}"));
        assert_eq!(decoder.template.match_text(json.as_bytes()).is_some(), is_known, "second {second}");
        decoder.event(event_of(&json));
    }
}

#[test]
fn no_template_is_learnt_from_an_event_that_says_more_than_its_text() {
    for json in [
        r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
        r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":1}}"#,
        r#"{"choices":[{"delta":{"content":"a"},"token_ids":[1]}]}"#,
        r#"{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[]}}]}"#,
        r#"{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}"#,
        r#"{"choices":[{"delta":{"content":"a","tool_calls":[{"function":{"name":"f"}}]}}]}"#,
        r#"{"choices":[{"delta":{"content":"a"}},{"delta":{}}]}"#,
        r#"{"choices":[{"delta":{"content":"a"}}],"error":{"message":"e"}}"#,
        r#"{"choices":[{"delta":{"content":""}}]}"#,
    ] {
        let mut decoder = Decoder::new(Api::Chat, None);
        decoder.event(event_of(json));
        assert_eq!(decoder.template.match_text(json.as_bytes()), None, "{json}");
    }
}

#[test]
fn an_event_larger_than_a_template_may_be_is_parsed_each_time() {
    let json = SHAPES[0].replace("\"m\"", &format!("\"{}\"", "m".repeat(20_000)));
    let mut decoder = Decoder::new(Api::Chat, None);
    for _ in 0..2 {
        assert_eq!(decoder.template.match_text(json.as_bytes()), None);
        assert_eq!(decoder.event(event_of(&json)), TOKEN);
    }
}

/// What may stand between the quotes, escapes and worse included.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let traps = vec![
        r"\n",
        r"\\",
        r#"\""#,
        r"\u00e9",
        r"\ud800",
        r"\x",
        "\u{1}",
        "\n",
        "\u{7f}",
        "\u{2028}",
        r#"","content":"b"#,
        r#"","reasoning":"b"#,
        r#""},"finish_reason":"stop"#,
        r#""}}],"error":{"message":"e"#,
        r#""},"token_ids":[1],"x":{"y":"z"#,
        r#"a"}}]}"#,
        r"a\",
    ];
    prop_oneof![
        6 => "[a-zé 🙂]{1,6}".prop_map(String::into_bytes),
        1 => Just(Vec::new()),
        1 => proptest::sample::select(traps).prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..4),
    ]
}

/// Changes to the rest of an event.
fn changes() -> impl Strategy<Value = (&'static str, &'static str)> {
    let traps = vec![
        (r#""created":1"#, r#""created":2"#),
        (r#""c-1""#, r#""c-2""#),
        (r#""finish_reason":null"#, r#""finish_reason":"stop""#),
        (r#""finish_reason":null"#, r#""finish_reason":"""#),
        (r#""token_ids":null"#, r#""token_ids":[5,6]"#),
        (r#""logprobs":null"#, r#""logprobs":{"content":[{}]}"#),
        (r#""usage":null"#, r#""usage":{"completion_tokens":3}"#),
        (r#""index":0"#, r#""index":0,"index":0"#),
        (r#""index":0"#, r#""index":1"#),
        (r#""delta":{"#, r#""delta":{"content":"0","#),
        (r#""delta":{"#, r#""delta":{"tool_calls":[{"function":{"name":"f"}}],"#),
        ("}]", r#"}],"error":{"message":"e"}"#),
        ("}]", r#"}],"usage":{"completion_tokens":7,"prompt_tokens":2}"#),
        ("}]", r#"}],"choices":[]"#),
        ("}]}", "}]"),
        ("}]}", "}]}}"),
        ("}]}", "}]} "),
        ("{", " {"),
    ];
    prop_oneof![8 => Just(("", "")), 4 => proptest::sample::select(traps)]
}

fn events() -> impl Strategy<Value = Sent> {
    let names =
        prop_oneof![12 => Just(b"".as_slice()), 1 => Just(b"error".as_slice()), 1 => Just(b"x".as_slice())];
    let shapes = prop_oneof![6 => Just(0), 1 => 0..SHAPES.len()];
    let noise = prop_oneof![8 => Just(None), 1 => any::<(prop::sample::Index, u8)>().prop_map(Some)];
    (shapes, changes(), texts(), noise, names).prop_map(|(shape, (from, to), text, noise, name)| {
        let json = SHAPES[shape];
        let json = if from.is_empty() { json.to_owned() } else { json.replacen(from, to, 1) };
        let (head, tail) = json.split_once('@').expect("every shape has a place for text");
        let mut event = [head.as_bytes(), &text, tail.as_bytes()].concat();
        if let Some((at, byte)) = noise {
            let at = at.index(event.len());
            event[at] = byte;
        }
        (event, name)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_template_gives_what_the_full_parse_gives(events in proptest::collection::vec(events(), 1..12)) {
        prop_assert_eq!(decode(&events, true), decode(&events, false));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken_without_a_panic(
        events in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6),
        body in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut decoder = Decoder::new(Api::Chat, Some(100));
        for data in &events {
            decoder.event(Event { name: b"", field: Field::Data, data });
            decoder.event(Event { name: b"error", field: Field::Data, data });
            decoder.event(Event { name: b"", field: Field::Error, data });
        }
        decoder.document(&body);
        prop_assert!(decoder.answer().failure.is_some());
    }
}
