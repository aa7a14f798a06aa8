//! Phrases that announce an answer: `The final answer is …`, `Answer: …`, `答案是…`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// The phrases of every kind.
static PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?-u:\b)answers?(?-u:\b)(?:[ \t]+to[ \t]+(?:the|this|your)[ \t]+\w+)?",
        r"(?:[ \t]*\([^()\n]{0,40}\))?[ \t]*[*_]*[ \t]*(?:(?-u:\b)(?:is|are)(?-u:\b)|[:：=])",
        r"|最终答案(?:是|为|[:：])?|答案(?:是|为|[:：])"
    ))
    .expect("the pattern is well formed")
});

/// What else announces a letter.
static CHOICE_PHRASE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?-u:\b)(?:correct|right|best)[ \t]+(?:option|choice)[ \t]*[*_]*[ \t]*(?:is(?-u:\b)|[:：])",
        r"|(?:正确(?:选项|答案)|答案)(?:应?该?选择?|[是为]|[:：])"
    ))
    .expect("the pattern is well formed")
});

/// `选 B`: the verb alone announces only a letter that follows at once.
static PICKED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"选择?[\s:：是为*(（【]*([A-Za-zＡ-Ｚ])").expect("the pattern is well formed")
});

/// What stands between a phrase and its answer.
const PADDING: [char; 10] = [' ', '\t', '\n', ':', '：', '*', '_', '`', '>', '#'];

/// Where the first phrase of `text` ends.
pub(super) fn first_end(text: &str) -> Option<usize> {
    PHRASE.find(text).map(|phrase| phrase.end())
}

/// The stretches of `text` that follow a phrase, each up to the next phrase, the last one first.
pub(super) fn tails(text: &str, choice: bool) -> Vec<&str> {
    let mut found: Vec<Range<usize>> = PHRASE.find_iter(text).map(|phrase| phrase.range()).collect();
    if choice {
        found.extend(CHOICE_PHRASE.find_iter(text).map(|phrase| phrase.range()));
        let picked = PICKED
            .captures_iter(text)
            .filter_map(|picked| Some(picked.get(0)?.start()..picked.get(1)?.start()));
        found.extend(picked);
        found.sort_by_key(|phrase| (phrase.start, phrase.end));
    }
    let ends = found.iter().skip(1).map(|next| next.start).chain([text.len()]);
    let tails = found.iter().zip(ends).map(|(phrase, end)| &text[phrase.end.min(end)..end]);
    let mut tails: Vec<&str> = tails.map(|tail| tail.trim_start_matches(PADDING)).collect();
    tails.reverse();
    tails
}

/// The first sentence of a stretch: to a line's end, or to a full stop that a blank follows. Formulas are passed
/// over whole.
pub(super) fn sentence(tail: &str) -> &str {
    let mut in_formula = false;
    let mut chars = tail.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        match char {
            '$' => {
                chars.next_if(|(_, next)| *next == '$');
                in_formula = !in_formula;
            }
            '\\' => match chars.next().map(|(_, next)| next) {
                Some('(' | '[') => in_formula = true,
                Some(')' | ']') => in_formula = false,
                _ => {}
            },
            '。' | '！' => return &tail[..at],
            '\n' if !in_formula => return &tail[..at],
            '.' | '!' | '?'
                if !in_formula && next.is_none_or(|next| next.is_whitespace() || "*_`\"".contains(next)) =>
            {
                return &tail[..at];
            }
            _ => {}
        }
    }
    tail
}

/// The first formula of a sentence without its delimiters, and those that no more than commas, `and`, `or` part from
/// it; else the whole sentence without a remark after a comma.
pub(super) fn formula(sentence: &str) -> String {
    static FORMULA: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?s)\$\$(.+?)\$\$|\$([^$]+)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]")
            .expect("the pattern is well formed")
    });
    static BETWEEN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:[\s,;、，]|and\b|or\b|和|或)*$").expect("the pattern is well formed")
    });
    static REMARK: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[,;，；]\s*(?:so|because|since|which|where|as|in|when|hence|thus|then)\b")
            .expect("the pattern is well formed")
    });
    let mut parts: Vec<&str> = Vec::new();
    let mut end = None;
    for found in FORMULA.captures_iter(sentence) {
        let Some(whole) = found.get(0) else { break };
        let joined = end.is_none_or(|end: usize| BETWEEN.is_match(&sentence[end..whole.start()]));
        let led_by_number =
            end.is_none() && sentence[..whole.start()].contains(|char: char| char.is_ascii_digit());
        if led_by_number || !joined {
            break;
        }
        parts.extend(found.iter().skip(1).flatten().map(|part| part.as_str().trim()));
        end = Some(whole.end());
    }
    if !parts.is_empty() {
        return parts.join(", ");
    }
    let length = REMARK.find(sentence).map_or(sentence.len(), |remark| remark.start());
    sentence[..length].trim().trim_matches(['*', '`']).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(text: &str) -> Option<String> {
        tails(text, false).first().map(|tail| formula(sentence(tail)))
    }

    #[test]
    fn the_last_phrase_counts_to_the_end_of_its_sentence() {
        for (text, expected) in [
            ("The answer is 18", "18"),
            ("The answer is 3.5. Good.", "3.5"),
            ("Answer: 1\nNo. Answer: 2\nmore", "2"),
            ("**Answer:** 4.", "4"),
            ("**Answer**: 4", "4"),
            ("Final Answer: The final answer is $[2,5)$. I hope it is correct.", "[2,5)"),
            ("The answer is $3$ or $5$.", "3, 5"),
            ("The answer is\n\\[\n\\frac{1}{2}\n\\]", r"\frac{1}{2}"),
            ("The answer is 5, because 2 + 3 = 5.", "5"),
            ("答案是18。好", "18"),
            ("最终答案：5", "5"),
            ("The answer to this question is 7", "7"),
        ] {
            assert_eq!(last(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(last("The answers differ"), None);
        assert_eq!(last("unanswered: 5"), None);
    }
}
