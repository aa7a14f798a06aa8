//! The limits of the verdict, as keys.

use std::time::Duration;

use super::tables::key;
use super::{Fallback, Key, Kind, Table};
use crate::stats::thresholds::{LIMITS, Limit, LimitUnit};

pub(super) const VERDICT: Table = Table {
    path: "verdict",
    doc: "The limits that findings, and so the verdict, go by. Each has a default with a reason; the manifest tells which \
          were used. A finding is made where its limit is exceeded (or, for answers and caches, fallen short of).",
    example: r#"[verdict]
delay_invalid = "2ms"
failed = "0.1%"
few_answers = 300"#,
    one_of: &[],
    keys: &KEYS,
};

const KEYS: [Key; LIMITS.len()] = {
    let mut keys = [const { of(&LIMITS[0]) }; LIMITS.len()];
    let mut place = 1;
    while place < LIMITS.len() {
        keys[place] = of(&LIMITS[place]);
        place += 1;
    }
    keys
};

const fn of(limit: &Limit) -> Key {
    let kind = match limit.unit {
        LimitUnit::Ms => Kind::Duration { min: Duration::ZERO },
        LimitUnit::Share => Kind::Share,
        LimitUnit::Count => Kind::Integer { min: 1, max: 1_000_000_000 },
        LimitUnit::Times => Kind::Number,
        LimitUnit::Bytes => Kind::Bytes,
    };
    key(limit.key, kind, Fallback::Value(limit.default), limit.example, limit.doc)
}
