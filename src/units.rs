//! Times and amounts with their unit in the type.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// An instant: nanoseconds since the clock was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The instant the clock was made.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than any instant a run can reach.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// Time from `earlier` to here; zero if `earlier` is later.
    pub fn since(self, earlier: Nanos) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// As whole microseconds from `origin`, rounded half to even; instants before `origin` give zero.
    ///
    /// Every instant of a result row is rounded once, by this, and every figure is computed from rounded
    /// instants, so that figures can be rebuilt from the files to the last digit.
    pub fn micros_from(self, origin: Nanos) -> Micros {
        Micros(round_half_even(self.0.saturating_sub(origin.0), 1_000))
    }
}

impl Add<Duration> for Nanos {
    type Output = Nanos;

    fn add(self, duration: Duration) -> Nanos {
        Nanos(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Whole microseconds: an instant from run start, or a difference of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

impl Micros {
    /// A measured span, rounded half to even.
    pub fn from_duration(duration: Duration) -> Micros {
        Micros(round_half_even(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), 1_000))
    }

    /// As milliseconds.
    pub fn as_ms(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// As seconds.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Sub for Micros {
    type Output = Micros;

    /// The difference; zero where the right side is larger.
    fn sub(self, earlier: Micros) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }
}

/// Events per second: finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// A rate of `per_second` events; `None` unless it is finite and above zero.
    pub fn per_second(per_second: f64) -> Option<Rate> {
        (per_second.is_finite() && per_second > 0.0).then_some(Rate(per_second))
    }

    /// Events per second.
    pub fn as_per_second(self) -> f64 {
        self.0
    }
}

/// `value / unit`, ties to the even neighbour.
fn round_half_even(value: u64, unit: u64) -> u64 {
    let (whole, rest) = (value / unit, value % unit);
    match (rest * 2).cmp(&unit) {
        std::cmp::Ordering::Less => whole,
        std::cmp::Ordering::Greater => whole + 1,
        std::cmp::Ordering::Equal => whole + whole % 2,
    }
}

/// Why a text is not a duration, rate, size or number of tokens. It says what is wrong, the form expected, and an
/// example; never the text itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitError {
    problem: &'static str,
    form: &'static str,
}

impl UnitError {
    /// The form expected, with an example.
    pub fn form(self) -> &'static str {
        self.form
    }

    /// What is wrong with the text.
    pub fn problem(self) -> &'static str {
        self.problem
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.problem, self.form)
    }
}

impl std::error::Error for UnitError {}

const DURATION_FORM: &str =
    r#"a duration is a number with `us`, `ms`, `s`, `m` or `h`, such as "250ms" or "1m30s""#;
const RATE_FORM: &str = r#"a rate is a number per `s`, `min` or `h`, such as "6/s" or "90/min""#;
const TOKENS_FORM: &str = r#"a number of tokens is a whole number, with `k` (1,000s) or `Ki` (1,024s) in quotes, such as 4096 or "4Ki""#;

const BYTES_FORM: &str = r#"a size is a number with `GB`, `GiB` or the like, such as "24GiB" or "141GB""#;

/// Units of durations, largest first, with their nanoseconds.
const DURATION_UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Reads `"250ms"`, `"1m30s"`, `"1.5s"`: numbers with units, the larger unit first, each at most once.
///
/// # Errors
/// When the text is anything else, finer than a nanosecond or longer than 584 years.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let refuse = |problem| UnitError { problem, form: DURATION_FORM };
    if text.is_empty() {
        return Err(refuse("the text is empty"));
    }
    let (mut rest, mut total_ns, mut larger_unit) = (text, 0_u64, u64::MAX);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        if number.is_empty() {
            return Err(refuse("a number is missing"));
        }
        if unit.is_empty() {
            return Err(refuse("a unit is missing"));
        }
        let Some(&(_, unit_ns)) = DURATION_UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(refuse("a unit is not known"));
        };
        if unit_ns >= larger_unit {
            return Err(refuse("units go from large to small, each once"));
        }
        let part_ns = scaled(number, unit_ns).ok_or(refuse("a number cannot be read to the nanosecond"))?;
        total_ns = total_ns.checked_add(part_ns).ok_or(refuse("it is too long"))?;
        (rest, larger_unit) = (tail, unit_ns);
    }
    Ok(Duration::from_nanos(total_ns))
}

/// Writes a duration as [`parse_duration`] reads it: `1m30s`. Beyond 584 years the longest readable one.
pub fn write_duration(duration: Duration) -> String {
    let mut rest_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    if rest_ns == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (unit, unit_ns) in DURATION_UNITS {
        if rest_ns >= unit_ns {
            text += &format!("{}{unit}", rest_ns / unit_ns);
            rest_ns %= unit_ns;
        }
    }
    text
}

/// `number` (`12` or `1.25`) times `unit`, if that is a whole number below 2⁶⁴.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.len() > 18 {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let denominator = 10_u128.pow(fraction.len() as u32);
    let part = u128::from(fraction.parse::<u64>().ok()?) * u128::from(unit);
    if !part.is_multiple_of(denominator) {
        return None;
    }
    whole.checked_add(u64::try_from(part / denominator).ok()?)
}

/// Units of rates with their seconds.
const RATE_UNITS: [(&str, f64); 3] = [("s", 1.0), ("min", 60.0), ("h", 3_600.0)];

/// Reads `"6/s"`, `"90/min"`, `"0.5/s"`.
///
/// # Errors
/// When the text is anything else, or the rate is not above zero.
pub fn parse_rate(text: &str) -> Result<Rate, UnitError> {
    let refuse = |problem| UnitError { problem, form: RATE_FORM };
    let (number, unit) = text.split_once('/').ok_or(refuse("the time is missing"))?;
    let Some(&(_, unit_s)) = RATE_UNITS.iter().find(|(name, _)| *name == unit.trim()) else {
        return Err(refuse("the time is not one of `s`, `min`, `h`"));
    };
    let number = number.trim();
    if number.is_empty()
        || number.contains(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | 'e' | 'E' | '-'))
    {
        return Err(refuse("the number cannot be read"));
    }
    let number = number.parse::<f64>().map_err(|_| refuse("the number cannot be read"))?;
    Rate::per_second(number / unit_s).ok_or(refuse("it must be above zero"))
}

/// Writes a rate as [`parse_rate`] reads it, to the last bit, in the unit that gives a whole number if one does.
pub fn write_rate(rate: Rate) -> String {
    let per_second = rate.as_per_second();
    for (unit, unit_s) in RATE_UNITS {
        let number = libm::rint(per_second * unit_s);
        if (1.0..1e15).contains(&number) && number / unit_s == per_second {
            return format!("{number}/{unit}");
        }
    }
    format!("{per_second:e}/s")
}

/// Reads a number of tokens given as text: `"4096"`, `"4k"` (1,000s), `"4Ki"` (1,024s), `"1M"`, `"1Mi"`.
///
/// # Errors
/// When the text is anything else, or the number passes 2⁶⁴.
pub fn parse_tokens(text: &str) -> Result<u64, UnitError> {
    let refuse = |problem| UnitError { problem, form: TOKENS_FORM };
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor = match suffix {
        "" => 1,
        "k" => 1_000,
        "Ki" => 1_024,
        "M" => 1_000_000,
        "Mi" => 1_048_576,
        _ => return Err(refuse("the ending is not one of `k`, `Ki`, `M`, `Mi`")),
    };
    if number.is_empty() {
        return Err(refuse("the number is missing"));
    }
    number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).ok_or(refuse("it is too large"))
}

/// Units of sizes, largest first, with their bytes.
const BYTE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];

/// Reads a size given as text: `"24GiB"`, `"141 GB"`, `"1.5GB"`.
///
/// # Errors
/// When the text is anything else, not a whole number of bytes, or passes 2⁶⁴.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let refuse = |problem| UnitError { problem, form: BYTES_FORM };
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let Some(&(_, bytes)) = BYTE_UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(refuse("the unit is not one of `B`, `kB`, `KiB`, `MB`, `MiB`, `GB`, `GiB`, `TB`, `TiB`"));
    };
    scaled(number, bytes).ok_or(refuse("the number cannot be read to the byte"))
}

/// Writes a size as [`parse_bytes`] reads it, in the largest unit that gives a whole number.
pub fn write_bytes(bytes: u64) -> String {
    let whole = BYTE_UNITS.iter().find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    whole.map_or("0B".to_owned(), |(name, unit)| format!("{}{name}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_round_half_to_even_microseconds() {
        for (nanos, micros) in [(0, 0), (499, 0), (500, 0), (501, 1), (1_500, 2), (2_500, 2), (2_501, 3)] {
            assert_eq!(Nanos(nanos).micros_from(Nanos::ZERO), Micros(micros), "{nanos} ns");
        }
    }

    #[test]
    fn durations_are_read_from_text() {
        let cases = [
            ("250ms", 250_000_000),
            ("1m30s", 90_000_000_000),
            ("2h", 7_200_000_000_000),
            ("500us", 500_000),
            ("0s", 0),
            ("1.5s", 1_500_000_000),
            ("1h0.000000001s", 3_600_000_000_001),
        ];
        for (text, ns) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_form_and_example() {
        let bad =
            ["", "5", "s", "5 s", "5min", "1s1m", "1s1s", "-1s", "1.s", ".5s", "0.5ns", "99999999h", "1s "];
        for text in bad {
            let error = parse_duration(text).unwrap_err().to_string();
            assert!(error.contains("1m30s"), "{text}: {error}");
        }
        insta::assert_snapshot!(parse_duration("30").unwrap_err(), @r#"a unit is missing: a duration is a number with `us`, `ms`, `s`, `m` or `h`, such as "250ms" or "1m30s""#);
    }

    #[test]
    fn rates_are_read_from_text() {
        for (text, per_second) in [("6/s", 6.0), ("90/min", 1.5), ("10/h", 10.0 / 3600.0), ("0.5 / s", 0.5)] {
            assert_eq!(parse_rate(text).map(Rate::as_per_second), Ok(per_second), "{text}");
        }
        for text in ["10", "", "/s", "0/s", "-1/s", "inf/s", "nan/s", "6/m", "6/sec", "1e999/s", "+1/s"] {
            let error = parse_rate(text).unwrap_err().to_string();
            assert!(error.contains("\"6/s\""), "{text}: {error}");
        }
    }

    #[test]
    fn tokens_are_read_from_text() {
        let cases = [
            ("4096", 4096),
            ("4Ki", 4096),
            ("4k", 4000),
            ("120Ki", 122_880),
            ("1M", 1_000_000),
            ("1Mi", 1 << 20),
        ];
        for (text, tokens) in cases {
            assert_eq!(parse_tokens(text), Ok(tokens), "{text}");
        }
        for text in ["", "k", "4K", "4 k", "-4", "1.5k", "99999999999999999999", "9999999999999999999k"] {
            assert!(parse_tokens(text).unwrap_err().to_string().contains("4Ki"), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_from_text() {
        let cases = [("24GiB", 24 << 30), ("141 GB", 141_000_000_000), ("1.5kB", 1_500), ("7B", 7)];
        for (text, bytes) in cases {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "24", "GB", "24 gb", "1.5B", "-1GB", "24  GiB", "99999999TiB", "1.GB"] {
            assert!(parse_bytes(text).unwrap_err().to_string().contains("24GiB"), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_written_size_reads_the_same(bytes: u64, unit in 0..9_usize) {
            for bytes in [bytes, bytes % 1_000 * BYTE_UNITS[unit].1] {
                proptest::prop_assert_eq!(parse_bytes(&write_bytes(bytes)), Ok(bytes));
            }
        }

        #[test]
        fn a_written_duration_reads_the_same(ns: u64) {
            let duration = Duration::from_nanos(ns);
            proptest::prop_assert_eq!(parse_duration(&write_duration(duration)), Ok(duration));
        }

        #[test]
        fn a_written_rate_reads_the_same(per_second in 1e-12..1e12_f64, whole in 1..100_000_u32, unit in 0..3_usize) {
            for per_second in [per_second, f64::from(whole) / RATE_UNITS[unit].1] {
                let rate = Rate::per_second(per_second).unwrap();
                proptest::prop_assert_eq!(parse_rate(&write_rate(rate)), Ok(rate), "{}", write_rate(rate));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = (parse_duration(&text), parse_rate(&text), parse_tokens(&text), parse_bytes(&text));
        }
    }
}
