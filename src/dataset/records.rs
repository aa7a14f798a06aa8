//! How a file is cut into rows: one a line, one a record of CSV, or one an element of a JSON list.
//!
//! Every cutter works byte by byte in memory that no row can exceed, and says where each row stands, so that it can
//! be read again alone.

use std::io::{self, BufRead};

use memchr::{memchr, memchr2};

/// Longest row. It is read into memory whole, once in the scan and again when it is sent.
pub(super) const LONGEST: usize = 64 << 20;

/// How rows follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    /// One row a line.
    Lines,
    /// RFC 4180, with this between cells: a line break in quotes does not end a row.
    Csv {
        /// Usually a comma.
        delimiter: u8,
    },
    /// The elements of one JSON list.
    List,
}

/// A row's place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Of its first byte.
    pub(super) offset: u64,
    /// Without its end; the whole of it even where less was kept.
    pub(super) length: u64,
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    /// Whether the file ends in the middle of it.
    pub(super) is_cut: bool,
}

/// The rows of a file, one after another.
pub(super) struct Records<R> {
    input: R,
    container: Container,
    offset: u64,
    line: u64,
    /// Of a list: what comes next.
    list: List,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Unopened,
    Open,
    Closed,
}

/// Where in a record of CSV a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Start,
    Plain,
    Quoted,
    /// After a quote in quotes: the end of the cell, or half of a quote.
    Quote,
}

/// Where in a JSON value a byte stands.
#[derive(Clone, Copy, Default)]
struct Nesting {
    depth: u32,
    in_text: bool,
    escaped: bool,
}

impl Nesting {
    /// Whether `byte` is the last of a list, an object or a text.
    fn ends_with(&mut self, byte: u8) -> bool {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return byte == b'"' && !self.in_text && self.depth == 0;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

impl<R: BufRead> Records<R> {
    /// The rows of `input`, which stands at the begin of the file.
    pub(super) fn new(input: R, container: Container) -> Records<R> {
        Records { input, container, offset: 0, line: 1, list: List::Unopened }
    }

    /// Puts the next row into `text`, without its end and, on the first, without a byte order mark. Of a row longer
    /// than [`LONGEST`] only the beginning is kept.
    pub(super) fn next_into(&mut self, text: &mut Vec<u8>) -> io::Result<Option<Record>> {
        text.clear();
        if self.offset == 0 {
            self.skip_mark()?;
        }
        match self.container {
            Container::Lines => self.line_into(text),
            Container::Csv { delimiter } => self.cells_into(text, delimiter),
            Container::List => self.element_into(text),
        }
    }

    /// The next bytes; empty at the end.
    fn chunk(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.input.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // Filled above: nothing is read here.
        self.input.fill_buf()
    }

    fn advance(&mut self, bytes: usize) {
        self.input.consume(bytes);
        self.offset += bytes as u64;
    }

    /// A mark of three bytes may come in as many chunks.
    fn skip_mark(&mut self) -> io::Result<()> {
        for byte in *b"\xef\xbb\xbf" {
            if self.chunk()?.first() != Some(&byte) {
                return Ok(());
            }
            self.advance(1);
        }
        Ok(())
    }

    fn line_into(&mut self, text: &mut Vec<u8>) -> io::Result<Option<Record>> {
        let mut record = self.begin();
        let mut ended = false;
        while !ended {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                break;
            }
            let end = memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            keep(text, part);
            let length = part.len();
            record.length += length as u64;
            ended = end.is_some();
            self.advance(length + usize::from(ended));
        }
        Ok(self.closed(record, text, ended))
    }

    fn cells_into(&mut self, text: &mut Vec<u8>, delimiter: u8) -> io::Result<Option<Record>> {
        let mut record = self.begin();
        let mut cell = Cell::Start;
        let mut ended = false;
        while !ended {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                break;
            }
            // Where no quote stands, the last byte tells all.
            let mut used = match cell {
                Cell::Quoted => 0,
                _ => memchr2(b'\n', b'"', chunk).unwrap_or(chunk.len()),
            };
            if let Some(last) = chunk[..used].last() {
                cell = if *last == delimiter { Cell::Start } else { Cell::Plain };
            }
            let mut breaks = 0;
            for byte in &chunk[used..] {
                ended = *byte == b'\n' && cell != Cell::Quoted;
                if ended {
                    break;
                }
                used += 1;
                breaks += u64::from(*byte == b'\n');
                cell = match (cell, *byte) {
                    (Cell::Quoted, b'"') => Cell::Quote,
                    (Cell::Quoted, _) => Cell::Quoted,
                    (Cell::Start | Cell::Quote, b'"') => Cell::Quoted,
                    (_, byte) if byte == delimiter => Cell::Start,
                    _ => Cell::Plain,
                };
            }
            keep(text, &chunk[..used]);
            record.length += used as u64;
            self.line += breaks;
            self.advance(used + usize::from(ended));
        }
        record.is_cut = !ended && cell == Cell::Quoted;
        Ok(self.closed(record, text, ended))
    }

    fn begin(&self) -> Record {
        Record { offset: self.offset, length: 0, line: self.line, is_cut: false }
    }

    /// A line is over: without a carriage return, and `None` at the end of the file.
    fn closed(&mut self, mut record: Record, text: &mut Vec<u8>, ended: bool) -> Option<Record> {
        if record.length == 0 && !ended {
            return None;
        }
        self.line += u64::from(ended);
        if text.last() == Some(&b'\r') && text.len() as u64 == record.length {
            text.pop();
            record.length -= 1;
        }
        Some(record)
    }

    fn element_into(&mut self, text: &mut Vec<u8>) -> io::Result<Option<Record>> {
        if !self.reach_element()? {
            // A list that is not closed was longer once.
            let is_cut = self.list == List::Open;
            self.list = List::Closed;
            return Ok(is_cut.then_some(Record { is_cut, ..self.begin() }));
        }
        let mut record = self.begin();
        if self.list == List::Closed {
            // What follows the list belongs to no row.
            record.length = self.rest_into(text)?;
            return Ok(Some(record));
        }
        let mut nesting = Nesting::default();
        let mut ended = false;
        while !ended {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                record.is_cut = true;
                self.list = List::Closed;
                break;
            }
            let (mut used, mut breaks) = (0, 0);
            for byte in chunk {
                let is_bare = nesting.depth == 0 && !nesting.in_text;
                ended = is_bare && matches!(byte, b',' | b']');
                if ended {
                    break;
                }
                used += 1;
                breaks += u64::from(*byte == b'\n');
                ended = nesting.ends_with(*byte);
                if ended {
                    break;
                }
            }
            keep(text, &chunk[..used]);
            record.length += used as u64;
            self.line += breaks;
            self.advance(used);
        }
        while text.last().is_some_and(u8::is_ascii_whitespace) && text.len() as u64 == record.length {
            text.pop();
            record.length -= 1;
        }
        Ok(Some(record))
    }

    /// Goes to the first byte of the next element, or of what follows the list; `false` at the end.
    fn reach_element(&mut self) -> io::Result<bool> {
        loop {
            let list = self.list;
            let chunk = self.chunk()?;
            let Some(byte) = chunk.first().copied() else { return Ok(false) };
            match (list, byte) {
                (_, byte) if byte.is_ascii_whitespace() => self.line += u64::from(byte == b'\n'),
                (List::Unopened, b'[') => self.list = List::Open,
                (List::Open, b',') => {}
                (List::Open, b']') => self.list = List::Closed,
                (List::Open, _) => return Ok(true),
                (List::Unopened | List::Closed, _) => {
                    self.list = List::Closed;
                    return Ok(true);
                }
            }
            self.advance(1);
        }
    }

    fn rest_into(&mut self, text: &mut Vec<u8>) -> io::Result<u64> {
        let mut length = 0;
        loop {
            let chunk = self.chunk()?;
            if chunk.is_empty() {
                return Ok(length);
            }
            keep(text, chunk);
            let used = chunk.len();
            length += used as u64;
            self.advance(used);
        }
    }
}

fn keep(text: &mut Vec<u8>, part: &[u8]) {
    let room = (LONGEST + 1).saturating_sub(text.len());
    text.extend_from_slice(&part[..part.len().min(room)]);
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// Every row of `text` with offset and line, read through a buffer of `capacity` bytes.
    fn rows(text: &[u8], container: Container, capacity: usize) -> Vec<(u64, u64, Vec<u8>, bool)> {
        let mut records = Records::new(BufReader::with_capacity(capacity, text), container);
        let (mut row, mut all) = (Vec::new(), Vec::new());
        while let Some(record) = records.next_into(&mut row).unwrap() {
            assert_eq!(record.length, row.len() as u64);
            all.push((record.offset, record.line, row.clone(), record.is_cut));
        }
        all
    }

    fn check(text: &[u8], container: Container, expected: &[(u64, u64, &str, bool)]) {
        let expected: Vec<_> =
            expected.iter().map(|(at, line, row, cut)| (*at, *line, row.as_bytes().to_vec(), *cut)).collect();
        for capacity in 1..=text.len() + 1 {
            assert_eq!(rows(text, container, capacity), expected, "buffer of {capacity}");
        }
    }

    #[test]
    fn lines_are_the_same_wherever_the_buffer_ends() {
        check(
            b"\xef\xbb\xbfab\r\n\r\ncd\n\nef",
            Container::Lines,
            &[
                (3, 1, "ab", false),
                (7, 2, "", false),
                (9, 3, "cd", false),
                (12, 4, "", false),
                (13, 5, "ef", false),
            ],
        );
    }

    #[test]
    fn quotes_hold_line_breaks_only_where_they_open_a_cell() {
        let csv = Container::Csv { delimiter: b',' };
        check(
            b"a,b\r\n\"x\ny\",1\r\n5\" pipe,2\n\"q\"\"\n\",3\n",
            csv,
            &[
                (0, 1, "a,b", false),
                (5, 2, "\"x\ny\",1", false),
                (14, 4, "5\" pipe,2", false),
                (24, 5, "\"q\"\"\n\",3", false),
            ],
        );
        check(b"a;\"b\n", Container::Csv { delimiter: b';' }, &[(0, 1, "a;\"b\n", true)]);
    }

    #[test]
    fn elements_of_a_list_are_the_same_wherever_the_buffer_ends() {
        let text = b"\xef\xbb\xbf [\n  {\"a\": \"]}\\\"\"},\n 7 , [1, [2]],\"t\\\\\" ]\n";
        check(
            text,
            Container::List,
            &[
                (8, 2, "{\"a\": \"]}\\\"\"}", false),
                (24, 3, "7", false),
                (28, 3, "[1, [2]]", false),
                (37, 3, "\"t\\\\\"", false),
            ],
        );
        check(b"[]", Container::List, &[]);
    }

    #[test]
    fn a_list_that_is_cut_off_says_so() {
        check(b"[{\"a\": 1}, {\"b", Container::List, &[(1, 1, "{\"a\": 1}", false), (11, 1, "{\"b", true)]);
        check(b"[{},\n", Container::List, &[(1, 1, "{}", false), (5, 2, "", true)]);
        check(b"[1]\n[2]", Container::List, &[(1, 1, "1", false), (4, 2, "[2]", false)]);
    }

    proptest::proptest! {
        #[test]
        fn a_row_stands_at_its_offset(
            text in proptest::collection::vec(proptest::sample::select(b"ab\r\n\",;[]{}\\".to_vec()), 0..60),
            capacity in 1..9_usize,
            container in proptest::sample::select(vec![
                Container::Lines, Container::Csv { delimiter: b',' }, Container::List,
            ]),
        ) {
            for (offset, line, row, _) in rows(&text, container, capacity) {
                let offset = offset as usize;
                proptest::prop_assert_eq!(&text[offset..offset + row.len()], &row[..]);
                let before = text[..offset].iter().filter(|byte| **byte == b'\n').count() as u64;
                proptest::prop_assert_eq!(line, before + 1);
            }
        }
    }
}
