//! Tokenizers from files: Hugging Face `tokenizer.json`, plain or gzip, and tiktoken rank files.
//!
//! One engine for all: a rank file becomes the `tokenizer.json` it stands for (`tiktoken`). What such a file
//! says of truncation and padding is for training and is ignored: a count that stopped at 50 would be a lie.

mod tiktoken;

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use tokenizers::pipeline::{EncodeOptions, Override, PipelineToken, PipelineTokenizer};

pub use tiktoken::Encoding;

/// A larger file is no tokenizer.
const FILE_LIMIT_BYTES: u64 = 256 << 20;
/// First bytes of a gzip file.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Counts tokens as one model does.
pub struct Tokenizer {
    engine: PipelineTokenizer,
}

/// Whether special tokens are put around a text, as a model does with raw prompts: `[CLS]` and `[SEP]`, `<s>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// Text alone.
    Without,
    /// With what the tokenizer adds by itself.
    Added,
}

/// A tokenizer that could not be had.
#[derive(Debug)]
pub enum TokenizerError {
    /// The file could not be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is neither a `tokenizer.json` nor a rank file.
    NoTokenizer {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl fmt::Display for TokenizerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenizerError::Unreadable { path, source } => {
                write!(f, "cannot read {}: {source}", path.display())
            }
            TokenizerError::NoTokenizer { path, why } => {
                write!(f, "{} is no tokenizer file: {why}", path.display())
            }
        }
    }
}

impl std::error::Error for TokenizerError {}

impl Tokenizer {
    /// Reads a `tokenizer.json` (plain or gzip) or a tiktoken rank file, told apart by content. A rank file says
    /// nothing of how text is split before ranks apply; its name does (`cl100k_base.tiktoken`).
    ///
    /// # Errors
    /// When the file cannot be read or is no tokenizer this engine knows.
    pub fn load(path: &Path) -> Result<Tokenizer, TokenizerError> {
        let bytes =
            read(path).map_err(|source| TokenizerError::Unreadable { path: path.to_owned(), source })?;
        let refused = |why: String| TokenizerError::NoTokenizer { path: path.to_owned(), why };
        let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8".into()))?;
        let json = if text.trim_start().starts_with('{') {
            text
        } else {
            let encoding = Encoding::of_file(path).map_err(&refused)?;
            tiktoken::to_json(&text, encoding).map_err(&refused)?
        };
        Tokenizer::parse(&json).map_err(refused)
    }

    /// Makes the tokenizer of a `tokenizer.json` text.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(json: &str) -> Result<Tokenizer, String> {
        let canonical = tokenizers::canonicalize_str(json).map_err(|error| error.to_string())?;
        let engine = tokenizers::from_json(&canonical).map_err(|error| error.to_string())?;
        Ok(Tokenizer { engine })
    }

    /// The ids of `text`. Special tokens that stand in the text are found whatever `specials` says.
    ///
    /// # Errors
    /// When the text cannot be encoded, which no valid tokenizer does to valid text.
    pub fn encode(&self, text: &str, specials: Specials) -> Result<Vec<u32>, String> {
        let options = EncodeOptions {
            add_special_tokens: specials == Specials::Added,
            encode_special_tokens: false,
            padding: Override::Off,
            truncation: Override::Off,
        };
        let mut tokens: Vec<PipelineToken> = Vec::with_capacity(text.len() / 3);
        self.engine.encode_into(text, &options, &mut tokens).map_err(|error| error.to_string())?;
        Ok(tokens.into_iter().map(u32::from).collect())
    }

    /// How many tokens `text` is.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn count(&self, text: &str, specials: Specials) -> Result<usize, String> {
        self.encode(text, specials).map(|ids| ids.len())
    }

    /// The text of `ids`; bytes that are no whole character become the replacement character.
    ///
    /// # Errors
    /// When an id is none of the tokenizer's.
    pub fn decode(&self, ids: &[u32]) -> Result<String, String> {
        self.engine.decode(ids, false).map_err(|error| error.to_string())
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let raw = bounded(File::open(path)?)?;
    if raw.starts_with(&GZIP_MAGIC) { bounded(GzDecoder::new(&raw[..])) } else { Ok(raw) }
}

fn bounded(from: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(FILE_LIMIT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_LIMIT_BYTES {
        let message = format!("it is longer than {} MiB, and no tokenizer is", FILE_LIMIT_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
