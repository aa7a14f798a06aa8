//! The limits that findings go by: one row of [`LIMITS`] each, which scenario, manifest and documentation follow.

use serde::{Deserialize, Serialize};

/// A limit: its key in `[verdict]`, what it is counted in, and why it is as it is.
#[derive(Debug)]
pub struct Limit {
    /// Its key in `[verdict]`.
    pub key: &'static str,
    /// What it is counted in.
    pub unit: LimitUnit,
    /// What holds where it is not set, as a scenario would write it.
    pub default: &'static str,
    /// Another value, written the same way.
    pub example: &'static str,
    /// What is limited, and the reason of the default.
    pub doc: &'static str,
    /// Its value.
    pub of: fn(&Thresholds) -> f64,
    /// Sets it.
    pub set: fn(&mut Thresholds, f64),
}

/// What a limit is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    /// A time, in ms.
    Ms,
    /// A share, from 0 to 1.
    Share,
    /// Whole things, at least one.
    Count,
    /// So many times something.
    Times,
    /// A size, in bytes.
    Bytes,
}

/// A key leaves the unit to its value: `delay = "1ms"`.
const fn key_of(field: &'static str, unit: LimitUnit) -> &'static str {
    match unit {
        LimitUnit::Ms => field.split_at(field.len() - "_ms".len()).0,
        LimitUnit::Bytes => field.split_at(field.len() - "_bytes".len()).0,
        _ => field,
    }
}

/// One row a limit: its field in the manifest, its default, another value, and what it is for.
macro_rules! limits {
    ($($field:ident: $unit:ident($default:literal), $example:literal, $doc:literal;)*) => {
        /// What has to be exceeded, or fallen short of, for a finding. As written in the manifest.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Thresholds {
            $(#[doc = $doc] pub $field: limits!(@type $unit),)*
        }

        impl Default for Thresholds {
            fn default() -> Thresholds {
                Thresholds { $($field: limits!(@value $unit $default),)* }
            }
        }

        /// Every limit, in the order of the documentation.
        pub const LIMITS: &[Limit] = &[$(Limit {
            key: key_of(stringify!($field), LimitUnit::$unit),
            unit: LimitUnit::$unit,
            default: limits!(@text $unit $default),
            example: $example,
            doc: $doc,
            of: |limits| limits.$field as f64,
            set: |limits, value| limits.$field = value as limits!(@type $unit),
        },)*];
    };
    (@type Count) => { u64 };
    (@type Bytes) => { u64 };
    (@type $unit:ident) => { f64 };
    (@value Count $default:literal) => { $default };
    (@value Bytes $mib:literal) => { $mib << 20 };
    (@value Share $default:literal) => { $default as f64 / 100.0 };
    (@value $unit:ident $default:literal) => { $default as f64 };
    (@text Ms $default:literal) => { concat!("\"", $default, "ms\"") };
    (@text Bytes $mib:literal) => { concat!("\"", $mib, "MiB\"") };
    (@text Share $default:literal) => { concat!("\"", $default, "%\"") };
    (@text $unit:ident $default:literal) => { concat!("", $default) };
}

limits! {
    delay_ms: Ms(1), r#""500us""#,
        "The client's own delay (`send_delay`, `loop_delay`, `read_delay`, each as p99) from which it is \
         mentioned, if it is also more than `delay_share`. Below, timers and the scheduler of any machine \
         show.";
    delay_share: Share(5), r#""2%""#,
        "The same as a share of the median TTFT: below, it drowns in what is measured.";
    delay_invalid_ms: Ms(10), r#""2ms""#,
        "Own delay from which the run is invalid, if it is also more than `delay_invalid_share`.";
    delay_invalid_share: Share(10), r#""5%""#,
        "The same as a share of the median TTFT: as much as the differences that people test for.";
    shared_reads: Share(20), r#""5%""#,
        "Reads that bring several events: from here on gaps are those between reads.";
    sender_cpu: Share(80), r#""60%""#,
        "Time that the sender, which is one thread, is at work: above, what comes meanwhile waits for twice as long as \
         it takes, and longer the more there is.";
    clock_step_ms: Ms(10), r#""1s""#,
        "A change of the time of day between two looks, a twentieth of a second apart: slewing is at most half as fast.";
    backlog_bytes: Bytes(16), r#""4MiB""#,
        "Events that wait to be taken in: a quarter of what makes texts and single events be left out.";
    memory: Share(50), r#""25%""#,
        "The most memory of the client, of what the machine or its control group has: above, twice the load has no room.";
    client_errors: Share(0.1), r#""0%""#,
        "Requests that failed in the client itself: above, the run is invalid, since p99.9 would lie among \
         them.";
    rate_not_reached: Share(2), r#""1%""#,
        "How far the rate sent may fall short of the rate due: more than the ends of a window can blur.";
    few_answers: Count(36), "300",
        "The fewest `ok` answers, and the fewest independent ones that they are worth, without which the \
         sample is insufficient: as many as an interval of p90 needs.";
    growing: Times(0.5), "0.2",
        "By how much requests in flight and TTFT may both rise over a window, as a share of where they began: \
         above, beyond chance, the server does not keep up and the sample is insufficient.";
    short_window: Times(5), "20",
        "The shortest window, in median end-to-end times: shorter ones are mostly begin and end.";
    unfinished: Share(1), r#""0.5%""#,
        "Unfinished answers that are mentioned: p99 lies among them.";
    unfinished_insufficient: Share(10), r#""5%""#,
        "Unfinished answers from which the sample is insufficient: p90 lies among them.";
    failed: Share(1), r#""0.1%""#,
        "Failed requests that are mentioned: the latencies of the others may be those of a server that sheds \
         load.";
    failed_insufficient: Share(10), r#""5%""#,
        "Failed requests from which the sample is insufficient: a tenth of all has no latency at all.";
    prompt_length: Share(5), r#""1%""#,
        "How far prompts may differ from the length asked for: a load of other lengths is another load.";
    output_length: Share(5), r#""1%""#,
        "The same for answers whose length is exact.";
    truncated: Share(10), r#""50%""#,
        "Answers cut at their token limit: above, lengths say more of the limit than of the model.";
    repeated_rows: Share(1), r#""100%""#,
        "Requests that ask a row of a data set again: above, a prefix cache shows.";
    strange_hits: Share(5), r#""1%""#,
        "Prompt tokens that the server's cache knew though this run had not brought them: above, it shows in \
         TTFT.";
    cache_unused: Share(5), r#""50%""#,
        "Of the prompt tokens that the cache could know, those that it has to: below, it is as good as none. \
         Judged where a tenth of the prompt tokens could be known.";
    bursts: Share(50), r#""20%""#,
        "Events that came together with the one before: above, gaps describe a buffer.";
    no_answer: Share(5), r#""1%""#,
        "Answers in which `score` finds none that are mentioned: accuracy says as much of their form as of \
         their sense.";
    not_right_truncated: Share(50), r#""20%""#,
        "Answers that are not right and were cut, among those that are not right: above, the limit explains \
         accuracy.";
    accuracy_falls: Share(2), r#""5%""#,
        "The least difference in accuracy, by length, depth or load, that is mentioned where it is beyond \
         chance: less is not worth a word, however certain.";
}
