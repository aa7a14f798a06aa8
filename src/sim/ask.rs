//! What a request asks for, read from its body: prompt, limits, the answer it will get. What the simulated server
//! cannot do it refuses.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::answer::{Answer, KeyMaker, Vocabulary};
use super::body::{Body, DetokenizeBody, Message, Prompt, TokenizeBody};
use super::knowledge::{AnswerKey, Question, informed, wrong};
use super::prefix::{BlockHash, BlockHasher};
use super::problem::Problem;
use super::profile::Parameters;
use super::request::Request;
use super::tokenize::{Tokenize, template_ids};

/// Which API a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completion,
}

/// A request that was understood.
#[derive(Debug)]
pub(super) struct Ask {
    /// The model asked for, if one was.
    pub(super) model: Option<String>,
    pub(super) form: Form,
    pub(super) answer: Answer,
    pub(super) delivery: Delivery,
    /// What the engine is asked.
    pub(super) request: Request,
}

/// How the answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// In one piece.
    Whole,
    /// Token by token.
    Streamed(StreamUsage),
}

/// When a stream tells its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamUsage {
    /// Never.
    None,
    /// At the end.
    Final,
    /// On every event, and at the end.
    Continuous,
}

/// Reads requests and knows what is answered.
pub(super) struct Reader {
    pub(super) tokenizer: Arc<dyn Tokenize>,
    pub(super) answer_key: Option<Arc<dyn AnswerKey>>,
    /// Other seeds give other answers.
    pub(super) seed: u64,
    pub(super) vocabulary: Vocabulary,
    pub(super) parameters: Parameters,
}

impl Reader {
    /// Reads the body of a request for an answer; a `corrupt` one is another than it should be.
    ///
    /// # Errors
    /// When it is not JSON, not a request of this form, or asks for what is not simulated.
    pub(super) fn read(&self, form: Form, body: &[u8], corrupt: bool) -> Result<Ask, Problem> {
        let what = match form {
            Form::Chat => "a chat request",
            Form::Completion => "a completions request",
        };
        let mut body: Body<'_> = parse(body, what)?;
        if let Some(param) = body.unsupported() {
            return Err(Problem::unsupported(param));
        }
        let max_tokens = body.max_completion_tokens.or(body.max_tokens);
        let min_tokens = body.min_tokens.unwrap_or(0);
        if let Some(max_tokens) = max_tokens.filter(|max_tokens| *max_tokens < min_tokens) {
            let message = format!("min_tokens must not exceed max_tokens={max_tokens}, got {min_tokens}.");
            return Err(Problem::bad_request(message, Some("min_tokens")));
        }
        let mut prompt = PromptTokens::new(self);
        let mut key = KeyMaker::new(self.seed);
        let answer = match form {
            Form::Chat => {
                let messages = body.messages.take().filter(|messages| !messages.is_empty());
                let messages = messages.ok_or_else(|| {
                    Problem::bad_request("`messages` must hold at least one message.", Some("messages"))
                })?;
                prompt.add_messages(&messages);
                messages.iter().for_each(|message| {
                    key.add(&message.role);
                    key.add(&message.content.0);
                });
                let texts = messages.iter().map(|message| &*message.content.0).collect::<Vec<_>>();
                let last = messages.iter().rfind(|message| message.role == "user");
                let last = last.map_or("", |message| &message.content.0);
                self.informed(key.key(), last, &texts, prompt.count, corrupt)
            }
            Form::Completion => match body.prompt.take() {
                None => return Err(Problem::bad_request("`prompt` is missing.", Some("prompt"))),
                Some(Prompt::Several) => {
                    let message = "The simulated server answers one prompt a request.";
                    return Err(Problem::bad_request(message, Some("prompt")));
                }
                Some(Prompt::Text(text)) => {
                    prompt.add_text(&text);
                    key.add(&text);
                    self.informed(key.key(), &text, &[&*text], prompt.count, corrupt)
                }
                Some(Prompt::Ids(ids)) => {
                    prompt.add_ids(&ids);
                    ids.iter().for_each(|id| key.add(&id.to_string()));
                    Answer::new(key.key() ^ u64::from(corrupt))
                }
            },
        };
        let mut answer = answer.thinking(self.thoughts(&body)?);
        let room = self.parameters.max_model_len.saturating_sub(prompt.count);
        let own_end = answer.tokens(self.parameters.mean_answer_tokens).max(min_tokens);
        let own_end = (body.ignore_eos != Some(true)).then_some(own_end);
        let longest = [max_tokens, own_end].into_iter().flatten().fold(room, u64::min);
        let stops = body.stop.take().map_or_else(Vec::new, |stops| stops.0);
        let stopped = answer.stop_at(&stops, min_tokens, longest);
        let blocks = prompt.blocks(&answer, stopped.unwrap_or(longest));
        let prompt_tokens = prompt.count;
        let streamed = || match &body.stream_options {
            Some(options) if options.continuous_usage_stats == Some(true) => StreamUsage::Continuous,
            Some(options) if options.include_usage == Some(true) => StreamUsage::Final,
            _ => StreamUsage::None,
        };
        Ok(Ask {
            model: body.model.map(Cow::into_owned),
            form,
            answer,
            delivery: match body.stream {
                Some(true) => Delivery::Streamed(streamed()),
                _ => Delivery::Whole,
            },
            request: Request { prompt_tokens, max_tokens, stop_after: stopped.or(own_end), blocks },
        })
    }

    fn informed(
        &self,
        key: u64,
        question: &str,
        prompt: &[&str],
        prompt_tokens: u64,
        corrupt: bool,
    ) -> Answer {
        let answer = Answer::new(key);
        let fullness = prompt_tokens as f64 / self.parameters.max_model_len as f64;
        let question = Question { text: question, prompt, fullness };
        match informed(&answer, question, &self.parameters.skill, self.answer_key.as_deref()) {
            Some(text) if corrupt => answer.saying(&wrong(&text)),
            Some(text) => answer.saying(&text),
            None => Answer::new(key ^ u64::from(corrupt)),
        }
    }

    /// Tokens of thought that are asked for: a quarter, half or all of the mean answer by effort.
    fn thoughts(&self, body: &Body<'_>) -> Result<u64, Problem> {
        let mean = self.parameters.mean_answer_tokens;
        let asked = body.chat_template_kwargs.as_ref().and_then(|options| options.enable_thinking);
        Ok(match body.reasoning_effort.as_deref() {
            None if asked == Some(true) => (mean / 2).max(1),
            None | Some("none") => 0,
            Some("minimal" | "low") => (mean / 4).max(1),
            Some("medium") => (mean / 2).max(1),
            Some("high") => mean,
            Some(_) => {
                let message = "`reasoning_effort` is one of none, minimal, low, medium, high.";
                return Err(Problem::bad_request(message, Some("reasoning_effort")));
            }
        })
    }

    /// The tokens of a text, or of a conversation with its template.
    ///
    /// # Errors
    /// When the body asks for neither.
    pub(super) fn tokenize(&self, body: &[u8]) -> Result<(Vec<u32>, String), Problem> {
        let body: TokenizeBody<'_> = parse(body, "a request to tokenize")?;
        let mut ids = Vec::new();
        match (body.prompt, body.messages) {
            (Some(text), _) => {
                self.tokenizer.encode(&text, &mut ids);
                Ok((ids, text.into_owned()))
            }
            (None, Some(messages)) => {
                let mut whole = String::new();
                for message in &messages {
                    self.tokenizer.encode(&message.content.0, &mut ids);
                    ids.extend(template_ids(&message.role));
                    whole.push_str(&message.content.0);
                    whole.push(' ');
                }
                Ok((ids, whole))
            }
            (None, None) => {
                Err(Problem::bad_request("`prompt` or `messages` must be given.", Some("prompt")))
            }
        }
    }

    /// The ids to turn into text.
    ///
    /// # Errors
    /// When the body has none.
    pub(super) fn detokenize(body: &[u8]) -> Result<Vec<u32>, Problem> {
        parse::<DetokenizeBody>(body, "a request to detokenize").map(|body| body.tokens)
    }
}

fn parse<'a, T: Deserialize<'a>>(body: &'a [u8], what: &str) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        let message = if error.is_data() {
            format!("The request body is not {what}: {error}")
        } else {
            format!("JSON decode error: {error}")
        };
        Problem::bad_request(message, None)
    })
}

/// A prompt as tokens: counted, and hashed where that is of use.
struct PromptTokens<'a> {
    reader: &'a Reader,
    count: u64,
    hasher: Option<BlockHasher>,
    ids: Vec<u32>,
}

impl<'a> PromptTokens<'a> {
    fn new(reader: &'a Reader) -> PromptTokens<'a> {
        let Parameters { prefix_caching, block_tokens, .. } = reader.parameters;
        let hasher = prefix_caching.then(|| BlockHasher::new(block_tokens));
        PromptTokens { reader, count: 0, hasher, ids: Vec::new() }
    }

    fn add_messages(&mut self, messages: &[Message<'_>]) {
        for message in messages {
            self.add_text(&message.content.0);
            self.add_ids(&template_ids(&message.role));
        }
    }

    fn add_text(&mut self, text: &str) {
        if self.hasher.is_none() {
            self.count += self.reader.tokenizer.count(text);
            return;
        }
        let mut ids = std::mem::take(&mut self.ids);
        ids.clear();
        self.reader.tokenizer.encode(text, &mut ids);
        self.add_ids(&ids);
        self.ids = ids;
    }

    fn add_ids(&mut self, ids: &[u32]) {
        self.count += ids.len() as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.extend(ids.iter().copied());
        }
    }

    /// The hashes of the whole blocks of the prompt and of `tokens` tokens of the answer, of which the last is never
    /// computed.
    fn blocks(&mut self, answer: &Answer, tokens: u64) -> Vec<BlockHash> {
        let Some(mut hasher) = self.hasher.take() else { return Vec::new() };
        let Reader { vocabulary, tokenizer, .. } = self.reader;
        let ids = (1..tokens).map(|next| answer.token_id(next - 1, vocabulary, &**tokenizer));
        hasher.extend(ids);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests;
