//! Rows whose prompts are too short or too long are left out.

use super::count::Counter;
use super::row::Row;
use super::scan::{ScanError, SkipReason};

/// How long the first prompt of a row may be, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptBounds {
    /// Least length; 0 for any.
    pub min: u64,
    /// Greatest length; `u64::MAX` for any.
    pub max: u64,
}

impl PromptBounds {
    /// Why `row` is left out, if it is. Of its text counts what the first prompt says, without template and examples.
    ///
    /// # Errors
    /// When its text cannot be counted.
    pub(super) fn misfit(
        self,
        row: &Row,
        counter: &mut Counter<'_>,
    ) -> Result<Option<SkipReason>, ScanError> {
        let said = row.turns.first().into_iter().flat_map(|turn| &turn.said);
        let texts = row.system.iter().chain(said.map(|message| &message.content));
        let tokens = match &row.size {
            Some(size) => u64::from(size.prompt_tokens),
            None => counter.count(texts.map(String::as_str))?.ok_or(ScanError::NotCounted)?,
        };
        Ok(match tokens {
            short if short < self.min => Some(SkipReason::FewTokens),
            long if long > self.max => Some(SkipReason::ManyTokens),
            _ => None,
        })
    }
}
