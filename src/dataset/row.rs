//! One line of a data set, and the formats it can have.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::scan::SkipReason;

/// How a line carries its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `{"question": "…", "answer": "… #### 72"}`: grade-school word problems with worked answers.
    Gsm8k,
    /// `{"prompt": "…"}`, or the prompt alone as a JSON string.
    Prompts,
}

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The text to send, as it stands.
    pub prompt: String,
    /// The reference answer as it stands in the file, where the format has one.
    pub truth: Option<String>,
}

#[derive(Deserialize)]
struct Gsm8kLine {
    question: String,
    answer: String,
}

#[derive(Deserialize)]
struct PromptLine {
    prompt: String,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 2] = [Format::Gsm8k, Format::Prompts];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Format::Gsm8k => "gsm8k",
            Format::Prompts => "prompts",
        }
    }

    /// What a row must hold.
    pub(super) fn needs(self) -> &'static str {
        match self {
            Format::Gsm8k => "`question` and `answer` as text, each once",
            Format::Prompts => "`prompt` as text, once, or be a text itself",
        }
    }

    /// Reads one line without its end.
    pub(super) fn read(self, line: &[u8]) -> Result<Row, SkipReason> {
        let line = std::str::from_utf8(line).map_err(|_| SkipReason::NotUtf8)?;
        let first = line.trim_start().chars().next();
        let row = match self {
            Format::Prompts if first == Some('"') => {
                Row { prompt: serde_json::from_str(line).map_err(|error| reason(&error))?, truth: None }
            }
            // A list would be taken for the fields in order.
            _ if first != Some('{') => {
                serde_json::from_str::<IgnoredAny>(line).map_err(|error| reason(&error))?;
                return Err(SkipReason::Fields);
            }
            Format::Gsm8k => {
                let row = serde_json::from_str::<Gsm8kLine>(line).map_err(|error| reason(&error))?;
                Row { prompt: row.question, truth: Some(row.answer) }
            }
            Format::Prompts => {
                let row = serde_json::from_str::<PromptLine>(line).map_err(|error| reason(&error))?;
                Row { prompt: row.prompt, truth: None }
            }
        };
        let blank = |text: &String| text.trim().is_empty();
        if blank(&row.prompt) || row.truth.as_ref().is_some_and(blank) {
            return Err(SkipReason::Blank);
        }
        Ok(row)
    }
}

fn reason(error: &serde_json::Error) -> SkipReason {
    if error.is_data() { SkipReason::Fields } else { SkipReason::NotJson }
}
