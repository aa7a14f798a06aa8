//! Values that can be counted or measured, as plain numbers and back.

use std::time::Duration;

use super::keys::{Kind, find};
use super::overlay::{Part, Shape};
use super::resolved::number;
use super::tree::Value;
use crate::units::{Rate, parse_duration, parse_rate, parse_tokens, write_duration, write_rate};

/// What the values of a key measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Whole numbers.
    Whole,
    /// Tokens.
    Tokens,
    /// Events a second.
    Rate,
    /// Seconds.
    Duration,
    /// Plain numbers.
    Number,
}

impl Measure {
    pub(super) fn of(kind: Kind) -> Option<Measure> {
        match kind {
            Kind::Integer { .. } | Kind::Requests => Some(Measure::Whole),
            Kind::Tokens | Kind::Distribution | Kind::AnswerLength => Some(Measure::Tokens),
            Kind::Rate | Kind::Level => Some(Measure::Rate),
            Kind::Duration { .. } => Some(Measure::Duration),
            Kind::Number | Kind::Share => Some(Measure::Number),
            Kind::Parameters { table, alone } => Measure::of(find(table).key(alone)?.kind),
            _ => None,
        }
    }

    /// A value as a number: tokens, per second, seconds.
    pub(super) fn read(self, value: &Value) -> Option<f64> {
        match (self, value) {
            (Measure::Whole | Measure::Tokens | Measure::Number, Value::Integer(number)) => {
                Some(*number as f64)
            }
            (Measure::Number, Value::Float(number)) => Some(*number).filter(|number| number.is_finite()),
            (Measure::Number, Value::Text(text)) => {
                Some(text.trim().strip_suffix('%')?.trim_end().parse::<f64>().ok()? / 100.0)
            }
            (Measure::Tokens, Value::Text(text)) => parse_tokens(text).ok().map(|tokens| tokens as f64),
            (Measure::Rate, Value::Text(text)) => parse_rate(text).ok().map(Rate::as_per_second),
            (Measure::Duration, Value::Text(text)) => {
                parse_duration(text).ok().map(|time| time.as_secs_f64())
            }
            _ => None,
        }
    }

    /// The value of an amount of at least 0, as a key takes it: whole where it counts. `None` where it cannot be.
    pub(super) fn write(self, amount: f64) -> Option<Value> {
        Some(match self {
            Measure::Whole | Measure::Tokens => Value::Integer(libm::rint(amount) as i128),
            Measure::Rate => Value::Text(write_rate(Rate::per_second(amount)?)),
            Measure::Duration => Value::Text(write_duration(Duration::try_from_secs_f64(amount).ok()?)),
            Measure::Number => Value::Float(amount),
        })
    }
}

/// The kind of the key at `path`; `None` where the scenario has no such key, or its values are free.
pub(super) fn kind_at(path: &[Part]) -> Option<Kind> {
    let (mut shape, mut kind) = (Shape::TOP, None);
    let mut parts = path.iter();
    while let Some(part) = parts.next() {
        kind = shape.kind(&part.name);
        shape = Shape::of(kind);
        if matches!(kind, Some(Kind::Tables(_))) {
            // A member of a list goes by its name.
            parts.next()?;
        }
    }
    kind
}

/// A value as tables of results call it: a plain number where `measure` gives one; `None` for one that is neither
/// number nor text nor boolean.
pub(super) fn label(value: &Value, measure: Option<Measure>) -> Option<String> {
    if let Some(amount) = measure.and_then(|measure| measure.read(value)) {
        return Some(number(amount));
    }
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Integer(whole) => Some(whole.to_string()),
        Value::Float(amount) => Some(number(*amount)),
        Value::Boolean(value) => Some(value.to_string()),
        Value::Date(_) | Value::List(_) | Value::Table(_) => None,
    }
}
