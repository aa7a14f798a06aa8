//! `prompt.dataset`: a file of rows.

use super::existing_file;
use crate::dataset::{Columns, FewShot, Format, PromptBounds, Source, Template, TimeUnit, WhenExhausted};
use crate::scenario::fields::Fields;
use crate::scenario::values::Field;

pub(super) fn read(fields: &Fields<'_>) -> Option<Source> {
    let path = fields.value("path", |field| existing_file(field, fields.problems));
    let format = fields.value("format", Field::choice).and_then(|index| Format::ALL.get(index).copied());
    let shuffle = fields.value("shuffle", Field::boolean);
    let when_exhausted = fields.value("when_exhausted", Field::choice);
    let when_exhausted = when_exhausted.and_then(|index| WhenExhausted::ALL.get(index).copied());
    let columns = columns(fields);
    let template = fields.value("template", Field::prose).and_then(|text| template(fields, &text));
    let few_shot = fields.has("few_shot").then(|| few_shot(fields));
    if let Some(format) = format {
        check_columns(fields, format, &columns);
    } else if columns.all().next().is_some() && !has_prompt(fields, &columns) {
        let help = "add `columns.prompt = \"question\"`, `columns.prompt_tokens`, or a `template`";
        fields.problems.error(fields.place("columns"), "no column is the prompt", help);
    }
    Some(Source {
        path: path?,
        format,
        shuffle: shuffle?,
        when_exhausted: when_exhausted?,
        columns,
        template,
        few_shot: few_shot.map_or(Some(None), |few_shot| few_shot.map(Some))?,
        needs_answers: false,
        uses_output_tokens: false,
        span: None,
        tokenizer: None,
        bounds: bounds(fields)?,
    })
}

/// How long prompts may be; the outer `None` where that could not be read.
fn bounds(fields: &Fields<'_>) -> Option<Option<PromptBounds>> {
    let names = ["min_prompt_tokens", "max_prompt_tokens"];
    let [min, max] = names.map(|name| fields.has(name).then(|| fields.value(name, Field::tokens)));
    if min.is_none() && max.is_none() {
        return Some(None);
    }
    let (min, max) = (min.unwrap_or(Some(0))?, max.unwrap_or(Some(u64::MAX))?);
    if min > max {
        let message = format!("`min_prompt_tokens` ({min}) is above `max_prompt_tokens` ({max})");
        fields.problems.error(fields.place("min_prompt_tokens"), message, "exchange them");
        return None;
    }
    Some(Some(PromptBounds { min, max }))
}

fn columns(fields: &Fields<'_>) -> Columns {
    let Some(fields) = fields.has("columns").then(|| fields.table("columns")).flatten() else {
        return Columns::default();
    };
    let column = |name| fields.value(name, Field::text);
    Columns {
        prompt: column("prompt"),
        truth: column("truth"),
        answer: column("answer"),
        system: column("system"),
        prompt_tokens: column("prompt_tokens"),
        output_tokens: column("output_tokens"),
        time: time(&fields),
    }
}

fn time(fields: &Fields<'_>) -> Option<(String, TimeUnit)> {
    let name = fields.value("time", Field::text);
    let unit = fields.value("time_unit", Field::choice).and_then(|index| TimeUnit::ALL.get(index).copied());
    match (fields.has("time"), fields.has("time_unit")) {
        (true, false) => {
            let help = "add `time_unit = \"ms\"`: units are never guessed";
            fields.problems.error(fields.place("time"), "a column of times needs a `time_unit`", help);
        }
        (false, true) => {
            let help = "add `time = \"timestamp\"`, or leave `time_unit` out";
            fields.problems.error(fields.place("time_unit"), "a `time_unit` needs a column of times", help);
        }
        _ => {}
    }
    name.zip(unit)
}

fn has_prompt(fields: &Fields<'_>, columns: &Columns) -> bool {
    columns.prompt.is_some() || columns.prompt_tokens.is_some() || fields.has("template")
}

/// Columns are named where the format leaves them open, and nowhere else.
fn check_columns(fields: &Fields<'_>, format: Format, columns: &Columns) {
    if !format.has_columns() {
        if fields.has("columns") {
            let message = format!("`columns` are known of the format `{}`", format.name());
            let help = "leave them out, or set `format` to \"jsonl\" or \"csv\"";
            fields.problems.error(fields.place("columns"), message, help);
        }
        return;
    }
    if !has_prompt(fields, columns) {
        let message = format!("rows of format `{}` need a column for the prompt", format.name());
        let help = "add `columns.prompt = \"question\"`, `columns.prompt_tokens`, or a `template`";
        fields.problems.error(fields.place("format"), message, help);
    }
}

fn template(fields: &Fields<'_>, text: &str) -> Option<Template> {
    let refuse = |error| {
        let help = "columns stand in braces, as in \"Question: {question}\"; `{{` and `}}` are braces";
        fields.problems.error(fields.place("template"), format!("this is no template: {error}"), help);
    };
    Template::new(text).map_err(refuse).ok()
}

fn few_shot(fields: &Fields<'_>) -> Option<FewShot> {
    let fields = fields.table("few_shot")?;
    let path = fields.value("path", |field| existing_file(field, fields.problems));
    let count = fields.value("count", Field::integer);
    Some(FewShot { path: path?, count: u32::try_from(count?).ok()? })
}
