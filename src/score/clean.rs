//! What is taken off a response before an answer is looked for: reasoning, leaked template tokens, invented
//! questions, answer tags.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::{Kind, phrase};

/// Borders of reasoning, and template tokens that a server should have kept to itself.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)</?think>|<\|im_end\|>|<\|im_start\|>|<\|eot_id\|>|</s>|<\|endoftext\|>")
        .expect("the pattern is well formed")
});

/// What shows that an answer has been given. `A:` stands for it in examples of the form `Q: … A: …`.
static ANSWERED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)\\boxed|\\fbox|####|</answer>|^A:[ \t]*\S").expect("the pattern is well formed")
});

/// A line that starts another question.
static QUESTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?im)^[ \t>*#_]*(?:(?:question|q|problem)(?:[ \t]*\d+)?[ \t]*[*_]*[:：]|问题)")
        .expect("the pattern is well formed")
});

/// GSM8K's calculator annotations, also one that the end of the text cuts off.
static ANNOTATION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"<<[^<>\n]*(?:>>|>?\z)").expect("the pattern is well formed"));

/// The part of a response in which to look for the answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cleaned {
    /// The text.
    pub(super) text: String,
    /// Whether it is the inside of `<answer>…</answer>`.
    pub(super) tagged: bool,
}

/// Reduces a response, or a truth, to the part that counts.
///
/// Returns `None` when its reasoning never ends: what stands there is no answer yet.
pub(super) fn clean(text: &str, kind: &Kind) -> Option<Cleaned> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut text = answer_proper(&text)?;
    if matches!(kind, Kind::Gsm8k | Kind::Math | Kind::Choice { .. }) {
        text = before_next_question(text);
    }
    let inner = tagged(text);
    let text = inner.unwrap_or(text);
    let text = match kind {
        Kind::Gsm8k => ANNOTATION.replace_all(text, ""),
        _ => Cow::Borrowed(text),
    };
    Some(Cleaned { text: text.into_owned(), tagged: inner.is_some() })
}

/// What follows the reasoning, up to the first leaked token outside it. A closing tag without an opening one ends
/// reasoning too: some templates write the opening tag into the prompt.
fn answer_proper(text: &str) -> Option<&str> {
    let mut start = 0;
    let mut end = text.len();
    let mut reasoning = false;
    let mut tags = TAG.find_iter(text).peekable();
    let first = TAG.find_iter(text).find(|tag| is_think(tag.as_str()));
    if let Some(closing) = first.filter(|tag| tag.as_str().starts_with("</")) {
        start = closing.end();
        while tags.next_if(|tag| tag.start() < start).is_some() {}
    }
    for tag in tags {
        match tag.as_str() {
            name if !is_think(name) && reasoning => {}
            name if !is_think(name) => {
                end = tag.start();
                break;
            }
            name if name.starts_with("</") => {
                reasoning = false;
                start = tag.end();
            }
            _ => reasoning = true,
        }
    }
    (!reasoning).then(|| &text[start..end])
}

fn is_think(tag: &str) -> bool {
    tag.to_ascii_lowercase().ends_with("think>")
}

/// The text before a question that follows an answer: models run on and invent the next one.
fn before_next_question(text: &str) -> &str {
    let mark = ANSWERED.find(text).map(|mark| mark.end());
    let phrase = phrase::first_end(text);
    let Some(answered) = mark.into_iter().chain(phrase).min() else { return text };
    QUESTION.find_at(text, answered).map_or(text, |question| &text[..question.start()])
}

/// The inside of the last `<answer>…</answer>`.
fn tagged(text: &str) -> Option<&str> {
    let end = text.rfind("</answer>")?;
    let start = text[..end].rfind("<answer>")? + "<answer>".len();
    Some(&text[start..end])
}
