//! Newline-delimited JSON: a value a line.
//!
//! Lines end in LF, a CR before it is dropped, and lines of nothing but blanks are passed over. What stands after
//! the last LF is a line too once the stream has ended properly ([`Parser::finish`]). Lines are handed on as
//! bytes: whether one is JSON is for its reader to say.
//!
//! What comes out does not depend on how the bytes were cut. A line that lies whole in the bytes fed is handed
//! out where it lies.

use std::mem;
use std::ops::ControlFlow;

use memchr::memchr;

use super::{EVENT_LIMIT_BYTES, Overflow, empty};

/// Reads one stream.
#[derive(Debug)]
pub struct Parser {
    limit_bytes: usize,
    overflowed: bool,
    /// A line whose end has not come yet.
    line: Vec<u8>,
}

impl Default for Parser {
    fn default() -> Parser {
        Parser::new()
    }
}

impl Parser {
    /// A parser at the start of a stream, with a limit of [`EVENT_LIMIT_BYTES`].
    pub fn new() -> Parser {
        Parser::with_limit(EVENT_LIMIT_BYTES)
    }

    /// A parser that refuses lines larger than `limit_bytes`, their LF not counted, and never holds more.
    pub fn with_limit(limit_bytes: usize) -> Parser {
        Parser { limit_bytes, overflowed: false, line: Vec::new() }
    }

    /// Takes the next bytes of the stream and hands each line they complete to `on`.
    ///
    /// `on` may stop the reading; its value is returned and the bytes after that line are not looked at, so the
    /// parser is of no further use then.
    ///
    /// # Errors
    /// When a line exceeds the limit, from then on at each call. Lines before it were handed out.
    pub fn feed<B>(
        &mut self,
        bytes: &[u8],
        mut on: impl FnMut(&[u8]) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Overflow> {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            let (piece, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            if let ControlFlow::Break(value) = self.end_line(piece, &mut on)? {
                return Ok(ControlFlow::Break(value));
            }
        }
        self.admit(rest)?;
        self.line.extend_from_slice(rest);
        Ok(ControlFlow::Continue(()))
    }

    /// Says that the stream has come to its end, and hands out the line that was still waiting for its LF.
    ///
    /// Only for a stream that ended properly: where a connection broke, the last line may be half a line.
    ///
    /// # Errors
    /// When the limit was exceeded.
    pub fn finish<B>(
        &mut self,
        mut on: impl FnMut(&[u8]) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Overflow> {
        self.end_line(b"", &mut on)
    }

    /// Takes the last piece of a line, its LF excluded.
    fn end_line<B>(
        &mut self,
        piece: &[u8],
        on: &mut impl FnMut(&[u8]) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Overflow> {
        self.admit(piece)?;
        if self.line.is_empty() {
            return Ok(hand_out(piece, on));
        }
        self.line.extend_from_slice(piece);
        let mut line = mem::take(&mut self.line);
        let flow = hand_out(&line, on);
        empty(&mut line);
        self.line = line;
        Ok(flow)
    }

    /// Refuses a piece that makes its line too large.
    fn admit(&mut self, piece: &[u8]) -> Result<(), Overflow> {
        self.overflowed |= self.line.len() + piece.len() > self.limit_bytes;
        if self.overflowed { Err(Overflow { limit_bytes: self.limit_bytes }) } else { Ok(()) }
    }
}

fn hand_out<B>(line: &[u8], on: &mut impl FnMut(&[u8]) -> ControlFlow<B>) -> ControlFlow<B> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.trim_ascii().is_empty() { ControlFlow::Continue(()) } else { on(line) }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::wire::RETAINED_BYTES;

    fn read_pieces<'a>(
        pieces: impl IntoIterator<Item = &'a [u8]>,
        limit: usize,
    ) -> (Vec<Vec<u8>>, Option<Overflow>) {
        let mut parser = Parser::with_limit(limit);
        let mut lines = Vec::new();
        let mut on = |line: &[u8]| {
            lines.push(line.to_vec());
            ControlFlow::<Infallible>::Continue(())
        };
        for piece in pieces {
            if let Err(overflow) = parser.feed(piece, &mut on) {
                return (lines, Some(overflow));
            }
            assert!(parser.line.len() <= limit, "memory is bounded");
        }
        let overflow = parser.finish(&mut on).err();
        (lines, overflow)
    }

    fn read(text: &str) -> Vec<String> {
        let (lines, overflow) = read_pieces([text.as_bytes()], EVENT_LIMIT_BYTES);
        assert_eq!(overflow, None);
        lines.into_iter().map(|line| String::from_utf8(line).unwrap()).collect()
    }

    const SAMPLES: [(&str, &str, &[&str]); 10] = [
        ("a value a line", "{\"a\":1}\n{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]),
        ("CRLF ends lines", "{\"a\":1}\r\n{}\r\n", &["{\"a\":1}", "{}"]),
        ("one CR is dropped, not two", "{}\r\r\n", &["{}\r"]),
        ("a lone CR ends no line", "1\r2\n", &["1\r2"]),
        ("blank lines say nothing", "\n\r\n \t\n{}\n\n\n{}\n \n", &["{}", "{}"]),
        ("blanks around a value stay", " {} \n", &[" {} "]),
        ("no line end at the end", "{}\n{\"done\":true}", &["{}", "{\"done\":true}"]),
        ("CR at the very end", "{}\r", &["{}"]),
        ("characters of two to four bytes", "\"é你好🙂\u{2028}\"\n", &["\"é你好🙂\u{2028}\""]),
        ("nothing", "", &[]),
    ];

    #[test]
    fn samples_read_the_same_at_every_cut_and_every_pair_of_cuts() {
        for (what, text, expected) in SAMPLES {
            assert_eq!(read(text), expected, "{what}");
            let expected: Vec<_> = expected.iter().map(|line| line.as_bytes().to_vec()).collect();
            let bytes = text.as_bytes();
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    let read = read_pieces(pieces, EVENT_LIMIT_BYTES);
                    assert_eq!(read, (expected.clone(), None), "{what}, cut at {first} and {second}");
                }
            }
            assert_eq!(read_pieces(bytes.chunks(1), EVENT_LIMIT_BYTES).0, expected, "{what}, byte by byte");
        }
    }

    #[test]
    fn a_line_is_handed_out_as_soon_as_its_end_is_there_and_where_it_lies() {
        let bytes = b"{\"a\":1}\n{}\n{";
        let mut places = Vec::new();
        let fed = Parser::new().feed(bytes, |line| {
            places.push(line.as_ptr().addr() - bytes.as_ptr().addr());
            ControlFlow::<()>::Continue(())
        });
        assert_eq!((fed, places), (Ok(ControlFlow::Continue(())), vec![0, 8]));
    }

    #[test]
    fn reading_stops_where_the_caller_says() {
        let mut parser = Parser::new();
        let mut seen = 0;
        let fed = parser.feed(b"1\n2\n3\n", |line| {
            seen += 1;
            if line == b"2" { ControlFlow::Break("done") } else { ControlFlow::Continue(()) }
        });
        assert_eq!((fed, seen), (Ok(ControlFlow::Break("done")), 2));
    }

    #[test]
    fn finishing_twice_hands_out_once() {
        let mut parser = Parser::new();
        assert_eq!(parser.feed(b"{}", |_| ControlFlow::Break(1)), Ok(ControlFlow::Continue(())));
        assert_eq!(parser.finish(|_| ControlFlow::Break(2)), Ok(ControlFlow::Break(2)));
        assert_eq!(parser.finish(|_| ControlFlow::Break(3)), Ok(ControlFlow::Continue(())));
    }

    #[test]
    fn lines_above_the_limit_overflow_at_every_cut_and_for_good() {
        let over = Some(Overflow { limit_bytes: 8 });
        for (what, text, lines, overflow) in [
            ("a line of the limit", "12345678\n1\n", vec!["12345678", "1"], None),
            ("a line above it", "1\n123456789\n2\n", vec!["1"], over),
            ("blanks above it", "         \n", vec![], over),
            ("a last line above it", "1\n123456789", vec!["1"], over),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
            for cut in 0..=text.len() {
                let read = read_pieces([&text.as_bytes()[..cut], &text.as_bytes()[cut..]], 8);
                assert_eq!(read, (lines.clone(), overflow), "{what}, cut at {cut}");
            }
        }
        let mut parser = Parser::with_limit(8);
        let on = |_: &[u8]| ControlFlow::<()>::Continue(());
        assert!(parser.feed(b"123456789", on).is_err());
        assert!(parser.feed(b"\n1\n", on).is_err());
        assert!(parser.finish(on).is_err());
    }

    #[test]
    fn a_large_line_does_not_leave_a_large_buffer() {
        let mut parser = Parser::new();
        let large = format!("\"{}\"\n", "x".repeat(1 << 20));
        for piece in large.as_bytes().chunks(1000) {
            assert!(parser.feed(piece, |_| ControlFlow::<()>::Continue(())).is_ok());
        }
        assert!(parser.line.capacity() <= RETAINED_BYTES);
    }

    /// The same by splitting the whole text at once.
    fn read_plainly(bytes: &[u8]) -> Vec<Vec<u8>> {
        let lines = bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.filter(|line| !line.trim_ascii().is_empty()).map(<[u8]>::to_vec).collect()
    }

    fn streams() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => Just(b"\n".to_vec()),
            2 => Just(b"\r\n".to_vec()),
            1 => Just(b"\r".to_vec()),
            4 => "[a-z{}\": ]{0,8}".prop_map(String::into_bytes),
            1 => proptest::collection::vec(any::<u8>(), 0..4),
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_read_as_in_one_and_as_split_at_once(
            bytes in streams(),
            size in 1_usize..20,
            limit in 0_usize..30,
        ) {
            let (lines, overflow) = read_pieces(bytes.chunks(size), EVENT_LIMIT_BYTES);
            prop_assert_eq!(overflow, None);
            prop_assert_eq!(lines, read_plainly(&bytes));
            prop_assert_eq!(read_pieces(bytes.chunks(size), limit), read_pieces([bytes.as_slice()], limit));
        }
    }
}
