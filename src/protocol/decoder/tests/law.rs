//! The template changes what a token event costs and nothing else.

use proptest::prelude::*;

use super::*;

/// Data of an event, and its name.
type Sent = (Vec<u8>, &'static [u8]);

/// Steps and answer of a stream of events, by the decoder or by a full parse of each event.
fn decode(api: Api, events: &[Sent], is_fast: bool) -> (Vec<Step>, Answer) {
    let mut decoder = Decoder::new(api, Some(1 << 20));
    let mut steps = Vec::new();
    for (data, name) in events {
        let event = Event { name, field: Field::Data, data };
        steps.push(if is_fast { decoder.event(event) } else { decoder.take(read_event(api.form(), event)) });
    }
    (steps, decoder.into_answer())
}

/// Token events in the manner of servers we know, with `@` in place of the text and `#` in place of a value that
/// differs from event to event.
const SHAPES: [(Api, &str); 14] = [
    (
        Api::Chat,
        concat!(
            r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"#,
            r#""delta":{"content":"@"},"logprobs":null,"finish_reason":null,"token_ids":null}]}"#
        ),
    ),
    (
        Api::Chat,
        r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"@"}}],"created":1,"id":"c-1"}"#,
    ),
    (
        Api::Chat,
        r#"{"id": "c", "choices": [{"index": 0, "delta": {"content": "@"}, "finish_reason": null}]}"#,
    ),
    (
        Api::Chat,
        r#"{"id":"c-1","choices":[{"index":0,"delta":{"reasoning":"@"},"logprobs":null,"finish_reason":null}]}"#,
    ),
    (
        Api::Chat,
        r#"{"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":"@"}}],"usage":null}"#,
    ),
    (
        Api::Chat,
        concat!(
            r#"{"id":"c-1","choices":[{"index":0,"delta":{"content":"@"},"finish_reason":null}],"#,
            r#""usage":{"prompt_tokens":9,"total_tokens":#,"completion_tokens":#}}"#
        ),
    ),
    (
        Api::Completions,
        r#"{"id":"c-1","created":1,"choices":[{"index":0,"text":"@","logprobs":null,"finish_reason":null}]}"#,
    ),
    (
        Api::Completions,
        r#"{"choices":[{"text":"@","index":0}],"usage":{"completion_tokens":#,"prompt_tokens":2},"created":1}"#,
    ),
    (
        Api::Responses,
        concat!(
            r#"{"content_index":0,"delta":"@","item_id":"c-1","logprobs":[],"output_index":0,"#,
            r#""sequence_number":#,"type":"response.output_text.delta","obfuscation":#}"#
        ),
    ),
    (Api::Responses, r#"{"type":"response.reasoning_text.delta","item_id":"c-1","delta":"@"}"#),
    (Api::Messages, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"@"}}"#),
    (
        Api::Ollama,
        r#"{"model":"m","created_at":#,"message":{"role":"assistant","content":"@"},"done":false}"#,
    ),
    (Api::OllamaGenerate, r#"{"model":"m","created_at":#,"response":"","thinking":"@","done":false}"#),
    (
        Api::LlamaCpp,
        concat!(
            r#"{"index":0,"content":"@","tokens":#,"stop":false,"id_slot":-1,"tokens_predicted":#,"#,
            r#""tokens_evaluated":4}"#
        ),
    ),
];

/// A shape with its holes filled.
fn fill(shape: &str, text: &str, value: &str) -> String {
    shape.replace('@', text).replace('#', value)
}

#[test]
fn the_second_token_event_of_a_stream_needs_no_parse() {
    for (api, shape) in SHAPES {
        let mut decoder = Decoder::new(api, None);
        let events = [
            (r"a\n", "1", false),
            ("a", "2", false),
            ("b c", "3", true),
            ("é🙂", "14", true),
            (r"c\n", "15", false),
            ("d", "160", true),
        ];
        for (text, value, is_known) in events {
            let json = fill(shape, text, value);
            assert_eq!(decoder.template.recognise(json.as_bytes()).is_some(), is_known, "{json}");
            assert!(decoder.event(event_of(&json)).has_text());
        }
    }
}

#[test]
fn a_time_and_a_list_of_ids_are_passed_over() {
    for (api, shape, values) in [
        (Api::Ollama, SHAPES[11].1, ["\"2026-12-01T00:00:00.1Z\"", "\"2026-12-01T00:00:00.1234Z\""]),
        (Api::LlamaCpp, &SHAPES[13].1.replace("predicted\":#", "predicted\":1"), ["[7]", "[81,-9]"]),
        (Api::Responses, SHAPES[8].1, ["\"x1\"", "\"\""]),
    ] {
        let mut decoder = Decoder::new(api, None);
        decoder.event(event_of(&fill(shape, "a", values[0])));
        let json = fill(shape, "b", values[1]);
        assert!(decoder.template.recognise(json.as_bytes()).is_some(), "{json}");
    }
}

#[test]
fn a_changed_head_is_learnt_anew() {
    let mut decoder = Decoder::new(Api::Chat, None);
    for (id, is_known) in [(1, false), (1, true), (2, false), (2, true)] {
        let json = fill(SHAPES[0].1, "a", "1").replace("c-1", &format!("c-{id}"));
        assert_eq!(decoder.template.recognise(json.as_bytes()).is_some(), is_known, "id {id}");
        decoder.event(event_of(&json));
    }
}

#[test]
fn streams_that_differ_in_their_names_alone_share_what_they_learn() {
    streams_of_names(["c-1", "c-2"], true);
}

#[test]
fn a_name_without_end_is_kept_by_its_stream_alone() {
    let long = "c-".repeat(100);
    streams_of_names([&format!("{long}1"), &format!("{long}2")], false);
}

/// Each of two streams knows its own events, and the other's from them, whether or not they share what they learn.
fn streams_of_names(names: [&str; 2], is_shared: bool) {
    let layouts = Layouts::default();
    let event = |id: &str| fill(SHAPES[0].1, "a", "1").replace("c-1", id);
    let mut decoders = names.map(|id| {
        let mut decoder = Decoder::new(Api::Chat, None).sharing(&layouts);
        decoder.event(event_of(&event(id)));
        decoder
    });
    let [one, two] = &mut decoders;
    assert_eq!(one.template.shares_with(&two.template), is_shared);
    for (decoder, own, others) in [(one, names[0], names[1]), (two, names[1], names[0])] {
        assert!(decoder.template.recognise(event(own).as_bytes()).is_some());
        assert_eq!(decoder.template.recognise(event(others).as_bytes()), None, "it is another stream's");
        let cut = event(own);
        assert_eq!(decoder.template.recognise(&cut.as_bytes()[..cut.find("c-").unwrap()]), None);
    }
}

#[test]
fn no_template_is_learnt_from_an_event_that_says_more_than_its_text() {
    for json in [
        r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
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
        assert_eq!(decoder.template.recognise(json.as_bytes()), None, "{json}");
    }
}

#[test]
fn a_stream_whose_events_have_nothing_in_common_is_not_learnt_for_ever() {
    let mut decoder = Decoder::new(Api::Chat, None);
    let event = |id: u32| fill(SHAPES[0].1, "a", "").replace("c-1", &format!("c-{id}"));
    for id in 0..8 {
        decoder.event(event_of(&event(id)));
    }
    assert!(decoder.template.recognise(event(7).as_bytes()).is_some());
    for id in 8..17 {
        decoder.event(event_of(&event(id)));
    }
    assert_eq!(decoder.template.recognise(event(16).as_bytes()), None);
    assert_eq!(decoder.event(event_of(&event(16))), TOKEN);
}

#[test]
fn an_event_larger_than_a_template_may_be_is_parsed_each_time() {
    let json = fill(SHAPES[0].1, "a", "1").replace("\"m\"", &format!("\"{}\"", "m".repeat(20_000)));
    let mut decoder = Decoder::new(Api::Chat, None);
    for _ in 0..2 {
        assert_eq!(decoder.template.recognise(json.as_bytes()), None);
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

/// What may stand in the place of a value that differs from event to event.
fn values() -> impl Strategy<Value = String> {
    let traps = vec![
        "01",
        "-0",
        "-1",
        "-",
        "1.5",
        "1e3",
        "\"x\"",
        "\"\"",
        "\"é\"",
        r#""a\n""#,
        "\"\u{1}\"",
        "[]",
        "[1,2]",
        "[1,]",
        "[01]",
        "[\"a\"]",
        "[1, 2]",
        "null",
        "{}",
        "{\"completion_tokens\":1}",
        "99999999999999999999",
        "1,\"x\":1",
        "1,\"finish_reason\":\"stop\"",
        "1,\"done\":true",
        "1,\"stop\":true",
        "1,\"completion_tokens\":7",
        "",
    ];
    prop_oneof![
        8 => (0_u32..300).prop_map(|number| number.to_string()),
        2 => "\"[a-zA-Z0-9:. -]{0,6}\"",
        2 => "\\[[0-9]{1,4}(,[0-9]{1,3}){0,2}\\]",
        2 => proptest::sample::select(traps).prop_map(str::to_owned),
    ]
}

/// Changes to the rest of an event.
fn changes() -> impl Strategy<Value = (&'static str, &'static str)> {
    let traps = vec![
        (r#""c-1""#, r#""c-2""#),
        (r#""c-1""#, r#""c\"-2""#),
        (r#""finish_reason":null"#, r#""finish_reason":"stop""#),
        (r#""finish_reason":null"#, r#""finish_reason":"""#),
        (r#""token_ids":null"#, r#""token_ids":[5,6]"#),
        (r#""logprobs":null"#, r#""logprobs":{"content":[{}],"tokens":["a"]}"#),
        (r#""usage":null"#, r#""usage":{"completion_tokens":3}"#),
        (r#""index":0"#, r#""index":0,"index":0"#),
        (r#""index":0"#, r#""index":1"#),
        (r#""index":0"#, r#""index":"total_tokens","total_tokens":1"#),
        (r#""delta":{"#, r#""delta":{"content":"0","text":"0","#),
        (r#""tokens_predicted":"#, r#""x":{"tokens_predicted":4},"tokens_predicted":"#),
        (r#""delta":{"#, r#""delta":{"tool_calls":[{"function":{"name":"f"}}],"#),
        (r#""message":{"#, r#""message":{"content":"0","#),
        (r#""done":false"#, r#""done":true"#),
        (r#""stop":false"#, r#""stop":true"#),
        (r#""completion_tokens":"#, r#""completion\u005ftokens":"#),
        (r#""completion_tokens":"#, r#""x":{"completion_tokens":4},"completion_tokens":"#),
        (r#""total_tokens":"#, r#""total_tokens":0,"total_tokens":"#),
        (r#""created":1"#, r#""created":2"#),
        (r#""created_at":"#, r#""created_at" : "#),
        (r#""created_at":"#, r#""created_at": "#),
        (r#""sequence_number":"#, r#""sequence_number": "#),
        ("output_text.delta", "output_text.done"),
        ("output_text.delta", "completed"),
        ("content_block_delta", "message_stop"),
        ("}]", r#"}],"error":{"message":"e"}"#),
        ("}]", r#"}],"usage":{"completion_tokens":7,"prompt_tokens":2}"#),
        ("}]", r#"}],"choices":[]"#),
        (":false", r#":false,"error":"e""#),
        ("}]}", "}]"),
        ("}]}", "}]}}"),
        ("}]}", "}]} "),
        ("{", " {"),
    ];
    prop_oneof![8 => Just(("", "")), 4 => proptest::sample::select(traps)]
}

fn events_of(api: Api) -> impl Strategy<Value = Sent> {
    let shapes: Vec<_> = SHAPES.iter().filter(|(of, _)| *of == api).map(|(_, shape)| *shape).collect();
    let names =
        prop_oneof![12 => Just(b"".as_slice()), 1 => Just(b"error".as_slice()), 1 => Just(b"x".as_slice())];
    let shapes = prop_oneof![4 => Just(shapes[0]), 2 => proptest::sample::select(shapes)];
    let noise = prop_oneof![8 => Just(None), 1 => any::<(prop::sample::Index, u8)>().prop_map(Some)];
    (shapes, changes(), texts(), values(), noise, names).prop_map(
        |(shape, (from, to), text, value, noise, name)| {
            let json = if from.is_empty() { shape.to_owned() } else { shape.replacen(from, to, 1) };
            let json = json.replace('#', &value);
            let (head, tail) = json.split_once('@').expect("every shape has a place for text");
            let mut event = [head.as_bytes(), &text, tail.as_bytes()].concat();
            if let Some((at, byte)) = noise {
                let at = at.index(event.len());
                event[at] = byte;
            }
            (event, name)
        },
    )
}

fn streams() -> impl Strategy<Value = (Api, Vec<Sent>)> {
    proptest::sample::select(Api::ALL.to_vec())
        .prop_flat_map(|api| (Just(api), proptest::collection::vec(events_of(api), 1..12)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn the_template_gives_what_the_full_parse_gives((api, events) in streams()) {
        prop_assert_eq!(decode(api, &events, true), decode(api, &events, false));
    }
}

/// What a stream comes to in pieces, and how many token-bearing events each of them completed; where `lends`, what is
/// plain is read apart.
fn read_in_pieces(api: Api, pieces: &[&[u8]], lends: bool) -> (Vec<usize>, Answer) {
    let mut decoder = Decoder::new(api, None);
    let mut parser = Parser::new(api.framing());
    let mut completed = Vec::new();
    for piece in pieces {
        let lent = if lends && parser.is_at_rest() { decoder.lend() } else { None };
        let (mut tokens, rest) = match lent {
            Some(mut plain) => {
                let (events, bytes) = plain.read(piece);
                assert_eq!(plain.has_answer(), plain.generated == Generated::Answer);
                decoder.take_back(plain);
                (events, &piece[bytes..])
            }
            None => (0, *piece),
        };
        let fed = parser.feed(rest, |event| {
            tokens += usize::from(decoder.event(event).is_token_bearing());
            if decoder.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        completed.push(tokens);
        if fed != Ok(ControlFlow::Continue(())) {
            break;
        }
    }
    (completed, decoder.into_answer())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn plain_events_read_apart_come_to_the_same(
        (api, events) in streams(),
        ends in proptest::sample::select(vec!["\n\n", "\n\n", "\r\n\r\n", "\n", "\r\r", "\n: x\n\n"]),
        repeats in 1..4_usize,
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..9),
    ) {
        let frame = |(data, name): &Sent| {
            let name = if name.is_empty() { Vec::new() } else { [b"event: ", *name, b"\n"].concat() };
            [&name, b"data: ".as_slice(), data, ends.as_bytes()].concat()
        };
        // The first event again and again: what is plain is learnt, and then met.
        let stream = events.iter().map(|event| [frame(&events[0]).repeat(repeats), frame(event)].concat());
        let stream = stream.collect::<Vec<_>>().concat();
        let mut cuts = cuts.iter().map(|cut| cut.index(stream.len())).collect::<Vec<_>>();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([stream.len()]);
        let pieces = std::iter::once(0).chain(cuts.iter().copied()).zip(ends);
        let pieces = pieces.map(|(from, to)| &stream[from..to]).collect::<Vec<_>>();
        prop_assert_eq!(read_in_pieces(api, &pieces, true), read_in_pieces(api, &pieces, false));
    }
}

#[test]
fn only_plain_events_whose_text_is_not_kept_are_lent() {
    let event = |text: &str| fill(SHAPES[0].1, text, "1");
    let frame = |text: &str| data(&event(text));
    for (keep_bytes, usage, is_lent) in
        [(None, "null", true), (Some(9), "null", false), (None, r#"{"completion_tokens":2}"#, false)]
    {
        let mut decoder = Decoder::new(Api::Chat, keep_bytes);
        let json = |text: &str| event(text).replace("\"object\"", &format!("\"usage\":{usage},\"object\""));
        assert!(decoder.lend().is_none(), "nothing is known yet");
        decoder.event(event_of(&json("a")));
        assert!(decoder.lend().is_none(), "nothing like it came before");
        decoder.event(event_of(&json("b")));
        assert_eq!(decoder.lend().is_some(), is_lent, "{usage} {keep_bytes:?}");
    }
    let mut decoder = Decoder::new(Api::Chat, None);
    for text in ["a", "b"] {
        decoder.event(event_of(&event(text)));
    }
    let mut plain = decoder.lend().unwrap();
    let two = [frame("c"), frame("d")].concat();
    for (after, what) in [("", "the end"), ("data: [DONE]\n\n", "the end marker"), (": x\n\n", "a comment")] {
        assert_eq!(plain.read((two.clone() + after).as_bytes()), (2, two.len()), "before {what}");
    }
    assert_eq!(plain.read(&two.as_bytes()[..two.len() - 1]), (1, two.len() / 2), "half an event");
    let error = format!("event: error\n{}", frame("e"));
    assert_eq!(plain.read(error.as_bytes()), (0, 0), "an error with the looks of a token");
    decoder.take_back(plain);
    assert!(decoder.event(event_of(&event("f"))).has_text());
}

proptest! {
    #[test]
    fn any_bytes_are_taken_without_a_panic(
        api in proptest::sample::select(Api::ALL.to_vec()),
        events in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..6),
        body in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut decoder = Decoder::new(api, Some(100));
        for data in &events {
            decoder.event(Event { name: b"", field: Field::Data, data });
            decoder.event(Event { name: b"error", field: Field::Data, data });
            decoder.event(Event { name: b"", field: Field::Error, data });
        }
        decoder.document(&body);
        prop_assert!(decoder.answer().failure.is_some());
    }
}
