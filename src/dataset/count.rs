//! Tokens of the texts of rows.

use std::path::Path;

use super::scan::ScanError;
use super::tokenizer::{Specials, Tokenizer};

/// Counts texts by the tokenizer in a file.
pub(super) struct Counter<'a> {
    /// `None` where the scenario names none.
    path: Option<&'a Path>,
    /// Loaded when the first text comes.
    tokenizer: Option<Tokenizer>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(path: Option<&'a Path>) -> Counter<'a> {
        Counter { path, tokenizer: None }
    }

    /// Tokens of all `texts`, each by itself; `None` where no tokenizer is named.
    ///
    /// # Errors
    /// When it cannot be loaded, or cannot count.
    pub(super) fn count<'t>(
        &mut self,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<Option<u64>, ScanError> {
        let Some(path) = self.path else { return Ok(None) };
        let tokenizer = match &mut self.tokenizer {
            Some(tokenizer) => tokenizer,
            none => {
                none.insert(Tokenizer::load(path).map_err(|error| ScanError::Tokenizer(error.to_string()))?)
            }
        };
        let count = |text| tokenizer.count(text, Specials::Without).map(|tokens| tokens as u64);
        texts.into_iter().map(count).sum::<Result<u64, String>>().map(Some).map_err(ScanError::Tokenizer)
    }
}
