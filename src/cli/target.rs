//! Reaching the target before the clock starts.

use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::exit::{Exit, Failure};
use super::prepare::Prepared;
use crate::client::preflight::{Models, NotReady};
use crate::client::{Client, Connector, Settings};
use crate::clock::Clock;
use crate::plan::shard::Shard;
use crate::scenario::{Load, Scenario, TargetUrl};

/// In-flight limit of open loops that state none, where descriptors allow as many.
pub(super) const MAX_IN_FLIGHT: usize = 10_000;
/// Descriptors that are not for connections: files, timers, the embedded server's own.
const OTHER_DESCRIPTORS: u64 = 256;

/// A client for the scenario's target, reached through `connector`.
pub(super) fn client(
    clock: &Clock,
    connector: Connector,
    url: &TargetUrl,
    prepared: &Prepared,
) -> Result<Client, Failure> {
    let target = &prepared.scenario.target;
    let mut headers = Vec::new();
    if let Some(key) = &prepared.key {
        headers.push((AUTHORIZATION, sensitive(&format!("Bearer {key}"), "the key")?));
    }
    for (name, value) in &target.headers {
        let header = HeaderName::from_bytes(name.as_bytes());
        let header = header.map_err(|_| Failure::usage(format!("`{name}` is no header name")))?;
        headers.push((header, sensitive(value.reveal(), name)?));
    }
    let settings = Settings {
        authority: url.authority(),
        path: url.join(target.api.path()),
        models_path: url.join("/v1/models"),
        api: target.api,
        headers,
        timeouts: target.timeouts,
    };
    Client::new(clock.clone(), connector, settings).map_err(|error| Failure::usage(error.0))
}

/// Looks whether the target is there and says which model to ask for.
pub(super) async fn find_model(
    client: &Client,
    url: &TargetUrl,
    stated: Option<&str>,
) -> Result<String, Failure> {
    let at = format!("{}://{}", url.scheme.name(), url.authority());
    let listed = client.models().await.map_err(|reason| not_ready(&at, reason))?;
    match (stated, listed) {
        (Some(model), _) => Ok(model.to_owned()),
        (None, Models::Listed(names)) if names.len() == 1 => Ok(names[0].clone()),
        (None, Models::Listed(names)) if names.is_empty() => Err(Failure::usage(format!(
            "{at} lists no model\n  help: name the one to ask for with target.model"
        ))),
        (None, Models::Listed(names)) => Err(Failure::usage(format!(
            "{at} serves {} models, and the scenario names none\n  help: set target.model to one of {}",
            names.len(),
            names.join(", ")
        ))),
        (None, Models::Unlisted) => Err(Failure::usage(format!(
            "{at} has no list of models at {}, and the scenario names none\n  help: set target.model",
            url.join("/v1/models")
        ))),
    }
}

fn not_ready(at: &str, reason: NotReady) -> Failure {
    let message = match reason {
        NotReady::Unreachable(why) => format!(
            "{at} cannot be reached: {why}\n  help: start the server, or name another with --target URL"
        ),
        NotReady::Refused(status) => format!(
            "{at} refuses the key ({status})\n  help: name the variable that holds the right one with target.api_key_env"
        ),
        NotReady::Unavailable(status) => {
            format!("{at} is not ready ({status})\n  help: try again when it has loaded")
        }
    };
    Failure::new(Exit::Unreachable, message)
}

/// Raises the soft limit on open files as far as it goes and returns how many connections may be open at once.
///
/// Refuses a closed loop that cannot have a connection for each user.
pub(super) fn descriptors(scenario: &Scenario, shard: Shard, embedded: bool) -> Result<usize, Failure> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)
        .map_err(|error| Failure::unexpected(format!("cannot read the limit on files: {error}")))?;
    // A refusal leaves the soft limit, which then holds.
    let limit = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_or(soft, |()| hard);
    // An embedded server holds the other end of each connection.
    let ends = if embedded { 2 } else { 1 };
    let connections = usize::try_from(limit.saturating_sub(OTHER_DESCRIPTORS) / ends).unwrap_or(usize::MAX);
    for phase in &scenario.phases {
        let users = phase.loads().map(|load| match load.load {
            Load::Closed { users, .. } => shard.share_of(*users) as usize,
            Load::Open { .. } => 0,
        });
        let users: usize = users.sum();
        if users > connections {
            return Err(Failure::usage(format!(
                "phase `{}` wants {users} users, and the limit of {limit} open files allows {connections}\n  \
                 help: raise it with `ulimit -n`, or lower load.closed.users",
                phase.name
            )));
        }
    }
    Ok(connections.min(MAX_IN_FLIGHT))
}

fn sensitive(value: &str, what: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        Failure::usage(format!("the value of {what} cannot stand in a header: it has a control character"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}
