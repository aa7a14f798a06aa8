//! Numbers as people write them in prose: thousands separators, currency, percent, mixed numbers, powers of ten.
//!
//! Values are exact rationals. A stretch that only looks like a number (`5:30`, `1,5`, `1.2.3`) is found too, without
//! a value: it must not be read as its first digits.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::math::{self, Rational};
use super::work::{MAX_ANSWER, Work};

/// A number, with an optional sign and currency before it.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:[-+](?:(?:\$|USD|[€£¥])[ ]?)?|(?:\$|USD|[€£¥])[ ]?[-+]?)?(?:",
        r"(?:[0-9]+[ ]*)?\\frac[ ]*(?:\{[ ]*-?[0-9.]+[ ]*\}|[0-9])[ ]*(?:\{[ ]*-?[0-9.]+[ ]*\}|[0-9])",
        r"|[0-9]+[ ]+[0-9]+/[0-9]+",
        r"|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)[ ]?/[ ]?[0-9]+(?:\.[0-9]+)?",
        r"|[0-9]+(?:\.[0-9]+)?[ ]?\^[ ]?(?:\{[ ]*-?[0-9]+[ ]*\}|-?[0-9]+)",
        r"|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?",
        r"(?:[ ]*(?:\\times|\\cdot|\*|[x])[ ]*10[ ]?\^[ ]?(?:\{[ ]*-?[0-9]+[ ]*\}|-?[0-9]+))?",
        r")"
    ))
    .expect("the pattern is well formed")
});

/// A number in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Where it stands, currency and sign included.
    pub(super) range: Range<usize>,
    /// Its value; `None` where it is not one plain number.
    pub(super) value: Option<Rational>,
}

/// Brings a text into the form in which numbers are looked for: ASCII digits and signs, no markdown, no thousands
/// separators, no wrappers around units.
pub(super) fn plain(text: &str) -> String {
    static WRAPPER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"\\(?:text(?:bf|it|rm|normal)?|math(?:rm|bf|it)|mbox|underline|boldsymbol|bf|boxed|fbox)[ ]*\{",
        )
        .expect("the pattern is well formed")
    });
    static MARKDOWN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\*\*|__|`").expect("the pattern is well formed"));
    static FRACTION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\\[dtc]frac").expect("the pattern is well formed"));
    let text = math::ascii(text);
    let text = MARKDOWN.replace_all(&text, "");
    let text = FRACTION.replace_all(&text, r"\frac");
    let text = text.replace("\\$", "$").replace("\\%", "%");
    let text = math::without_thousands(&text, math::Commas::Join);
    // The brace that a wrapper leaves behind closes nothing; numbers do not end in one.
    WRAPPER.replace_all(&text, " ").into_owned()
}

/// The numbers of a text in the form of [`plain`], in order; their values are taken as they are asked for.
pub(super) fn numbers(text: &str) -> impl DoubleEndedIterator<Item = Found> {
    let ranges: Vec<Range<usize>> = NUMBER.find_iter(text).map(|number| number.range()).collect();
    ranges.into_iter().filter_map(|range| judged(text, range))
}

/// What a match is: `None` where its digits belong to a word or an exponent.
fn judged(text: &str, mut range: Range<usize>) -> Option<Found> {
    let before = &text[..range.start];
    let after = &text.as_bytes()[range.end..];
    let number = &text[range.clone()];
    let previous = before.chars().next_back();
    if number.starts_with(['-', '+'])
        && previous.is_some_and(|char| char.is_alphanumeric() || ")}]%$".contains(char))
    {
        // An operator or a hyphen, not a sign.
        range.start += 1;
    } else if number.starts_with(|char: char| char.is_ascii_digit() || char == '.') && is_inside_word(before)
    {
        return None;
    }
    if ends_in_exponent(before) {
        return None;
    }
    let letters = after.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    if letters > 0 && after.get(letters).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let digit_before = |marks: &str| {
        let mut chars = before.chars().rev();
        chars.next().is_some_and(|mark| marks.contains(mark))
            && chars.next().is_some_and(|char| char.is_ascii_digit())
    };
    let digit_after = |marks: &[u8]| {
        after.first().is_some_and(|mark| marks.contains(mark)) && after.get(1).is_some_and(u8::is_ascii_digit)
    };
    let composite = digit_before(":,./") || digit_after(b":,./");
    let value = if composite { None } else { value(&text[range.clone()]) };
    Some(Found { range, value })
}

/// Whether digits after this text belong to a word or a subscript: `R2`, `x_1`, but not `\times2` or `_18_`.
fn is_inside_word(before: &str) -> bool {
    let word = before.strip_suffix('_').unwrap_or(before);
    let joined = if word.len() < before.len() {
        word.ends_with(char::is_alphanumeric)
    } else {
        word.ends_with(|char: char| char.is_ascii_alphabetic())
    };
    joined && !ends_in_command(word)
}

/// Whether a text ends in a command such as `\times` that digits follow directly.
fn ends_in_command(before: &str) -> bool {
    before.trim_end_matches(|char: char| char.is_ascii_alphabetic()).ends_with('\\')
}

/// Whether a text ends in the `^` of a unit: `cm^2`, `m^{2`, `\text{m}^2`.
fn ends_in_exponent(before: &str) -> bool {
    let before = before.strip_suffix('{').unwrap_or(before);
    let Some(base) = before.strip_suffix('^') else { return false };
    base.ends_with(|char: char| char.is_alphabetic() || "}) ".contains(char))
}

/// The value of one number as [`NUMBER`] finds it.
fn value(number: &str) -> Option<Rational> {
    if number.len() > MAX_ANSWER {
        return None;
    }
    let number = number.replace("USD", "").replace(['$', '€', '£', '¥'], "").replace('x', "\\times ");
    math::exact_value(&number, &mut Work::default())
}

/// The one number that `text`, the whole of a mark, gives: what follows the last `=`, what precedes `\approx`.
///
/// Returns `None` where there is none, or more than one.
pub(super) fn only(text: &str) -> Option<Rational> {
    static REMARK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[ ]*\([^()]*\)[ .!]*$").expect("the pattern is well formed"));
    let text = plain(text);
    let text = math::last_side(&text);
    if let Some(value) = only_in(text) {
        return Some(value);
    }
    let remark = REMARK.find(text)?;
    let hedged = text[remark.start()..].split(|char: char| !char.is_alphanumeric()).any(|word| word == "or");
    if hedged || remark.start() == 0 {
        return None;
    }
    only_in(&text[..remark.start()])
}

fn only_in(text: &str) -> Option<Rational> {
    let mut numbers = numbers(text);
    let first = numbers.next()?;
    let operator =
        text[..first.range.start].trim_end().ends_with('-') || text[..first.range.start].contains("\\sqrt");
    if numbers.next().is_none() && !operator && !is_base(&text[first.range.end..]) {
        return first.value;
    }
    math::exact_value(text, &mut Work::default())
}

/// Whether what follows a number raises it to a power.
fn is_base(after: &str) -> bool {
    let Some(exponent) = after.trim_start_matches([')', ' ']).strip_prefix('^') else { return false };
    !exponent.trim_start_matches(['{', ' ']).starts_with("\\circ")
}

/// The number after a phrase: the first one, or where it begins a calculation, the one after the last `=`. A number
/// that another one follows with no more than `or`, `to` or a dash between them has no value.
pub(super) fn after_phrase(sentence: &str) -> Option<Found> {
    static HEDGE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^[ %$]*(?:or|to|and|through|-|~|或|至|到)[ ]*[-+]?\$?\.?[0-9]")
            .expect("the pattern is well formed")
    });
    static RANGE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)(?:between|either)[ $]*$").expect("the pattern is well formed"));
    static REMARK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)[,;(]|\b(?:because|since|as|so|where|which|if)\b")
            .expect("the pattern is well formed")
    });
    let mut found = numbers(sentence).next()?;
    let rest = &sentence[found.range.end..];
    let start = match rest.rfind('=') {
        Some(equals) if !REMARK.is_match(&rest[..equals]) => found.range.end + equals + 1,
        _ => 0,
    };
    if let Some(result) = numbers(&sentence[start..]).next() {
        found = Found { range: result.range.start + start..result.range.end + start, ..result };
    }
    if HEDGE.is_match(&sentence[found.range.end..]) || RANGE.is_match(&sentence[..found.range.start]) {
        found.value = None;
    } else if let Some(value) = only_in(&sentence[start..]) {
        // `9 * 2` is the number 18.
        found.value = Some(value);
    }
    Some(found)
}

/// The last number of a text in the form of [`plain`] that is no list label and no ordinal, or else the last one.
pub(super) fn last(text: &str) -> Option<Found> {
    static LABEL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?im)^[ \t>*#-]*(?:step|part|case)?[ \t]*[0-9]+[.):][*_]*[ \t]+\S|(?:step|part|case)[ \t]+[0-9]+[*_]*:")
            .expect("the pattern is well formed")
    });
    let labels: Vec<Range<usize>> = LABEL.find_iter(text).map(|label| label.range()).collect();
    let is_label = |found: &Found| {
        let next = labels.partition_point(|label| label.end <= found.range.start);
        labels.get(next).is_some_and(|label| label.start <= found.range.start && found.range.end < label.end)
    };
    let is_ordinal = |found: &Found| {
        let after = &text[found.range.end..];
        ["st", "nd", "rd", "th"].iter().any(|suffix| {
            after
                .strip_prefix(suffix)
                .is_some_and(|rest| !rest.starts_with(|char: char| char.is_ascii_alphabetic()))
        })
    };
    numbers(text).rfind(|found| !is_label(found) && !is_ordinal(found)).or_else(|| numbers(text).next_back())
}
