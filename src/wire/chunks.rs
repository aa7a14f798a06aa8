//! Reads the plain part of a chunked HTTP/1.1 body (RFC 9112, section 7.1): chunks with a size, data and nothing else.
//!
//! Whatever is not plain (the last chunk, an extension, an error) is left to a full reader: [`Chunks`] says how far it
//! came, and [`Chunks::standing`] what brings a reader that stood at the start of a chunk to the same place.

/// A size line of more digits is left to the full reader.
const DIGITS: usize = 7;
/// The digits and the carriage return after them.
const LINE_BYTES: usize = DIGITS + 1;

/// Reads the chunks of one body, in whatever pieces they come.
#[derive(Debug)]
pub struct Chunks {
    place: Place,
    /// Bytes of data still to come in this chunk.
    left: u32,
    /// As much of an unfinished size line as has come.
    line: [u8; LINE_BYTES],
    line_bytes: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Size,
    Data,
    DataCr,
    DataLf,
}

/// How far a piece was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// To its end.
    Whole,
    /// So many bytes: what follows is not plain.
    UpTo(usize),
}

/// What brings a reader from the start of a chunk to where a [`Chunks`] stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing<'a> {
    /// Bytes to read first.
    pub lead: &'a [u8],
    /// As many bytes of data will be told of them, which never came.
    pub invented_bytes: usize,
}

impl Default for Chunks {
    /// At the start of a body.
    fn default() -> Chunks {
        Chunks { place: Place::Size, left: 0, line: [0; LINE_BYTES], line_bytes: 0 }
    }
}

impl Chunks {
    /// Reads on, and hands the data in `bytes` to `take`, a piece a chunk at most.
    pub fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> Fed {
        let mut at = 0;
        while at < bytes.len() {
            match self.place {
                Place::Size => match self.read_size(&bytes[at..]) {
                    Fed::Whole => return Fed::Whole,
                    Fed::UpTo(read) if self.place == Place::Data => at += read,
                    Fed::UpTo(read) => return Fed::UpTo(at + read),
                },
                Place::Data => {
                    let end = bytes.len().min(at + self.left as usize);
                    take(&bytes[at..end]);
                    self.left -= (end - at) as u32;
                    at = end;
                    if self.left == 0 {
                        self.place = Place::DataCr;
                    }
                }
                Place::DataCr if bytes[at] == b'\r' => {
                    self.place = Place::DataLf;
                    at += 1;
                }
                Place::DataLf if bytes[at] == b'\n' => {
                    self.place = Place::Size;
                    at += 1;
                }
                Place::DataCr | Place::DataLf => return Fed::UpTo(at),
            }
        }
        Fed::Whole
    }

    /// Reads a size line, or on in one: up to the data where it is whole and plain, else up to what is odd in it.
    fn read_size(&mut self, bytes: &[u8]) -> Fed {
        let mut line_bytes = usize::from(self.line_bytes);
        for (read, byte) in bytes.iter().enumerate() {
            let is_after_cr = line_bytes > 0 && self.line[line_bytes - 1] == b'\r';
            let is_plain = match byte {
                b'\n' => is_after_cr,
                // The last chunk is not plain.
                b'\r' => !is_after_cr && line_bytes > 0 && self.left > 0,
                digit => !is_after_cr && line_bytes < DIGITS && digit.is_ascii_hexdigit(),
            };
            if !is_plain {
                self.line_bytes = line_bytes as u8;
                return Fed::UpTo(read);
            }
            if *byte == b'\n' {
                self.line_bytes = 0;
                self.place = Place::Data;
                return Fed::UpTo(read + 1);
            }
            if let Some(digit) = char::from(*byte).to_digit(16) {
                self.left = self.left << 4 | digit;
            }
            self.line[line_bytes] = *byte;
            line_bytes += 1;
        }
        self.line_bytes = line_bytes as u8;
        Fed::Whole
    }

    /// Where it stands, for a reader that takes over.
    pub fn standing(&self) -> Standing<'_> {
        let (lead, invented_bytes): (&[u8], usize) = match self.place {
            Place::Size => (&self.line[..usize::from(self.line_bytes)], 0),
            Place::Data => (b"1\r\n", 0),
            Place::DataCr => (b"1\r\n\0", 1),
            Place::DataLf => (b"1\r\n\0\r", 1),
        };
        Standing { lead, invented_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data in `pieces`, what is left from the first odd byte on, and where the reader stands there.
    fn read(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Vec<u8>, Vec<u8>, usize) {
        let (mut chunks, mut data, mut rest) = (Chunks::default(), Vec::new(), Vec::new());
        for piece in pieces {
            if rest.is_empty() {
                match chunks.feed(piece, |bytes| data.push(bytes.to_vec())) {
                    Fed::Whole => {}
                    Fed::UpTo(read) => rest.extend_from_slice(&piece[read..]),
                }
            } else {
                rest.extend_from_slice(piece);
            }
        }
        let standing = chunks.standing();
        (data, rest, standing.lead.to_vec(), standing.invented_bytes)
    }

    #[test]
    fn plain_chunks_are_handed_out_one_by_one_and_the_last_is_left() {
        let (data, rest, lead, invented) = read(&[b"5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\nmore"]);
        assert_eq!(data, [&b"hello"[..], b"0123456789"]);
        assert_eq!((&lead[..], &rest[..], invented), (&b"0"[..], &b"\r\n\r\nmore"[..], 0));
    }

    #[test]
    fn where_a_body_is_cut_makes_no_difference() {
        let body = b"5\r\nhello\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n3;x=y\r\nend\r\n0\r\n\r\n";
        let whole = read(&[body]);
        assert_eq!((&whole.1[..], &whole.2[..]), (&b";x=y\r\nend\r\n0\r\n\r\n"[..], &b"3"[..]));
        for first in 0..body.len() {
            for second in first..body.len() {
                let cut = read(&[&body[..first], &body[first..second], &body[second..]]);
                assert_eq!(cut.0.concat(), whole.0.concat());
                assert_eq!((&cut.1, &cut.2, cut.3), (&whole.1, &whole.2, whole.3), "{first} {second}");
            }
        }
    }

    #[test]
    fn what_is_odd_is_left_from_its_first_byte_on() {
        for (body, lead, rest, invented) in [
            (&b"\r\n"[..], &b""[..], &b"\r\n"[..], 0),
            (b"g\r\n", b"", b"g\r\n", 0),
            (b"5 \r\nhello", b"5", b" \r\nhello", 0),
            (b"5\nhello", b"5", b"\nhello", 0),
            (b"5\rhello", b"5\r", b"hello", 0),
            (b"5\r\rhello", b"5\r", b"\rhello", 0),
            (b"000\r\n", b"000", b"\r\n", 0),
            (b"12345678\r\n", b"1234567", b"8\r\n", 0),
            (b"5\r\nhello!", b"1\r\n\0", b"!", 1),
            (b"5\r\nhello\r!", b"1\r\n\0\r", b"!", 1),
            (b"5\r\nhel", b"1\r\n", b"", 0),
        ] {
            let read = read(&[body]);
            assert_eq!((&read.2[..], &read.1[..], read.3), (lead, rest, invented), "{body:?}");
        }
    }
}
