//! Where the answer of a response stands, and where that of a truth.
//!
//! The rules are tried in order and the first that fires decides; a mark that is there but hollow ends the search,
//! because a weaker rule would then find something that is not the answer.

use std::sync::LazyLock;

use regex::Regex;
use unicode_normalization::UnicodeNormalization as _;

use super::choice::{self, Chosen};
use super::clean::{self, Cleaned};
use super::marks::{self, Marked};
use super::math::{self, Rational};
use super::work::{MAX_ANSWER, Work};
use super::{Kind, Rule, number, phrase};

/// A rule of extraction, or why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fired {
    Box,
    Boxes,
    Hashes,
    Tag,
    Phrase,
    LastNumber,
    Whole,
    Pattern,
    Needle,
    OpenReasoning,
    OpenBox,
    HollowMark,
    TooLong,
    Nothing,
}

impl Fired {
    /// Its name in files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Fired::Box => "box",
            Fired::Boxes => "boxes",
            Fired::Hashes => "hashes",
            Fired::Tag => "tag",
            Fired::Phrase => "phrase",
            Fired::LastNumber => "last_number",
            Fired::Whole => "whole",
            Fired::Pattern => "pattern",
            Fired::Needle => "needle",
            Fired::OpenReasoning => "open_reasoning",
            Fired::OpenBox => "open_box",
            Fired::HollowMark => "hollow_mark",
            Fired::TooLong => "too_long",
            Fired::Nothing => "nothing",
        }
    }
}

/// An answer as it stands in the text, with what it means where its kind is not text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extracted {
    pub(super) fired: Fired,
    pub(super) text: String,
    pub(super) value: Value,
}

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Its text is all.
    Text,
    /// A number; `None` where the text is not one single number.
    Number(Option<Rational>),
    /// A letter; `None` where the text is not one single letter.
    Letter(Option<char>),
}

/// Whose answer is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A response, which has to mark its answer.
    Prediction,
    /// A truth, which may be the bare value.
    Truth,
}

/// The answer in `text`, or why it has none.
pub(super) fn extract(rule: &Rule, text: &str, role: Role) -> Result<Extracted, Fired> {
    let cleaned = clean::clean(text, &rule.kind).ok_or(Fired::OpenReasoning)?;
    if cleaned.text.trim().is_empty() {
        return Err(Fired::Nothing);
    }
    let found = match &rule.kind {
        Kind::Gsm8k => of_number(rule, &cleaned, role),
        Kind::Math => of_math(rule, &cleaned, role),
        Kind::Choice { last } => of_choice(rule, &cleaned, *last, role),
        Kind::Exact | Kind::Contains => return Ok(text_answer(Fired::Whole, normal(&cleaned.text))),
        Kind::Regex { .. } => return of_pattern(rule, &cleaned.text, role),
    }?;
    if found.text.len() > MAX_ANSWER { Err(Fired::TooLong) } else { Ok(found) }
}

/// Text as `exact` compares it: no outer blanks, Unicode normal form C.
pub(super) fn normal(text: &str) -> String {
    text.trim().nfc().collect()
}

fn text_answer(fired: Fired, text: impl Into<String>) -> Extracted {
    Extracted { fired, text: text.into(), value: Value::Text }
}

/// The answer of the last mark; `None` where there is none.
fn marked(text: &str) -> Result<Option<(Fired, Vec<String>)>, Fired> {
    Ok(match marks::last(text) {
        None => None,
        Some(Marked::Open) => return Err(Fired::OpenBox),
        Some(Marked::Hollow) => return Err(Fired::HollowMark),
        Some(Marked::Boxed(content)) => Some((Fired::Box, vec![content])),
        Some(Marked::Boxes(contents)) => Some((Fired::Boxes, contents)),
        Some(Marked::Hashes(content)) => Some((Fired::Hashes, vec![content])),
    })
}

fn of_number(rule: &Rule, cleaned: &Cleaned, role: Role) -> Result<Extracted, Fired> {
    let text = &cleaned.text;
    let number = |fired, text: &str, value| Extracted {
        fired,
        text: text.trim().to_owned(),
        value: Value::Number(value),
    };
    if let Some((fired, contents)) = marked(text)? {
        if contents.iter().any(|content| content.len() > MAX_ANSWER) {
            return Err(Fired::TooLong);
        }
        let values: Vec<Option<Rational>> = contents.iter().map(|content| number::only(content)).collect();
        let same = values.windows(2).all(|pair| pair[0] == pair[1]);
        let value = values.into_iter().next().flatten().filter(|_| same);
        return Ok(number(fired, &contents.join(", "), value));
    }
    if role == Role::Truth
        && text.len() <= MAX_ANSWER
        && let Some(value) = number::only(text)
    {
        return Ok(number(Fired::Whole, text, Some(value)));
    }
    if rule.marked_only && role == Role::Prediction && !cleaned.tagged {
        return Err(Fired::Nothing);
    }
    for tail in phrase::tails(text, false) {
        let sentence = number::plain(phrase::sentence(tail));
        let found =
            number::after_phrase(&sentence).map(|found| (sentence[found.range].to_owned(), found.value));
        let found = found.or_else(|| {
            let tail = number::plain(tail);
            number::numbers(&tail).next().map(|found| (tail[found.range].to_owned(), found.value))
        });
        if let Some((text, value)) = found {
            return Ok(number(Fired::Phrase, &text, value));
        }
    }
    let prose = text.contains('\n') || phrase::sentence(text).len() < text.trim_end().len().saturating_sub(1);
    if cleaned.tagged && (!prose || rule.marked_only) {
        let value = if text.len() <= MAX_ANSWER { number::only(text) } else { None };
        return Ok(number(Fired::Tag, text, value));
    }
    let plain = number::plain(text);
    let Some(last) = number::last(&plain) else {
        return if cleaned.tagged { Ok(number(Fired::Tag, text, None)) } else { Err(Fired::Nothing) };
    };
    Ok(number(Fired::LastNumber, &plain[last.range], last.value))
}

fn of_math(rule: &Rule, cleaned: &Cleaned, role: Role) -> Result<Extracted, Fired> {
    let text = &cleaned.text;
    if let Some((fired, contents)) = marked(text)? {
        return Ok(text_answer(fired, distinct(&contents).join(", ")));
    }
    if rule.marked_only && role == Role::Prediction && !cleaned.tagged {
        return Err(Fired::Nothing);
    }
    let after_phrase =
        phrase::tails(text, false).into_iter().map(|tail| phrase::formula(phrase::sentence(tail)));
    if let Some(answer) = after_phrase.into_iter().find(|answer| !answer.is_empty()) {
        return Ok(text_answer(Fired::Phrase, answer));
    }
    let bare = without_delimiters(text);
    let is_formula = bare.starts_with("\\begin") || bare.len() < text.trim().len();
    match role {
        _ if cleaned.tagged => Ok(text_answer(Fired::Tag, bare)),
        Role::Truth => Ok(text_answer(Fired::Whole, bare)),
        Role::Prediction if is_formula || !bare.contains('\n') => Ok(text_answer(Fired::Whole, bare)),
        Role::Prediction => Err(Fired::Nothing),
    }
}

/// The contents of adjacent boxes without those that say the same as an earlier one: `1\frac12` or `\frac32`.
fn distinct(contents: &[String]) -> Vec<&str> {
    let mut work = Work::default();
    let mut kept: Vec<&str> = Vec::new();
    for content in contents {
        if !kept.iter().any(|earlier| math::compare(content, earlier, 0.0, &mut work).is_some()) {
            kept.push(content);
        }
    }
    kept
}

/// A formula without code fence, bold marks and display delimiters around the whole.
fn without_delimiters(text: &str) -> &str {
    static FENCE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s)^```[a-z]*\n(.*?)\n?```$").expect("the pattern is well formed"));
    let mut text = text.trim();
    if let Some(inner) = FENCE.captures(text).and_then(|found| found.get(1)) {
        text = inner.as_str().trim();
    }
    for (open, close) in [("**", "**"), ("\\[", "\\]"), ("\\(", "\\)"), ("$$", "$$"), ("$", "$"), ("`", "`")]
    {
        let inner = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        if let Some(inner) = inner.filter(|inner| !inner.contains(open)) {
            text = inner.trim();
        }
    }
    text
}

fn of_choice(rule: &Rule, cleaned: &Cleaned, last: char, role: Role) -> Result<Extracted, Fired> {
    let text = &cleaned.text;
    let answer = |fired, text: &str, chosen| {
        let letter = match chosen {
            Chosen::Letter(letter) => Some(letter),
            Chosen::Several | Chosen::Nothing => None,
        };
        Extracted { fired, text: text.trim().to_owned(), value: Value::Letter(letter) }
    };
    if let Some((fired, contents)) = marked(text)? {
        let content = contents.join(", ");
        let chosen =
            if content.len() <= MAX_ANSWER { choice::chosen(&content, last) } else { Chosen::Nothing };
        if fired != Fired::Hashes || chosen != Chosen::Nothing {
            return Ok(answer(fired, &content, chosen));
        }
    }
    if !rule.marked_only || role == Role::Truth || cleaned.tagged {
        for tail in phrase::tails(text, true) {
            let sentence = phrase::sentence(tail);
            let chosen = choice::chosen(sentence, last);
            if chosen != Chosen::Nothing {
                return Ok(answer(Fired::Phrase, sentence, chosen));
            }
        }
        let chosen = choice::whole(text, last);
        if chosen != Chosen::Nothing {
            return Ok(answer(Fired::Whole, text, chosen));
        }
    }
    if cleaned.tagged {
        Ok(answer(Fired::Tag, text, choice::chosen(text, last)))
    } else {
        Err(Fired::Nothing)
    }
}

/// What the last match of the pattern captures, or the whole match of one that captures nothing.
fn of_pattern(rule: &Rule, text: &str, role: Role) -> Result<Extracted, Fired> {
    let Some(pattern) = &rule.pattern else { return Err(Fired::Nothing) };
    let last = pattern.captures_iter(text).last();
    let captured = last.and_then(|found| {
        found
            .name("answer")
            .or_else(|| found.get(1))
            .or_else(|| found.get(0))
            .map(|part| part.as_str().to_owned())
    });
    match (captured, role) {
        (Some(captured), _) => Ok(text_answer(Fired::Pattern, normal(&captured))),
        (None, Role::Truth) => Ok(text_answer(Fired::Whole, normal(text))),
        (None, Role::Prediction) => Err(Fired::Nothing),
    }
}
