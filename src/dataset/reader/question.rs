//! Questions, each with an answer that can be checked, and plain prompts.

use serde::Deserialize;

use super::{Flexible, json};
use crate::dataset::row::Row;
use crate::dataset::scan::SkipReason;

#[derive(Deserialize)]
struct Gsm8k {
    question: String,
    answer: String,
}

pub(super) fn gsm8k(text: &str) -> Result<Row, SkipReason> {
    let Gsm8k { question, answer } = json(text)?;
    if answer.trim().is_empty() {
        return Err(SkipReason::Blank);
    }
    Ok(Row::question(question, Some(answer.clone()), Some(answer)))
}

#[derive(Deserialize)]
struct Math {
    problem: String,
    solution: Option<String>,
    answer: Option<String>,
}

/// The truth is the bare answer where there is one; else scoring finds it in the solution.
pub(super) fn math(text: &str) -> Result<Row, SkipReason> {
    let Math { problem, solution, answer } = json(text)?;
    let truth = answer.or_else(|| solution.clone()).ok_or(SkipReason::Fields)?;
    if truth.trim().is_empty() {
        return Err(SkipReason::Blank);
    }
    Ok(Row::question(problem, solution, Some(truth)))
}

#[derive(Deserialize)]
struct Prompt {
    prompt: String,
    output_tokens: Option<Flexible>,
}

pub(super) fn prompts(text: &str) -> Result<Row, SkipReason> {
    if text.trim_start().starts_with('"') {
        return Ok(Row::question(json(text)?, None, None));
    }
    let Prompt { prompt, output_tokens } = json(text)?;
    let output_tokens = output_tokens.map(Flexible::count).transpose()?;
    Ok(Row { output_tokens, ..Row::question(prompt, None, None) })
}

#[derive(Deserialize)]
struct LongBench {
    context: String,
    input: String,
    answers: Vec<String>,
}

/// The document, then what is asked of it. Any of the answers is right; the first is the truth.
pub(super) fn longbench(text: &str) -> Result<Row, SkipReason> {
    let LongBench { context, input, answers } = json(text)?;
    if context.trim().is_empty() && input.trim().is_empty() {
        return Err(SkipReason::Blank);
    }
    let parts = [context, input].into_iter().filter(|part| !part.trim().is_empty());
    let prompt = parts.collect::<Vec<_>>().join("\n\n");
    let truth = answers.into_iter().find(|answer| !answer.trim().is_empty());
    Ok(Row::question(prompt, None, truth))
}

#[derive(Deserialize)]
#[expect(non_snake_case, reason = "the names of the file")]
struct LongBenchV2 {
    context: String,
    question: String,
    choice_A: String,
    choice_B: String,
    choice_C: String,
    choice_D: String,
    answer: String,
}

pub(super) fn longbench_v2(text: &str) -> Result<Row, SkipReason> {
    let row: LongBenchV2 = json(text)?;
    if row.context.trim().is_empty() || row.question.trim().is_empty() || row.answer.trim().is_empty() {
        return Err(SkipReason::Blank);
    }
    let prompt = format!(
        "Read the text, then answer the question about it.\n\n{}\n\nQuestion: {}\nA. {}\nB. {}\nC. {}\nD. {}\n\n\
         Choose one letter and end with: The correct answer is (X).",
        row.context.trim(),
        row.question.trim(),
        row.choice_A.trim(),
        row.choice_B.trim(),
        row.choice_C.trim(),
        row.choice_D.trim(),
    );
    Ok(Row::question(prompt, None, Some(row.answer)))
}
