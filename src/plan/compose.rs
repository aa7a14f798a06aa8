//! From a planned turn to the messages of its request.
//!
//! Composing is a pure function of the turn, the run's salt, the token model and the data-set row. It costs too much
//! for the moment a request is due, so it is done ahead of need.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use super::context::Length;
use super::needle::{self, Filler, Hay};
use super::passage::Passage;
use super::{Turn, step};
use crate::blocks::BlockHasher;
use crate::dataset::tokenizer::{Specials, Tokenizer};
use crate::dataset::{self, Dataset, Size};
use crate::prompt::{Message, Role, TokenModel, all_words};
use crate::protocol::BodyOptions;
use crate::record::Planned;
use crate::scenario::{CachePolicy, History, IdRange};
use crate::seed::{Seed, Stream};

/// Our words, for prompts whose length is counted in words.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| all_words().collect());

/// Words that set a request apart from all others where its own text does not: a block of a server's prefix cache, as
/// small as they commonly are.
const SALT_WORDS: u64 = 16;

/// What makes the prompts of one run differ from those of every other, so that no server answers the second
/// from a cache that the first one filled. No part of the plan: drawn for each run and recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt(pub u64);

/// Where the prompts of one workload come from.
#[derive(Clone)]
pub enum Prompts {
    /// This many words.
    Synthetic {
        /// Words a prompt.
        words: u64,
        /// What they are taken from; `None` where they are drawn.
        passage: Option<Arc<Passage>>,
    },
    /// As many tokens as the plan says.
    Tokens {
        /// Tokens that all prompts of a group begin with; 0 for none.
        prefix_tokens: u64,
        /// What they are made of.
        of: Stuff,
    },
    /// Rows of a data set, or of a trace.
    Rows(Arc<Dataset>),
    /// Needles in text of our own.
    Needle(Hay),
}

/// What prompts of a length in tokens are made of.
#[derive(Clone)]
pub enum Stuff {
    /// Words that are one token each.
    Words,
    /// Ids of this range.
    Ids(IdRange),
    /// A text of the user's.
    Passage(Arc<Passage>),
}

/// How prompts of a length in tokens are made.
#[derive(Clone)]
pub struct Measure {
    /// What they are made of.
    pub model: TokenModel,
    /// What needles are hidden in.
    pub filler: Filler,
    /// Tokens that the template and the system text add to the first request of a session, and those of a needle's
    /// prompt that `filler` does not count.
    pub overhead_tokens: u64,
}

impl Measure {
    /// A token a word and nothing around them: lengths are then words.
    pub fn words() -> Measure {
        Measure::of(TokenModel::common())
    }

    /// Nothing around the words of `model`.
    pub fn of(model: TokenModel) -> Measure {
        Measure { model, filler: Filler::in_words(), overhead_tokens: 0 }
    }
}

/// The instructions that the first request of a session begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum System {
    /// None.
    None,
    /// This text.
    Text(String),
    /// Made-up text of so many tokens.
    Tokens(u64),
}

/// What the requests of one workload have in common.
#[derive(Clone)]
pub struct Form {
    /// The workload's name.
    pub workload: String,
    /// Where its prompts come from.
    pub prompts: Prompts,
    /// The instructions before them.
    pub system: System,
    /// How its lengths become tokens; `None` where they are counted in words.
    pub measure: Option<Measure>,
    /// What of them a server's prefix cache may know.
    pub cache: CachePolicy,
    /// What a turn carries of those before it.
    pub history: History,
    /// The context that its conversations must not pass, in tokens; `None` where they may go on.
    pub context: Option<u64>,
    /// The model's tokenizer, where the scenario names one.
    pub tokenizer: Option<Arc<Tokenizer>>,
    /// What its bodies have in common.
    pub options: BodyOptions,
    /// Whether answers are checked.
    pub checks: bool,
    /// Whether answers to the same request are compared.
    pub compares: bool,
}

/// What a turn adds to what was said.
pub struct Opening {
    /// All of it, in order.
    pub messages: Vec<Message>,
    /// The instructions, if they are the first of the messages.
    pub system: Option<Message>,
    /// The recorded answer to it.
    pub recorded: Option<String>,
    /// The other turns of its row.
    pub script: VecDeque<dataset::Turn>,
}

impl Opening {
    fn made_up(system: Option<Message>, text: String) -> Opening {
        Opening { messages: vec![Message::user(text)], system, recorded: None, script: VecDeque::new() }
    }
}

impl Form {
    /// What the turn adds to what was said; the first of a session begins with the instructions.
    ///
    /// # Errors
    /// Why it cannot be composed.
    pub fn opening(&self, salt: Salt, turn: &Turn) -> Result<Opening, String> {
        let is_first = turn.planned.turn == 0 || self.history == History::None;
        let system = self.system(salt, turn).filter(|_| is_first);
        let mut opening = match (&self.prompts, turn.planned.dataset_row) {
            (Prompts::Rows(dataset), Some(row)) => {
                let row = dataset.row(row as u32).map_err(|error| error.to_string())?;
                if let Some(size) = &row.size {
                    return Ok(Opening::made_up(system, self.sized(salt, turn, is_first, size)));
                }
                let mut script = VecDeque::from(row.turns);
                let first = script.pop_front().ok_or("the row has no turn")?;
                let told = row.system.map(|content| Message { role: Role::System, content });
                Opening { messages: first.said, system: system.or(told), recorded: first.answer, script }
            }
            (Prompts::Rows(_), None) => return Err("the plan names no row of the data set".into()),
            (Prompts::Needle(hay), _) => {
                let cell = turn.planned.needle.ok_or("the plan names no needle")?;
                Opening::made_up(system, self.haystack(*hay, salt, turn, is_first, cell.depth))
            }
            (Prompts::Synthetic { words, passage: None }, _) => {
                let stream = Seed(salt.0).indexed_stream("words", &self.workload, index(turn));
                Opening::made_up(system, synthetic(stream, *words))
            }
            (Prompts::Synthetic { words, passage: Some(passage) }, _) => {
                Opening::made_up(system, self.cut(passage, *words, salt, turn, is_first))
            }
            (Prompts::Tokens { of: Stuff::Passage(passage), .. }, _) => {
                let length = self.model().words(self.own_tokens(turn, is_first));
                Opening::made_up(system, self.cut(passage, length, salt, turn, is_first))
            }
            (Prompts::Tokens { prefix_tokens, .. }, _) => {
                Opening::made_up(system, self.text_of(*prefix_tokens, salt, turn, is_first))
            }
        };
        opening.messages.splice(0..0, opening.system.clone());
        if is_first {
            self.set_apart(salt, turn, &mut opening.messages);
        }
        Ok(opening)
    }

    /// Puts words of the request's own before what it would share with others against its policy: at its very
    /// beginning where it must share nothing, before the row where only the instructions are to be shared.
    pub fn set_apart(&self, salt: Salt, turn: &Turn, messages: &mut [Message]) {
        let is_row = matches!(self.prompts, Prompts::Rows(_)) && !self.is_sized();
        let place = match (self.cache, &self.system) {
            (CachePolicy::Natural, _) => None,
            // Made up, and each request's own already.
            (CachePolicy::Cold, System::Tokens(_)) => None,
            (CachePolicy::Cold, System::None) if !is_row => None,
            (CachePolicy::Cold, _) => Some(0),
            (CachePolicy::Shared, _) if !is_row => None,
            (CachePolicy::Shared, _) => messages.iter().position(|message| message.role == Role::User),
        };
        if let Some(message) = place.and_then(|place| messages.get_mut(place)) {
            message.content.insert_str(0, &self.salt_block(salt, turn));
        }
    }

    /// Whether its rows state lengths in place of texts.
    pub fn is_sized(&self) -> bool {
        matches!(&self.prompts, Prompts::Rows(dataset) if dataset.is_sized())
    }

    /// Whether its prompts are to be as long as something says in tokens.
    pub fn has_lengths(&self) -> bool {
        match &self.prompts {
            Prompts::Tokens { .. } => true,
            Prompts::Rows(_) => self.is_sized(),
            Prompts::Needle(_) => true,
            Prompts::Synthetic { .. } => false,
        }
    }

    /// Whether they are.
    pub(super) fn is_measured(&self) -> bool {
        self.measure.is_some() && self.has_lengths()
    }

    /// The shortest prompt that can be made; `None` where lengths are no tokens.
    pub fn shortest_tokens(&self) -> Option<u64> {
        let measure = self.measure.as_ref().filter(|_| self.has_lengths())?;
        let own = match &self.prompts {
            Prompts::Needle(hay) => {
                (measure.filler.shortest(*hay) as f64 * measure.model.tokens_per_word()).ceil() as u64
            }
            _ => 1,
        };
        Some(measure.overhead_tokens + self.prefix_tokens() + own)
    }

    fn prefix_tokens(&self) -> u64 {
        match &self.prompts {
            Prompts::Tokens { prefix_tokens, .. } => *prefix_tokens,
            Prompts::Synthetic { .. } | Prompts::Rows(_) | Prompts::Needle(_) => 0,
        }
    }

    fn overhead_tokens(&self) -> u64 {
        self.measure.as_ref().map_or(0, |measure| measure.overhead_tokens)
    }

    /// Tokens that are left of a turn's length for its text.
    fn own_tokens(&self, turn: &Turn, is_first: bool) -> u64 {
        let tokens = u64::from(turn.prompt_tokens.unwrap_or(1));
        let taken = if is_first { self.overhead_tokens() + self.prefix_tokens() } else { 0 };
        tokens.saturating_sub(taken).max(1)
    }

    fn system(&self, salt: Salt, turn: &Turn) -> Option<Message> {
        let content = match &self.system {
            System::None => return None,
            System::Text(text) => text.clone(),
            System::Tokens(tokens) => {
                let number = Some(self.number(salt, turn)).filter(|_| self.cache == CachePolicy::Cold);
                let index = number.unwrap_or_default();
                let mut stream = Seed(salt.0).indexed_stream("system", &self.workload, index);
                let mut content = String::new();
                self.model().extend(&mut content, *tokens, number, &mut stream);
                content
            }
        };
        Some(Message { role: Role::System, content })
    }

    /// A text that makes the prompt as long as it is planned.
    fn text_of(&self, prefix_tokens: u64, salt: Salt, turn: &Turn, is_first: bool) -> String {
        let mut content = String::new();
        if is_first && prefix_tokens > 0 {
            self.add_prefix(&mut content, salt, turn, prefix_tokens);
        }
        self.add_own(&mut content, salt, turn, is_first);
        content
    }

    /// A text of the length that a trace states: each of its blocks by its id alone, so that equal ids are equal
    /// tokens in every request, process and machine; without ids, and where nothing is to be shared, it is like no
    /// other.
    ///
    /// What a template adds is taken off the end, so that the blocks before it keep their length.
    fn sized(&self, salt: Salt, turn: &Turn, is_first: bool, size: &Size) -> String {
        let mut text = String::new();
        if size.blocks.is_empty() || self.cache == CachePolicy::Cold {
            self.add_own(&mut text, salt, turn, is_first);
            return text;
        }
        let (model, tokens) = (self.model(), self.own_tokens(turn, is_first));
        let mut begun = 0;
        for id in &size.blocks {
            let end = tokens.min(begun + u64::from(size.block_tokens));
            // Borders are rounded, not lengths, so that no error adds up.
            let words = model.words(end) - model.words(begun);
            let mut stream = Seed(salt.0).indexed_stream("blocks", &self.workload, *id);
            model.extend_by_words(&mut text, words, Some(*id), &mut stream);
            begun = end;
        }
        text
    }

    /// A text that hides a needle so deep.
    fn haystack(&self, hay: Hay, salt: Salt, turn: &Turn, is_first: bool, depth: f64) -> String {
        let model = &self.model();
        let filler = &self.measure.as_ref().map_or_else(Filler::in_words, |measure| measure.filler.clone());
        let length = model.words(self.own_tokens(turn, is_first));
        let number = self.number(salt, turn);
        let stack = needle::Haystack { hay, filler, model, number, length, depth };
        stack.text(needle::stream(salt, &self.workload, index(turn)))
    }

    /// So much of a passage, with words of the request's own before it unless it is to be as natural as the others, or
    /// they stand before the instructions already.
    fn cut(&self, passage: &Passage, length: u64, salt: Salt, turn: &Turn, is_first: bool) -> String {
        let has_lead = match (self.cache, &self.system) {
            (CachePolicy::Natural, _) | (CachePolicy::Cold, System::Text(_) | System::Tokens(_)) => false,
            (CachePolicy::Cold, System::None) | (CachePolicy::Shared, _) => true,
        };
        let lead = (is_first && has_lead).then(|| (SALT_WORDS, self.number(salt, turn)));
        let mut stream = Seed(salt.0).indexed_stream("words", &self.workload, index(turn));
        passage.compose(length, lead, &self.model(), &mut stream)
    }

    /// Adds the part of a text that no other request has.
    fn add_own(&self, content: &mut String, salt: Salt, turn: &Turn, is_first: bool) {
        let mut stream = Seed(salt.0).indexed_stream("words", &self.workload, index(turn));
        let own = self.own_tokens(turn, is_first);
        self.model().extend(content, own, Some(self.number(salt, turn)), &mut stream);
    }

    /// The beginning that the prompts of a group share; a cold one is as long, and each request's own.
    fn add_prefix(&self, content: &mut String, salt: Salt, turn: &Turn, prefix_tokens: u64) {
        let own = Some(self.number(salt, turn)).filter(|_| self.cache == CachePolicy::Cold);
        let group = u64::from(turn.planned.prefix_group.unwrap_or_default());
        let purpose = if own.is_some() { "cold prefix" } else { "prefix" };
        let mut stream = Seed(salt.0).indexed_stream(purpose, &self.workload, own.unwrap_or(group));
        self.model().extend(content, prefix_tokens, Some(own.unwrap_or(group)), &mut stream);
    }

    /// A number that no other request of the run has.
    fn number(&self, salt: Salt, turn: &Turn) -> u64 {
        let offset = Seed(salt.0).stream("number", &self.workload).below(1 << 20);
        turn.planned.request.wrapping_add(offset)
    }

    /// Hashes of the whole blocks that `messages` begin with; `None` where nothing is known of their tokens.
    ///
    /// Words of ours are one token each; other texts have those that the tokenizer says, where the server counts as it
    /// does. Where tokens are not known, blocks are those of the declared prefix alone. A template's tokens are taken
    /// to follow the text of each message, as many after one as after another: what of them stands before the text is
    /// alike in all prompts, and moves the borders of blocks by less than it is long.
    pub fn blocks(&self, turn: &Planned, messages: &[Message], block_tokens: u64) -> Option<Arc<[u64]>> {
        let mut hasher = BlockHasher::new(block_tokens);
        if let Some(tokenizer) = self.identifies_tokens() {
            let overhead_tokens = self.measure.as_ref().map_or(0, |measure| measure.overhead_tokens);
            let encoded =
                messages.iter().map(|message| tokenizer.encode(&message.content, Specials::Without));
            let encoded = encoded.collect::<Result<Vec<_>, _>>().ok()?;
            let has_system = self.system != System::None
                && messages.first().is_some_and(|message| message.role == Role::System);
            let system_tokens = if has_system { encoded[0].len() as u64 } else { 0 };
            let template_tokens = overhead_tokens.saturating_sub(system_tokens);
            for ids in &encoded {
                ids.iter().for_each(|id| hasher.push_id(*id));
                hasher.push_template(template_tokens / messages.len() as u64);
            }
        } else if self.is_of_words()
            && let Some(template_tokens) = self.template_tokens()
        {
            for message in messages {
                message.content.split_whitespace().for_each(|word| hasher.push_word(word));
                hasher.push_template(template_tokens / messages.len() as u64);
            }
        } else {
            self.push_declared(turn, &mut hasher)?;
        }
        Some(hasher.finish())
    }

    /// Whether its words are one token each, and all that its prompts are made of.
    fn is_of_words(&self) -> bool {
        let is_of_words = match &self.prompts {
            Prompts::Tokens { of, .. } => !matches!(of, Stuff::Passage(_)),
            Prompts::Rows(_) => self.is_sized(),
            Prompts::Synthetic { .. } | Prompts::Needle(_) => false,
        };
        let is_exact = self.measure.as_ref().is_some_and(|measure| measure.model.is_exact());
        is_of_words && is_exact && !matches!(self.system, System::Text(_))
    }

    /// The tokenizer that tells the tokens of its prompts, where words do not and the server was found to count alike.
    /// It takes its time.
    pub(super) fn identifies_tokens(&self) -> Option<&Tokenizer> {
        let is_alike = self.measure.as_ref().is_some_and(|measure| measure.model.is_exact());
        let is_of_ids = matches!(self.prompts, Prompts::Tokens { of: Stuff::Ids(_), .. });
        self.tokenizer.as_deref().filter(|_| is_alike && !is_of_ids && !self.is_of_words())
    }

    /// Adds the tokens that are declared to be shared, whatever they are; `None` where there are none.
    fn push_declared(&self, turn: &Planned, hasher: &mut BlockHasher) -> Option<()> {
        let system_tokens = match &self.system {
            System::Tokens(tokens) => *tokens,
            // As long as nobody knows.
            System::Text(_) => return None,
            System::None => 0,
        };
        if system_tokens + self.prefix_tokens() == 0 {
            return None;
        }
        // Each request has its own.
        if self.cache == CachePolicy::Cold {
            return Some(());
        }
        let group = format!("{} {}", self.workload, turn.prefix_group.unwrap_or_default());
        (0..system_tokens).for_each(|_| hasher.push_word(&self.workload));
        (0..self.prefix_tokens()).for_each(|_| hasher.push_word(&group));
        Some(())
    }

    /// Tokens that the template adds to the first request of a session; `None` where they are not known.
    pub(super) fn template_tokens(&self) -> Option<u64> {
        let overhead_tokens = self.measure.as_ref().filter(|_| self.has_lengths())?.overhead_tokens;
        match &self.system {
            System::None => Some(overhead_tokens),
            System::Tokens(tokens) => Some(overhead_tokens.saturating_sub(*tokens)),
            System::Text(_) => None,
        }
    }

    /// Tokens of texts, a template's left out; `None` where nothing counts them.
    pub(super) fn count<'a>(&self, mut texts: impl Iterator<Item = &'a str>) -> Option<u64> {
        let tokenizer = self.tokenizer.as_ref()?;
        texts.try_fold(0, |sum, text| Some(sum + tokenizer.count(text, Specials::Without).ok()? as u64))
    }

    /// Length of what a turn adds: as planned, or as counted.
    pub(super) fn length(&self, turn: &Turn, messages: &[Message], counted: Option<u64>) -> Length {
        let tokens = if self.is_measured() { turn.prompt_tokens.map(u64::from) } else { counted };
        Length::of(messages, tokens)
    }

    /// Words of the request's own, and a line break.
    fn salt_block(&self, salt: Salt, turn: &Turn) -> String {
        let number = self.number(salt, turn);
        let mut stream = Seed(salt.0).indexed_stream("salt block", &self.workload, number);
        let mut text = String::new();
        self.model().extend(&mut text, SALT_WORDS, Some(number), &mut stream);
        text + "\n\n"
    }

    fn model(&self) -> TokenModel {
        self.measure.as_ref().map_or_else(TokenModel::common, |measure| measure.model.clone())
    }
}

/// By what the streams of a turn are told apart.
fn index(turn: &Turn) -> u64 {
    step(turn.planned.session, turn.planned.turn)
}

/// A prompt of exactly `count` words.
fn synthetic(mut stream: Stream, count: u64) -> String {
    let mut text = String::with_capacity(count as usize * 6);
    append(&mut text, &mut stream, count);
    text
}

/// Adds `count` words to `text`.
fn append(text: &mut String, stream: &mut Stream, count: u64) {
    for _ in 0..count {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word(stream));
    }
}

/// One word.
pub(super) fn word(stream: &mut Stream) -> &'static str {
    let words = &*WORDS;
    words[stream.below(words.len() as u64) as usize]
}

#[cfg(test)]
mod tests;
