//! The formats a data set can have, and how each is told from the others.

use super::reader::Columns;
use super::records::Container;
use super::trace::TimeUnit;

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
    /// `{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": […]}`: a trace in
    /// milliseconds, blocks of 512 tokens.
    Mooncake,
    /// The same with `chat_id`, in seconds, blocks of 16 tokens: Qwen-Bailian.
    Bailian,
    /// Records with `TIMESTAMP` (a date), `ContextTokens`, `GeneratedTokens`.
    Azure,
    /// Records with `Timestamp` (seconds), `Request tokens`, `Response tokens`.
    BurstGpt,
    /// JSON objects with fields that the scenario names.
    Jsonl,
    /// Records with columns that the scenario names.
    Csv,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 15] = [
        Format::Gsm8k,
        Format::Math,
        Format::ShareGpt,
        Format::Messages,
        Format::Batch,
        Format::Turns,
        Format::Prompts,
        Format::LongBench,
        Format::LongBenchV2,
        Format::Mooncake,
        Format::Bailian,
        Format::Azure,
        Format::BurstGpt,
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
            Format::Mooncake => "mooncake",
            Format::Bailian => "bailian",
            Format::Azure => "azure",
            Format::BurstGpt => "burstgpt",
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

    /// Columns and block size that belong to a trace.
    pub(super) fn trace(self) -> Option<(Columns, Option<u32>)> {
        let (time, unit, prompt, output, block) = match self {
            Format::Mooncake => ("timestamp", TimeUnit::Ms, "input_length", "output_length", Some(512)),
            Format::Bailian => ("timestamp", TimeUnit::S, "input_length", "output_length", Some(16)),
            Format::Azure => ("TIMESTAMP", TimeUnit::Date, "ContextTokens", "GeneratedTokens", None),
            Format::BurstGpt => ("Timestamp", TimeUnit::S, "Request tokens", "Response tokens", None),
            _ => return None,
        };
        let columns = Columns {
            time: Some((time.to_owned(), unit)),
            prompt_tokens: Some(prompt.to_owned()),
            output_tokens: Some(output.to_owned()),
            ..Columns::default()
        };
        Some((columns, block))
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
            Format::Mooncake | Format::Bailian => "`timestamp`, `input_length` and `output_length`",
            Format::Azure => "`TIMESTAMP`, `ContextTokens` and `GeneratedTokens`",
            Format::BurstGpt => "`Timestamp`, `Request tokens` and `Response tokens`",
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
            Format::Mooncake => has("input_length") && has("timestamp") && !has("chat_id"),
            Format::Bailian => has("input_length") && has("timestamp") && has("chat_id"),
            Format::Azure => has("ContextTokens") && has("GeneratedTokens"),
            Format::BurstGpt => has("Request tokens") && has("Response tokens"),
            Format::Jsonl | Format::Csv => false,
        }
    }

    /// Whether files of this format can be cut so.
    pub(super) fn comes_in(self, container: Container) -> bool {
        let is_csv = matches!(self, Format::Csv | Format::Azure | Format::BurstGpt);
        is_csv == matches!(container, Container::Csv { .. })
    }
}
