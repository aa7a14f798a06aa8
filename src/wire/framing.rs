//! The two ways in which servers cut a stream into events, behind one parser.

use std::ops::ControlFlow;

use super::sse::{Event, Field};
use super::{Overflow, ndjson, sse};

/// How a stream is cut into events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// A JSON value a line.
    Ndjson,
}

impl Framing {
    /// The media type that asks for such a stream.
    pub fn media_type(self) -> &'static str {
        match self {
            Framing::Sse => "text/event-stream",
            Framing::Ndjson => "application/x-ndjson",
        }
    }
}

/// Reads one stream, whichever way it is cut. A line of JSON is handed out as an event without a name.
#[derive(Debug)]
pub enum Parser {
    /// Reads server-sent events.
    Sse(sse::Parser),
    /// Reads lines.
    Ndjson(ndjson::Parser),
}

impl Parser {
    /// A parser at the start of a stream, with a limit of [`super::EVENT_LIMIT_BYTES`].
    pub fn new(framing: Framing) -> Parser {
        match framing {
            Framing::Sse => Parser::Sse(sse::Parser::new()),
            Framing::Ndjson => Parser::Ndjson(ndjson::Parser::new()),
        }
    }

    /// Takes the next bytes of the stream and hands each event they complete to `on`; as
    /// [`sse::Parser::feed`] and [`ndjson::Parser::feed`].
    ///
    /// # Errors
    /// When a line or an event exceeds the limit, from then on at each call.
    pub fn feed<B>(
        &mut self,
        bytes: &[u8],
        mut on: impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Overflow> {
        match self {
            Parser::Sse(parser) => parser.feed(bytes, on),
            Parser::Ndjson(parser) => parser.feed(bytes, |line| on(event_of(line))),
        }
    }

    /// Says that the stream has come to its proper end; as [`sse::Parser::finish`] and
    /// [`ndjson::Parser::finish`].
    ///
    /// # Errors
    /// When the limit was exceeded.
    pub fn finish<B>(
        &mut self,
        mut on: impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Overflow> {
        match self {
            Parser::Sse(parser) => parser.finish(on),
            Parser::Ndjson(parser) => parser.finish(|line| on(event_of(line))),
        }
    }

    /// Whether what comes next begins an event that [`sse::split_whole_event`] may take.
    pub fn is_at_rest(&self) -> bool {
        matches!(self, Parser::Sse(parser) if parser.is_at_rest())
    }

    /// How many lines so far have no place in such a stream. Lines that are no JSON are not among them: they are
    /// handed out for the API's decoder to refuse.
    pub fn foreign_lines(&self) -> u64 {
        match self {
            Parser::Sse(parser) => parser.foreign_lines(),
            Parser::Ndjson(_) => 0,
        }
    }
}

fn event_of(line: &[u8]) -> Event<'_> {
    Event { name: b"", field: Field::Data, data: line }
}
