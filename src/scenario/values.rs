//! From a value as written to a value of its type, or why not.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use super::keys::{Key, Kind, list};
use super::server::MetricsPage;
use super::suggest::nearest;
use super::tree::{Node, Value};
use super::url::TargetUrl;
use crate::stats::metrics::{Metric, Unit};
use crate::stats::{Percentile, Statistic};
use crate::units::{Rate, UnitError, parse_bytes, parse_duration, parse_rate, parse_tokens};

/// A value with the key it is given for.
pub(super) struct Field<'a> {
    /// The name it is given under.
    pub(super) label: &'static str,
    pub(super) key: &'static Key,
    pub(super) node: Cow<'a, Node>,
}

/// Why a value is not taken.
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) help: String,
}

impl Refusal {
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), help: help.into() }
    }
}

/// Longest time a key takes: a year. It keeps every sum of times far from overflow.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3_600);

/// Highest rate a key takes, per second.
const HIGHEST_RATE: f64 = 1e6;

impl Field<'_> {
    fn wrong_type(&self) -> Refusal {
        let message = format!(
            "`{}` takes {}, not {}",
            self.label,
            self.key.kind.describe(),
            self.node.value.describe()
        );
        // A bare number most likely lacks its unit.
        let example = match (self.key.kind, &self.node.value) {
            (Kind::Duration { .. }, Value::Integer(number)) if *number >= 0 => format!("\"{number}s\""),
            (Kind::Rate, Value::Integer(number)) if *number > 0 => format!("\"{number}/s\""),
            (Kind::Integer { .. } | Kind::Number, Value::Text(text)) if text.parse::<u64>().is_ok() => {
                text.clone()
            }
            (Kind::Boolean, Value::Text(text)) if text == "true" || text == "false" => text.clone(),
            _ => self.key.example.to_owned(),
        };
        Refusal::new(message, format!("write it like `{} = {example}`", self.label))
    }

    fn out_of_range(&self, range: &str) -> Refusal {
        let message = format!("`{}` must be {range}", self.label);
        Refusal::new(message, format!("write it like `{} = {}`", self.label, self.key.example))
    }

    fn ill_formed(&self, error: UnitError) -> Refusal {
        Refusal::new(format!("`{}`: {}", self.label, error.problem()), error.form())
    }

    fn str(&self) -> Result<&str, Refusal> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong_type()),
        }
    }

    /// Text that is not blank.
    pub(super) fn text(self) -> Result<String, Refusal> {
        let text = self.str()?;
        if text.trim().is_empty() {
            return Err(self.out_of_range("text that is not blank"));
        }
        if text.contains(char::is_control) {
            return Err(self.out_of_range("text without line breaks and control characters"));
        }
        Ok(text.to_owned())
    }

    /// Text of any number of lines that is not blank.
    pub(super) fn prose(self) -> Result<String, Refusal> {
        let text = self.str()?;
        if text.trim().is_empty() {
            return Err(self.out_of_range("text that is not blank"));
        }
        Ok(text.to_owned())
    }

    /// A name: `[A-Za-z0-9_-]+`, short enough for a file name.
    pub(super) fn name(self) -> Result<String, Refusal> {
        let text = self.str()?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if text.is_empty() || text.len() > 100 || !text.bytes().all(is_plain) {
            return Err(self.out_of_range("1 to 100 letters, digits, `_` or `-`"));
        }
        Ok(text.to_owned())
    }

    /// The name of an environment variable. What looks like the key itself is refused.
    pub(super) fn variable(self) -> Result<String, Refusal> {
        let text = self.str()?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let mixed = text.bytes().any(|byte| byte.is_ascii_lowercase())
            && text.bytes().any(|byte| byte.is_ascii_digit());
        let looks_like_a_key = text.len() >= 20 && mixed;
        let begins_well = text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
        if !begins_well || !text.bytes().all(is_plain) || looks_like_a_key {
            let help = format!(
                "put the key into a variable and its name here: `{} = {}`",
                self.label, self.key.example
            );
            return Err(Refusal::new(format!("`{}` must name an environment variable", self.label), help));
        }
        Ok(text.to_owned())
    }

    /// One of the kind's choices, by its index.
    pub(super) fn choice(self) -> Result<usize, Refusal> {
        let Kind::Choice(choices) = self.key.kind else { return Err(self.wrong_type()) };
        let text = self.str()?;
        choices.iter().position(|choice| *choice == text).ok_or_else(|| {
            let help = match nearest(text, choices.iter().copied()) {
                Some(alike) => format!("did you mean `{alike}`? known: {}", list(choices, "and")),
                None => format!("known: {}", list(choices, "and")),
            };
            Refusal::new(format!("`{}` does not take this value", self.label), help)
        })
    }

    /// A URL.
    pub(super) fn url(self) -> Result<TargetUrl, Refusal> {
        TargetUrl::parse(self.str()?).map_err(|error| Refusal::new(error.problem, error.help))
    }

    /// `true` or `false`.
    pub(super) fn boolean(self) -> Result<bool, Refusal> {
        match self.node.value {
            Value::Boolean(value) => Ok(value),
            _ => Err(self.wrong_type()),
        }
    }

    /// A whole number within the kind's bounds.
    pub(super) fn integer(self) -> Result<u64, Refusal> {
        let Kind::Integer { min, max } = self.key.kind else { return Err(self.wrong_type()) };
        match self.node.value {
            Value::Integer(number) => match u64::try_from(number) {
                Ok(number) if (min..=max).contains(&number) => Ok(number),
                _ => Err(self.out_of_range(&format!("from {min} to {max}"))),
            },
            _ => Err(self.wrong_type()),
        }
    }

    /// A whole number of at least 1; `None` for `"all"`.
    pub(super) fn requests(self) -> Result<Option<u64>, Refusal> {
        match &self.node.value {
            Value::Text(text) if text == "all" => Ok(None),
            Value::Integer(number) => match u64::try_from(*number) {
                Ok(number) if number > 0 => Ok(Some(number)),
                _ => Err(self.out_of_range("at least 1")),
            },
            _ => Err(self.wrong_type()),
        }
    }

    /// HTTP statuses that refuse, in ascending order.
    pub(super) fn statuses(self) -> Result<Vec<u16>, Refusal> {
        let Value::List(list) = &self.node.value else { return Err(self.wrong_type()) };
        let status = |node: &Node| match node.value {
            Value::Integer(number @ 400..=599) => Some(number as u16),
            _ => None,
        };
        let statuses = list.iter().map(status).collect::<Option<BTreeSet<_>>>();
        let statuses = statuses.filter(|statuses| !statuses.is_empty());
        let refusal = || self.out_of_range("a list of statuses from 400 to 599");
        Ok(statuses.ok_or_else(refusal)?.into_iter().collect())
    }

    /// A number of at least 0.
    pub(super) fn number(self) -> Result<f64, Refusal> {
        let number = match self.node.value {
            Value::Integer(number) => number as f64,
            Value::Float(number) => number,
            _ => return Err(self.wrong_type()),
        };
        // Far from where sums overflow.
        if (0.0..=1e100).contains(&number) {
            Ok(number)
        } else {
            Err(self.out_of_range("a number of at least 0"))
        }
    }

    /// A duration within the kind's bounds.
    pub(super) fn duration(self) -> Result<Duration, Refusal> {
        let Kind::Duration { min } = self.key.kind else { return Err(self.wrong_type()) };
        let duration = parse_duration(self.str()?).map_err(|error| self.ill_formed(error))?;
        if duration < min {
            return Err(self.out_of_range("longer than 0s"));
        }
        if duration > LONGEST {
            return Err(self.out_of_range("at most a year (8760h)"));
        }
        Ok(duration)
    }

    /// A rate.
    pub(super) fn rate(self) -> Result<Rate, Refusal> {
        let unlimited = match &self.node.value {
            Value::Float(number) => !number.is_finite(),
            Value::Text(text) => {
                ["inf", "unlimited", "max"].iter().any(|word| text.to_lowercase().starts_with(word))
            }
            _ => false,
        };
        if unlimited {
            let help = "to send as fast as the server answers, close the loop: `load.closed = 8`";
            return Err(Refusal::new("an unlimited rate does not exist", help));
        }
        let rate = parse_rate(self.str()?).map_err(|error| self.ill_formed(error))?;
        if rate.as_per_second() > HIGHEST_RATE {
            return Err(self.out_of_range("at most 1,000,000 a second"));
        }
        Ok(rate)
    }

    /// A rate per second, `"0/s"` included.
    pub(super) fn level(self) -> Result<f64, Refusal> {
        let is_none = |text: &str| {
            let (number, unit) = text.split_once('/').unwrap_or((text, ""));
            number.trim() == "0" && ["s", "min", "h"].contains(&unit.trim())
        };
        match &self.node.value {
            Value::Text(text) if is_none(text) => Ok(0.0),
            _ => self.rate().map(Rate::as_per_second),
        }
    }

    /// Rates per second, at least one.
    pub(super) fn levels(self) -> Result<Vec<f64>, Refusal> {
        self.members()?.into_iter().map(Field::level).collect()
    }

    /// Names, at least one.
    pub(super) fn names(self) -> Result<Vec<String>, Refusal> {
        self.members()?.into_iter().map(Field::name).collect()
    }

    /// Pages of metrics, at least one: one alone, or a list.
    pub(super) fn pages(self) -> Result<Vec<MetricsPage>, Refusal> {
        let page = |field: Field<'_>| {
            MetricsPage::parse(field.str()?).map_err(|(problem, help)| Refusal::new(problem, help))
        };
        if matches!(self.node.value, Value::List(_)) {
            return self.members()?.into_iter().map(page).collect();
        }
        Ok(vec![page(self)?])
    }

    /// Names of metrics, at least one.
    pub(super) fn metrics(self) -> Result<Vec<String>, Refusal> {
        let name = |field: Field<'_>| {
            let text = field.str()?;
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
            let begins_well = text.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
            match begins_well && text.len() <= 200 && text.bytes().all(is_plain) {
                true => Ok(text.to_owned()),
                false => Err(field.out_of_range("names of letters, digits, `_` and `:`, without labels")),
            }
        };
        self.members()?.into_iter().map(name).collect()
    }

    /// Numbers of tokens, at least one.
    pub(super) fn token_list(self) -> Result<Vec<u64>, Refusal> {
        self.members()?.into_iter().map(Field::tokens).collect()
    }

    /// Numbers of at least 0, at least one.
    pub(super) fn numbers(self) -> Result<Vec<f64>, Refusal> {
        self.members()?.into_iter().map(Field::number).collect()
    }

    /// The members of a list, at least one.
    fn members(&self) -> Result<Vec<Field<'_>>, Refusal> {
        let Value::List(list) = &self.node.value else { return Err(self.wrong_type()) };
        if list.is_empty() {
            return Err(self.out_of_range("a list of at least one"));
        }
        let member = |node| Field { label: self.label, key: self.key, node: Cow::Borrowed(node) };
        Ok(list.iter().map(member).collect())
    }

    /// A share from 0 to 1, as a number or in percent.
    pub(super) fn share(self) -> Result<f64, Refusal> {
        let share = match &self.node.value {
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            Value::Text(text) => {
                let number = text.trim().strip_suffix('%').map(str::trim_end);
                let is_plain = |c: char| c.is_ascii_digit() || c == '.';
                let number = number.filter(|number| number.chars().all(is_plain));
                number.and_then(|number| number.parse::<f64>().ok()).ok_or_else(|| self.wrong_type())? / 100.0
            }
            _ => return Err(self.wrong_type()),
        };
        if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(self.out_of_range("from 0 to 1")) }
    }

    /// A percentile in results.
    pub(super) fn percentile(self) -> Result<Percentile, Refusal> {
        let percent = match &self.node.value {
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            _ => return Err(self.wrong_type()),
        };
        let known = Statistic::percentiles().map(|(_, percentile)| percentile);
        let found =
            Percentile::new(percent).and_then(|asked| known.into_iter().find(|known| *known == asked));
        found.ok_or_else(|| self.out_of_range("1, 5, 10, 25, 50, 75, 90, 95, 99 or 99.9"))
    }

    /// A bound of a figure of `metric`, in its unit.
    pub(super) fn bound(self, metric: &Metric) -> Result<f64, Refusal> {
        let takes = |what: &str, example: &str| {
            let message = format!("`{}` of `{}` takes {what}", self.label, metric.tag);
            Refusal::new(message, format!("write it like `{} = {example}`", self.label))
        };
        let text = match &self.node.value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        };
        let number = match self.node.value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        };
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        match metric.unit {
            Unit::Ms => {
                let time = text.and_then(|text| parse_duration(text).ok()).filter(|time| *time <= LONGEST);
                time.map(|time| time.as_secs_f64() * 1e3).ok_or_else(|| takes("a time", "\"3s\""))
            }
            Unit::Share => {
                let error = takes("a share", "\"99%\"");
                self.share().map_err(|_| error)
            }
            Unit::TokensPerSecond | Unit::RequestsPerSecond => {
                let rate = text.and_then(|text| parse_rate(text).ok());
                rate.map(Rate::as_per_second).ok_or_else(|| takes("a rate", "\"500/s\""))
            }
            Unit::Tokens => {
                let tokens = text.and_then(|text| parse_tokens(text).ok()).map(|tokens| tokens as f64);
                tokens.or(number).ok_or_else(|| takes("a number of tokens", "4096"))
            }
            Unit::Requests => number.ok_or_else(|| takes("a number", "0")),
        }
    }

    /// A number of bytes of at least 1.
    pub(super) fn bytes(self) -> Result<u64, Refusal> {
        let bytes = match &self.node.value {
            Value::Integer(number) => u64::try_from(*number).unwrap_or_default(),
            Value::Text(text) => parse_bytes(text).map_err(|error| self.ill_formed(error))?,
            _ => return Err(self.wrong_type()),
        };
        // What a file of ours can hold again.
        if (1..=i64::MAX as u64).contains(&bytes) {
            Ok(bytes)
        } else {
            Err(self.out_of_range("at least a byte"))
        }
    }

    /// A number of tokens of at least 1.
    pub(super) fn tokens(self) -> Result<u64, Refusal> {
        let tokens = match &self.node.value {
            Value::Integer(number) => {
                u64::try_from(*number).unwrap_or(if *number < 0 { 0 } else { u64::MAX })
            }
            Value::Text(text) => parse_tokens(text).map_err(|error| self.ill_formed(error))?,
            _ => return Err(self.wrong_type()),
        };
        // What a planned request can hold.
        if (1..=u64::from(u32::MAX)).contains(&tokens) {
            Ok(tokens)
        } else {
            Err(self.out_of_range(&format!("from 1 to {}", u32::MAX)))
        }
    }
}
