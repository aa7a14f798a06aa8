//! Server-sent events, by the WHATWG text ("Interpreting an event stream").
//!
//! Lines end in LF, CR or CRLF; a field's value loses one leading space; `data` lines are joined by LF; `id`,
//! `retry` and unknown fields are ignored; bytes are handed on undecoded. Four things differ from a browser,
//! each so that no token and no failure is lost or made up:
//!
//! - an event without data is not dispatched even if it has an empty `data:` line (a heartbeat of some
//!   gateways), unless it is named `error`;
//! - a field named `error` (old llama.cpp) is handed out as [`Field::Error`];
//! - what stands unfinished at the end of the stream is dispatched by [`Parser::finish`], since servers omit
//!   the last blank line;
//! - a line or an event above a limit is an error, so that memory stays bounded.
//!
//! What comes out does not depend on how the bytes were cut. An event that lies whole in the bytes fed and is a
//! single `data:` line, as nearly all are, perhaps after its name, is handed out where it lies. Anything else goes
//! line by line through buffers. Keep both ways equal: the tests compare them at every cut.

use std::mem;
use std::ops::ControlFlow;

use memchr::memchr2;

use super::{EVENT_LIMIT_BYTES, Overflow, empty};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One event. Borrowed from the bytes fed or from the parser, so it lasts for the callback alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Value of the `event` field; empty where there was none.
    pub name: &'a [u8],
    /// The field that `data` comes from.
    pub field: Field,
    /// Values of the field's lines, joined by LF. Not empty, except in a bare `error` field or under
    /// `event: error`.
    pub data: &'a [u8],
}

impl Event<'_> {
    /// Whether a server reports a failure by it, whatever its data say.
    pub fn is_failure(&self) -> bool {
        self.field == Field::Error || self.name == b"error"
    }

    /// Whether it is handed out: not without data, unless it is a failure.
    fn says_something(&self) -> bool {
        !self.data.is_empty() || self.name == b"error"
    }
}

/// The field that carries an event's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `data`
    Data,
    /// `error`, by which old llama.cpp servers report a failure inside a stream.
    Error,
}

/// Reads one stream.
#[derive(Debug)]
pub struct Parser {
    limit_bytes: usize,
    overflowed: bool,
    /// Bytes of the byte order mark seen at the start; all of them once the start is behind.
    start: usize,
    /// The last line ended in CR: an LF that follows belongs to it.
    after_cr: bool,
    /// A line whose end has not come yet.
    line: Vec<u8>,
    name: Vec<u8>,
    /// Values of `data` lines, an LF after each.
    data: Vec<u8>,
    /// Values of `error` lines, an LF after each.
    error: Vec<u8>,
    foreign_lines: u64,
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

    /// A parser that refuses lines, and events, larger than `limit_bytes`. It never holds more than twice that.
    pub fn with_limit(limit_bytes: usize) -> Parser {
        Parser {
            limit_bytes,
            overflowed: false,
            start: 0,
            after_cr: false,
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            error: Vec::new(),
            foreign_lines: 0,
        }
    }

    /// Takes the next bytes of the stream and hands each event they complete to `on`.
    ///
    /// `on` may stop the reading, after the API's end marker say; its value is returned and the bytes after that
    /// event are not looked at, so the parser is of no further use then.
    ///
    /// # Errors
    /// When a line or an event exceeds the limit, from then on at each call. Events before it were handed out.
    pub fn feed<B>(
        &mut self,
        bytes: &[u8],
        mut on: impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Overflow> {
        if self.overflowed {
            return Err(self.overflow());
        }
        let mut rest = self.skip_byte_order_mark(bytes);
        while let Some(first) = rest.first() {
            if mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = &rest[1..];
                continue;
            }
            if self.is_between_events()
                && let Some((event, after)) = split_whole_event(rest, self.limit_bytes)
            {
                rest = after;
                if event.says_something()
                    && let ControlFlow::Break(value) = on(event)
                {
                    return Ok(ControlFlow::Break(value));
                }
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.begin_line(rest)?;
                break;
            };
            self.after_cr = rest[end] == b'\r';
            let (line, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            if let ControlFlow::Break(value) = self.end_line(line, &mut on)? {
                return Ok(ControlFlow::Break(value));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Says that the stream has come to its end, and hands out the event that was still waiting for its blank
    /// line or even for the end of its last line.
    ///
    /// Only for a stream that ended properly: where a connection broke, the last line may be half a line.
    ///
    /// # Errors
    /// When the limit is, or was, exceeded.
    pub fn finish<B>(
        &mut self,
        mut on: impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Overflow> {
        if self.overflowed {
            return Err(self.overflow());
        }
        if !self.line.is_empty()
            && let ControlFlow::Break(value) = self.end_line(b"", &mut on)?
        {
            return Ok(ControlFlow::Break(value));
        }
        Ok(self.dispatch(&mut on))
    }

    /// How many lines so far named a field that event streams do not have. Where lines were foreign and no
    /// event came, the body is no event stream, whatever its head said.
    pub fn foreign_lines(&self) -> u64 {
        self.foreign_lines
    }

    fn skip_byte_order_mark<'b>(&mut self, mut bytes: &'b [u8]) -> &'b [u8] {
        while let Some(expected) = BYTE_ORDER_MARK.get(self.start)
            && let Some(byte) = bytes.first()
        {
            if byte != expected {
                self.line.extend_from_slice(&BYTE_ORDER_MARK[..self.start]);
                self.start = BYTE_ORDER_MARK.len();
                break;
            }
            self.start += 1;
            bytes = &bytes[1..];
        }
        bytes
    }

    /// Whether what comes next begins an event, whatever came before.
    pub fn is_at_rest(&self) -> bool {
        self.start == BYTE_ORDER_MARK.len() && !self.after_cr && self.is_between_events()
    }

    fn is_between_events(&self) -> bool {
        self.line.is_empty() && self.data.is_empty() && self.name.is_empty() && self.error.is_empty()
    }

    fn begin_line(&mut self, piece: &[u8]) -> Result<(), Overflow> {
        if self.line.len() + piece.len() > self.limit_bytes {
            return Err(self.overflow());
        }
        self.line.extend_from_slice(piece);
        Ok(())
    }

    /// Takes the last piece of a line, its end excluded.
    fn end_line<B>(
        &mut self,
        piece: &[u8],
        on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Overflow> {
        if self.line.is_empty() {
            return self.take_line(piece, on);
        }
        self.begin_line(piece)?;
        let mut line = mem::take(&mut self.line);
        let taken = self.take_line(&line, on);
        empty(&mut line);
        self.line = line;
        taken
    }

    fn take_line<B>(
        &mut self,
        line: &[u8],
        on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Overflow> {
        if line.is_empty() {
            return Ok(self.dispatch(on));
        }
        if line.len() > self.limit_bytes {
            return Err(self.overflow());
        }
        let (field, value) = split_field(line);
        match field {
            b"data" => append_line(&mut self.data, value),
            b"error" => append_line(&mut self.error, value),
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            b"" | b"id" | b"retry" => {}
            _ => self.foreign_lines += 1,
        }
        if self.name.len() + self.data.len() + self.error.len() > self.limit_bytes {
            return Err(self.overflow());
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Ends the event: hands out what it carried, a failure first, and forgets it.
    fn dispatch<B>(&mut self, on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        let name = self.name.as_slice();
        let error = self.error.strip_suffix(b"\n");
        let data = self.data.strip_suffix(b"\n").unwrap_or_default();
        let mut flow = match error {
            Some(data) => on(Event { name, field: Field::Error, data }),
            None => ControlFlow::Continue(()),
        };
        let event = Event { name, field: Field::Data, data };
        if flow.is_continue() && (error.is_none() || !data.is_empty()) && event.says_something() {
            flow = on(event);
        }
        empty(&mut self.name);
        empty(&mut self.data);
        empty(&mut self.error);
        flow
    }

    fn overflow(&mut self) -> Overflow {
        self.overflowed = true;
        Overflow { limit_bytes: self.limit_bytes }
    }
}

/// Splits `data: …` and its blank line off the front of `bytes`, perhaps with `event: …` before: the event, and
/// what follows. `None` where the front is anything else or not all there, or ends a line in a lone CR. A
/// [`Parser`] that [is at rest](Parser::is_at_rest) would say the same of it, and be at rest again.
pub fn split_whole_event(bytes: &[u8], limit_bytes: usize) -> Option<(Event<'_>, &[u8])> {
    let (name, value) = match bytes.strip_prefix(b"data:") {
        Some(value) => (b"".as_slice(), value),
        None => {
            let name = bytes.strip_prefix(b"event:")?;
            let (name, ends) = name.split_at(memchr2(b'\n', b'\r', name)?);
            let data = ends.strip_prefix(b"\n").or_else(|| ends.strip_prefix(b"\r\n"))?;
            (name, data.strip_prefix(b"data:")?)
        }
    };
    let (value, ends) = value.split_at(memchr2(b'\n', b'\r', value)?);
    let after = ends.strip_prefix(b"\n\n").or_else(|| ends.strip_prefix(b"\r\n\r\n"))?;
    let fits = b"event:data:".len() + name.len() + value.len() <= limit_bytes;
    let event = Event { name: strip_space(name), field: Field::Data, data: strip_space(value) };
    fits.then_some((event, after))
}

/// Name and value of a line that is not empty. A comment has an empty name.
fn split_field(line: &[u8]) -> (&[u8], &[u8]) {
    let Some(colon) = memchr::memchr(b':', line) else { return (line, b"") };
    let value = &line[colon + 1..];
    (&line[..colon], strip_space(value))
}

fn strip_space(value: &[u8]) -> &[u8] {
    value.strip_prefix(b" ").unwrap_or(value)
}

fn append_line(lines: &mut Vec<u8>, line: &[u8]) {
    lines.extend_from_slice(line);
    lines.push(b'\n');
}

#[cfg(test)]
mod tests;
