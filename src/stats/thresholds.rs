//! The limits that findings go by. `docs/scenario.md` gives the reason of each under `[verdict]`, where they are set.

use serde::{Deserialize, Serialize};

/// What has to be exceeded, or fallen short of, for a finding. Shares are from 0 to 1. As written in the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thresholds {
    /// Own delay of the client (p99) from which it is mentioned, if it is also `delay_share`.
    pub delay_ms: f64,
    /// The same as a share of the median TTFT.
    pub delay_share: f64,
    /// Own delay from which figures cannot stand, if it is also `delay_invalid_share`.
    pub delay_invalid_ms: f64,
    /// The same as a share of the median TTFT.
    pub delay_invalid_share: f64,
    /// Share of reads that bring several events.
    pub shared_reads: f64,
    /// Share of requests that failed in the client, above which figures cannot stand.
    pub client_errors: f64,
    /// Share of what was due that was not sent.
    pub rate_not_reached: f64,
    /// The fewest answers, and independent ones, to speak of.
    pub few_answers: u64,
    /// Rise of requests in flight and TTFT over a window.
    pub growing: f64,
    /// The shortest window, in median answers.
    pub short_window: f64,
    /// Share of unfinished answers that is mentioned.
    pub unfinished: f64,
    /// That from which the sample does not carry figures.
    pub unfinished_insufficient: f64,
    /// Share of failed requests that is mentioned.
    pub failed: f64,
    /// That from which the sample does not carry figures.
    pub failed_insufficient: f64,
    /// How far real prompts may differ in length from those asked for.
    pub prompt_length: f64,
    /// The same for answers.
    pub output_length: f64,
    /// Share of answers cut at their token limit.
    pub truncated: f64,
    /// Share of requests that ask a row again.
    pub repeated_rows: f64,
    /// Share of prompt tokens that a cache knew though the run had not brought them.
    pub strange_hits: f64,
    /// Share of tokens a cache could know below which it is as good as none.
    pub cache_unused: f64,
    /// Share of gaps of no time.
    pub bursts: f64,
    /// Share of answers without one.
    pub no_answer: f64,
    /// Share of answers not right that were cut.
    pub not_right_truncated: f64,
    /// The least difference in accuracy between two groups of answers.
    pub accuracy_falls: f64,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds {
            delay_ms: 1.0,
            delay_share: 0.05,
            delay_invalid_ms: 10.0,
            delay_invalid_share: 0.1,
            shared_reads: 0.2,
            client_errors: 0.001,
            rate_not_reached: 0.02,
            few_answers: 36,
            growing: 0.5,
            short_window: 5.0,
            unfinished: 0.01,
            unfinished_insufficient: 0.1,
            failed: 0.01,
            failed_insufficient: 0.1,
            prompt_length: 0.05,
            output_length: 0.05,
            truncated: 0.1,
            repeated_rows: 0.01,
            strange_hits: 0.05,
            cache_unused: 0.05,
            bursts: 0.5,
            no_answer: 0.05,
            not_right_truncated: 0.5,
            accuracy_falls: 0.02,
        }
    }
}
