//! What must be found out of the server before its prompts can be made, and what it must be told.

use std::path::PathBuf;
use std::sync::Arc;

use super::exit::{Exit, Failure};
use super::live::say;
use super::prepare::Prepared;
use crate::blocks::KnownPrompt;
use crate::client::Client;
use crate::clock::Clock;
use crate::dataset::tokenizer::{Specials, Tokenizer};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::plan::compose::Form;
use crate::plan::composer::Composer;
use crate::results::manifest::LengthsEntry;
use crate::run::calibrate::{Calibration, Calibrator, WordSource, send};
use crate::scenario::{PromptSource, Scenario, TargetUrl, TokenizerSource};
use crate::sim::Tokenize;
use crate::sweep::Run;

/// Ways to empty a prefix cache: vLLM's and SGLang's.
const RESETS: [&str; 2] = ["/reset_prefix_cache", "/flush_cache"];

/// The tokenizer that the scenario names, from the `shelf`, or else loaded and put there. What is wrong with it goes into
/// `notes`.
pub(super) fn load_tokenizer(
    scenario: &Scenario,
    notes: &mut Diagnostics,
    shelf: &mut Vec<(PathBuf, Arc<Tokenizer>)>,
) -> Option<Arc<Tokenizer>> {
    let Some(TokenizerSource::File(path)) = &scenario.target.tokenizer else { return None };
    if let Some((_, tokenizer)) = shelf.iter().find(|(known, _)| known == path) {
        return Some(Arc::clone(tokenizer));
    }
    match Tokenizer::load(path) {
        Ok(tokenizer) => {
            let tokenizer = Arc::new(tokenizer);
            shelf.push((path.clone(), Arc::clone(&tokenizer)));
            Some(tokenizer)
        }
        Err(error) => {
            let help = "name a tokenizer.json, or a rank file of tiktoken, with target.tokenizer.file";
            notes.push(Diagnostic::error(error.to_string()).help(help));
            None
        }
    }
}

/// A composer of the scenario's requests for `model`, once the server was asked what its lengths depend on, its cache
/// emptied where that is wanted, and its shared prefixes sent; how the lengths were had; and those prefixes.
pub(super) async fn composer(
    client: &Client,
    clock: &Clock,
    url: &TargetUrl,
    prepared: &Prepared,
    model: &str,
    quiet: bool,
) -> Result<(Composer, Vec<LengthsEntry>, Vec<KnownPrompt>), Failure> {
    let target = &prepared.scenario.target;
    let root = url.base_path.trim_end_matches("/v1");
    let mut forms = prepared.forms(model)?;
    let words = match (&target.tokenizer, &prepared.tokenizer) {
        (Some(TokenizerSource::Server), _) => WordSource::Endpoint(format!("{root}/tokenize")),
        (_, Some(tokenizer)) => WordSource::Tokenizer(tokenizer),
        (_, None) => WordSource::Common,
    };
    let (api, salt, id) = (target.api, prepared.salt, &prepared.id());
    let calibrator = Calibrator { clock, client, api, salt, id };
    let mut notes = Vec::new();
    let calibrations = calibrator.calibrate(&mut forms, &words, &mut notes).await.map_err(|why| {
        let help =
            "count prompts in words (prompt.synthetic.words), or name a tokenizer with target.tokenizer";
        Failure::new(Exit::Unreachable, format!("{why}\n  help: {help}"))
    })?;
    calibrations.iter().for_each(|known| notes.extend(shortened(prepared, &forms, known)));
    if !quiet {
        notes.iter().for_each(|note| say(&format!("warning: {note}")));
    }
    if target.reset_cache {
        reset_cache(client, root).await?;
    }
    let composer = prepared.composer(forms);
    let mut filled = Vec::new();
    for fill in composer.fills() {
        let outgoing = fill.map_err(Failure::unexpected)?;
        send(clock, client, &outgoing).await.map_err(|why| {
            Failure::new(
                Exit::Unreachable,
                format!("a shared prefix could not be sent before the run: {why}"),
            )
        })?;
        filled.extend(outgoing.known);
    }
    let entry = |calibration| entry(calibration, prepared.run);
    Ok((composer, calibrations.into_iter().map(entry).collect(), filled))
}

/// Empties the server's prefix cache.
///
/// # Errors
/// When it has no way to, or does not do it.
pub(super) async fn reset_cache(client: &Client, root: &str) -> Result<(), Failure> {
    let mut answers = Vec::new();
    for path in RESETS {
        match client.post(&format!("{root}{path}"), bytes::Bytes::new()).await {
            Ok((200..300, _)) => return Ok(()),
            Ok((status, _)) => answers.push(format!("{path} answers {status}")),
            Err(why) => answers.push(why),
        }
    }
    let help =
        "start the server so that it can (vLLM: VLLM_SERVER_DEV_MODE=1), or leave target.reset_cache out";
    let message =
        format!("the server's prefix cache cannot be emptied: {}\n  help: {help}", answers.join(", "));
    Err(Failure::new(Exit::Unreachable, message))
}

/// Says which lengths cannot be had because template, instructions and prefix are longer.
fn shortened(prepared: &Prepared, forms: &[Form], known: &Calibration) -> Option<String> {
    let form = forms.iter().find(|form| form.workload == known.workload)?;
    let mut workloads = prepared.scenario.workloads.iter().zip(&prepared.datasets);
    let (workload, dataset) = workloads.find(|(workload, _)| workload.name == known.workload)?;
    let least = match (&workload.prompt, dataset) {
        (PromptSource::Tokens(asked), _) => Some(asked.tokens.min()),
        (PromptSource::Dataset(_), Some(dataset)) => {
            dataset.lengths().iter().filter_map(|lengths| lengths.prompt).min().map(u64::from)
        }
        (PromptSource::Needle(asked), _) => asked.lengths.iter().min().copied(),
        _ => None,
    };
    let shortest = form.shortest_tokens().filter(|shortest| least.is_some_and(|least| least < *shortest))?;
    let of_template = known.overhead_tokens.unwrap_or_default();
    Some(format!(
        "prompts of `{}` have at least {shortest} tokens ({of_template} of them around the text): shorter ones \
         are made so long",
        known.workload
    ))
}

fn entry(calibration: Calibration, run: Option<Run>) -> LengthsEntry {
    LengthsEntry {
        point: run.map(|run| run.point),
        repeat: run.map(|run| run.repeat),
        workload: calibration.workload,
        words: calibration.source.to_owned(),
        overhead_tokens: calibration.overhead_tokens,
        tokens_per_word: calibration.tokens_per_word,
        error_share: calibration.error_share,
    }
}

/// The scenario's tokenizer as the simulated server's own.
pub(super) struct Simulated(pub(super) Arc<Tokenizer>);

impl Tokenize for Simulated {
    fn encode(&self, text: &str, ids: &mut Vec<u32>) {
        // No valid tokenizer refuses a text; one that did would show as a prompt of no tokens.
        ids.extend(self.0.encode(text, Specials::Without).unwrap_or_default());
    }

    fn decode(&self, ids: &[u32]) -> Option<String> {
        self.0.decode(ids).ok()
    }
}
