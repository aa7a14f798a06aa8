//! Whatever bytes a server sends, in whatever pieces: no panic, no memory beyond the limits, and the same reading
//! however they are cut. The seeds are fixed, so that a run tells the same each time.

use std::ops::ControlFlow;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use tonnage::protocol::{Answer, Api, Decoder, ERROR_LIMIT_CHARS, Step, error_message, model_names};
use tonnage::wire::sse::Event;
use tonnage::wire::{Framing, Parser, exposition, ndjson, sse};

/// Largest line or event in these tests.
const LIMIT_BYTES: usize = 300;

/// Bytes of text kept of an answer.
const KEPT_BYTES: usize = 40;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

/// Bytes that look like a stream of any API, cut and mixed at will, and noise.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let pieces = vec![
        "data: ",
        "event: error\n",
        "event: response.completed\n",
        "error: ",
        ": ping\n",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "[DONE]",
        "null",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\\u",
        "\\ud83d",
        "1",
        "-",
        "e9",
        "true",
        "{}",
        "\"choices\":",
        "\"delta\":",
        "\"message\":",
        "\"content\":",
        "\"text\":",
        "\"usage\":",
        "\"error\":",
        "\"type\":",
        "\"response.output_text.delta\"",
        "\"response.completed\"",
        "\"message_stop\"",
        "\"response\":",
        "\"content_block\":",
        "\"done\":",
        "\"stop\":",
        "\"tokens_predicted\":",
        "\"completion_tokens\":",
        "\"tool_calls\":",
        "\"arguments\":",
        "\"reasoning_details\":",
        "\"output\":",
        "\"created_at\":",
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"text\":\"a\",\"logprobs\":{\"tokens\":[1]}}],\"usage\":{\"completion_tokens\":3}}\n\n",
        "data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\",\"sequence_number\":1}\n\n",
        "event: x\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"a\"}}\n\n",
        "data: {\"content\":\"a\",\"tokens\":[5],\"stop\":false,\"tokens_predicted\":1}\n\n",
        "{\"created_at\":\"x\",\"message\":{\"content\":\"a\"},\"done\":false}\n",
        "{\"response\":\"a\",\"done\":true,\"eval_count\":2}\n",
    ];
    let piece = prop_oneof![
        8 => proptest::sample::select(pieces).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
        1 => "[a-zé🙂 ]{0,9}".prop_map(String::into_bytes),
        1 => Just(vec![b'x'; 200]),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// What became of a stream: steps, answer, and whether it overflowed.
fn read(api: Api, mut parser: Parser, pieces: &[&[u8]]) -> (Vec<Step>, Answer, bool) {
    let mut decoder = Decoder::new(api, Some(KEPT_BYTES));
    let mut steps = Vec::new();
    let mut on = |event: Event<'_>| {
        assert!(event.data.len() <= LIMIT_BYTES);
        steps.push(decoder.event(event));
        if decoder.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut flow = Ok(ControlFlow::Continue(()));
    for piece in pieces {
        if flow == Ok(ControlFlow::Continue(())) {
            flow = parser.feed(piece, &mut on);
        }
    }
    if flow == Ok(ControlFlow::Continue(())) {
        flow = parser.finish(&mut on);
    }
    (steps, decoder.into_answer(), flow.is_err())
}

fn parser(framing: Framing) -> Parser {
    match framing {
        Framing::Sse => Parser::Sse(sse::Parser::with_limit(LIMIT_BYTES)),
        Framing::Ndjson => Parser::Ndjson(ndjson::Parser::with_limit(LIMIT_BYTES)),
    }
}

fn apis() -> impl Strategy<Value = Api> {
    proptest::sample::select(Api::ALL.to_vec())
}

fn assert_bounded(answer: &Answer) {
    let texts = answer.texts.as_ref().expect("kept");
    let calls = texts.tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>();
    assert!(texts.answer.len() + texts.reasoning.len() + calls <= KEPT_BYTES);
    assert!(answer.finish_reason.as_ref().is_none_or(|reason| reason.chars().count() <= 100));
    assert!(
        answer.failure.as_ref().is_none_or(|failure| failure.text().chars().count() <= ERROR_LIMIT_CHARS)
    );
}

proptest! {
    #![proptest_config(config(1_500))]

    #[test]
    fn any_stream_is_read_within_bounds_and_alike_in_any_pieces(
        api in apis(),
        bytes in streams(),
        size in 1_usize..30,
    ) {
        let whole = read(api, parser(api.framing()), &[&bytes]);
        assert_bounded(&whole.1);
        let pieces = bytes.chunks(size).collect::<Vec<_>>();
        prop_assert_eq!(read(api, parser(api.framing()), &pieces), whole);
    }

    #[test]
    fn any_document_is_read_within_bounds(api in apis(), bytes in streams()) {
        let mut decoder = Decoder::new(api, Some(KEPT_BYTES));
        decoder.document(&bytes);
        prop_assert!(decoder.is_over());
        assert_bounded(decoder.answer());
        prop_assert!(error_message(&bytes).chars().count() <= ERROR_LIMIT_CHARS);
        let _ = model_names(&bytes);
    }

    #[test]
    fn any_page_of_metrics_is_read_line_by_line(
        page in "(# TYPE |# EOF|counter|gauge|_total|_bucket|a:b|\\{|\\}|le=\"|\"|\\\\|,|=| |\n|\r|1e3|NaN|[+]Inf|#|\\PC){0,60}",
    ) {
        let lines = page.lines().count();
        let mut seen = 0;
        for sample in exposition::samples(&page) {
            seen += 1;
            match sample {
                Ok(sample) => prop_assert!(page.contains(sample.name)),
                Err(fault) => prop_assert!((1..=lines).contains(&fault.line)),
            }
        }
        prop_assert!(seen <= lines);
    }
}

#[test]
fn nesting_repetition_and_length_without_end_are_refused_and_not_kept() {
    let deep = "[".repeat(1 << 20);
    let wide = format!("{{\"choices\":[{}]}}", vec!["{\"delta\":{\"content\":\"a\"}}"; 10_000].join(","));
    for api in Api::ALL {
        for json in
            [deep.clone(), format!("{{\"a\":{deep}"), wide.clone(), "\"".repeat(1 << 20), "1".repeat(1 << 20)]
        {
            let mut decoder = Decoder::new(api, Some(KEPT_BYTES));
            decoder.document(json.as_bytes());
            decoder.event(Event { name: b"", field: sse::Field::Data, data: json.as_bytes() });
            assert_bounded(decoder.answer());
        }
    }
}
