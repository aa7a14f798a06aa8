//! Tables of prompts from files, and of needles in text of our own.

use super::tables::{REQUIRED, key};
use super::{Fallback, Kind, Table};

pub(super) const NEEDLE: Table = Table {
    path: "workload.prompt.needle",
    doc: "Retrieval: in text of our own one sentence gives a number, and the question asks for it. Every length \
          is asked for with every depth; `requests = \"all\"` sends each of these prompts once, and without it \
          the phase ends with them.",
    example: r#"[[workload]]
name = "needles"
prompt.needle.depths = [0, 0.25, 0.5, 0.75, 1]
prompt.needle.lengths = ["4Ki", "16Ki", "64Ki"]
prompt.needle.repeats = 4"#,
    one_of: &[],
    keys: &[
        key(
            "depths",
            Kind::Numbers,
            REQUIRED,
            "[0, 0.5, 1]",
            "How deep the sentence lies: 0 at the beginning of the prompt, 1 before the question.",
        ),
        key(
            "lengths",
            Kind::TokenList,
            REQUIRED,
            r#"["4Ki", "32Ki"]"#,
            "Lengths of the whole prompt, in tokens if the server or a tokenizer counts them, else in words.",
        ),
        key(
            "repeats",
            Kind::Integer { min: 1, max: 1_000_000 },
            Fallback::Value("1"),
            "4",
            "How often each length is asked for with each depth, every time with other text.",
        ),
        key(
            "needles",
            Kind::Integer { min: 1, max: 100 },
            Fallback::Value("1"),
            "4",
            "Sentences in each prompt whose numbers are all asked for: the first at its depth, the others at equal \
             distances from there to the end. An answer is right if it has all of them.",
        ),
        key(
            "distractors",
            Kind::Integer { min: 0, max: 1_000 },
            Fallback::Value("0"),
            "3",
            "Sentences of the same form in each prompt that give the numbers of other things.",
        ),
    ],
};

pub(super) const DATASET: Table = Table {
    path: "workload.prompt.dataset",
    doc: "Rows of a file.",
    example: r#"[[workload]]
name = "problems"
prompt.dataset = { path = "problems.jsonl", format = "gsm8k", shuffle = true }"#,
    one_of: &[],
    keys: &[
        key("path", Kind::Path, REQUIRED, r#""problems.jsonl""#, "The file, relative to the scenario file."),
        key(
            "format",
            Kind::Choice(&[
                "gsm8k",
                "math",
                "sharegpt",
                "messages",
                "batch",
                "turns",
                "prompts",
                "longbench",
                "longbench-v2",
                "mooncake",
                "bailian",
                "azure",
                "burstgpt",
                "jsonl",
                "csv",
            ]),
            Fallback::None("seen from the first good row"),
            r#""gsm8k""#,
            "How the file carries its rows. `docs/data.md` describes each.",
        ),
        key(
            "columns",
            Kind::Table("workload.prompt.dataset.columns"),
            Fallback::None("those of the format"),
            r#"{ prompt = "question", truth = "answer" }"#,
            "What stands in which column of a file of format `csv` or `jsonl`.",
        ),
        key(
            "template",
            Kind::Prose,
            Fallback::None("the prompt as it stands"),
            r#""{context}\n\nQuestion: {question}""#,
            "The prompt, with columns of the row in braces; `{{` and `}}` are braces.",
        ),
        key(
            "few_shot",
            Kind::Table("workload.prompt.dataset.few_shot"),
            Fallback::None("no examples"),
            r#"{ path = "train.jsonl", count = 4 }"#,
            "Answered rows that stand before every question.",
        ),
        key(
            "shuffle",
            Kind::Boolean,
            Fallback::Value("false"),
            "true",
            "Whether rows are taken in an order drawn from the seed; else as they stand.",
        ),
        key(
            "when_exhausted",
            Kind::Choice(&["stop", "repeat", "error"]),
            Fallback::Value(r#""stop""#),
            r#""repeat""#,
            "What follows the last row: the phase stops, rows are taken again, or the run fails.",
        ),
    ],
};

pub(super) const COLUMNS: Table = Table {
    path: "workload.prompt.dataset.columns",
    doc: "What stands in which column, or which field of a JSON object.",
    example: r#"[[workload]]
name = "questions"
prompt.dataset.path = "questions.csv"
prompt.dataset.columns.prompt = "Question"
prompt.dataset.columns.truth = "Correct answer""#,
    one_of: &[],
    keys: &[
        key("prompt", Kind::Text, Fallback::None("made by `template`"), r#""question""#, "What is asked."),
        key("truth", Kind::Text, Fallback::None("no truth"), r#""answer""#, "The right answer."),
        key(
            "answer",
            Kind::Text,
            Fallback::None("no recorded answer"),
            r#""response""#,
            "The recorded answer, which `session.history = \"recorded\"` and `few_shot` use.",
        ),
        key(
            "system",
            Kind::Text,
            Fallback::None("no such text"),
            r#""instruction""#,
            "What the model is told before the question.",
        ),
        key(
            "prompt_tokens",
            Kind::Text,
            Fallback::None("prompts are texts"),
            r#""input_length""#,
            "Length of the prompt, which is made up: in tokens if the server or a tokenizer counts them, else in words.",
        ),
        key(
            "output_tokens",
            Kind::Text,
            Fallback::None("not stated"),
            r#""output_length""#,
            "Length of the answer, for `output.max_tokens = \"dataset\"`.",
        ),
        key(
            "time",
            Kind::Text,
            Fallback::None("no times"),
            r#""timestamp""#,
            "When the row was sent, for `load.trace.workload`.",
        ),
        key(
            "time_unit",
            Kind::Choice(&["s", "ms", "us", "ns", "date"]),
            Fallback::None("no times"),
            r#""ms""#,
            "Unit of `time`; a date without a zone is UTC.",
        ),
    ],
};

pub(super) const FEW_SHOT: Table = Table {
    path: "workload.prompt.dataset.few_shot",
    doc: "Answered rows that stand before every question: the first of a file, each as a question and an \
          answer of the conversation.",
    example: r#"[[workload]]
name = "problems"
prompt.dataset.path = "test.jsonl"
prompt.dataset.few_shot = { path = "train.jsonl", count = 4 }"#,
    one_of: &[],
    keys: &[
        key(
            "path",
            Kind::Path,
            REQUIRED,
            r#""train.jsonl""#,
            "Their file, of the same format, relative to the scenario file.",
        ),
        key("count", Kind::Integer { min: 1, max: 1_000 }, REQUIRED, "4", "How many."),
    ],
};
