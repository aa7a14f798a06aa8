//! The keys of `score`: how answers are checked.

use super::tables::{REQUIRED, key};
use super::{Fallback, Key, Kind, Table};

const ANOTHER: Fallback = Fallback::None("another kind");

const MARKED_ONLY: Key = key(
    "marked_only",
    Kind::Boolean,
    Fallback::Value("false"),
    "true",
    "Count only answers in a final mark: a box, `####`, or `<answer>` tags.",
);

const TOLERANCE: Key = key(
    "tolerance",
    Kind::Share,
    Fallback::Value(r#""0%""#),
    r#""1%""#,
    "How far a number may be from the truth, as a share of it, below 1.",
);

pub(super) const KINDS: Table = Table {
    path: "workload.score",
    doc: "How answers are checked. `docs/scoring.md` has the rules. A kind that needs nothing is named alone: \
          `score = \"gsm8k\"`.",
    example: r#"[[workload]]
name = "problems"
prompt.dataset = "problems.jsonl"
score.gsm8k = { tolerance = "1%" }"#,
    one_of: &["gsm8k", "math", "choice", "exact", "contains", "regex"],
    keys: &[
        key(
            "gsm8k",
            Kind::Table("workload.score.gsm8k"),
            ANOTHER,
            r#"{ tolerance = "1%" }"#,
            "A number, compared by value.",
        ),
        key(
            "math",
            Kind::Table("workload.score.math"),
            ANOTHER,
            "{ marked_only = true }",
            "A formula, number, set or word, compared by form and value.",
        ),
        key("choice", Kind::Table("workload.score.choice"), ANOTHER, r#"{ last = "E" }"#, "A letter."),
        key("exact", Kind::Bare, ANOTHER, "{}", "The whole answer, but for blanks around it."),
        key("contains", Kind::Bare, ANOTHER, "{}", "The truth somewhere in the answer, whatever its case."),
        key(
            "regex",
            Kind::Parameters { table: "workload.score.regex", alone: "pattern" },
            ANOTHER,
            r#"'total: (\d+)'"#,
            "What a pattern finds.",
        ),
    ],
};

pub(super) const NUMBERS: Table = Table {
    path: "workload.score.gsm8k",
    doc: "A number, as in GSM8K.",
    example: r#"[[workload]]
name = "problems"
prompt.dataset = "problems.jsonl"
score.gsm8k.marked_only = true"#,
    one_of: &[],
    keys: &[MARKED_ONLY, TOLERANCE],
};

pub(super) const MATH: Table = Table {
    path: "workload.score.math",
    doc: "A formula, number, set or word, as in MATH.",
    example: r#"[[workload]]
name = "problems"
prompt.dataset = "problems.jsonl"
score.math.tolerance = "0.1%""#,
    one_of: &[],
    keys: &[MARKED_ONLY, TOLERANCE],
};

pub(super) const CHOICE: Table = Table {
    path: "workload.score.choice",
    doc: "A letter.",
    example: r#"[[workload]]
name = "quiz"
prompt.dataset = "quiz.jsonl"
score.choice.last = "E""#,
    one_of: &[],
    keys: &[
        MARKED_ONLY,
        key(
            "last",
            Kind::Text,
            Fallback::Value(r#""J""#),
            r#""E""#,
            "The last letter there is, from `B` to `Z`.",
        ),
    ],
};

pub(super) const REGEX: Table = Table {
    path: "workload.score.regex",
    doc: "What a pattern finds. With a capture group (named `answer`, or the first) the captured text has to equal \
          the truth; without one the pattern is the test, and no truth is needed.",
    example: r#"[[workload]]
name = "totals"
prompt.dataset = "totals.jsonl"
score.regex.pattern = 'total: (\d+)'"#,
    one_of: &[],
    keys: &[key(
        "pattern",
        Kind::Text,
        REQUIRED,
        r#"'total: (\d+)'"#,
        "The pattern, in the syntax of the `regex` crate.",
    )],
};
