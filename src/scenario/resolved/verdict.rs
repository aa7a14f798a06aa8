//! `[verdict]` written out.

use std::time::Duration;

use super::{Lines, number, quoted};
use crate::stats::Thresholds;
use crate::units::write_duration;

pub(super) fn write(out: &mut Lines<'_>, limits: &Thresholds) {
    out.header("[verdict]", "verdict.");
    let ms = |value: f64| quoted(&write_duration(Duration::from_secs_f64(value / 1e3)));
    out.put("delay", ms(limits.delay_ms));
    out.put("delay_share", number(limits.delay_share));
    out.put("delay_invalid", ms(limits.delay_invalid_ms));
    out.put("delay_invalid_share", number(limits.delay_invalid_share));
    out.put("shared_reads", number(limits.shared_reads));
    out.put("client_errors", number(limits.client_errors));
    out.put("rate_not_reached", number(limits.rate_not_reached));
    out.put("few_answers", limits.few_answers);
    out.put("growing", number(limits.growing));
    out.put("short_window", number(limits.short_window));
    out.put("unfinished", number(limits.unfinished));
    out.put("unfinished_insufficient", number(limits.unfinished_insufficient));
    out.put("failed", number(limits.failed));
    out.put("failed_insufficient", number(limits.failed_insufficient));
    out.put("prompt_length", number(limits.prompt_length));
    out.put("output_length", number(limits.output_length));
    out.put("truncated", number(limits.truncated));
    out.put("repeated_rows", number(limits.repeated_rows));
    out.put("strange_hits", number(limits.strange_hits));
    out.put("cache_unused", number(limits.cache_unused));
    out.put("bursts", number(limits.bursts));
    out.put("no_answer", number(limits.no_answer));
    out.put("not_right_truncated", number(limits.not_right_truncated));
    out.put("accuracy_falls", number(limits.accuracy_falls));
}
