//! `[verdict]` written out.

use std::time::Duration;

use super::{Lines, number, quoted};
use crate::stats::Thresholds;
use crate::stats::thresholds::{LIMITS, LimitUnit};
use crate::units::{write_bytes, write_duration};

pub(super) fn write(out: &mut Lines<'_>, limits: &Thresholds) {
    out.header("[verdict]", "verdict.");
    for limit in LIMITS {
        let value = (limit.of)(limits);
        let text = match limit.unit {
            LimitUnit::Ms => quoted(&write_duration(Duration::from_secs_f64(value / 1e3))),
            LimitUnit::Bytes => quoted(&write_bytes(value as u64)),
            LimitUnit::Count => (value as u64).to_string(),
            LimitUnit::Share | LimitUnit::Times => number(value),
        };
        out.put(limit.key, text);
    }
}
