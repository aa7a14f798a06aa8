//! The limits of the verdict.

use std::collections::BTreeMap;

use crate::scenario::fields::Fields;
use crate::scenario::values::Field;
use crate::stats::Thresholds;
use crate::stats::thresholds::{LIMITS, LimitUnit};

/// Limits from which a thing is mentioned, and from which it weighs more.
const GRADED: [(&str, &str); 4] = [
    ("delay", "delay_invalid"),
    ("delay_share", "delay_invalid_share"),
    ("unfinished", "unfinished_insufficient"),
    ("failed", "failed_insufficient"),
];

/// The limits of `[verdict]`.
pub(super) fn thresholds(fields: &Fields<'_>) -> Option<Thresholds> {
    let mut limits = Thresholds::default();
    let mut read = BTreeMap::new();
    for limit in LIMITS {
        let value = match limit.unit {
            LimitUnit::Ms => fields.value(limit.key, Field::duration).map(|time| time.as_secs_f64() * 1e3),
            LimitUnit::Share => fields.value(limit.key, Field::share),
            LimitUnit::Count => fields.value(limit.key, Field::integer).map(|count: u64| count as f64),
            LimitUnit::Times => fields.value(limit.key, Field::number),
            LimitUnit::Bytes => fields.value(limit.key, Field::bytes).map(|bytes| bytes as f64),
        };
        if let Some(value) = value {
            (limit.set)(&mut limits, value);
            read.insert(limit.key, value);
        }
    }
    for (mild, grave) in GRADED {
        check_order(fields, &read, mild, grave);
    }
    (read.len() == LIMITS.len()).then_some(limits)
}

/// What is mentioned comes before what makes figures not stand.
fn check_order(fields: &Fields<'_>, read: &BTreeMap<&str, f64>, mild: &str, grave: &str) {
    if read.get(mild).zip(read.get(grave)).is_some_and(|(low, high)| low > high) {
        let at = if fields.has(mild) { mild } else { grave };
        let help =
            format!("a finding is mentioned before it weighs more: raise `{grave}`, or lower `{mild}`");
        fields.problems.error(fields.place(at), format!("`{mild}` is above `{grave}`"), help);
    }
}
