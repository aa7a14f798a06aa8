//! A simulated server.

use super::existing_file;
use crate::scenario::fields::Fields;
use crate::scenario::keys::list;
use crate::scenario::suggest::nearest;
use crate::scenario::values::{Field, Refusal};
use crate::scenario::{Endpoint, ProfileSource};
use crate::sim::{FaultPlan, Profile};

pub(super) fn endpoint(fields: &Fields<'_>) -> Option<Endpoint> {
    let profile = fields.value("profile", |field| profile(field, fields));
    let faults = match fields.has("faults") {
        true => fields.own("faults", faults),
        false => Some(FaultPlan::default()),
    };
    Some(Endpoint::Sim { profile: profile?, faults: faults? })
}

fn profile(field: Field<'_>, fields: &Fields<'_>) -> Result<ProfileSource, Refusal> {
    let label = field.label;
    let text = Field { node: field.node.clone(), ..field }.text()?;
    match ProfileSource::of(&text) {
        Some(ProfileSource::File(_)) => existing_file(field, fields.problems).map(ProfileSource::File),
        Some(built_in) => Ok(built_in),
        None => {
            let known = format!("known: {}, or a file: `my-server.toml`", list(Profile::NAMES, "and"));
            let help = match nearest(&text, Profile::NAMES.iter().copied()) {
                Some(alike) => format!("did you mean `{alike}`? {known}"),
                None => known,
            };
            Err(Refusal::new(format!("`{label}` does not take this value"), help))
        }
    }
}

fn faults(field: Field<'_>) -> Result<FaultPlan, Refusal> {
    FaultPlan::parse(&field.text()?).map_err(|error| {
        let help = "write rules with commas between them, as in `docs/simulator.md`: `status=503:1s@10%, reset=20@1/50`";
        Refusal::new(error.to_string(), help)
    })
}
