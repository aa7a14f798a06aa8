//! The laws of lengths, written out.

use super::{Lines, number};
use crate::distribution::{Distribution, Law};

/// A line for each parameter of the law at `key`.
pub(super) fn write(out: &mut Lines<'_>, key: &str, law: &Distribution) {
    match law {
        Distribution::Fixed(value) => out.put(key, value),
        Distribution::Mix(weighted) => {
            let members = weighted.iter().map(|(law, weight)| {
                let (kind, parameters) = parts(law);
                let law = match parameters {
                    Parameters::Lone(value) => format!("{kind} = {value}"),
                    Parameters::Named(named) => format!("{kind} = {{ {} }}", joined(&named)),
                };
                format!("{{ weight = {}, {law} }}", number(*weight))
            });
            out.put(&format!("{key}.mix"), format!("[{}]", members.collect::<Vec<_>>().join(", ")));
        }
        law => {
            let (kind, parameters) = parts(law);
            match parameters {
                Parameters::Lone(value) => out.put(&format!("{key}.{kind}"), value),
                Parameters::Named(named) => {
                    named.iter().for_each(|(name, value)| out.put(&format!("{key}.{kind}.{name}"), value));
                }
            }
        }
    }
}

/// Pairs of lengths at `key`, with their weights.
pub(super) fn write_joint(out: &mut Lines<'_>, key: &str, prompts: &Distribution, outputs: &Distribution) {
    let (Distribution::Values(prompts), Distribution::Values(outputs)) = (prompts, outputs) else { return };
    let list = |members: Vec<String>| format!("[{}]", members.join(", "));
    let values = |of: &[(u64, f64)]| list(of.iter().map(|(value, _)| value.to_string()).collect());
    out.put(&format!("{key}.prompt"), values(prompts));
    out.put(&format!("{key}.output"), values(outputs));
    let weights = prompts.iter().map(|(_, weight)| number(*weight)).collect();
    out.put(&format!("{key}.weights"), list(weights));
}

enum Parameters {
    Lone(String),
    Named(Vec<(&'static str, String)>),
}

/// The kind of a law, and its parameters.
fn parts(law: &Distribution) -> (&'static str, Parameters) {
    let named = |parameters| Parameters::Named(parameters);
    match law {
        Distribution::Fixed(value) => ("fixed", Parameters::Lone(value.to_string())),
        Distribution::Uniform { min, max } => {
            ("uniform", named(vec![("min", min.to_string()), ("max", max.to_string())]))
        }
        Distribution::Drawn { law, bounds } => {
            let (kind, [one, other]) = match law {
                Law::Normal { mean, sd } => ("normal", [("mean", *mean), ("sd", *sd)]),
                Law::Lognormal { median, sigma } => ("lognormal", [("median", *median), ("sigma", *sigma)]),
                Law::Gamma { mean, cv } => ("gamma", [("mean", *mean), ("cv", *cv)]),
            };
            let numbers = [one, other].map(|(name, value)| (name, number(value)));
            let bounds = [("min", bounds.min.to_string()), ("max", bounds.max.to_string())];
            (kind, named(numbers.into_iter().chain(bounds).collect()))
        }
        Distribution::Zipf { exponent, min, max } => {
            let bounds = [("min", min.to_string()), ("max", max.to_string())];
            ("zipf", named([("exponent", number(*exponent))].into_iter().chain(bounds).collect()))
        }
        Distribution::Values(weighted) => {
            let values = weighted.iter().map(|(value, _)| value.to_string()).collect::<Vec<_>>();
            let weights = weighted.iter().map(|(_, weight)| number(*weight)).collect::<Vec<_>>();
            let list = |members: Vec<String>| format!("[{}]", members.join(", "));
            ("values", named(vec![("of", list(values)), ("weights", list(weights))]))
        }
        // A scenario has no mix of mixes.
        Distribution::Mix(_) => ("mix", Parameters::Lone("[]".to_owned())),
    }
}

fn joined(named: &[(&'static str, String)]) -> String {
    named.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}
