//! Rows whose prompts are too short or too long are left out.

use std::path::PathBuf;

use super::row::Row;
use super::scan::{ScanError, SkipReason};
use super::tokenizer::{Specials, Tokenizer};

/// How long the first prompt of a row may be, in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptBounds {
    /// Least length; 0 for any.
    pub min: u64,
    /// Greatest length; `u64::MAX` for any.
    pub max: u64,
    /// The file of the tokenizer that counts texts; `None` where there is none.
    pub tokenizer: Option<PathBuf>,
}

/// Holds rows against bounds.
pub(super) struct Gauge<'a> {
    bounds: &'a PromptBounds,
    /// Loaded when the first text comes.
    tokenizer: Option<Tokenizer>,
}

impl<'a> Gauge<'a> {
    pub(super) fn new(bounds: &'a PromptBounds) -> Gauge<'a> {
        Gauge { bounds, tokenizer: None }
    }

    /// Why `row` is left out, if it is.
    ///
    /// # Errors
    /// When its text cannot be counted.
    pub(super) fn misfit(&mut self, row: &Row) -> Result<Option<SkipReason>, ScanError> {
        let tokens = match &row.size {
            Some(size) => u64::from(size.prompt_tokens),
            None => self.count(row)?,
        };
        Ok(match tokens {
            short if short < self.bounds.min => Some(SkipReason::FewTokens),
            long if long > self.bounds.max => Some(SkipReason::ManyTokens),
            _ => None,
        })
    }

    /// Tokens of what the first prompt says, a template's and those of examples left out.
    fn count(&mut self, row: &Row) -> Result<u64, ScanError> {
        let path = self.bounds.tokenizer.as_ref().ok_or(ScanError::NotCounted)?;
        let tokenizer = match &mut self.tokenizer {
            Some(tokenizer) => tokenizer,
            none => {
                none.insert(Tokenizer::load(path).map_err(|error| ScanError::Tokenizer(error.to_string()))?)
            }
        };
        let said = row.turns.first().into_iter().flat_map(|turn| &turn.said);
        let texts = row.system.iter().chain(said.map(|message| &message.content));
        let count = |text: &String| tokenizer.count(text, Specials::Without).map(|tokens| tokens as u64);
        texts.map(count).sum::<Result<u64, String>>().map_err(ScanError::Tokenizer)
    }
}
