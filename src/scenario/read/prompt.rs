//! Reading where prompts come from, what they share, and how they are counted.

use std::path::Path;
use std::sync::Arc;

use super::lengths::{distribution, weighted};
use super::{dataset, existing_file};
use crate::distribution::Distribution;
use crate::scenario::fields::Fields;
use crate::scenario::source;
use crate::scenario::values::{Field, Refusal};
use crate::scenario::{
    CachePolicy, IdRange, Material, NeedleForm, Popularity, PromptSource, SharedPrefix, SystemText, TextFile,
    TokenPrompts, TokenizerSource, Workload,
};

/// Where prompts come from.
pub(super) fn prompt(fields: &Fields<'_>) -> Option<PromptSource> {
    if fields.has("synthetic") {
        return synthetic(&fields.table("synthetic")?);
    }
    if fields.has("text") {
        return text(&fields.table("text")?);
    }
    if fields.has("needle") {
        return needle(&fields.table("needle")?).map(PromptSource::Needle);
    }
    if !fields.has("dataset") {
        return None;
    }
    dataset::read(&fields.table("dataset")?).map(PromptSource::Dataset)
}

fn needle(fields: &Fields<'_>) -> Option<NeedleForm> {
    let depths = fields.value("depths", Field::numbers);
    let lengths = fields.value("lengths", Field::token_list);
    let repeats = fields.value("repeats", Field::integer);
    let needles = fields.value("needles", Field::integer);
    let distractors = fields.value("distractors", Field::integer);
    let (depths, lengths) = (depths?, lengths?);
    let repeats = u32::try_from(repeats?).ok()?;
    let (needles, distractors) = (u32::try_from(needles?).ok()?, u32::try_from(distractors?).ok()?);
    if depths.iter().any(|depth| *depth > 1.0) {
        let help = "0 is the beginning of the prompt, 1 its end";
        fields.problems.error(fields.place("depths"), "a depth is a share from 0 to 1", help);
    }
    let least = NeedleForm::shortest(needles, distractors);
    if lengths.iter().any(|length| *length < least) {
        let message = format!("a prompt needs {least} tokens to hide its needles and distractors");
        fields.problems.error(fields.place("lengths"), message, "make it longer, or ask for fewer of them");
    }
    Some(NeedleForm { depths, lengths, repeats, needles, distractors })
}

fn synthetic(fields: &Fields<'_>) -> Option<PromptSource> {
    if fields.has("words") {
        if fields.has("shared_prefix") {
            let message = "`shared_prefix` is counted in tokens, and the prompt in words";
            let help = "give the whole length in tokens: `tokens` instead of `words`";
            fields.problems.error(fields.place("shared_prefix"), message, help);
        }
        if fields.has("ids") {
            let help = "give the length in tokens: `tokens` instead of `words`";
            fields.problems.error(
                fields.place("ids"),
                "ids are tokens, and the prompt is counted in words",
                help,
            );
        }
        let words = fields.value("words", Field::integer)?;
        return Some(PromptSource::Synthetic { words, text: None });
    }
    let (tokens, joint_output) = match fields.has("joint") {
        true => fields.table("joint").and_then(|fields| joint(&fields)).unzip(),
        false if fields.has("tokens") => (distribution(fields, "tokens"), None),
        false => (None, None),
    };
    let shared_prefix = match fields.has("shared_prefix") {
        true => Some(shared_prefix(&fields.table("shared_prefix")?)?),
        false => None,
    };
    let material = match fields.has("ids") {
        true => Material::Ids(id_range(&fields.table("ids")?)?),
        false => Material::Words,
    };
    let tokens = tokens?;
    if let Some(prefix) = &shared_prefix
        && prefix.tokens >= tokens.max()
    {
        let message = format!(
            "no prompt is longer than the {} tokens it shares: the longest has {}",
            prefix.tokens,
            tokens.max()
        );
        let help = "`tokens` of a prompt is its whole length, its shared beginning included";
        fields.problems.error(fields.place("shared_prefix"), message, help);
        return None;
    }
    Some(PromptSource::Tokens(TokenPrompts { tokens, joint_output, shared_prefix, material }))
}

/// Prompts cut from a text.
fn text(fields: &Fields<'_>) -> Option<PromptSource> {
    let path = fields.value("path", |field| existing_file(field, fields.problems));
    let words = fields.has("words").then(|| fields.value("words", Field::integer));
    let tokens = fields.has("tokens").then(|| distribution(fields, "tokens"));
    let path = path?;
    let text: Arc<str> = text_of(fields, &path)?.into();
    if text.trim().is_empty() {
        let message = "the file of `path` holds no text";
        fields.problems.error(fields.place("path"), message, "name a file with some words in it");
        return None;
    }
    let text = TextFile { path, text };
    if let Some(words) = words {
        return Some(PromptSource::Synthetic { words: words?, text: Some(text) });
    }
    let (tokens, material) = (tokens??, Material::Text(text));
    Some(PromptSource::Tokens(TokenPrompts { tokens, joint_output: None, shared_prefix: None, material }))
}

/// Says which texts are to have a length in tokens that nothing counts.
pub(super) fn refuse_uncounted(tables: &[Fields<'_>], workloads: &[Workload]) {
    for (fields, workload) in tables.iter().zip(workloads) {
        if !matches!(&workload.prompt, PromptSource::Tokens(prompts) if prompts.text().is_some()) {
            continue;
        }
        let place = fields.table("prompt").and_then(|prompt| prompt.table("text")?.place("tokens"));
        let message = "a text can be cut to a length in tokens only by the model's tokenizer";
        let help = "name its file: `tokenizer.file = \"tokenizer.json\"` in `[target]`, or give the length in `words`";
        fields.problems.error(place, message, help);
    }
}

/// The text of the small file at `path`, the value of the key of that name.
fn text_of(fields: &Fields<'_>, path: &Path) -> Option<String> {
    let read = |_: Field<'_>| {
        source::small_text(path).map_err(|problem| {
            let help = format!("it must be a text in UTF-8; looked at `{}`", path.display());
            Refusal::new(format!("the file of `path` {problem}"), help)
        })
    };
    fields.own("path", read)
}

/// Lengths of prompts and of their answers, pair by pair.
fn joint(fields: &Fields<'_>) -> Option<(Distribution, Distribution)> {
    let prompts = fields.value("prompt", Field::token_list);
    let outputs = fields.value("output", Field::token_list);
    let (tokens, outputs) = (weighted(fields, prompts.clone()), outputs?);
    let count = prompts?.len();
    if outputs.len() != count {
        let message = format!("there are {} answers for {count} prompts", outputs.len());
        fields.problems.error(fields.place("output"), message, "give each prompt its answer");
        return None;
    }
    let tokens = tokens?;
    Some((tokens, weighted(fields, Some(outputs))?))
}

fn id_range(fields: &Fields<'_>) -> Option<IdRange> {
    let (min, max) = (fields.value("min", Field::integer), fields.value("max", Field::integer));
    let (min, max) = (min?, max?);
    if max < min || max - min + 1 < IdRange::FEWEST {
        let message = format!("prompts need at least {} ids to differ", IdRange::FEWEST);
        fields.problems.error(fields.place("max"), message, "lower `min`, or raise `max`");
        return None;
    }
    Some(IdRange { min: u32::try_from(min).ok()?, max: u32::try_from(max).ok()? })
}

fn shared_prefix(fields: &Fields<'_>) -> Option<SharedPrefix> {
    let tokens = fields.value("tokens", Field::tokens);
    let groups = fields.value("groups", Field::integer);
    let popularity = popularity(&fields.table("popularity")?);
    let fill = fields.value("fill", Field::boolean);
    Some(SharedPrefix { tokens: tokens?, groups: groups? as u32, popularity: popularity?, fill: fill? })
}

fn popularity(fields: &Fields<'_>) -> Option<Popularity> {
    if !fields.has("zipf") {
        return match fields.value("order", Field::choice)? {
            0 => Some(Popularity::Uniform),
            _ => Some(Popularity::RoundRobin),
        };
    }
    let exponent = fields.value("zipf", Field::number)?;
    if exponent == 0.0 {
        let help = "write a number above 0, or `popularity = \"uniform\"`, which favours no prefix";
        fields.problems.error(fields.place("zipf"), "`zipf` must be above 0", help);
        return None;
    }
    Some(Popularity::Zipf(exponent))
}

/// The instructions of a workload; the outer `None` where they could not be read.
pub(super) fn system(fields: &Fields<'_>) -> Option<Option<SystemText>> {
    if !fields.has("system") {
        return Some(None);
    }
    let fields = fields.table("system")?;
    let text = if fields.has("tokens") {
        SystemText::Tokens(fields.value("tokens", Field::tokens)?)
    } else if fields.has("path") {
        let path = fields.value("path", |field| existing_file(field, fields.problems))?;
        let text = text_of(&fields, &path)?;
        SystemText::File { path, text }
    } else {
        SystemText::Text(fields.value("text", Field::text)?)
    };
    Some(Some(text))
}

/// The policy stated, or the one that the prompts call for.
pub(super) fn cache(
    fields: &Fields<'_>,
    prompt: &PromptSource,
    system: Option<&SystemText>,
) -> Option<CachePolicy> {
    if fields.has("cache") {
        return CachePolicy::ALL.get(fields.value("cache", Field::choice)?).copied();
    }
    Some(match prompt {
        // Words before a question of a data set would make another question of it.
        PromptSource::Dataset(_) => CachePolicy::Natural,
        PromptSource::Tokens(TokenPrompts { shared_prefix: Some(_), .. }) => CachePolicy::Shared,
        PromptSource::Tokens(_) | PromptSource::Synthetic { .. } if system.is_some() => CachePolicy::Shared,
        PromptSource::Tokens(_) | PromptSource::Synthetic { .. } | PromptSource::Needle(_) => {
            CachePolicy::Cold
        }
    })
}

/// Has the rows of data sets counted by the tokenizer in the file at `path`.
pub(super) fn count_rows_by(workloads: &mut [Workload], path: &Path) {
    for workload in workloads {
        if let PromptSource::Dataset(source) = &mut workload.prompt {
            source.tokenizer = Some(path.to_owned());
        }
    }
}

/// How the target's tokens are counted; the outer `None` where that could not be read.
pub(super) fn tokenizer(fields: &Fields<'_>) -> Option<Option<TokenizerSource>> {
    if !fields.has("tokenizer") {
        return Some(None);
    }
    let fields = fields.table("tokenizer")?;
    Some(Some(if fields.has("file") {
        TokenizerSource::File(fields.value("file", |field| existing_file(field, fields.problems))?)
    } else {
        fields.value("endpoint", Field::choice)?;
        TokenizerSource::Server
    }))
}
