//! The outer form of an answer: list, tuple, interval, union, matrix, relation, or a single value.

use super::expression::{self, Node};
use super::key;
use super::token::{Shape, Token, is_conjunction};

/// An answer, taken apart as far as its brackets, commas and relations go.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// A list in any order; in braces, repeats do not count.
    Set {
        /// Its members.
        members: Vec<Form>,
        /// Whether braces stand around it.
        braced: bool,
    },
    /// A point, a vector, or an interval: order and brackets count.
    Tuple {
        /// `(` or `[`.
        open: char,
        /// `)` or `]`.
        close: char,
        /// Its coordinates or ends.
        items: Vec<Form>,
    },
    /// A union of sets, in any order.
    Union(Vec<Form>),
    /// An intersection of sets, in any order.
    Intersection(Vec<Form>),
    /// Sides with relations between them.
    Relation {
        /// `=`, `<`, `>`, `≤`, `≥`, `≠` or `∈`.
        operators: Vec<char>,
        /// One more than operators.
        sides: Vec<Form>,
    },
    /// `3:2`, `12:00`.
    Ratio(Vec<Form>),
    /// Rows of entries.
    Matrix(Vec<Vec<Form>>),
    /// A single value.
    Leaf(Leaf),
}

/// A single value.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    /// Its tokens as text in normal form.
    pub(super) key: String,
    /// Its words in normal form, where it is words.
    pub(super) words: Option<String>,
    /// Digits and base, where it is a number with a base.
    pub(super) based: Option<(String, String)>,
    /// Its expression, where it is one.
    pub(super) node: Option<Node>,
}

/// First words of a remark that may end an answer and is no part of it.
const REMARKS: [&str; 14] = [
    "for", "where", "if", "when", "whenever", "with", "such", "since", "because", "as", "provided", "given",
    "which", "per",
];

/// Words before a value that say no more than that it comes.
const LEADS: [&str; 16] = [
    "is",
    "are",
    "be",
    "equals",
    "equal",
    "answer",
    "usd",
    "rs",
    "about",
    "approximately",
    "exactly",
    "roughly",
    "dollars",
    "value",
    "total",
    "result",
];

/// The form of `tokens`, taken apart at most `depth` levels deep.
pub(super) fn read(tokens: &[Token], depth: u32) -> Form {
    let tokens = trimmed(tokens);
    let Some(depth) = depth.checked_sub(1) else { return Form::Leaf(Leaf::opaque(tokens)) };
    let tokens = trimmed(without_remark(tokens));
    let parts = split(tokens, |token| {
        matches!(token.shape, Shape::Symbol(',' | ';')) || token.text().is_some_and(is_conjunction)
    });
    let mut members: Vec<Form> = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        match signs(part) {
            Some(both) => members.extend(both.iter().map(|tokens| item(tokens, depth))),
            None => members.push(item(part, depth)),
        }
    }
    match members.len() {
        0 => Form::Leaf(Leaf::opaque(tokens)),
        1 => members.remove(0),
        _ => Form::Set { members, braced: false },
    }
}

/// Both readings of a part with `±`.
fn signs(part: &[Token]) -> Option<[Vec<Token>; 2]> {
    // The members of a set in braces are expanded one by one.
    let in_braces = part.first().is_some_and(|token| token.is_symbol('⦃'));
    let signed = !in_braces && part.iter().any(|token| token.is_symbol('±') || token.is_symbol('∓'));
    let with = |upper: char, lower: char| {
        let sign = |token: &Token| match token.shape {
            Shape::Symbol('±') => Token { shape: Shape::Symbol(upper), ..token.clone() },
            Shape::Symbol('∓') => Token { shape: Shape::Symbol(lower), ..token.clone() },
            _ => token.clone(),
        };
        part.iter().map(sign).collect::<Vec<Token>>()
    };
    signed.then(|| [with('+', '-'), with('-', '+')])
}

/// One member of a list.
fn item(tokens: &[Token], depth: u32) -> Form {
    let mut operators = Vec::new();
    let is_relation =
        |token: &Token| matches!(token.shape, Shape::Symbol('=' | '<' | '>' | '≤' | '≥' | '≠' | '∈' | '≈'));
    let mut level = 0;
    for token in tokens {
        level += token.nesting();
        if let Shape::Symbol(symbol) = token.shape
            && level == 0
            && is_relation(token)
        {
            operators.push(symbol);
        }
    }
    if operators.is_empty() {
        return plain(tokens, depth);
    }
    let mut sides = split(tokens, is_relation);
    if let Some(at) = operators.iter().position(|operator| *operator == '≈') {
        if at == 0 && sides[0].is_empty() {
            sides.remove(0);
            operators.remove(0);
        } else {
            sides.truncate(at + 1);
            operators.truncate(at);
        }
    }
    if operators.first() == Some(&'=') && sides[0].is_empty() {
        sides.remove(0);
        operators.remove(0);
    }
    if operators.is_empty() {
        return plain(sides.first().copied().unwrap_or_default(), depth);
    }
    Form::Relation { operators, sides: sides.into_iter().map(|side| plain(side, depth)).collect() }
}

/// A side of a relation, or an answer without one.
fn plain(tokens: &[Token], depth: u32) -> Form {
    let Some(depth) = depth.checked_sub(1) else { return Form::Leaf(Leaf::opaque(tokens)) };
    let tokens = trimmed(without_unit(without_lead(trimmed(tokens))));
    for (symbol, wrap) in [('∪', Form::Union as fn(Vec<Form>) -> Form), ('∩', Form::Intersection)] {
        let parts = split(tokens, |token| token.is_symbol(symbol));
        if parts.len() > 1 {
            return wrap(parts.into_iter().map(|part| plain(part, depth)).collect());
        }
    }
    if let Some(form) = bracketed(tokens, depth) {
        return form;
    }
    let parts = split(tokens, |token| token.is_symbol(':'));
    if parts.len() > 1 && parts.iter().all(|part| !part.is_empty()) {
        return Form::Ratio(parts.into_iter().map(|part| plain(part, depth)).collect());
    }
    Form::Leaf(Leaf::new(tokens))
}

/// The form of tokens that one pair of brackets holds together.
fn bracketed(tokens: &[Token], depth: u32) -> Option<Form> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    if first.nesting() != 1 || closing(tokens) != Some(tokens.len() - 1) || tokens.len() < 2 {
        return None;
    }
    let inner = &tokens[1..tokens.len() - 1];
    match (&first.shape, &last.shape) {
        (Shape::Symbol(open @ ('(' | '[')), Shape::Symbol(close @ (')' | ']'))) => {
            let parts = split(inner, |token| token.is_symbol(',') || token.is_symbol(';'));
            if parts.len() > 1 {
                let items = parts.into_iter().map(|part| plain(part, depth)).collect();
                return Some(Form::Tuple { open: *open, close: *close, items });
            }
            let is_matrix = inner.first().is_some_and(|token| matches!(token.shape, Shape::Begin(_)));
            (is_matrix || (*open, *close) == ('(', ')')).then(|| read(inner, depth))
        }
        (Shape::Symbol('⦃'), Shape::Symbol('⦄')) => {
            if inner.is_empty() {
                return None;
            }
            Some(match read(inner, depth) {
                Form::Set { members, .. } => Form::Set { members, braced: true },
                member => Form::Set { members: vec![member], braced: true },
            })
        }
        (Shape::Begin(begin), Shape::End(end)) if begin == end => matrix(begin, inner, depth),
        _ => None,
    }
}

fn matrix(name: &str, inner: &[Token], depth: u32) -> Option<Form> {
    if !matches!(name, "pmatrix" | "bmatrix" | "matrix" | "array" | "smallmatrix" | "Bmatrix") {
        return None;
    }
    let mut rows = split(inner, |token| token.shape == Shape::Row);
    while rows.last().is_some_and(|row| row.is_empty()) {
        rows.pop();
    }
    let entries = |row: &[Token]| {
        split(row, |token| token.shape == Shape::Cell).into_iter().map(|entry| plain(entry, depth)).collect()
    };
    Some(Form::Matrix(rows.into_iter().map(entries).collect()))
}

/// The stretches between the separators that stand in no bracket.
fn split(tokens: &[Token], separates: impl Fn(&Token) -> bool) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let mut level = 0;
    let mut start = 0;
    for (at, token) in tokens.iter().enumerate() {
        level += token.nesting();
        if level == 0 && separates(token) {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
    }
    parts.push(&tokens[start..]);
    parts
}

/// Where the bracket that the first token opens is closed.
fn closing(tokens: &[Token]) -> Option<usize> {
    let mut level = 0;
    tokens.iter().position(|token| {
        level += token.nesting();
        level == 0
    })
}

/// Without punctuation at the ends and braces around the whole.
fn trimmed(mut tokens: &[Token]) -> &[Token] {
    let is_point = |token: &Token| matches!(token.shape, Shape::Symbol('.' | ',' | ';' | '。'));
    loop {
        match tokens {
            [rest @ .., last] if is_point(last) => tokens = rest,
            [first, rest @ ..] if matches!(first.shape, Shape::Symbol(',' | ';')) => tokens = rest,
            [first, inner @ .., last]
                if first.shape == Shape::Open
                    && last.shape == Shape::Close
                    && closing(tokens) == Some(tokens.len() - 1) =>
            {
                tokens = inner;
            }
            _ => return tokens,
        }
    }
}

/// Without a remark such as `for all $n$` at the end.
fn without_remark(tokens: &[Token]) -> &[Token] {
    let mut level = 0;
    let at = tokens.iter().position(|token| {
        level += token.nesting();
        let first_word = token.text().and_then(|text| text.split_whitespace().next());
        level == 0 && first_word.is_some_and(|word| REMARKS.contains(&word.to_lowercase().as_str()))
    });
    match at {
        Some(at) if at > 0 => &tokens[..at],
        _ => tokens,
    }
}

/// Without a unit and all that follows it, degrees included. A range (`10 to 20`) is left whole.
fn without_unit(tokens: &[Token]) -> &[Token] {
    let mut level = 0;
    let at = tokens.iter().enumerate().position(|(at, token)| {
        let bracketed = level == 0
            && at > 0
            && matches!(token.shape, Shape::Open | Shape::Symbol('('))
            && tokens.get(at + 1).is_some_and(|next| next.text().is_some());
        level += token.nesting();
        bracketed || level == 0 && token.text().is_some()
    });
    let Some(at) = at.filter(|at| *at > 0) else { return tokens };
    let is_range = tokens[at].text().is_some_and(|text| matches!(text, "to" | "through" | "until"))
        && tokens[at..].iter().any(|token| matches!(token.shape, Shape::Digit(_)));
    if is_range { tokens } else { &tokens[..at] }
}

/// Without words before a value that only announce it.
fn without_lead(tokens: &[Token]) -> &[Token] {
    let [first, rest @ ..] = tokens else { return tokens };
    let Some(last_word) = first.text().and_then(|text| text.split_whitespace().last()) else { return tokens };
    let lower = last_word.trim_end_matches([':', '.']).to_lowercase();
    let announces = LEADS.contains(&lower.as_str()) || last_word.ends_with(':');
    let rest = match rest {
        [colon, after @ ..] if colon.is_symbol(':') => after,
        _ => rest,
    };
    if announces && !rest.is_empty() { rest } else { tokens }
}

impl Leaf {
    fn new(tokens: &[Token]) -> Leaf {
        let has_text = tokens.iter().any(|token| token.text().is_some());
        let is_word = |token: &Token| {
            matches!(token.shape, Shape::Text(_) | Shape::Symbol('(' | ')' | '.' | ',' | '\'' | '-' | '/'))
        };
        let words = (has_text && tokens.iter().all(is_word)).then(|| words(tokens));
        let node = if has_text { None } else { expression::parse(tokens) };
        Leaf { key: key(tokens), words, based: based(tokens), node }
    }

    /// A leaf that is compared as text only.
    fn opaque(tokens: &[Token]) -> Leaf {
        Leaf { key: key(tokens), words: None, based: None, node: None }
    }

    /// The leaf as words, where it may be set against words: `(C)` against `\text{C}`.
    pub(super) fn as_words(&self) -> Option<String> {
        if let Some(words) = &self.words {
            return Some(words.clone());
        }
        let letters = self.key.trim_start_matches('(').trim_end_matches(')');
        let is_plain = !letters.is_empty() && letters.chars().all(char::is_alphanumeric);
        is_plain.then(|| letters.to_lowercase())
    }
}

/// Words in normal form: lower case, one blank between them, no leading article, no brackets or full stops.
fn words(tokens: &[Token]) -> String {
    let mut all = String::new();
    for token in tokens {
        match &token.shape {
            Shape::Text(text) => {
                all.push(' ');
                all.push_str(&text.to_lowercase().replace(['.', '(', ')', ','], ""));
            }
            Shape::Symbol(symbol @ ('-' | '/' | '\'')) => all.push(*symbol),
            _ => {}
        }
    }
    let mut words: Vec<&str> = all.split_whitespace().collect();
    if words.len() > 1 && ["a", "an", "the"].contains(&words[0]) {
        words.remove(0);
    }
    words.join(" ")
}

/// A number with a base as subscript: `52_8`, `152A_{11}`.
fn based(tokens: &[Token]) -> Option<(String, String)> {
    let at = tokens.iter().position(|token| token.is_symbol('_'))?;
    let mut digits = String::new();
    for token in &tokens[..at] {
        match token.shape {
            Shape::Digit(char) => digits.push(char),
            Shape::Letter(char) if char.is_ascii_alphabetic() => digits.push(char),
            Shape::Symbol(char @ ('-' | '.')) => digits.push(char),
            Shape::Symbol('(' | ')') | Shape::Open | Shape::Close => {}
            _ => return None,
        }
    }
    let mut base = String::new();
    for token in &tokens[at + 1..] {
        match &token.shape {
            Shape::Digit(digit) => base.push(*digit),
            Shape::Text(text) => base.push_str(&text.to_lowercase()),
            Shape::Open | Shape::Close => {}
            _ => return None,
        }
    }
    // Small letters are digits only where ten of them do not do.
    let small = digits.contains(|char: char| char.is_ascii_lowercase());
    if small && base.parse::<u32>().map_or(true, |base| base <= 10) {
        return None;
    }
    let digits = digits.to_ascii_uppercase();
    let has_digit = digits.contains(|char: char| char.is_ascii_digit());
    let digits = match digits.strip_prefix('-') {
        Some(digits) => format!("-{}", digits.trim_start_matches('0')),
        None => digits.trim_start_matches('0').to_owned(),
    };
    (has_digit && !base.is_empty()).then_some((digits, base))
}
