//! Every sample at every cut, against expectations written out and against a reading of the WHATWG text that
//! is as plain as it can be.

use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use crate::wire::RETAINED_BYTES;

/// An event that owns its bytes: name, field, data.
type Owned = (Vec<u8>, Field, Vec<u8>);

fn own(event: Event<'_>) -> Owned {
    (event.name.to_vec(), event.field, event.data.to_vec())
}

fn read_pieces<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> (Vec<Owned>, Option<Overflow>) {
    let mut parser = Parser::with_limit(limit);
    let mut events = Vec::new();
    let mut on = |event: Event<'_>| {
        events.push(own(event));
        ControlFlow::<Infallible>::Continue(())
    };
    for piece in pieces {
        if let Err(overflow) = parser.feed(piece, &mut on) {
            return (events, Some(overflow));
        }
        assert!(parser.line.len() <= limit && parser.data.len() <= limit, "memory is bounded");
    }
    let overflow = parser.finish(&mut on).err();
    (events, overflow)
}

fn read(bytes: &[u8]) -> Vec<Owned> {
    let (events, overflow) = read_pieces([bytes], EVENT_LIMIT_BYTES);
    assert_eq!(overflow, None);
    events
}

fn data(text: &str) -> Owned {
    (Vec::new(), Field::Data, text.as_bytes().to_vec())
}

fn named(name: &str, text: &str) -> Owned {
    (name.as_bytes().to_vec(), Field::Data, text.as_bytes().to_vec())
}

fn error(text: &str) -> Owned {
    (Vec::new(), Field::Error, text.as_bytes().to_vec())
}

fn samples() -> Vec<(&'static str, &'static str, Vec<Owned>)> {
    vec![
        ("LF ends lines", "data: a\n\ndata: b\n\n", vec![data("a"), data("b")]),
        ("CRLF ends lines (C011)", "data: a\r\n\r\ndata: b\r\n\r\n", vec![data("a"), data("b")]),
        ("a lone CR ends lines (C013)", "data: a\r\rdata: b\r\r", vec![data("a"), data("b")]),
        (
            "line ends may be mixed",
            "data: a\r\n\rdata: b\n\r\ndata: c\r\r\n",
            vec![data("a"), data("b"), data("c")],
        ),
        ("no space after the colon (C009)", "data:a\n\n", vec![data("a")]),
        ("one space is removed, not two", "data:  a\n\n", vec![data(" a")]),
        ("a tab is no space", "data:\ta\n\n", vec![data("\ta")]),
        ("data lines are joined by LF", "data: a\ndata:\ndata: b\n\n", vec![data("a\n\nb")]),
        ("an empty first data line counts when joined", "data:\ndata: a\n\n", vec![data("\na")]),
        ("a byte order mark at the start is dropped", "\u{FEFF}data: a\n\n", vec![data("a")]),
        (
            "a second byte order mark is part of a name",
            "\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n",
            vec![data("b")],
        ),
        ("comments say nothing (C006)", ":\n\n: ping\n\ndata: a\n: in between\n\n", vec![data("a")]),
        ("an id leaves nothing to dispatch (C005)", "id: 3\ndata: a\n\n: ping\n\n", vec![data("a")]),
        ("fields in any order", "data: a\nretry: 5\nevent: x\nid: 1\n\n", vec![named("x", "a")]),
        ("a name lasts for its own event", "event: x\n\ndata: a\n\n", vec![data("a")]),
        ("the last name stands", "event: x\nevent: y\ndata: a\n\n", vec![named("y", "a")]),
        ("an empty name is none", "event: x\nevent\ndata: a\n\n", vec![data("a")]),
        ("empty data is not dispatched (C008)", "data:\n\ndata: \n\ndata\n\nevent: x\ndata:\n\n", vec![]),
        ("unknown fields are ignored", "foo: 1\ndatax: 2\n data: 3\ndata: a\n\n", vec![data("a")]),
        ("field names are case-sensitive", "Data: a\n\n", vec![]),
        (
            "a bare error field is a failure (C020)",
            "error: {\"code\":400}\n\ndata: [DONE]\n\n",
            vec![error("{\"code\":400}"), data("[DONE]")],
        ),
        ("a failure comes before the data beside it", "data: a\nerror: e\n\n", vec![error("e"), data("a")]),
        ("an empty error field is a failure too", "error:\n\n", vec![error("")]),
        (
            "an error event (C034)",
            "event: error\ndata: {\"message\":\"m\"}\n\n",
            vec![named("error", "{\"message\":\"m\"}")],
        ),
        ("an error event without data is still one", "event: error\n\n", vec![named("error", "")]),
        ("an error event with empty data too", "event: error\ndata:\n\n", vec![named("error", "")]),
        (
            "a name before its data",
            "event: a\ndata: 1\n\nevent:b\r\ndata:2\r\n\r\nevent: c\rdata: 3\r\r",
            vec![named("a", "1"), named("b", "2"), named("c", "3")],
        ),
        ("a name and two lines of data", "event: a\ndata: 1\ndata: 2\n\n", vec![named("a", "1\n2")]),
        ("no blank line at the end", "data: a\n\ndata: [DONE]\n", vec![data("a"), data("[DONE]")]),
        ("no line end at the end", "data: [DONE]", vec![data("[DONE]")]),
        ("CR at the very end", "data: a\r", vec![data("a")]),
        ("U+2028 and U+0085 end no line", "data: a\u{2028}b\u{85}c\n\n", vec![data("a\u{2028}b\u{85}c")]),
        ("characters of two to four bytes (C015)", "data: é你好🙂\n\n", vec![data("é你好🙂")]),
        (
            "several events in one read (C017)",
            "data: a\n\ndata: b\n\n\n\ndata: c\n\n",
            vec![data("a"), data("b"), data("c")],
        ),
        ("a colon in the value", "data: a: b\n\n", vec![data("a: b")]),
        ("nothing", "", vec![]),
    ]
}

#[test]
fn samples_read_whole() {
    for (what, bytes, expected) in samples() {
        assert_eq!(read(bytes.as_bytes()), expected, "{what}");
        assert_eq!(read_plainly(bytes.as_bytes()), expected, "{what}, by the plain reading");
    }
}

#[test]
fn samples_read_the_same_at_every_cut_and_every_pair_of_cuts() {
    for (what, text, expected) in samples() {
        let bytes = text.as_bytes();
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                let (events, overflow) = read_pieces(pieces, EVENT_LIMIT_BYTES);
                assert_eq!(
                    (events, overflow),
                    (expected.clone(), None),
                    "{what}, cut at {first} and {second}"
                );
            }
        }
        let (events, _) = read_pieces(bytes.chunks(1), EVENT_LIMIT_BYTES);
        assert_eq!(events, expected, "{what}, byte by byte (C018)");
    }
}

#[test]
fn bytes_that_are_not_utf8_pass_untouched() {
    assert_eq!(read(b"data: \xFF\x00\xC3\n\n"), [(vec![], Field::Data, b"\xFF\x00\xC3".to_vec())]);
    assert_eq!(read(b"\xEF\xBBdata: a\n\ndata: b\n\n"), [data("b")], "half a byte order mark is text");
}

#[test]
fn an_event_is_handed_out_as_soon_as_its_last_byte_is_there() {
    for (end, needed) in [("\n\n", 2), ("\r\n\r\n", 3), ("\r\r", 2)] {
        let mut parser = Parser::new();
        let mut seen = 0;
        let text = format!("data: a{end}");
        for (at, byte) in text.bytes().enumerate() {
            let fed = parser.feed(&[byte], |_| {
                seen += 1;
                ControlFlow::<()>::Continue(())
            });
            assert!(fed.is_ok());
            assert_eq!(seen, usize::from(at + 1 >= "data: a".len() + needed), "byte {at} of {text:?}");
        }
    }
}

#[test]
fn a_whole_event_is_handed_out_where_it_lies() {
    let bytes = b"data: one\n\ndata: two\r\n\r\nevent: x\ndata: three\n\n";
    let mut places = Vec::new();
    let fed = Parser::new().feed(bytes, |event| {
        places.push(event.data.as_ptr().addr() - bytes.as_ptr().addr());
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(fed, Ok(ControlFlow::Continue(())));
    assert_eq!(places, [6, 17, 39]);
}

#[test]
fn reading_stops_where_the_caller_says() {
    for text in
        ["data: a\n\ndata: [DONE]\n\ndata: b\n\n", "id: 1\ndata: a\n\nid: 2\ndata: [DONE]\n\ndata: b\n\n"]
    {
        let mut parser = Parser::new();
        let mut seen = Vec::new();
        let fed = parser.feed(text.as_bytes(), |event| {
            seen.push(own(event));
            if event.data == b"[DONE]" { ControlFlow::Break("done") } else { ControlFlow::Continue(()) }
        });
        assert_eq!(fed, Ok(ControlFlow::Break("done")));
        assert_eq!(seen, [data("a"), data("[DONE]")]);
    }
    let mut parser = Parser::new();
    assert_eq!(parser.feed(b"data: a", |_| ControlFlow::Break(1)), Ok(ControlFlow::Continue(())));
    assert_eq!(parser.finish(|_| ControlFlow::Break(2)), Ok(ControlFlow::Break(2)));
}

#[test]
fn finishing_twice_dispatches_once() {
    let mut parser = Parser::new();
    let mut seen = 0;
    let mut on = |_: Event<'_>| {
        seen += 1;
        ControlFlow::<()>::Continue(())
    };
    assert!(parser.feed(b"data: a", &mut on).is_ok());
    assert!(parser.finish(&mut on).is_ok());
    assert!(parser.finish(&mut on).is_ok());
    assert_eq!(seen, 1);
}

#[test]
fn a_body_of_another_kind_shows_as_foreign_lines() {
    let lines_of = |text: &str| {
        let mut parser = Parser::new();
        let fed = parser.feed(text.as_bytes(), |_| ControlFlow::<()>::Continue(()));
        assert!(fed.is_ok());
        parser.foreign_lines()
    };
    assert_eq!(lines_of("{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"done\":true}\n"), 2, "C026");
    assert_eq!(lines_of(": comment\nid: 1\nretry: 2\nevent: x\ndata: y\nerror: z\n\n"), 0);
}

#[test]
fn lines_and_events_above_the_limit_overflow_at_every_cut() {
    let over = Some(Overflow { limit_bytes: 16 });
    for (what, text, events, overflow) in [
        ("a line of the limit", "data: 0123456789\n\n", vec![data("0123456789")], None),
        ("a line above it", "data: a\n\ndata: 0123456789x\n\ndata: b\n\n", vec![data("a")], over),
        ("a comment above it", ": 0123456789 0123\n\ndata: b\n\n", vec![], over),
        ("an event of the limit", "data: 0123456\ndata: 0123456\n\n", vec![data("0123456\n0123456")], None),
        ("an event above it", "data: 0123456\ndata: 01234567\n\n", vec![], over),
        ("name and data above it", "event: 012345678\ndata: 0123456\n\n", vec![], over),
        ("a last line without end", "data: 0123456789x", vec![], over),
        ("a last line without end above it when joined", "data: 0123456789\ndata: 012345", vec![], over),
    ] {
        let bytes = text.as_bytes();
        for cut in 0..=bytes.len() {
            let read = read_pieces([&bytes[..cut], &bytes[cut..]], 16);
            assert_eq!(read, (events.clone(), overflow), "{what}, cut at {cut}");
        }
    }
    assert_eq!(
        over.map(|over| over.to_string()).as_deref(),
        Some("an event of the stream is larger than 16 bytes")
    );
}

#[test]
fn an_overflow_is_final() {
    let mut parser = Parser::with_limit(8);
    let on = |_: Event<'_>| ControlFlow::<()>::Continue(());
    assert!(parser.feed(b"data: 0123456789", on).is_err());
    assert!(parser.feed(b"\n\ndata: a\n\n", on).is_err());
    assert!(parser.finish(on).is_err());
}

#[test]
fn a_large_event_does_not_leave_a_large_buffer() {
    let mut parser = Parser::new();
    let large = format!("data: {}\n\n", "x".repeat(1 << 20));
    let on = |_: Event<'_>| ControlFlow::<()>::Continue(());
    for piece in large.as_bytes().chunks(1000) {
        assert!(parser.feed(piece, on).is_ok());
    }
    let held = parser.line.capacity() + parser.data.capacity();
    assert!(held <= 2 * RETAINED_BYTES, "{held} bytes");
}

/// The WHATWG text, rule by rule, over the whole stream at once, with the differences the module names.
fn read_plainly(bytes: &[u8]) -> Vec<Owned> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut lines = vec![Vec::new()];
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => {
                lines.push(Vec::new());
                at += 1;
            }
            b'\r' | b'\n' => lines.push(Vec::new()),
            byte => lines.last_mut().expect("never empty").push(byte),
        }
        at += 1;
    }
    lines.push(Vec::new());

    let mut events = Vec::new();
    let (mut name, mut data, mut error) = (Vec::new(), Vec::<Vec<u8>>::new(), Vec::<Vec<u8>>::new());
    for line in lines {
        if line.is_empty() {
            let (joined, failed) = (data.join(&b'\n'), error.join(&b'\n'));
            if !error.is_empty() {
                events.push((name.clone(), Field::Error, failed));
            }
            if !joined.is_empty() || (name == b"error" && error.is_empty()) {
                events.push((name.clone(), Field::Data, joined));
            }
            (name, data, error) = (Vec::new(), Vec::new(), Vec::new());
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let mut value = line.get(colon + 1..).unwrap_or_default().to_vec();
        if value.first() == Some(&b' ') {
            value.remove(0);
        }
        match &line[..colon] {
            b"event" => name = value,
            b"data" => data.push(value),
            b"error" => error.push(value),
            _ => {}
        }
    }
    events
}

/// Streams made of the pieces that matter, in any order, and of plain noise.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"data: ".to_vec()),
        2 => Just(b"data:".to_vec()),
        1 => Just(b"event: error".to_vec()),
        1 => Just(b"event:x".to_vec()),
        1 => Just(b"error: e".to_vec()),
        1 => Just(b"id: 1".to_vec()),
        1 => Just(b": comment".to_vec()),
        1 => Just(b"\xEF\xBB\xBF".to_vec()),
        6 => Just(b"\n".to_vec()),
        4 => Just(b"\r\n".to_vec()),
        4 => Just(b"\r".to_vec()),
        6 => Just(b"\n\n".to_vec()),
        4 => "[a-z{}\": ]{0,8}".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn cut<'b>(bytes: &'b [u8], cuts: &[prop::sample::Index]) -> Vec<&'b [u8]> {
    let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    at.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect()
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_read_as_in_one_and_as_the_plain_reading_says(
        bytes in streams(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let (events, overflow) = read_pieces(cut(&bytes, &cuts), EVENT_LIMIT_BYTES);
        prop_assert_eq!(overflow, None);
        prop_assert_eq!(&events, &read(&bytes));
        prop_assert_eq!(events, read_plainly(&bytes));
    }

    #[test]
    fn any_bytes_in_any_pieces_overflow_as_in_one(
        bytes in streams(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..8),
        limit in 0_usize..40,
    ) {
        prop_assert_eq!(read_pieces(cut(&bytes, &cuts), limit), read_pieces([bytes.as_slice()], limit));
    }
}
