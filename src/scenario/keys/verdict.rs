//! The limits of the verdict. A key has the name of the finding that it is the limit of.

use std::time::Duration;

use super::tables::key;
use super::{Fallback, Key, Kind, Table};

const fn share(name: &'static str, default: &'static str, example: &'static str, doc: &'static str) -> Key {
    key(name, Kind::Share, Fallback::Value(default), example, doc)
}

const fn time(name: &'static str, default: &'static str, example: &'static str, doc: &'static str) -> Key {
    key(name, Kind::Duration { min: Duration::ZERO }, Fallback::Value(default), example, doc)
}

pub(super) const VERDICT: Table = Table {
    path: "verdict",
    doc: "The limits that findings, and so the verdict, go by. Each has a default with a reason; the manifest tells which \
          were used. A finding is made where its limit is exceeded (or, for answers and caches, fallen short of).",
    example: r#"[verdict]
delay_invalid = "2ms"
failed = "0.1%"
few_answers = 300"#,
    one_of: &[],
    keys: &[
        time(
            "delay",
            r#""1ms""#,
            r#""500us""#,
            "The client's own delay (`send_delay`, `loop_delay`, `read_delay`, each as p99) from which it is mentioned, if \
             it is also more than `delay_share`. Below, timers and the scheduler of any machine show.",
        ),
        share(
            "delay_share",
            r#""5%""#,
            r#""2%""#,
            "The same as a share of the median TTFT: below, it drowns in what is measured.",
        ),
        time(
            "delay_invalid",
            r#""10ms""#,
            r#""2ms""#,
            "Own delay from which the run is invalid, if it is also more than `delay_invalid_share`.",
        ),
        share(
            "delay_invalid_share",
            r#""10%""#,
            r#""5%""#,
            "The same as a share of the median TTFT: as much as the differences that people test for.",
        ),
        share(
            "shared_reads",
            r#""20%""#,
            r#""5%""#,
            "Reads that bring several events: from here on gaps are those between reads.",
        ),
        share(
            "client_errors",
            r#""0.1%""#,
            r#""0%""#,
            "Requests that failed in the client itself: above, the run is invalid, since p99.9 would lie among them.",
        ),
        share(
            "rate_not_reached",
            r#""2%""#,
            r#""1%""#,
            "How far the rate sent may fall short of the rate due: more than the ends of a window can blur.",
        ),
        key(
            "few_answers",
            Kind::Integer { min: 1, max: 1_000_000_000 },
            Fallback::Value("36"),
            "300",
            "The fewest `ok` answers, and the fewest independent ones that they are worth, without which the sample is \
             insufficient: as many as an interval of p90 needs.",
        ),
        key(
            "growing",
            Kind::Number,
            Fallback::Value("0.5"),
            "0.2",
            "By how much requests in flight and TTFT may both rise over a window, as a share of where they began: above, \
             beyond chance, the server does not keep up and the sample is insufficient.",
        ),
        key(
            "short_window",
            Kind::Number,
            Fallback::Value("5"),
            "20",
            "The shortest window, in median end-to-end times: shorter ones are mostly begin and end.",
        ),
        share(
            "unfinished",
            r#""1%""#,
            r#""0.5%""#,
            "Unfinished answers that are mentioned: p99 lies among them.",
        ),
        share(
            "unfinished_insufficient",
            r#""10%""#,
            r#""5%""#,
            "Unfinished answers from which the sample is insufficient: p90 lies among them.",
        ),
        share(
            "failed",
            r#""1%""#,
            r#""0.1%""#,
            "Failed requests that are mentioned: the latencies of the others may be those of a server that sheds load.",
        ),
        share(
            "failed_insufficient",
            r#""10%""#,
            r#""5%""#,
            "Failed requests from which the sample is insufficient: a tenth of all has no latency at all.",
        ),
        share(
            "prompt_length",
            r#""5%""#,
            r#""1%""#,
            "How far prompts may differ from the length asked for: a load of other lengths is another load.",
        ),
        share("output_length", r#""5%""#, r#""1%""#, "The same for answers whose length is exact."),
        share(
            "truncated",
            r#""10%""#,
            r#""50%""#,
            "Answers cut at their token limit: above, lengths say more of the limit than of the model.",
        ),
        share(
            "repeated_rows",
            r#""1%""#,
            r#""100%""#,
            "Requests that ask a row of a data set again: above, a prefix cache shows.",
        ),
        share(
            "strange_hits",
            r#""5%""#,
            r#""1%""#,
            "Prompt tokens that the server's cache knew though this run had not brought them: above, it shows in TTFT.",
        ),
        share(
            "cache_unused",
            r#""5%""#,
            r#""50%""#,
            "Of the prompt tokens that the cache could know, those that it has to: below, it is as good as none. Judged where \
             a tenth of the prompt tokens could be known.",
        ),
        share(
            "bursts",
            r#""50%""#,
            r#""20%""#,
            "Events that came together with the one before: above, gaps describe a buffer.",
        ),
        share(
            "no_answer",
            r#""5%""#,
            r#""1%""#,
            "Answers in which `score` finds none that are mentioned: accuracy says as much of their form as of their sense.",
        ),
        share(
            "not_right_truncated",
            r#""50%""#,
            r#""20%""#,
            "Answers that are not right and were cut, among those that are not right: above, the limit explains accuracy.",
        ),
        share(
            "accuracy_falls",
            r#""2%""#,
            r#""5%""#,
            "The least difference in accuracy, by length, depth or load, that is mentioned where it is beyond chance: less \
             is not worth a word, however certain.",
        ),
    ],
};
