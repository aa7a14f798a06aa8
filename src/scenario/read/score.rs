//! How answers are checked.

use crate::scenario::PromptSource;
use crate::scenario::fields::Fields;
use crate::scenario::values::Field;
use crate::score::{Kind, Rule, RuleError};

/// The rule of a `score` table.
pub(super) fn rule(fields: &Fields<'_>) -> Option<Rule> {
    let name = Kind::NAMES.into_iter().find(|name| fields.has(name))?;
    match name {
        "exact" | "contains" => {
            fields.bare(name)?;
            build(fields, name, Kind::named(name)?)
        }
        "regex" => {
            let inner = fields.table(name)?;
            let pattern = inner.value("pattern", Field::text)?;
            build(&inner, "pattern", Kind::Regex { pattern })
        }
        "choice" => {
            let inner = fields.table(name)?;
            let last = inner.value("last", Field::text)?;
            let mut letters = last.chars();
            let (Some(last), None) = (letters.next(), letters.next()) else {
                let help = "write one letter from `B` to `Z`";
                inner.problems.error(
                    inner.place("last"),
                    format!("`last` is one letter, not `{last}`"),
                    help,
                );
                return None;
            };
            marked(&inner, build(&inner, "last", Kind::Choice { last })?)
        }
        _ => {
            let inner = fields.table(name)?;
            let tolerance = inner.value("tolerance", Field::share)?;
            let rule = marked(&inner, build(&inner, "tolerance", Kind::named(name)?)?)?;
            taken(&inner, "tolerance", rule.tolerance(tolerance))
        }
    }
}

fn build(fields: &Fields<'_>, key: &str, kind: Kind) -> Option<Rule> {
    taken(fields, key, Rule::new(kind))
}

fn marked(fields: &Fields<'_>, rule: Rule) -> Option<Rule> {
    let marked_only = fields.value("marked_only", Field::boolean)?;
    Some(if marked_only { rule.marked_only() } else { rule })
}

/// A rule, or why there cannot be such a one.
fn taken(fields: &Fields<'_>, key: &str, rule: Result<Rule, RuleError>) -> Option<Rule> {
    let error = match rule {
        Ok(rule) => return Some(rule),
        Err(error) => error,
    };
    let help = match error {
        RuleError::Letters(_) => "write a capital letter, such as `last = \"E\"`",
        RuleError::Pattern(_) => {
            "write it in the syntax of the `regex` crate, in single quotes: `pattern = 'total: (\\d+)'`"
        }
        RuleError::Tolerance(_) => "write it like `tolerance = \"1%\"`",
    };
    // What an error of a pattern points at spans lines; a message is one.
    let message = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    fields.problems.error(fields.place(key), message, help);
    None
}

/// Answers are held against the truths of a data set.
pub(super) fn check_truths(fields: &Fields<'_>, rule: Option<&Rule>, prompt: &PromptSource) {
    let needs_truths = rule.is_some_and(|rule| !rule.ignores_truth());
    if needs_truths && matches!(prompt, PromptSource::Synthetic { .. } | PromptSource::Tokens(_)) {
        let message = "`score` needs truths, and made-up prompts have none";
        let help = "take `prompt.dataset`, or `score.regex` with a pattern that needs no truth";
        fields.problems.error(fields.place("score"), message, help);
    }
}

/// Whether answers to the same request are compared.
pub(super) fn consistency(fields: &Fields<'_>, is_scored: bool, temperature: f64) -> Option<bool> {
    if !fields.has("consistency") {
        return Some(is_scored && temperature == 0.0);
    }
    let wanted = fields.own("consistency", Field::boolean)?;
    if wanted && temperature > 0.0 {
        let message =
            "`consistency` compares answers that must be the same, and at a temperature above 0 they differ";
        let help = "set `request.temperature = 0`, or leave `consistency` out";
        fields.problems.error(fields.place("consistency"), message, help);
    }
    Some(wanted)
}
