//! Prompts of a text of the user's: cut to a length, or repeated up to it.
//!
//! A text is cut at the ends of words only, and what is left of the length is made up by words of ours, each of which is
//! one token. So that no prompt has to be counted when it is made, the text is counted once, piece by piece, each as what
//! it adds to the piece before: tokenizers look no further back than that, and the sum is held against the whole.

use std::sync::Arc;

use crate::prompt::TokenModel;
use crate::seed::Stream;

/// What stands between the text and what comes before it.
const GAP: &str = "\n\n";

/// Words of a piece where tokens are counted: few, so that a cut leaves little to be made up.
const PIECE_WORDS: usize = 8;

/// A text, and how long its beginnings are.
#[derive(Debug)]
pub struct Passage {
    text: Arc<str>,
    /// Where it can be cut, and how long it is up to there where nothing stands before it. Ascending, at least one.
    cuts: Vec<Cut>,
    /// How long it is after a word of ours.
    led: Shift,
    /// How long it is after itself.
    again: Shift,
}

/// The end of a piece.
#[derive(Clone, Copy, Debug)]
struct Cut {
    bytes: usize,
    length: u64,
}

/// How long a text is where something stands before it.
#[derive(Clone, Copy, Debug)]
struct Shift {
    /// Of its first piece.
    first: u64,
    /// Added to what further beginnings are by themselves.
    further: i64,
}

impl Passage {
    /// The text, counted in words; no more of it than `longest`.
    ///
    /// # Errors
    /// When there is no word in it.
    pub fn in_words(text: &str, longest: u64) -> Result<Passage, String> {
        Passage::new(text, longest, 1, |text| Some(text.split_whitespace().count() as u64))
    }

    /// The text, counted by `count`, which gives the tokens of a text; no more of it than `longest`.
    ///
    /// # Errors
    /// When it has no tokens, or the sum of its pieces is not the whole.
    pub fn counted(
        text: &str,
        longest: u64,
        count: impl FnMut(&str) -> Option<u64>,
    ) -> Result<Passage, String> {
        Passage::new(text, longest, PIECE_WORDS, count)
    }

    fn new(
        text: &str,
        longest: u64,
        piece_words: usize,
        mut count: impl FnMut(&str) -> Option<u64>,
    ) -> Result<Passage, String> {
        let mut count = |text: &str| count(text).ok_or("it cannot be counted".to_owned());
        let text = text.trim();
        let pieces = Pieces { rest: text, words: piece_words };
        let (mut cuts, mut before, mut length, mut bytes) = (Vec::new(), "", 0, 0);
        for piece in pieces {
            let pair = &text[bytes - before.len()..bytes + piece.len()];
            length = (length + count(pair)?).saturating_sub(count(before)?);
            (bytes, before) = (bytes + piece.len(), piece);
            cuts.push(Cut { bytes, length });
            if length >= longest {
                break;
            }
        }
        let text = &text[..bytes];
        let (Some(first), true) = (cuts.first(), length > 0) else {
            return Err("it has no words".to_owned());
        };
        if count(text)? != length {
            return Err("as a whole it is counted otherwise than piece by piece".to_owned());
        }
        let head = format!("{GAP}{}", &text[..first.bytes]);
        let second = cuts.get(1).map_or("", |second| &text[first.bytes..second.bytes]);
        let of_second = count(&format!("{head}{second}"))?.saturating_sub(count(&head)?);
        let mut after = |before: &str| -> Result<Shift, String> {
            let of_first = count(&format!("{before}{head}"))?.saturating_sub(count(before)?);
            let alone = cuts.get(1).map_or(first.length, |second| second.length);
            let further = (of_first + of_second).cast_signed() - alone.cast_signed();
            Ok(Shift { first: of_first, further })
        };
        let (led, again) = (after("the")?, after(before)?);
        let passage = Passage { text: text.into(), cuts, led, again };
        // One that adds nothing to itself would be repeated for ever.
        if passage.length(Some(again)) == 0 {
            return Err("it has no words".to_owned());
        }
        Ok(passage)
    }

    /// Length of the whole text.
    fn length(&self, shift: Option<Shift>) -> u64 {
        self.length_to(self.cuts[self.cuts.len() - 1], shift)
    }

    /// Length of the text up to `cut`.
    fn length_to(&self, cut: Cut, shift: Option<Shift>) -> u64 {
        match shift {
            None => cut.length,
            Some(shift) if cut.bytes == self.cuts[0].bytes => shift.first,
            Some(shift) => cut.length.saturating_add_signed(shift.further),
        }
    }

    /// A text of so much length: `lead` words of `model` that tell `number`, where one is given, then the text from its
    /// beginning, again and again, and words of `model` for what is left.
    pub fn compose(
        &self,
        length: u64,
        lead: Option<(u64, u64)>,
        model: &TokenModel,
        stream: &mut Stream,
    ) -> String {
        let mut content = String::new();
        let mut left = length;
        let mut shift = None;
        if let Some((words, number)) = lead {
            let words = words.min(length);
            model.extend_by_words(&mut content, words, Some(number), stream);
            left -= words;
            shift = Some(self.led);
        }
        while left >= self.length(shift) {
            self.append(&mut content, self.text.len());
            left -= self.length(shift);
            shift = Some(self.again);
        }
        let fitting = self.cuts.partition_point(|cut| self.length_to(*cut, shift) <= left);
        if let Some(cut) = self.cuts[..fitting].last() {
            self.append(&mut content, cut.bytes);
            left -= self.length_to(*cut, shift);
        }
        model.extend_by_words(&mut content, left, None, stream);
        content
    }

    fn append(&self, content: &mut String, bytes: usize) {
        if !content.is_empty() {
            content.push_str(GAP);
        }
        content.push_str(&self.text[..bytes]);
    }
}

/// A text in pieces of so many words, each with the blanks before them.
struct Pieces<'a> {
    rest: &'a str,
    words: usize,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let end = word_ends(self.rest).take(self.words).last()?;
        let (piece, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(piece)
    }
}

/// Where the words of a text end.
fn word_ends(text: &str) -> impl Iterator<Item = usize> {
    let next = text.char_indices().skip(1).map(|(at, char)| (at, char.is_whitespace()));
    let next = next.chain(std::iter::once((text.len(), true)));
    let ends = text.chars().zip(next).filter(|(char, (_, is_over))| !char.is_whitespace() && *is_over);
    ends.map(|(_, (at, _))| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn stream() -> Stream {
        Seed(1).stream("words", "w")
    }

    /// A tokenizer in which a full stop takes the line breaks after it, and longer words are two tokens.
    fn count(text: &str) -> u64 {
        let mut tokens = 0;
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let taken = match first {
                '.' => 1 + rest[1..].len() - rest[1..].trim_start_matches('\n').len(),
                '\n' => rest.len() - rest.trim_start_matches('\n').len(),
                _ => {
                    let blank = usize::from(first == ' ');
                    let letters = rest[blank..].find(|c: char| !c.is_alphanumeric());
                    let letters = letters.unwrap_or(rest.len() - blank);
                    tokens += u64::from(letters > 9);
                    (blank + letters).max(1)
                }
            };
            tokens += 1;
            rest = &rest[taken..];
        }
        tokens
    }

    const TEXT: &str = "  The lighthouse keeper wrote.\n\nNobody answered him, \n though extraordinarily many\nread it: once, \
                        twice, and again. In spring\tthe letters stopped.\n\n\nEnd.\n";

    #[test]
    fn a_text_has_its_length_in_tokens_cut_or_repeated() {
        let model = TokenModel::common();
        let passage = Passage::counted(TEXT, u64::MAX, |text| Some(count(text))).unwrap();
        let whole = count(TEXT.trim());
        for length in 1..=5 * whole {
            for lead in [None, Some((16, 7))] {
                let text = passage.compose(length, lead, &model, &mut stream());
                assert_eq!(count(&text), length, "{text:?}");
            }
        }
        let twice = passage.compose(2 * whole + 40, None, &model, &mut stream());
        assert!(twice.starts_with(&format!("{0}\n\n{0}", TEXT.trim())), "{twice}");
        let cut = passage.compose(whole - 1, None, &model, &mut stream());
        let common = cut.bytes().zip(TEXT.trim().bytes()).take_while(|(one, other)| one == other).count();
        assert!(common > TEXT.trim().len() / 2, "{cut}");
    }

    #[test]
    fn a_text_has_its_length_in_words() {
        let passage = Passage::in_words(TEXT, u64::MAX).unwrap();
        let words = TEXT.split_whitespace().collect::<Vec<_>>();
        let model = TokenModel::common();
        for length in 1..=3 * words.len() {
            let text = passage.compose(length as u64, None, &model, &mut stream());
            let expected = words.iter().copied().cycle().take(length).collect::<Vec<_>>();
            assert_eq!(text.split_whitespace().collect::<Vec<_>>(), expected);
        }
        let led = passage.compose(20, Some((16, 7)), &model, &mut stream());
        assert!(led.ends_with("\n\nThe lighthouse keeper wrote."), "{led}");
        assert_eq!(led.split_whitespace().count(), 20);
        let short = passage.compose(3, Some((16, 7)), &model, &mut stream());
        assert_eq!(short.split_whitespace().count(), 3);
    }

    #[test]
    fn of_a_long_text_no_more_is_counted_than_prompts_can_have() {
        let text = "again and ".repeat(10_000);
        let mut counted = 0;
        let passage = Passage::counted(&text, 100, |text| {
            counted += text.len();
            Some(count(text))
        });
        assert_eq!(passage.unwrap().text.len(), 104 * 5 - 1);
        assert!(counted < 4_000, "{counted} bytes");
    }

    #[test]
    fn what_has_no_words_or_does_not_add_up_is_refused() {
        assert!(Passage::in_words(" \n ", 5).is_err());
        assert!(Passage::counted("", 5, |text| Some(count(text))).is_err());
        assert!(Passage::counted("a text", 5, |_| Some(0)).is_err());
        assert!(Passage::counted("a text", 5, |_| None).is_err());
        let rounded = |text: &str| Some(text.len().div_ceil(100) as u64);
        assert!(Passage::counted(&TEXT.repeat(9), u64::MAX, rounded).is_err());
    }

    proptest::proptest! {
        #[test]
        fn pieces_are_the_whole(text in "[ab.\n é]{0,60}", words in 1..4_usize) {
            let text = text.trim();
            let pieces = Pieces { rest: text, words }.collect::<Vec<_>>();
            proptest::prop_assert_eq!(pieces.concat(), text);
            let counts = pieces.iter().map(|piece| piece.split_whitespace().count()).collect::<Vec<_>>();
            proptest::prop_assert!(counts.iter().rev().skip(1).all(|count| *count == words));
        }
    }
}
