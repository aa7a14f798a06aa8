//! Letters of multiple-choice answers.
//!
//! A letter counts only where it stands alone, and where the article *A* and the pronoun *I* cannot stand.

use std::sync::LazyLock;

use regex::Regex;

use super::number;

/// What a stretch of text chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// One letter, in upper case.
    Letter(char),
    /// More than one.
    Several,
    /// None.
    Nothing,
}

/// What may follow the letter A or I that is a choice, where a word follows it.
const CONNECTIVES: [&str; 14] =
    ["because", "since", "as", "and", "or", "is", "with", "which", "for", "due", "but", "not", "by", "given"];

/// The letter that the text after a mark chooses, of `A` to `last`.
pub(super) fn chosen(text: &str, last: char) -> Chosen {
    let text = number::plain(text);
    let Some((letter, end)) = first_letter(&text, last) else { return Chosen::Nothing };
    if goes_on(&text[end..], letter, last) { Chosen::Several } else { Chosen::Letter(letter) }
}

/// The first letter that stands alone and is neither article nor pronoun, and where it ends.
fn first_letter(text: &str, last: char) -> Option<(char, usize)> {
    let start = text.len() - text.trim_start_matches(|char: char| !char.is_alphanumeric()).len();
    text.char_indices().filter(|(_, char)| char.is_ascii_alphabetic()).find_map(|(at, char)| {
        let end = at + 1;
        let upper = char.to_ascii_uppercase();
        let (before, after) = (&text[..at], &text[end..]);
        let is_choice = ('A'..=last).contains(&upper)
            && stands_alone(before, after)
            && !is_negated(before)
            && (char.is_ascii_uppercase() && !is_word(upper, after) || at == start && ends_answer(after));
        is_choice.then_some((upper, end))
    })
}

fn stands_alone(before: &str, after: &str) -> bool {
    let joins = |char: char| char.is_ascii_alphanumeric() || "_+#".contains(char);
    let is_joined = |mut outward: Box<dyn Iterator<Item = char> + '_>| match outward.next() {
        // A hyphen or an apostrophe joins only with a letter behind it: `A-level`, `I'm`.
        Some('-' | '\'' | '’') => outward.next().is_some_and(|char| char.is_ascii_alphanumeric()),
        next => next.is_some_and(joins),
    };
    !is_joined(Box::new(before.chars().rev()))
        && !before.ends_with('\\')
        && !is_joined(Box::new(after.chars()))
}

/// Whether `not` comes right before the letter.
fn is_negated(before: &str) -> bool {
    before.split_whitespace().next_back().is_some_and(|word| word.eq_ignore_ascii_case("not"))
}

/// Whether the letter is the article or the pronoun: a word follows that continues the sentence.
fn is_word(letter: char, after: &str) -> bool {
    if letter != 'A' && letter != 'I' {
        return false;
    }
    let Some(next) = after.strip_prefix([' ', '\n']) else { return false };
    let word: String = next.chars().take_while(|char| char.is_alphabetic()).collect();
    !word.is_empty() && word.chars().count() > 1 && !CONNECTIVES.contains(&word.to_lowercase().as_str())
}

/// Whether no word follows a letter.
fn ends_answer(after: &str) -> bool {
    after.trim_start_matches([' ', ')', ']', '}']).chars().next().is_none_or(|char| !char.is_alphanumeric())
        || after.starts_with([')', ']', '.', ':', ','])
}

/// Whether another letter follows the first with no more than a conjunction between them.
fn goes_on(after: &str, first: char, last: char) -> bool {
    static CONJUNCTION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^[)\]}\s]*(?:[,;/&、，+]|(?:or|and|and/or|或|和|与)(?-u:\b)?)[\s,}]*(?:(?:or|and)\s+)?(?:option\s+|choice\s+)?[(\[]?")
            .expect("the pattern is well formed")
    });
    let rest = match CONJUNCTION.find(after) {
        Some(conjunction) => &after[conjunction.end()..],
        // Without a conjunction a blank alone joins two letters; a bracket or colon begins the option's text.
        None if after.starts_with(' ') => after.trim_start_matches([' ', '(', '[']),
        None => return false,
    };
    let mut chars = rest.chars();
    let Some(next) = chars.next() else { return false };
    let after_next = chars.as_str();
    next.is_ascii_uppercase()
        && ('A'..=last).contains(&next)
        && next != first
        && stands_alone("", after_next)
        && !is_word(next, after_next)
}

/// The letter that a whole response is: `B`, `(B)`, `B.`, or `B. text`, with nothing else chosen on a later line.
pub(super) fn whole(text: &str, last: char) -> Chosen {
    static ALONE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?i)^["'“‘]?(?:(?:option|choice|选项)\s*)?[(\[{【「]?([a-z])[)\]}】」]*[.:,;。!！]?["'”’]?\s*$"#)
            .expect("the pattern is well formed")
    });
    static LABEL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^\s*(?:[(\[]([A-Za-z])[)\]]|([A-Za-z])[).:])\s*\S")
            .expect("the pattern is well formed")
    });
    let text = number::plain(text);
    let text = text.trim().trim_matches('$').trim();
    let first_line = text.lines().next().unwrap_or_default().trim();
    let letter = |found: Option<regex::Match<'_>>| {
        let letter = found?.as_str().chars().next()?.to_ascii_uppercase();
        ('A'..=last).contains(&letter).then_some(letter)
    };
    if let Some(found) = ALONE.captures(first_line) {
        return letter(found.get(1)).map_or(Chosen::Nothing, Chosen::Letter);
    }
    let mut labels = LABEL.captures_iter(text).peekable();
    let starts = labels.peek().is_some_and(|label| label.get(0).is_some_and(|whole| whole.start() == 0));
    if !starts {
        return Chosen::Nothing;
    }
    let mut chosen = Chosen::Nothing;
    for label in labels {
        match (chosen, letter(label.get(1).or(label.get(2)))) {
            (Chosen::Nothing, Some(letter)) => chosen = Chosen::Letter(letter),
            (Chosen::Nothing, None) => return Chosen::Nothing,
            (Chosen::Letter(first), Some(letter)) if first != letter => return Chosen::Several,
            _ => {}
        }
    }
    chosen
}
