//! JSON read once from front to back.
//!
//! Of the thousands of events a second that a decoder sees, it needs a few members each. This reader hands over
//! one member after the other, to be read or skipped where it lies. It builds nothing and borrows every string
//! without escapes. It takes what RFC 8259 calls JSON and nothing else; the tests hold it against serde_json.

use std::borrow::Cow;
use std::fmt;

/// Deepest nesting that is read.
const DEPTH_LIMIT: usize = 100;
/// More tokens than any answer or prompt has: a greater number counts nothing.
const LARGEST_COUNT: u64 = 1_000_000_000;

/// A value, or what is wrong with it.
pub(super) type Read<T> = Result<T, Fault>;

/// Where a text stops to be the JSON that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// What was expected.
    pub(super) expected: &'static str,
    /// And where, in bytes from the start.
    pub(super) at: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} at byte {}", self.expected, self.at)
    }
}

/// Reads one text. Each method reads one value; after a fault the reader is of no further use.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        Reader { text, at: 0, depth: 0 }
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// What has not been read yet.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Reads an object member by member: `member` is given each name and reads or skips its value.
    pub(super) fn object(&mut self, mut member: impl FnMut(&mut Reader<'a>, &str) -> Read<()>) -> Read<()> {
        self.enter(b'{', "an object")?;
        if self.takes(b'}') {
            return self.leave();
        }
        loop {
            if self.peek() != b'"' {
                return self.fault("the name of a member");
            }
            let name = self.quoted()?;
            if !self.takes(b':') {
                return self.fault("a colon");
            }
            member(self, &name)?;
            if !self.takes(b',') {
                break;
            }
        }
        if self.takes(b'}') { self.leave() } else { self.fault("a comma or `}`") }
    }

    /// Reads an object as [`Reader::object`] does, or null, which has no members.
    pub(super) fn members(&mut self, member: impl FnMut(&mut Reader<'a>, &str) -> Read<()>) -> Read<()> {
        if self.takes_null()? { Ok(()) } else { self.object(member) }
    }

    /// Reads a list element by element, or null, which has none.
    pub(super) fn elements(&mut self, mut element: impl FnMut(&mut Reader<'a>) -> Read<()>) -> Read<()> {
        if self.takes_null()? {
            return Ok(());
        }
        self.enter(b'[', "a list or null")?;
        if self.takes(b']') {
            return self.leave();
        }
        loop {
            element(self)?;
            if !self.takes(b',') {
                break;
            }
        }
        if self.takes(b']') { self.leave() } else { self.fault("a comma or `]`") }
    }

    /// A string; empty for null.
    pub(super) fn string(&mut self) -> Read<Cow<'a, str>> {
        if self.peek() == b'"' {
            return self.quoted();
        }
        if self.takes_null()? { Ok(Cow::Borrowed("")) } else { self.fault("a string or null") }
    }

    /// What a string says; of anything else but null its JSON.
    pub(super) fn string_or_json(&mut self) -> Read<Cow<'a, str>> {
        match self.peek() {
            b'"' | b'n' => self.string(),
            _ => self.json().map(Cow::Borrowed),
        }
    }

    /// A count; `None` for null and for numbers that are none, as -1, or can be none.
    pub(super) fn count(&mut self) -> Read<Option<u64>> {
        match self.peek() {
            b'-' | b'0'..=b'9' => Ok(self.json()?.parse().ok().filter(|count| *count <= LARGEST_COUNT)),
            _ if self.takes_null()? => Ok(None),
            _ => self.fault("a number or null"),
        }
    }

    /// `true`, or not: `false` or null.
    pub(super) fn truth(&mut self) -> Read<bool> {
        match self.peek() {
            b't' => self.literal("true").map(|()| true),
            b'f' => self.literal("false").map(|()| false),
            _ if self.takes_null()? => Ok(false),
            _ => self.fault("`true` or `false`"),
        }
    }

    /// How many elements a list has; `None` for null.
    pub(super) fn length(&mut self) -> Read<Option<u64>> {
        if self.peek() == b'n' {
            return self.takes_null().map(|_| None);
        }
        let mut length = 0;
        self.elements(|json| {
            length += 1;
            json.skip()
        })?;
        Ok(Some(length))
    }

    /// The JSON of any value, as it stands.
    pub(super) fn json(&mut self) -> Read<&'a str> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(&self.text[start..self.at])
    }

    /// Passes over any value.
    pub(super) fn skip(&mut self) -> Read<()> {
        match self.peek() {
            b'"' => self.skip_quoted(),
            b'{' => self.object(|json, _| json.skip()),
            b'[' => self.elements(Reader::skip),
            b'-' | b'0'..=b'9' => self.skip_number(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            _ => self.fault("a value"),
        }
    }

    /// The next byte that is no blank; 0, which JSON does not have, at the end.
    fn peek(&mut self) -> u8 {
        loop {
            match self.byte() {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return byte,
            }
        }
    }

    /// The byte at hand; 0 at the end.
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == byte;
        self.at += usize::from(is_next);
        is_next
    }

    fn takes_null(&mut self) -> Read<bool> {
        if self.peek() == b'n' { self.literal("null").map(|()| true) } else { Ok(false) }
    }

    fn literal(&mut self, literal: &'static str) -> Read<()> {
        if !self.text.as_bytes()[self.at..].starts_with(literal.as_bytes()) {
            return self.fault(literal);
        }
        self.at += literal.len();
        Ok(())
    }

    fn enter(&mut self, opening: u8, expected: &'static str) -> Read<()> {
        if self.depth == DEPTH_LIMIT {
            return self.fault("less nesting");
        }
        if !self.takes(opening) {
            return self.fault(expected);
        }
        self.depth += 1;
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "the last step of methods that may fail")]
    fn leave(&mut self) -> Read<()> {
        self.depth -= 1;
        Ok(())
    }

    /// Reads a string whose opening quote is at hand.
    fn quoted(&mut self) -> Read<Cow<'a, str>> {
        self.at += 1;
        let plain = self.plain();
        if self.byte() == b'"' {
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut string = plain.to_owned();
        loop {
            match self.byte() {
                b'"' => {
                    self.at += 1;
                    return Ok(Cow::Owned(string));
                }
                b'\\' => string.push(self.escape()?),
                _ => return self.fault("the end of a string"),
            }
            string += self.plain();
        }
    }

    /// Passes over a string. Surrogates need no partner here: what is not used may be broken.
    fn skip_quoted(&mut self) -> Read<()> {
        self.at += 1;
        loop {
            self.plain();
            match self.byte() {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.escape_unit().map(drop)?,
                _ => return self.fault("the end of a string"),
            }
        }
    }

    /// Reads what stands for itself in a string.
    fn plain(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Reads the escape at hand.
    fn escape(&mut self) -> Read<char> {
        let unit = self.escape_unit()?;
        if let Some(character) = char::from_u32(unit) {
            return Ok(character);
        }
        let low = if self.byte() == b'\\' { self.escape_unit()? } else { 0 };
        if !(0xD800..0xDC00).contains(&unit) || !(0xDC00..0xE000).contains(&low) {
            return self.fault("a pair of surrogates");
        }
        let scalar = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        Ok(char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Reads the escape at hand, a surrogate as it is.
    fn escape_unit(&mut self) -> Read<u32> {
        self.at += 1;
        let escaped = match self.byte() {
            byte @ (b'"' | b'\\' | b'/') => byte,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.hexadecimal(),
            _ => return self.fault("an escape"),
        };
        self.at += 1;
        Ok(u32::from(escaped))
    }

    /// Reads the four digits after the `u` at hand.
    fn hexadecimal(&mut self) -> Read<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            self.at += 1;
            let Some(digit) = char::from(self.byte()).to_digit(16) else { return self.fault("four digits") };
            unit = unit * 16 + digit;
        }
        self.at += 1;
        Ok(unit)
    }

    fn skip_number(&mut self) -> Read<()> {
        self.at += usize::from(self.byte() == b'-');
        if self.byte() == b'0' {
            self.at += 1;
        } else {
            self.skip_digits()?;
        }
        if self.byte() == b'.' {
            self.at += 1;
            self.skip_digits()?;
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), b'+' | b'-'));
            self.skip_digits()?;
        }
        Ok(())
    }

    /// Passes over one digit or more.
    fn skip_digits(&mut self) -> Read<()> {
        if !self.byte().is_ascii_digit() {
            return self.fault("a digit");
        }
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    fn fault<T>(&self, expected: &'static str) -> Read<T> {
        Err(Fault { expected, at: self.at })
    }
}

/// Whether a byte stands for itself inside a string: no quote, no backslash, no control character.
pub(super) fn is_plain(byte: u8) -> bool {
    // A look-up is half the work of three comparisons.
    const PLAIN: [bool; 256] = {
        let mut plain = [true; 256];
        let mut control = 0;
        while control < b' ' as usize {
            plain[control] = false;
            control += 1;
        }
        plain[b'"' as usize] = false;
        plain[b'\\' as usize] = false;
        plain
    };
    PLAIN[usize::from(byte)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The value of a text, built by way of every method.
    fn build(text: &str) -> Read<Value> {
        let mut json = Reader::new(text);
        let value = build_value(&mut json)?;
        expect_end(&mut json).map(|()| value)
    }

    fn build_value(json: &mut Reader<'_>) -> Read<Value> {
        match json.peek() {
            b'{' => {
                let mut map = serde_json::Map::new();
                json.object(|json, name| {
                    map.insert(name.to_owned(), build_value(json)?);
                    Ok(())
                })?;
                Ok(map.into())
            }
            b'[' => {
                let mut list = Vec::new();
                json.elements(|json| {
                    list.push(build_value(json)?);
                    Ok(())
                })?;
                Ok(list.into())
            }
            b'"' => Ok(json.string()?.into_owned().into()),
            // Numbers that no float holds are JSON all the same.
            _ => Ok(serde_json::from_str(json.json()?).unwrap_or_default()),
        }
    }

    fn skip(text: &str) -> Read<()> {
        let mut json = Reader::new(text);
        json.skip()?;
        expect_end(&mut json)
    }

    fn expect_end(json: &mut Reader<'_>) -> Read<()> {
        if json.peek() == 0 && json.rest().is_empty() { Ok(()) } else { json.fault("the end") }
    }

    #[test]
    fn what_is_no_json_is_refused_and_what_is_json_is_read() {
        for text in [
            "",
            " ",
            "nul",
            "nulls",
            "tru",
            "-",
            "01",
            "-01",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "0x1",
            "NaN",
            "1 2",
            "\"",
            "\"a",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\u+123\"",
            "\"\n\"",
            "\"\u{0}\"",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "[1 2]",
            "]",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "{\"a\" 1}",
            "{\"a\":1 \"b\":2}",
            "'a'",
            "\u{a0}1",
            "1\u{0}",
        ] {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
            assert!(build(text).is_err() && skip(text).is_err(), "{text}");
        }
        for text in [
            "null",
            " true\t",
            "\r\nfalse ",
            "0",
            "-0",
            "1.5e-3",
            "[ ]",
            "{ }",
            "[1,[2,{\"a\":[]}]]",
            r#"{"a":"b\"\\\/\b\f\n\r\tA\u00e9\ud83d\ude42","é🙂":{"":null}}"#,
        ] {
            assert_eq!(build(text), Ok(serde_json::from_str::<Value>(text).unwrap()), "{text}");
            assert_eq!(skip(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn a_lone_surrogate_is_refused_where_it_is_read_and_passed_where_it_is_skipped() {
        for text in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\ud800""#, r#""\ud800\n""#, r#""\ud800x""#] {
            assert!(build(text).is_err(), "{text}");
            assert_eq!(skip(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn strings_without_escapes_are_borrowed() {
        let string = |text| Reader::new(text).string();
        assert!(matches!(string("\"aé\""), Ok(Cow::Borrowed("aé"))));
        assert!(matches!(string(r#""a\n""#), Ok(Cow::Owned(text)) if text == "a\n"));
        assert!(matches!(string("null"), Ok(Cow::Borrowed(""))));
    }

    #[test]
    fn counts_and_truths_are_lenient_in_number_and_strict_in_kind() {
        let count = |text| Reader::new(text).count().ok();
        assert_eq!(
            [count("7"), count("0"), count("-1"), count("1.5")],
            [Some(Some(7)), Some(Some(0)), Some(None), Some(None)]
        );
        assert_eq!(
            [count("null"), count("\"7\""), count("99999999999999999999")],
            [Some(None), None, Some(None)]
        );
        let truth = |text| Reader::new(text).truth().ok();
        assert_eq!(
            [truth("true"), truth("false"), truth("null"), truth("1")],
            [Some(true), Some(false), Some(false), None]
        );
        let length = |text| Reader::new(text).length().ok();
        assert_eq!(
            [length("[1,[2]]"), length("[]"), length("null"), length("{}")],
            [Some(Some(2)), Some(Some(0)), Some(None), None]
        );
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(skip(&nested(DEPTH_LIMIT)), Ok(()));
        assert_eq!(skip(&nested(DEPTH_LIMIT + 1)).map_err(|fault| fault.expected), Err("less nesting"));
        assert!(skip(&"[".repeat(1 << 20)).is_err());
    }

    #[test]
    fn faults_say_what_and_where() {
        let fault = build("{\"a\":tru}").expect_err("no JSON");
        assert_eq!(fault.to_string(), "expected true at byte 5");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<i32>().prop_map(|number| Value::from(f64::from(number) / 8.0)),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 20, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_serde_json_writes_is_read_back(value in values(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            prop_assert_eq!(build(&text.unwrap()), Ok(value));
        }

        #[test]
        fn any_text_is_read_as_serde_json_reads_it(
            text in r#"([\[\]{}:,"\\ \tunlltrefa0-9.eE+-]|\\u00e9|"a"|"b":|null|1e3|\PC){0,12}"#,
        ) {
            let expected = serde_json::from_str::<Value>(&text);
            match (build(&text), expected) {
                (Ok(value), Ok(expected)) => prop_assert_eq!(value, expected),
                (Ok(_), Err(error)) => prop_assert!(error.to_string().starts_with("number out of range")),
                (Err(fault), expected) => prop_assert!(expected.is_err(), "{} in {:?}", fault, expected),
            }
        }
    }
}
