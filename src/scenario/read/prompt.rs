//! Reading where prompts come from, what they share, and how they are counted.

use super::lengths::distribution;
use super::{dataset, existing_file};
use crate::scenario::fields::Fields;
use crate::scenario::source;
use crate::scenario::values::{Field, Refusal};
use crate::scenario::{
    CachePolicy, IdRange, NeedleForm, Popularity, PromptSource, SharedPrefix, SystemText, TokenPrompts,
    TokenizerSource,
};

/// Where prompts come from.
pub(super) fn prompt(fields: &Fields<'_>) -> Option<PromptSource> {
    if fields.has("synthetic") {
        return synthetic(&fields.table("synthetic")?);
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
        return Some(PromptSource::Synthetic { words });
    }
    let tokens = if fields.has("tokens") { distribution(fields, "tokens") } else { None };
    let shared_prefix = match fields.has("shared_prefix") {
        true => Some(shared_prefix(&fields.table("shared_prefix")?)?),
        false => None,
    };
    let ids = match fields.has("ids") {
        true => Some(id_range(&fields.table("ids")?)?),
        false => None,
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
    Some(PromptSource::Tokens(TokenPrompts { tokens, shared_prefix, ids }))
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
        let read = |_: Field<'_>| {
            source::small_text(&path).map_err(|problem| {
                let help = format!("it must be a text in UTF-8; looked at `{}`", path.display());
                Refusal::new(format!("the file of `path` {problem}"), help)
            })
        };
        let text = fields.own("path", read)?;
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
