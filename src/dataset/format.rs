//! The formats a data set can have, and how each is told from the others.

use super::records::Container;

/// How a file carries its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `{"question": "…", "answer": "… #### 72"}`: grade-school word problems with worked answers.
    Gsm8k,
    /// `{"problem": "…", "solution": "… \boxed{2}"}`, or with a bare `answer`: MATH and MATH-500.
    Math,
    /// `{"conversations": [{"from": "human", "value": "…"}, …]}` and its relatives.
    ShareGpt,
    /// `{"messages": [{"role": "user", "content": "…"}, …]}`, or the list alone.
    Messages,
    /// `{"body": {"messages": […]}, …}`: requests of a batch API, each sent as it stands.
    Batch,
    /// `{"turns": ["…", "…"]}`: the user's side of a conversation, as in MT-Bench.
    Turns,
    /// `{"prompt": "…"}`, or the prompt alone as a JSON string.
    Prompts,
    /// `{"context": "…", "input": "…", "answers": […]}`.
    LongBench,
    /// `{"context": "…", "question": "…", "choice_A": "…", …, "answer": "B"}`.
    LongBenchV2,
    /// JSON objects with fields that the scenario names.
    Jsonl,
    /// Records with columns that the scenario names.
    Csv,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 11] = [
        Format::Gsm8k,
        Format::Math,
        Format::ShareGpt,
        Format::Messages,
        Format::Batch,
        Format::Turns,
        Format::Prompts,
        Format::LongBench,
        Format::LongBenchV2,
        Format::Jsonl,
        Format::Csv,
    ];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Format::Gsm8k => "gsm8k",
            Format::Math => "math",
            Format::ShareGpt => "sharegpt",
            Format::Messages => "messages",
            Format::Batch => "batch",
            Format::Turns => "turns",
            Format::Prompts => "prompts",
            Format::LongBench => "longbench",
            Format::LongBenchV2 => "longbench-v2",
            Format::Jsonl => "jsonl",
            Format::Csv => "csv",
        }
    }

    /// Whether its rows are conversations, whose turns are sent one after another.
    pub fn is_conversation(self) -> bool {
        matches!(self, Format::ShareGpt | Format::Messages | Format::Turns)
    }

    /// Whether the scenario names its columns.
    pub fn has_columns(self) -> bool {
        matches!(self, Format::Jsonl | Format::Csv)
    }

    /// What a row must hold.
    pub(super) fn needs(self) -> &'static str {
        match self {
            Format::Gsm8k => "`question` and `answer` as text, each once",
            Format::Math => "`problem`, and `solution` or `answer`, as text",
            Format::ShareGpt => "`conversations` with `from` and `value`, or `role` and `content`, in each",
            Format::Messages => "`messages` with `role` and `content` in each, or be that list",
            Format::Batch => "`body` with `messages` or `prompt`",
            Format::Turns => "`turns` as a list of texts",
            Format::Prompts => "`prompt` as text, once, or be a text itself",
            Format::LongBench => "`context`, `input` and `answers`",
            Format::LongBenchV2 => "`context`, `question`, `choice_A` to `choice_D` and `answer`",
            Format::Jsonl | Format::Csv => "text in the columns that the scenario names",
        }
    }

    /// Whether an object with fields for which `has` holds is told to be of this format: the field that is its own,
    /// and none that says otherwise.
    pub(super) fn claims(self, has: impl Fn(&str) -> bool) -> bool {
        match self {
            Format::Gsm8k => has("question") && has("answer") && !has("choice_A"),
            Format::Math => has("problem") && (has("solution") || has("answer")),
            Format::ShareGpt => has("conversations") || has("conversation") || has("items"),
            Format::Messages => has("messages"),
            Format::Batch => has("body"),
            Format::Turns => has("turns"),
            Format::Prompts => has("prompt"),
            Format::LongBench => has("context") && has("input") && has("answers"),
            Format::LongBenchV2 => has("context") && has("question") && has("choice_A"),
            Format::Jsonl | Format::Csv => false,
        }
    }

    /// Whether files of this format can be cut so.
    pub(super) fn comes_in(self, container: Container) -> bool {
        (self == Format::Csv) == matches!(container, Container::Csv { .. })
    }
}
