//! Whether two mathematical answers are the same.
//!
//! Text becomes tokens (`token.rs`), tokens an outer form (`form.rs`) whose leaves are expressions
//! (`expression.rs`), and expressions are compared by value (`evaluate.rs`): exactly where both are rational, else
//! at fixed points. There is no algebra system here; what cannot be evaluated is compared as text.

mod compare;
mod evaluate;
mod expression;
mod form;
mod text;
mod token;
mod words;

use num_bigint::BigInt;
use num_rational::Ratio;

pub(super) use text::{Commas, ascii, last_side, without_thousands};

use super::work::{MAX_ANSWER, MAX_DEPTH, Work};
use compare::Comparison;
use form::Form;
use token::{Shape, Token};

/// An exact value.
pub(super) type Rational = Ratio<BigInt>;

/// A share as an exact value; `None` for none.
pub(super) fn share(share: f64) -> Option<Rational> {
    if share > 0.0 { Rational::from_float(share) } else { None }
}

/// How two answers turned out to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Same {
    /// Their normal forms are the same text.
    Text,
    /// Their parts have the same values.
    Value,
}

/// Compares an answer with the truth.
///
/// Numbers may differ by `tolerance` as a share of the truth. Returns `None` where they are not the same, or where
/// to find out would take too much work.
pub(super) fn compare(prediction: &str, truth: &str, tolerance: f64, work: &mut Work) -> Option<Same> {
    let (left, right) = (tokens(prediction)?, tokens(truth)?);
    let (left_key, right_key) = (key(&left), key(&right));
    work.spend((left.len() + right.len()) as u64)?;
    if !left_key.is_empty() && left_key == right_key {
        return Some(Same::Text);
    }
    if meridian(&left).zip(meridian(&right)).is_some_and(|(left, right)| left != right) {
        return None;
    }
    let truth = form::read(&right, MAX_DEPTH);
    let mut comparison = Comparison { tolerance, work };
    if comparison.same(&form::read(&left, MAX_DEPTH), &truth) {
        return Some(Same::Value);
    }
    let (bare_left, bare_right) = (without_letter_unit(&left), without_letter_unit(&right));
    if (bare_left.is_some() && evaluates(&right) || bare_right.is_some())
        && comparison.same(
            &form::read(bare_left.unwrap_or(&left), MAX_DEPTH),
            &form::read(bare_right.unwrap_or(&right), MAX_DEPTH),
        )
    {
        return Some(Same::Value);
    }
    // `100,200` may be a number or a list. It is a list where the truth is one without doubt.
    let listed = match truth {
        Form::Set { .. } => read(prediction, Commas::Keep).filter(|tokens| *tokens != left)?,
        _ => return None,
    };
    comparison.same(&form::read(&listed, MAX_DEPTH), &truth).then_some(Same::Value)
}

/// A number without a unit of one letter that a blank parts from it: `5 m`, `90 m/s`. Without the blank, or beside a
/// truth with letters, it is a variable.
fn without_letter_unit(tokens: &[Token]) -> Option<&[Token]> {
    let at = tokens.iter().position(|token| matches!(token.shape, Shape::Letter(_)))?;
    let is_unit =
        matches!(tokens[at].shape, Shape::Letter('m' | 'g' | 's' | 'h' | 'L' | 'l' | 'J' | 'N' | 'W' | 'V'));
    let is_number = |token: &Token| matches!(token.shape, Shape::Digit(_) | Shape::Symbol('.' | '-' | '/'));
    let is_rest = |token: &Token| {
        matches!(
            token.shape,
            Shape::Letter(_) | Shape::Digit(_) | Shape::Symbol('/' | '^') | Shape::Open | Shape::Close
        )
    };
    let fits =
        at > 0 && tokens[at].spaced && tokens[..at].iter().all(is_number) && tokens[at..].iter().all(is_rest);
    (is_unit && fits).then(|| &tokens[..at])
}

/// Whether tokens are a number.
fn evaluates(tokens: &[Token]) -> bool {
    tokens.iter().all(|token| !matches!(token.shape, Shape::Letter(_)))
}

/// The normal form of an answer, for those who want to see what was compared.
pub(super) fn normal(text: &str) -> Option<String> {
    tokens(text).map(|tokens| key(&tokens))
}

/// The exact value of `text` if all of it, but for words around it, is one expression with one.
pub(super) fn exact_value(text: &str, work: &mut Work) -> Option<Rational> {
    let tokens = token::read(text)?;
    let is_digit = |token: &Token| matches!(token.shape, Shape::Digit(_));
    let first = tokens.iter().position(is_digit)?;
    let start = tokens[..first].iter().rposition(|token| token.text().is_some()).map_or(0, |at| at + 1);
    let rest = &tokens[start..];
    let end = rest.iter().position(|token| token.text().is_some()).unwrap_or(rest.len());
    let number_follows = rest[end..].windows(2).any(|pair| is_digit(&pair[1]) && !pair[0].is_symbol('^'));
    if number_follows {
        return None;
    }
    let points =
        |token: &&Token| matches!(token.shape, Shape::Symbol('.' | ',' | ';' | '!' | '?' | '。' | '°'));
    let end = end - rest[..end].iter().rev().take_while(points).count();
    evaluate::exact(&expression::parse(&rest[..end])?, work)
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    read(text, Commas::JoinOutsideBrackets)
}

fn read(text: &str, commas: Commas) -> Option<Vec<Token>> {
    if text.len() > MAX_ANSWER {
        return None;
    }
    let delimited = text.replace("\\$", " ").replace("$$", " ");
    token::read(&without_thousands(&ascii(&delimited), commas))
}

/// Tokens as text in normal form: no blanks, words in lower case, what follows `^` and `_` in braces.
fn key(tokens: &[Token]) -> String {
    let mut out = String::new();
    let mut script = Script::None;
    for (at, token) in tokens.iter().enumerate() {
        let opens = token.shape == Shape::Open;
        if script == Script::Expected && !opens {
            out.push('{');
        }
        push(&mut out, token);
        script = match (script, &token.shape) {
            (_, Shape::Symbol('^' | '_')) => Script::Expected,
            (Script::Expected, _) if opens => Script::None,
            (Script::Expected | Script::Digits, Shape::Digit(_)) => Script::Digits,
            (Script::Expected, _) => {
                out.push('}');
                Script::None
            }
            (other, _) => other,
        };
        let goes_on =
            tokens.get(at + 1).is_some_and(|next| matches!(next.shape, Shape::Digit(_)) && !next.spaced);
        if script == Script::Digits && !goes_on {
            out.push('}');
            script = Script::None;
        }
    }
    out.trim_end_matches('.').to_owned()
}

/// Where in a subscript or superscript [`key`] is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    None,
    /// Right after `^` or `_`.
    Expected,
    /// In its digits, which no brace holds together.
    Digits,
}

fn push(out: &mut String, token: &Token) {
    match &token.shape {
        Shape::Digit(char) | Shape::Letter(char) | Shape::Symbol(char) => out.push(*char),
        Shape::Command(name) => {
            out.push('\\');
            out.push_str(name);
            out.push(' ');
        }
        Shape::Text(text) => out.extend(text.to_lowercase().chars().filter(|char| !char.is_whitespace())),
        Shape::Open => out.push('{'),
        Shape::Close => out.push('}'),
        Shape::Begin(name) => {
            out.push_str("\\begin ");
            out.push_str(name);
            out.push(' ');
        }
        Shape::End(name) => {
            out.push_str("\\end ");
            out.push_str(name);
            out.push(' ');
        }
        Shape::Row => out.push_str("\\\\"),
        Shape::Cell => out.push('&'),
    }
}

/// `a` or `p`, where words say before or after noon: no unit, unlike other words after a number.
fn meridian(tokens: &[Token]) -> Option<char> {
    tokens.iter().filter_map(Token::text).find_map(|text| match text.to_lowercase().replace('.', "").trim() {
        "am" => Some('a'),
        "pm" => Some('p'),
        _ => None,
    })
}
