//! How many tokens words and template have, found out before the clock starts.
//!
//! Words come from the scenario's tokenizer, or from the server's endpoint, or are those that are one token each in
//! every common vocabulary. In each case a few unmeasured requests say what the server itself counts: what its
//! template adds, and whether a word is a token. Where it counts otherwise, its own number holds.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::client::Client;
use crate::clock::Clock;
use crate::dataset::tokenizer::{Specials, Tokenizer};
use crate::plan::Turn;
use crate::plan::compose::{Form, Measure, Prompts, Salt, Stuff, System};
use crate::plan::needle::Filler;
use crate::prompt::{Outgoing, TokenModel, all_words};
use crate::protocol::{Api, BodyOptions};
use crate::record::{Needle, Outcome, Planned, Timeline};
use crate::scenario::CachePolicy;
use crate::seed::Seed;

/// Lengths of the probes, in words.
const PROBES: [u64; 3] = [32, 160, 288];

/// Deviations that differ by no more than this are put down to numbers that are not all as many tokens.
const FLAT_TOKENS: i64 = 8;

/// Where the words of prompts come from.
pub enum WordSource<'a> {
    /// Words that are one token in every common vocabulary.
    Common,
    /// A tokenizer of the scenario's.
    Tokenizer(&'a Arc<Tokenizer>),
    /// The server's endpoint at this path.
    Endpoint(String),
}

/// How the lengths of one workload's prompts were had.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The workload's name.
    pub workload: String,
    /// Where its words come from: `common`, `tokenizer`, `endpoint`, `ids`.
    pub source: &'static str,
    /// Tokens that template and instructions add, and to a needle's prompt what its text was not known to have; `None`
    /// where the server does not count.
    pub overhead_tokens: Option<u64>,
    /// Tokens of a word.
    pub tokens_per_word: f64,
    /// By how much of its length a probe differed from what was expected of it; `None` where the server does not
    /// count.
    pub error_share: Option<f64>,
}

/// What a server counts of prompts of so many words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Tokens of a prompt without words.
    pub overhead_tokens: u64,
    /// Tokens of a word.
    pub tokens_per_word: f64,
    /// Largest deviation of a prompt, as a share of its length.
    pub error_share: f64,
}

impl Fit {
    /// The line through the first and the last of `samples`, words and tokens in ascending order; the others show how
    /// far it holds. `None` of fewer than two, and where more words are not more tokens.
    pub fn of(samples: &[(u64, u64)]) -> Option<Fit> {
        let ((few, low), (many, high)) = (*samples.first()?, *samples.last()?);
        if many <= few || high <= low {
            return None;
        }
        let tokens_per_word = (high - low) as f64 / (many - few) as f64;
        let overhead = low as f64 - tokens_per_word * few as f64;
        let deviation = |(words, tokens): &(u64, u64)| {
            (overhead + tokens_per_word * *words as f64 - *tokens as f64).abs() / *tokens as f64
        };
        Some(Fit {
            overhead_tokens: overhead.max(0.0).round() as u64,
            tokens_per_word,
            error_share: samples.iter().map(deviation).fold(0.0, f64::max),
        })
    }
}

/// By how much what a server counts differs from what was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Deviation {
    /// In the middle of them.
    middle_tokens: i64,
    /// From the least to the largest.
    spread_tokens: i64,
    /// The largest that the middle leaves, as a share of the length.
    error_share: f64,
}

impl Deviation {
    /// Of lengths asked for and counted.
    fn of(samples: &[(u64, u64)]) -> Deviation {
        let mut deviations = samples
            .iter()
            .map(|(asked, counted)| counted.cast_signed() - asked.cast_signed())
            .collect::<Vec<_>>();
        deviations.sort_unstable();
        let (Some(least), Some(most)) = (deviations.first(), deviations.last()) else {
            return Deviation::default();
        };
        let middle = deviations[deviations.len() / 2];
        let left = |(asked, counted): &(u64, u64)| {
            (counted.cast_signed() - asked.cast_signed() - middle).unsigned_abs() as f64 / *counted as f64
        };
        Deviation {
            middle_tokens: middle,
            spread_tokens: most - least,
            error_share: samples.iter().map(left).fold(0.0, f64::max),
        }
    }
}

/// Asks the server what a run needs to know.
pub struct Calibrator<'a> {
    /// The run's time.
    pub clock: &'a Clock,
    /// The way to the server.
    pub client: &'a Client,
    /// The API spoken.
    pub api: Api,
    /// Makes the probes unlike those of other runs.
    pub salt: Salt,
    /// What ids of the probes begin with.
    pub id: &'a str,
}

impl Calibrator<'_> {
    /// Finds out how prompts of a planned length are made, for each workload that has such. What its author should
    /// know is appended to `notes`.
    ///
    /// # Errors
    /// When the server does not answer the probes, or its lengths cannot be had at all: why.
    pub async fn calibrate(
        &self,
        forms: &mut [Form],
        words: &WordSource<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Calibration>, String> {
        let tells_ids = matches!(words, WordSource::Tokenizer(_));
        let is_meant = |form: &Form| form.has_lengths() || tells_ids;
        if !forms.iter().any(is_meant) {
            return Ok(Vec::new());
        }
        let of_ids = |form: &Form| match &form.prompts {
            Prompts::Tokens { of: Stuff::Ids(ids), .. } => Some(*ids),
            _ => None,
        };
        // Ids need no words.
        let (model, source) = match forms.iter().any(|form| is_meant(form) && of_ids(form).is_none()) {
            true => self.words(words, notes).await?,
            false => (TokenModel::common(), "common"),
        };
        let mut known: Vec<(Kind, Option<Fit>)> = Vec::new();
        let mut calibrations = Vec::new();
        for form in forms.iter_mut().filter(|form| is_meant(form)) {
            let ids = of_ids(form);
            let (model, source) = match ids {
                Some(ids) => (&TokenModel::ids(ids.min, ids.max), "ids"),
                None => (&model, source),
            };
            let kind = Kind::of(form);
            let fit = match known.iter().find(|(known, _)| *known == kind) {
                Some((_, fit)) => *fit,
                None => {
                    let of = match &form.prompts {
                        Prompts::Tokens { of, .. } => of.clone(),
                        _ => Stuff::Words,
                    };
                    let plain = Form {
                        // What a text begins with is not for the server to know before the run.
                        cache: match (&of, form.cache) {
                            (Stuff::Passage(_), CachePolicy::Natural) => CachePolicy::Shared,
                            (_, cache) => cache,
                        },
                        // What a prefix adds is known, and a long one would be probed at length.
                        prompts: Prompts::Tokens { prefix_tokens: 0, of },
                        measure: Some(Measure::of(model.clone())),
                        ..form.clone()
                    };
                    let id = format!("{}", known.len());
                    match self.probe(&plain, &id, PROBES).await? {
                        Some(samples) => Some(Fit::of(&samples).ok_or_else(|| {
                            format!(
                                "the server counts {samples:?} tokens for so many words, which makes no sense"
                            )
                        })?),
                        None => None,
                    }
                }
            };
            known.push((kind, fit));
            let settled = match form.has_lengths() {
                true => settle(form, model, source, fit, notes)?,
                false => compared(form, model, source, fit, notes),
            };
            let Some(mut calibration) = settled else { continue };
            if let Prompts::Needle(_) = form.prompts {
                let counted = match words {
                    WordSource::Tokenizer(tokenizer) => Filler::counted(Arc::clone(tokenizer)),
                    WordSource::Common | WordSource::Endpoint(_) => None,
                };
                let id = format!("{}-needle", calibrations.len());
                self.measure_filler(form, counted, &id, &mut calibration).await?;
            }
            calibrations.push(calibration);
        }
        Ok(calibrations)
    }

    /// The words that prompts are made of, and where they come from.
    async fn words(
        &self,
        source: &WordSource<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(TokenModel, &'static str), String> {
        let (model, name) = match source {
            WordSource::Common => return Ok((TokenModel::common(), "common")),
            WordSource::Tokenizer(tokenizer) => {
                let count = |text: &str| Some(tokenizer.count(text, Specials::Without).ok()? as u64);
                (TokenModel::counted(count), "tokenizer")
            }
            WordSource::Endpoint(path) => (self.ask_for_words(path).await?, "endpoint"),
        };
        if model.is_none() {
            notes.push(
                "the tokenizer knows too few of our words as one token: lengths follow from what the server counts"
                    .to_owned(),
            );
        }
        Ok(model.map_or((TokenModel::common(), "common"), |model| (model, name)))
    }

    /// Words that the server's endpoint says are one token each.
    async fn ask_for_words(&self, path: &str) -> Result<Option<TokenModel>, String> {
        let single =
            single_words(all_words().collect(), async |text| self.tokens_of(path, &text).await).await?;
        // Which of them are one token at the beginning of a text shows in the probes.
        let count = |text: &str| {
            Some(
                text.split(' ').map(|word| if single.contains(&word) || word == "the" { 1 } else { 2 }).sum(),
            )
        };
        Ok(TokenModel::counted(count).map(TokenModel::begun_as_common))
    }

    /// How many tokens `text` is, without those that are put around it.
    async fn tokens_of(&self, path: &str, text: &str) -> Result<u64, String> {
        // vLLM and llama.cpp have their own names for the same.
        let body =
            json!({ "prompt": text, "content": text, "add_special_tokens": false, "add_special": false });
        let (status, answer) = self.client.post(path, Bytes::from(body.to_string())).await?;
        if !(200..300).contains(&status) {
            return Err(format!("the server has no endpoint to count tokens: {path} answers {status}"));
        }
        let answer: Option<Value> = serde_json::from_slice(&answer).ok();
        let tokens = answer.as_ref().and_then(|answer| answer.get("tokens")?.as_array());
        tokens.map(|tokens| tokens.len() as u64).ok_or(format!("{path} answers without a list of `tokens`"))
    }

    /// Finds out how many tokens the text is that needles are hidden in. Its words are one each; marks of punctuation may
    /// be one or none, numbers are as many as any other of their width.
    async fn measure_filler(
        &self,
        form: &mut Form,
        counted: Option<Filler>,
        id: &str,
        calibration: &mut Calibration,
    ) -> Result<(), String> {
        let Some(measure) = form.measure.clone() else { return Ok(()) };
        let fillers = counted.map_or_else(|| vec![Filler::of_words(1), Filler::of_words(0)], |one| vec![one]);
        let mut best: Option<(Measure, Deviation)> = None;
        for (tried, filler) in fillers.into_iter().enumerate() {
            let measure = Measure { filler, ..measure.clone() };
            let form = Form { measure: Some(measure.clone()), ..form.clone() };
            let shortest = form.shortest_tokens().unwrap_or_default();
            let lengths = PROBES.map(|length| shortest + length);
            let Some(samples) = self.probe(&form, &format!("{id}-{tried}"), lengths).await? else {
                best.get_or_insert((measure, Deviation::default()));
                break;
            };
            let deviation = Deviation::of(&samples);
            if best.as_ref().is_none_or(|(_, known)| deviation.spread_tokens < known.spread_tokens) {
                best = Some((measure, deviation));
            }
            if deviation.spread_tokens <= FLAT_TOKENS {
                break;
            }
        }
        if let Some((measure, deviation)) = best {
            let overhead_tokens = measure.overhead_tokens.saturating_add_signed(deviation.middle_tokens);
            calibration.overhead_tokens = calibration.overhead_tokens.map(|_| overhead_tokens);
            calibration.error_share = calibration.error_share.map(|known| known.max(deviation.error_share));
            form.measure = Some(Measure { overhead_tokens, ..measure });
        }
        Ok(())
    }

    /// Lengths asked for, and what the server counts of prompts of `form` made to them; `None` where it does not say.
    async fn probe(
        &self,
        form: &Form,
        which: &str,
        lengths: [u64; 3],
    ) -> Result<Option<Vec<(u64, u64)>>, String> {
        let salt = Salt(Seed(self.salt.0).stream("probe", which).bits());
        let mut samples = Vec::new();
        for (number, length) in lengths.into_iter().enumerate() {
            let length_tokens = u32::try_from(length).unwrap_or(u32::MAX);
            let needle = Some(Needle { depth: 0.5, length_tokens });
            let (request, session) = (number as u64, number as u64);
            let planned = Planned { request, session, needle, ..Planned::default() };
            let (think, prompt_tokens) = (std::time::Duration::ZERO, Some(length_tokens));
            let turn = Turn { planned, think, prompt_tokens };
            let messages = form.opening(salt, &turn)?.messages;
            let outgoing = Outgoing {
                id: format!("{}-probe-{which}-{number}", self.id),
                stream: form.options.stream,
                keep_answer: false,
                check_answer: false,
                body_hash: None,
                known: None,
                body: Bytes::from(form.options.body(self.api, &messages, 1)),
            };
            match send(self.clock, self.client, &outgoing).await? {
                Some(tokens) => samples.push((length, tokens)),
                None => return Ok(None),
            }
        }
        Ok(Some(samples))
    }
}

/// What decides what stands around the words of a prompt, and what these are.
#[derive(PartialEq)]
struct Kind {
    options: BodyOptions,
    system: System,
    is_cold: bool,
    /// The workload whose text it is.
    text_of: Option<String>,
}

impl Kind {
    fn of(form: &Form) -> Kind {
        let is_text = matches!(&form.prompts, Prompts::Tokens { of: Stuff::Passage(_), .. });
        Kind {
            options: form.options.clone(),
            system: form.system.clone(),
            is_cold: form.cache == CachePolicy::Cold,
            text_of: is_text.then(|| form.workload.clone()),
        }
    }
}

/// Sends a request that is not measured: the length of its prompt, where the server says it.
///
/// # Errors
/// When it is not answered, in words.
pub async fn send(clock: &Clock, client: &Client, outgoing: &Outgoing) -> Result<Option<u64>, String> {
    let mut timeline = Timeline::begin(clock.now(), client.stamp_source());
    client.exchange(outgoing, &mut timeline, &mut |_| {}).await;
    match timeline.outcome {
        // One token may be one without text.
        Outcome::Ok | Outcome::Empty => Ok(timeline.usage.prompt.filter(|tokens| *tokens > 0)),
        outcome => {
            let status =
                timeline.http_status.map(|status| format!(" with status {status}")).unwrap_or_default();
            let why = timeline.error.map(|error| format!(": {error}")).unwrap_or_default();
            Err(format!("a request before the run ended as {}{status}{why}", outcome.name()))
        }
    }
}

/// Takes over what was found for one workload; `None` where its lengths stay words.
fn settle(
    form: &mut Form,
    model: &TokenModel,
    source: &'static str,
    fit: Option<Fit>,
    notes: &mut Vec<String>,
) -> Result<Option<Calibration>, String> {
    let workload = form.workload.clone();
    let Some(fit) = fit else {
        if source == "common" && !matches!(form.prompts, Prompts::Tokens { .. }) {
            notes.push(format!(
                "the server does not say how many tokens a prompt is, and no tokenizer is named: lengths of `{workload}` \
                 are counted in words"
            ));
            return Ok(None);
        }
        if source == "common" {
            return Err(format!(
                "the server does not say how many tokens a prompt is, so prompts of workload `{workload}` cannot be \
                 made to a length in tokens"
            ));
        }
        notes.push(format!(
            "the server does not say how many tokens a prompt is: those of `{workload}` are longer than planned by \
             what its template adds"
        ));
        let tokens_per_word = model.tokens_per_word();
        form.measure = Some(Measure::of(model.clone()));
        return Ok(Some(Calibration {
            workload,
            source,
            overhead_tokens: None,
            tokens_per_word,
            error_share: None,
        }));
    };
    Ok(Some(take_over(form, model, source, fit, notes)))
}

/// Takes over what was found for a workload whose prompts have no planned lengths: whether the tokenizer is the
/// server's, so that it tells their tokens. `None` where that is not known.
fn compared(
    form: &mut Form,
    model: &TokenModel,
    source: &'static str,
    fit: Option<Fit>,
    notes: &mut Vec<String>,
) -> Option<Calibration> {
    let fit = fit.filter(|_| source == "tokenizer")?;
    Some(take_over(form, model, source, fit, notes))
}

/// Takes over what the server says of prompts, and says so where it counts words otherwise than the tokenizer of the
/// scenario.
fn take_over(
    form: &mut Form,
    model: &TokenModel,
    source: &'static str,
    fit: Fit,
    notes: &mut Vec<String>,
) -> Calibration {
    let (counted, stated) = (256, 256.0 * fit.tokens_per_word);
    let note = format!(
        "the tokenizer of the scenario is not the server's: it counts {counted} tokens where the server counts \
         {stated:.0}; the server's number holds"
    );
    if source != "common" && fit.tokens_per_word != 1.0 && !notes.contains(&note) {
        notes.push(note);
    }
    let model = model.clone().with_tokens_per_word(fit.tokens_per_word);
    form.measure = Some(Measure { overhead_tokens: fit.overhead_tokens, ..Measure::of(model) });
    Calibration {
        workload: form.workload.clone(),
        source,
        overhead_tokens: Some(fit.overhead_tokens),
        tokens_per_word: fit.tokens_per_word,
        error_share: Some(fit.error_share),
    }
}

/// Of `words`, those that are one token after a blank, found by counting them together and halving where the sum is
/// more.
async fn single_words<F>(
    words: Vec<&'static str>,
    count: impl Fn(String) -> F,
) -> Result<std::collections::BTreeSet<&'static str>, String>
where
    F: Future<Output = Result<u64, String>>,
{
    let base = count("the".to_owned()).await?;
    let mut single = std::collections::BTreeSet::new();
    let mut open = vec![words];
    while let Some(words) = open.pop() {
        let tokens = count(format!("the {}", words.join(" "))).await?;
        if tokens == base + words.len() as u64 {
            single.extend(words);
        } else if words.len() > 1 {
            let (one, other) = words.split_at(words.len() / 2);
            open.extend([one.to_vec(), other.to_vec()]);
        }
    }
    Ok(single)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_what_a_prompt_without_words_would_have() {
        let fit = Fit::of(&[(32, 43), (160, 171), (288, 299)]).unwrap();
        assert_eq!(fit, Fit { overhead_tokens: 11, tokens_per_word: 1.0, error_share: 0.0 });
    }

    #[test]
    fn words_of_several_tokens_leave_an_error_that_is_told() {
        let fit = Fit::of(&[(32, 52), (160, 209), (288, 372)]).unwrap();
        assert_eq!((fit.overhead_tokens, fit.tokens_per_word), (12, 1.25));
        assert!((fit.error_share - 3.0 / 209.0).abs() < 1e-12, "{}", fit.error_share);
    }

    #[test]
    fn what_all_deviate_by_is_taken_off_and_the_rest_is_told() {
        let deviation = Deviation::of(&[(70, 74), (200, 203), (330, 332)]);
        assert_eq!((deviation.middle_tokens, deviation.spread_tokens), (3, 2));
        assert!((deviation.error_share - 1.0 / 74.0).abs() < 1e-12);
        assert_eq!(Deviation::of(&[]), Deviation::default());
        assert_eq!(Deviation::of(&[(70, 60)]).middle_tokens, -10);
    }

    #[test]
    fn what_makes_no_sense_is_no_fit() {
        assert_eq!(Fit::of(&[]), None);
        assert_eq!(Fit::of(&[(32, 40)]), None);
        assert_eq!(Fit::of(&[(32, 40), (160, 40)]), None);
    }

    #[test]
    fn words_of_one_token_are_found_by_halving() {
        let asked = std::cell::Cell::new(0);
        let count = |text: String| {
            asked.set(asked.get() + 1);
            let tokens = text.split(' ').map(|word| 1 + u64::from(word.starts_with('q'))).sum();
            std::future::ready(Ok(tokens))
        };
        let words = all_words().collect::<Vec<_>>();
        let expected = words.iter().filter(|word| !word.starts_with('q')).copied().collect();
        let mut found = Box::pin(single_words(words, count));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(found) = found.as_mut().poll(&mut context) else { panic!("it waits") };
        assert_eq!(found, Ok(expected));
        assert!(asked.get() < 60, "{} questions", asked.get());
    }
}
