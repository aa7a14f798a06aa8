//! Reaching the target before the clock starts.

use std::io::Write as _;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::exit::{Exit, Failure};
use super::prepare::Prepared;
use crate::client::preflight::{Models, NotReady};
use crate::client::{Client, Connector, Settings};
use crate::clock::Clock;
use crate::plan::shard::Shard;
use crate::protocol::Api;
use crate::record::Outcome;
use crate::results::manifest::ServerEntry;
use crate::scenario::{Connections, Http, Load, Scenario, Scheme, Target, TargetUrl, TlsOptions, Transport};
use crate::units::write_duration;

/// In-flight limit of open loops that state none, where descriptors allow as many.
pub(super) const MAX_IN_FLIGHT: usize = 10_000;
/// Descriptors that are not for connections: files, timers, the embedded server's own.
const OTHER_DESCRIPTORS: u64 = 256;

/// How often a target that is not ready is looked at, and how often that is said.
const LOOK_EVERY: Duration = Duration::from_millis(250);
const WORD_EVERY: Duration = Duration::from_secs(1);

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
        let (name, value) = target.api.key_header(key);
        headers.push((HeaderName::from_static(name), sensitive(&value, "the key")?));
    }
    for (name, value) in &target.headers {
        let header = HeaderName::from_bytes(name.as_bytes());
        let header = header.map_err(|_| Failure::usage(format!("`{name}` is no header name")))?;
        headers.push((header, sensitive(value.reveal(), name)?));
    }
    let settings = Settings {
        authority: url.authority(),
        path: url.join(target.api.path()),
        models_path: url.join(target.api.models_path()),
        health_path: format!("{}/health", url.base_path.trim_end_matches("/v1")),
        keeps_texts: prepared.scenario.results.responses,
        api: target.api,
        headers,
        timeouts: target.timeouts,
        transport: target.transport.clone(),
    };
    Client::new(clock.clone(), connector, settings).map_err(|error| Failure::usage(error.0))
}

/// A client for a page at `url`, which is another's: it carries no key and no header of the target, and trusts
/// whom the target's authorities vouch for.
pub(super) async fn stranger(clock: &Clock, url: &TargetUrl, target: &Target) -> Result<Client, Failure> {
    let TlsOptions { ca, insecure, .. } = target.transport.tls.clone();
    let tls = TlsOptions { ca, insecure, ..TlsOptions::default() };
    let connector = Connector::resolve(url, &tls, Http::One)
        .await
        .map_err(|error| Failure::usage(format!("{}\n  help: look at server.metrics", error.message)))?;
    let settings = Settings {
        authority: url.authority(),
        path: "/".to_owned(),
        models_path: "/".to_owned(),
        health_path: "/".to_owned(),
        keeps_texts: false,
        api: target.api,
        headers: Vec::new(),
        timeouts: target.timeouts,
        transport: Transport { tls, ..Transport::default() },
    };
    Client::new(clock.clone(), connector, settings).map_err(|error| Failure::usage(error.0))
}

/// A way to the target.
pub(super) async fn connector(url: &TargetUrl, target: &Target) -> Result<Connector, Failure> {
    let tls = &target.transport.tls;
    if tls.insecure && url.scheme == Scheme::Https {
        let _ = writeln!(
            std::io::stderr(),
            "WARNING: target.tls.insecure: whoever answers at {} is taken for the server, and is sent the key",
            url.authority()
        );
    }
    Connector::resolve(url, tls, target.transport.http).await.map_err(|error| match error.outcome {
        Outcome::TlsError => {
            Failure::usage(format!("{}\n  help: look at target.url and target.tls", error.message))
        }
        _ => {
            let help = "check the address of the target, or name another with --target URL";
            Failure::new(Exit::Unreachable, format!("{}\n  help: {help}", error.message))
        }
    })
}

/// Models of a longer list are not kept.
const MOST_MODELS: usize = 100;

/// Waits until the target is ready, at most as long as it may take, and says which model to ask for and what serves it.
pub(super) async fn find_model(
    client: &Client,
    clock: &Clock,
    url: &TargetUrl,
    target: &Target,
    quiet: bool,
) -> Result<(String, ServerEntry), Failure> {
    let at = url.origin();
    let listed = ready(client, clock, &at, target.transport.ready_within, quiet).await?;
    let stated = target.model.as_deref();
    let models = match &listed {
        Models::Listed(names) => names.iter().take(MOST_MODELS).cloned().collect(),
        Models::Unlisted => Vec::new(),
    };
    let model = match (stated, listed) {
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
            url.join(target.api.models_path())
        ))),
    }?;
    let software = client.software(&version_path(url, target.api)).await;
    Ok((model, ServerEntry { version: software.version, header: software.header, models }))
}

/// Where servers tell their version.
fn version_path(url: &TargetUrl, api: Api) -> String {
    match api {
        Api::Ollama => url.join("/api/version"),
        _ => format!("{}/version", url.base_path.trim_end_matches("/v1")),
    }
}

/// Looks at the target until it is ready, and says what is waited for.
async fn ready(
    client: &Client,
    clock: &Clock,
    at: &str,
    within: Duration,
    quiet: bool,
) -> Result<Models, Failure> {
    let start = clock.now();
    let mut next_word = start;
    loop {
        let reason = match client.models().await {
            Ok(models) => return Ok(models),
            Err(reason) => reason,
        };
        let now = clock.now();
        let waited = now.since(start);
        let passes = matches!(reason, NotReady::Unreachable(_) | NotReady::Unavailable(_));
        if !passes || waited >= within {
            return Err(not_ready(at, &reason, within));
        }
        if !quiet && now >= next_word {
            next_word = now + WORD_EVERY;
            let (seconds, limit) = (waited.as_secs(), write_duration(within));
            let _ =
                writeln!(std::io::stderr(), "waiting for {at}: {} ({seconds} s of {limit})", words(&reason));
        }
        clock.sleep_until((now + LOOK_EVERY).min(start + within)).await;
    }
}

fn words(reason: &NotReady) -> String {
    match reason {
        NotReady::Unreachable(why) | NotReady::Unusable(why) => why.clone(),
        NotReady::Refused(status) | NotReady::Unavailable(status) => format!("it answers {status}"),
    }
}

fn not_ready(at: &str, reason: &NotReady, within: Duration) -> Failure {
    let limit = match within.is_zero() {
        true => String::new(),
        false => format!(" within {}", write_duration(within)),
    };
    let longer = "or wait longer with target.ready_within";
    let message = match reason {
        NotReady::Unreachable(why) => format!(
            "{at} cannot be reached{limit}: {why}\n  \
             help: start the server, name another with --target URL, {longer}"
        ),
        NotReady::Unusable(why) => format!("{at} cannot be spoken to: {why}"),
        NotReady::Refused(status) => format!(
            "{at} refuses the key ({status})\n  help: name the variable that holds the right one with target.api_key_env"
        ),
        NotReady::Unavailable(status) => {
            format!("{at} is not ready{limit} ({status})\n  help: try again when it has loaded, {longer}")
        }
    };
    Failure::new(Exit::Unreachable, message)
}

/// Raises the soft limit on open files as far as it goes and returns how many connections may be open at once.
///
/// Refuses a closed loop that cannot have a connection for each user, and an open one that can have none.
pub(super) fn descriptors(scenario: &Scenario, shard: Shard, embedded: bool) -> Result<usize, Failure> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)
        .map_err(|error| Failure::unexpected(format!("cannot read the limit on files: {error}")))?;
    // A refusal leaves the soft limit, which then holds.
    let limit = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_or(soft, |()| hard);
    // An embedded server holds the other end of each connection.
    let ends = if embedded { 2 } else { 1 };
    let connections = usize::try_from(limit.saturating_sub(OTHER_DESCRIPTORS) / ends).unwrap_or(usize::MAX);
    let transport = &scenario.target.transport;
    let is_shared = transport.http == Http::Two && transport.connections == Connections::Reuse;
    // Where one connection carries many requests, descriptors are no limit that a run comes near to.
    let places = if is_shared { usize::MAX } else { connections };
    if places == 0 {
        return Err(Failure::usage(format!(
            "the limit of {limit} open files allows no connection: {OTHER_DESCRIPTORS} are kept for files and the \
             client's own\n  help: raise it with `ulimit -n`, to {} at least",
            OTHER_DESCRIPTORS + ends
        )));
    }
    for phase in &scenario.phases {
        let users = phase.loads().map(|load| match load.load {
            Load::Closed { users, .. } => shard.share_of(*users) as usize,
            Load::Open { .. } => 0,
        });
        let users: usize = users.sum();
        if users > places {
            return Err(Failure::usage(format!(
                "phase `{}` wants {users} users, and the limit of {limit} open files allows {connections}\n  \
                 help: raise it with `ulimit -n`, or lower load.closed.users",
                phase.name
            )));
        }
    }
    Ok(places.min(MAX_IN_FLIGHT))
}

fn sensitive(value: &str, what: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        Failure::usage(format!("the value of {what} cannot stand in a header: it has a control character"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}
