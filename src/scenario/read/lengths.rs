//! Reading the laws that lengths follow.

use crate::distribution::{Bounds, Distribution, Law};
use crate::scenario::fields::Fields;
use crate::scenario::values::Field;

/// Larger than any length that can be planned.
const NO_BOUND: u64 = u32::MAX as u64;

/// The law under `name`, which must be given.
pub(super) fn distribution(fields: &Fields<'_>, name: &str) -> Option<Distribution> {
    if !fields.holds_table(name) {
        return fields.own(name, Field::tokens).map(Distribution::Fixed);
    }
    let fields = fields.table(name)?;
    if !fields.has("mix") {
        return law(&fields);
    }
    let members = fields.tables("mix");
    let read = |member: &Fields<'_>| law(member).zip(member.value("weight", Field::number));
    // Collected before it is asked whether all could be read: every problem is to be found.
    let laws = members.iter().map(read).collect::<Vec<_>>().into_iter().collect::<Option<Vec<_>>>();
    let mix = laws.filter(|laws| !laws.is_empty()).map(Distribution::mix)?;
    if mix.is_none() {
        let help = "give a law that is to be drawn a weight above 0";
        fields.problems.error(fields.place("mix"), "the weights of all laws are 0", help);
    }
    mix
}

/// Any law but a mix.
fn law(fields: &Fields<'_>) -> Option<Distribution> {
    let named = |name| fields.has(name).then(|| fields.table(name)).flatten();
    if fields.has("fixed") {
        fields.value("fixed", Field::tokens).map(Distribution::Fixed)
    } else if let Some(fields) = named("uniform") {
        let (min, max) = (fields.value("min", Field::tokens), fields.value("max", Field::tokens));
        let (min, max) = (min?, max?);
        report(&fields, min, max, Distribution::uniform(min, max))
    } else if let Some(fields) = named("normal") {
        let (mean, sd) = (fields.value("mean", Field::tokens), fields.value("sd", Field::number));
        drawn(&fields, mean.zip(sd).map(|(mean, sd)| Law::Normal { mean: mean as f64, sd }))
    } else if let Some(fields) = named("lognormal") {
        let median = fields.value("median", Field::tokens);
        let sigma = fields.value("sigma", Field::number);
        let p99 = fields.value("p99", Field::tokens);
        drawn(&fields, median.and_then(|median| lognormal(&fields, median, sigma, p99)))
    } else if let Some(fields) = named("gamma") {
        let (mean, cv) = (fields.value("mean", Field::tokens), fields.value("cv", Field::number));
        drawn(&fields, mean.zip(cv).map(|(mean, cv)| Law::Gamma { mean: mean as f64, cv }))
    } else if let Some(fields) = named("zipf") {
        zipf(&fields)
    } else {
        values(&named("values")?)
    }
}

fn lognormal(fields: &Fields<'_>, median: u64, sigma: Option<f64>, p99: Option<u64>) -> Option<Law> {
    if let Some(sigma) = sigma {
        return Some(Law::Lognormal { median: median as f64, sigma });
    }
    let p99 = p99?;
    if p99 <= median {
        let message = format!("`p99` ({p99}) is not above `median` ({median})");
        fields.problems.error(fields.place("p99"), message, "exchange them");
        return None;
    }
    Some(Law::lognormal_by_p99(median as f64, p99 as f64))
}

/// A law within the bounds that the table names.
fn drawn(fields: &Fields<'_>, law: Option<Law>) -> Option<Distribution> {
    let min = fields.value("min", Field::tokens);
    let max = if fields.has("max") { fields.value("max", Field::tokens) } else { Some(NO_BOUND) };
    let (min, max) = (min?, max?);
    report(fields, min, max, Distribution::drawn(law?, Bounds { min, max }))
}

fn zipf(fields: &Fields<'_>) -> Option<Distribution> {
    let exponent = fields.value("exponent", Field::number);
    let (min, max) = (fields.value("min", Field::tokens), fields.value("max", Field::tokens));
    let (exponent, min, max) = (exponent?, min?, max?);
    if exponent == 0.0 {
        let help = "write a number above 0, or `uniform`, which favours no value";
        fields.problems.error(fields.place("exponent"), "`exponent` must be above 0", help);
        return None;
    }
    report(fields, min, max, Distribution::zipf(exponent, min, max))
}

fn values(fields: &Fields<'_>) -> Option<Distribution> {
    let values = fields.value("of", Field::token_list);
    weighted(fields, values)
}

/// `values`, each as often as its weight says.
pub(super) fn weighted(fields: &Fields<'_>, values: Option<Vec<u64>>) -> Option<Distribution> {
    let weights = fields.has("weights").then(|| fields.value("weights", Field::numbers));
    let values = values?;
    let weights = weights.unwrap_or_else(|| Some(vec![1.0; values.len()]))?;
    let refuse = |message: String, help: &str| fields.problems.error(fields.place("weights"), message, help);
    if weights.len() != values.len() {
        let message = format!("there are {} weights for {} values", weights.len(), values.len());
        refuse(message, "give each value one weight");
        return None;
    }
    let weighted = values.into_iter().zip(weights).collect::<Vec<_>>();
    let law = Distribution::values(&weighted);
    if law.is_none() {
        refuse(
            "the weights of all values are 0".to_owned(),
            "give a value that is to be drawn a weight above 0",
        );
    }
    law
}

/// Says why there is no law where there is none.
fn report(fields: &Fields<'_>, min: u64, max: u64, law: Option<Distribution>) -> Option<Distribution> {
    if law.is_none() && min > max {
        let message = format!("`min` ({min}) is above `max` ({max})");
        fields.problems.error(fields.place("min"), message, "exchange them");
    } else if law.is_none() {
        let bound = if fields.has("max") { "max" } else { "min" };
        let message = "fewer than one draw in a hundred lies between `min` and `max`";
        let help = "widen them, or name a law whose values lie there";
        fields.problems.error(fields.place(bound), message, help);
    }
    law
}
