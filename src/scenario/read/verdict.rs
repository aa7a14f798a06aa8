//! The limits of the verdict.

use std::time::Duration;

use crate::scenario::fields::Fields;
use crate::scenario::values::Field;
use crate::stats::Thresholds;

/// The limits of `[verdict]`.
pub(super) fn thresholds(fields: &Fields<'_>) -> Option<Thresholds> {
    // All are read before it is asked whether all could be.
    let share = |name| fields.value(name, Field::share);
    let number = |name| fields.value(name, Field::number);
    let ms = |name| fields.value(name, Field::duration).map(|time: Duration| time.as_secs_f64() * 1e3);
    let (delay_ms, delay_share) = (ms("delay"), share("delay_share"));
    let (delay_invalid_ms, delay_invalid_share) = (ms("delay_invalid"), share("delay_invalid_share"));
    let (shared_reads, client_errors) = (share("shared_reads"), share("client_errors"));
    let (rate_not_reached, few_answers) =
        (share("rate_not_reached"), fields.value("few_answers", Field::integer));
    let (growing, short_window) = (number("growing"), number("short_window"));
    let (unfinished, unfinished_insufficient) = (share("unfinished"), share("unfinished_insufficient"));
    let (failed, failed_insufficient) = (share("failed"), share("failed_insufficient"));
    let (prompt_length, output_length) = (share("prompt_length"), share("output_length"));
    let (truncated, repeated_rows) = (share("truncated"), share("repeated_rows"));
    let (strange_hits, cache_unused) = (share("strange_hits"), share("cache_unused"));
    let (bursts, no_answer) = (share("bursts"), share("no_answer"));
    let (not_right_truncated, accuracy_falls) = (share("not_right_truncated"), share("accuracy_falls"));
    check_order(fields, "delay", delay_ms, "delay_invalid", delay_invalid_ms);
    check_order(fields, "delay_share", delay_share, "delay_invalid_share", delay_invalid_share);
    check_order(fields, "unfinished", unfinished, "unfinished_insufficient", unfinished_insufficient);
    check_order(fields, "failed", failed, "failed_insufficient", failed_insufficient);
    Some(Thresholds {
        delay_ms: delay_ms?,
        delay_share: delay_share?,
        delay_invalid_ms: delay_invalid_ms?,
        delay_invalid_share: delay_invalid_share?,
        shared_reads: shared_reads?,
        client_errors: client_errors?,
        rate_not_reached: rate_not_reached?,
        few_answers: few_answers?,
        growing: growing?,
        short_window: short_window?,
        unfinished: unfinished?,
        unfinished_insufficient: unfinished_insufficient?,
        failed: failed?,
        failed_insufficient: failed_insufficient?,
        prompt_length: prompt_length?,
        output_length: output_length?,
        truncated: truncated?,
        repeated_rows: repeated_rows?,
        strange_hits: strange_hits?,
        cache_unused: cache_unused?,
        bursts: bursts?,
        no_answer: no_answer?,
        not_right_truncated: not_right_truncated?,
        accuracy_falls: accuracy_falls?,
    })
}

/// What is mentioned comes before what makes figures not stand.
fn check_order(fields: &Fields<'_>, mild: &str, low: Option<f64>, grave: &str, high: Option<f64>) {
    if low.zip(high).is_some_and(|(low, high)| low > high) {
        let at = if fields.has(mild) { mild } else { grave };
        let help =
            format!("a finding is mentioned before it weighs more: raise `{grave}`, or lower `{mild}`");
        fields.problems.error(fields.place(at), format!("`{mild}` is above `{grave}`"), help);
    }
}
