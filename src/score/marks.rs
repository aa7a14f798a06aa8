//! Final marks: `\boxed{…}` with balanced braces, and `#### …` to the end of its line.
//!
//! One pass over the text with a stack, so that a megabyte of open boxes costs no more than a megabyte of prose.

use std::sync::LazyLock;

use regex::Regex;

/// What may stand between boxes that together give one list.
static JOINER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:[\s,;$&、，；]|and\b|or\b|\\text\s*\{\s*,?\s*(?:and|or)\s*\}|\\q?quad\b|\\[(),;!\[\] ]|和|或|与)*$",
    )
    .expect("the pattern is well formed")
});

/// The longest content of a box without braces, in bytes.
const MAX_BARE: usize = 256;

/// The longest joiner worth looking at, in bytes.
const MAX_JOINER: usize = 64;

/// A `####` line that numbers a step instead of giving an answer.
static STEP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^[*_ \t]*(?:(?:step|part|case|stage)\s*\d|\d+[.)]\s+[*_]*[a-z])")
        .expect("the pattern is well formed")
});

/// Contents that promise an answer and give none.
static HOLLOW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:[\s$*_`?？.…{}~]|\\(?:l?dots|cdots|square|q?quad|phantom|text|underline|mathrm|hspace|[,;:! ]))*$",
    )
    .expect("the pattern is well formed")
});

/// What the final mark of a text gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Marked {
    /// One box.
    Boxed(String),
    /// Several adjacent boxes, none like another.
    Boxes(Vec<String>),
    /// The rest of a `####` line.
    Hashes(String),
    /// A box that never closes: the response was cut off, and what stands in it may go on.
    Open,
    /// A mark without an answer in it.
    Hollow,
}

/// The last mark of `text`, `None` where there is none.
pub(super) fn last(text: &str) -> Option<Marked> {
    let boxes = boxes(text);
    let hashes = last_hashes(text);
    let Some((last, before)) = boxes.split_last() else { return hashes.map(|(_, marked)| marked) };
    if let Some((start, marked)) = hashes
        && start > last.start
        && last.end.is_none_or(|end| start >= end)
    {
        return Some(marked);
    }
    if last.end.is_none()
        || before
            .iter()
            .rev()
            .find(|earlier| earlier.end.is_none())
            .is_some_and(|open| may_enclose(text, open, last))
    {
        return Some(Marked::Open);
    }
    Some(list(text, &boxes))
}

/// A box: where its command starts, where its content lies, where it ends; `end` is `None` if it never does.
#[derive(Clone, Copy, Debug)]
struct Boxed {
    start: usize,
    content: (usize, usize),
    end: Option<usize>,
    /// Whether its backslash is doubled, as in text that was escaped once too often.
    escaped: bool,
}

/// The boxes of `text` that lie in no other complete box, by start.
fn boxes(text: &str) -> Vec<Boxed> {
    let bytes = text.as_bytes();
    let mut found: Vec<Boxed> = Vec::new();
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => {
                let Some((escaped, after)) = box_command(text, at) else {
                    at += 2;
                    continue;
                };
                let blanks = text[after..].len() - text[after..].trim_start().len();
                let content = after + blanks;
                if bytes.get(content) == Some(&b'{') {
                    open.push(Some(found.len()));
                    let content = (content + 1, content + 1);
                    found.push(Boxed { start: at, content, end: None, escaped });
                    at = content.0;
                } else {
                    let length = bare_length(&text[content..]);
                    let end = (length > 0).then_some(content + length);
                    found.push(Boxed { start: at, content: (content, content + length), end, escaped });
                    at = content + length;
                }
            }
            b'{' => {
                open.push(None);
                at += 1;
            }
            b'}' => {
                if let Some(Some(index)) = open.pop() {
                    let closed = &mut found[index];
                    closed.content.1 = at;
                    closed.end = Some(at + 1);
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    let mut covered = 0;
    found.retain(|one| {
        let outermost = one.start >= covered;
        if outermost && let Some(end) = one.end {
            covered = end;
        }
        outermost
    });
    found
}

/// Whether a box command starts at `at`: whether its backslash is doubled, and where it ends.
fn box_command(text: &str, at: usize) -> Option<(bool, usize)> {
    let rest = &text[at..];
    let (escaped, name) = match rest.strip_prefix("\\\\") {
        Some(name) => (true, name),
        None => (false, &rest[1..]),
    };
    let after = name.strip_prefix("boxed").or_else(|| name.strip_prefix("fbox"))?;
    (!after.starts_with(|next: char| next.is_ascii_alphabetic()))
        .then_some((escaped, text.len() - after.len()))
}

/// Length of the content of a box without braces, as in `$\boxed 5$`: to the next blank, box or end of the formula.
fn bare_length(rest: &str) -> usize {
    let mut depth = 0_u32;
    let mut chars = rest.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        match char {
            _ if at > MAX_BARE => return 0,
            '{' => depth += 1,
            '}' if depth == 0 => return at,
            '}' => depth -= 1,
            '\n' | '$' => return at,
            char if char.is_whitespace() && depth == 0 => return trimmed_length(&rest[..at]),
            '\\' if box_command(rest, at).is_some() => {
                return if depth == 0 { trimmed_length(&rest[..at]) } else { 0 };
            }
            '\\' => match chars.next() {
                Some((_, ')' | ']')) => return at,
                Some(_) => {}
                None => return at,
            },
            _ => {}
        }
    }
    if depth == 0 { trimmed_length(rest) } else { 0 }
}

fn trimmed_length(text: &str) -> usize {
    text.trim_end_matches(['.', ',', ';', '。']).len()
}

/// Whether an open box may still run on at a later one: nothing between them ends its formula.
fn may_enclose(text: &str, open: &Boxed, later: &Boxed) -> bool {
    let between = &text[open.content.0..later.start.max(open.content.0)];
    !(between.contains(['\n', '$']) || between.contains("\\)") || between.contains("\\]"))
}

/// The last box, or the list that it and its neighbours give.
fn list(text: &str, boxes: &[Boxed]) -> Marked {
    let mut contents: Vec<String> = Vec::new();
    let mut next: Option<&Boxed> = None;
    for one in boxes.iter().rev() {
        let Some(end) = one.end else { break };
        if let Some(next) = next {
            let between = &text[end..next.start];
            if between.len() > MAX_JOINER || !JOINER.is_match(between) {
                break;
            }
        }
        let content = text[one.content.0..one.content.1].trim();
        let content = if one.escaped { content.replace("\\\\", "\\") } else { content.to_owned() };
        if !contents.contains(&content) {
            contents.push(content);
        }
        if contents.len() > MAX_LIST {
            break;
        }
        next = Some(one);
    }
    contents.reverse();
    if contents.iter().any(|content| HOLLOW.is_match(content)) {
        return Marked::Hollow;
    }
    match contents.len() {
        1 => Marked::Boxed(contents.remove(0)),
        _ => Marked::Boxes(contents),
    }
}

/// The most boxes that give one list.
const MAX_LIST: usize = 64;

/// The last `####` line that is no heading, with its start.
fn last_hashes(text: &str) -> Option<(usize, Marked)> {
    let last_char = text.trim_end().len();
    let mut end = text.len();
    while let Some(start) = text[..end].rfind("####") {
        let line_end = text[start..end].find('\n').map_or(end, |length| start + length);
        let content = text[start..line_end].trim_start_matches('#').trim();
        let more = line_end < last_char;
        let start = text[..start].trim_end_matches('#').len();
        if content.is_empty() {
            let before = text[..start].trim_end_matches([' ', '\t']);
            let closes_heading = !before.is_empty() && !before.ends_with('\n');
            if !more && !closes_heading {
                return Some((start, Marked::Hollow));
            }
        } else if !is_heading(content, more) {
            let hollow = HOLLOW.is_match(content);
            return Some((start, if hollow { Marked::Hollow } else { Marked::Hashes(content.to_owned()) }));
        }
        end = start;
    }
    None
}

/// Whether a `####` line is a Markdown heading: it numbers a step, or it is words and text follows.
fn is_heading(content: &str, more: bool) -> bool {
    let words = content.trim_start_matches(['*', '_', ' ']);
    let lower = words.to_lowercase();
    let bare = lower.trim_end_matches(['*', '_', ' ', ':', '：']);
    more && (STEP.is_match(content)
        || matches!(bare, "answer" | "final answer" | "the answer")
        || words.starts_with(char::is_alphabetic) && !lower.contains("answer") && !lower.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(text: &str) -> Option<Marked> {
        Some(Marked::Boxed(text.to_owned()))
    }

    #[test]
    fn braces_of_a_box_balance_and_escaped_ones_do_not_count() {
        assert_eq!(last(r"\boxed{\frac{1}{2}}"), boxed(r"\frac{1}{2}"));
        assert_eq!(last(r"\boxed{\{1, 2\}}"), boxed(r"\{1, 2\}"));
        assert_eq!(last(r"\boxed{\left\{1\right\}} and more }"), boxed(r"\left\{1\right\}"));
        assert_eq!(last(r"$\fbox{12}$."), boxed("12"));
        assert_eq!(last(r"\boxed{\boxed{7}}"), boxed(r"\boxed{7}"));
    }

    #[test]
    fn a_box_may_have_a_blank_no_braces_or_a_doubled_backslash() {
        assert_eq!(last(r"\boxed {5}"), boxed("5"));
        assert_eq!(last(r"$\boxed 5$"), boxed("5"));
        assert_eq!(last(r"so \boxed -\frac{1}{2}."), boxed(r"-\frac{1}{2}"));
        assert_eq!(last(r"\\boxed{\\frac{1}{2}}"), boxed(r"\frac{1}{2}"));
        assert_eq!(last(r"$\boxed 4\boxed 5$"), Some(Marked::Boxes(vec!["4".to_owned(), "5".to_owned()])));
        assert_eq!(last(r"\boxedx{5}"), None);
    }

    #[test]
    fn an_open_box_is_no_answer_whatever_stands_before_it() {
        assert_eq!(last(r"\boxed{18"), Some(Marked::Open));
        assert_eq!(last(r"\boxed{18} no, \boxed{1"), Some(Marked::Open));
        assert_eq!(last(r"\boxed{\boxed{7}"), Some(Marked::Open));
        assert_eq!(last(r"\boxed"), Some(Marked::Open));
        assert_eq!(last("$\\boxed{\\frac{1}{2}$. Again: $\\boxed{3}$"), boxed("3"));
    }

    #[test]
    fn adjacent_boxes_are_a_list_and_repeats_are_one_box() {
        let list = Some(Marked::Boxes(vec!["3".to_owned(), "5".to_owned()]));
        assert_eq!(last(r"x = \boxed{3}, \boxed{5}"), list);
        assert_eq!(last(r"$\boxed{3}$ and $\boxed{5}$."), list);
        assert_eq!(last(r"\boxed{3}\text{ or }\boxed{5}"), list);
        assert_eq!(last(r"\boxed{3}, \boxed{3}"), boxed("3"));
        assert_eq!(last(r"\boxed{3} is wrong, \boxed{5}"), boxed("5"));
    }

    #[test]
    fn hashes_run_to_the_end_of_their_line_and_headings_are_none() {
        let hashes = |text: &str| Some(Marked::Hashes(text.to_owned()));
        assert_eq!(last("#### 18 eggs\nmore"), hashes("18 eggs"));
        assert_eq!(last("####18"), hashes("18"));
        assert_eq!(last("#### 5\nwait\n#### 6"), hashes("6"));
        assert_eq!(last("#### Step 1: add 3\n2 + 3 = 5"), None);
        assert_eq!(last("#### 1. Add up\n2 + 3 = 5"), None);
        assert_eq!(last("#### Final Answer\n18"), None);
        assert_eq!(last("#### eighteen"), hashes("eighteen"));
        assert_eq!(last("so it is\n####"), Some(Marked::Hollow));
    }

    #[test]
    fn the_later_of_box_and_hashes_counts() {
        assert_eq!(last(r"#### \boxed{18}"), boxed("18"));
        assert_eq!(last("\\boxed{9}\n#### 18"), Some(Marked::Hashes("18".to_owned())));
        assert_eq!(last(r"\boxed{}"), Some(Marked::Hollow));
        assert_eq!(last(r"\boxed{\text{?}}"), Some(Marked::Hollow));
    }
}
