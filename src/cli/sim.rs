//! `tonnage sim`: the simulated server for other tools.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::args::SimArgs;
use super::environment;
use super::exit::{Exit, Failure};
use super::prepare::style;
use super::signals::{self, Signal};
use crate::scenario::ProfileSource;
use crate::sim::{Embedded, FAULTS, FaultPlan, Options, Profile};

/// How often the line of figures is renewed.
const REFRESH: Duration = Duration::from_secs(1);

pub(super) fn run(args: &SimArgs) -> Result<Exit, Failure> {
    let profile = profile(&source(&args.profile)?)?;
    let name = profile.name().to_owned();
    let api_key = args.api_key_env.as_deref().map(environment::required).transpose()?;
    let keyed = api_key.is_some();
    let faults = faults(&args.faults)?;
    let plan = faults.to_string();
    let epoch_unix_s = environment::unix_time_s();
    let options = Options { api_key, epoch_unix_s, faults, ..Options::default() };
    let (sender, signals) = channel();
    signals::listen(move |signal| {
        // It may be ending already.
        let _ = sender.send(signal);
    })?;
    let server = Embedded::start_at(args.listen, profile, options).map_err(|error| {
        let help = "take another address with --listen; port 0 takes a free one";
        Failure::usage(format!("cannot listen on {}: {error}\n  help: {help}", args.listen))
    })?;
    let url = format!("http://{}", server.addr());
    // Whoever started it may have closed the pipe; it serves all the same.
    let _ = writeln!(
        std::io::stdout(),
        "simulating {name} on {url}\n  tonnage run SCENARIO --target {url}\n  \
         any OpenAI client: base URL {url}/v1, {} key{}{plan}\nCtrl-C stops it.",
        if keyed { "your" } else { "any" },
        if plan.is_empty() { "" } else { "\n  goes wrong on purpose: " },
    );
    let exit = watch(&server, &signals);
    server.stop().map_err(|error| Failure::unexpected(format!("{error}")))?;
    Ok(exit)
}

/// Shows what the server does until a signal comes.
fn watch(server: &Embedded, signals: &Receiver<Signal>) -> Exit {
    let mut shown = std::io::stderr();
    let live = shown.is_terminal();
    loop {
        if let Ok(signal) = signals.recv_timeout(REFRESH) {
            if live {
                let _ = writeln!(shown);
            }
            return signal.exit();
        }
        if live {
            let status = server.status();
            let _ = write!(
                shown,
                "\r{} running, {} waiting, KV {:.1} %, {} requests, {} tokens\x1b[K",
                status.running,
                status.waiting,
                status.kv_share() * 100.0,
                status.requests,
                status.tokens
            );
            let _ = shown.flush();
        }
    }
}

/// The profile that a user names.
pub(super) fn source(named: &str) -> Result<ProfileSource, Failure> {
    ProfileSource::of(named).ok_or_else(|| {
        let known = Profile::NAMES.join(", ");
        Failure::usage(format!("no profile `{named}`\n  help: one of {known}, or a file that ends in .toml"))
    })
}

/// The profile, read and checked.
pub(super) fn profile(source: &ProfileSource) -> Result<Profile, Failure> {
    match source {
        ProfileSource::BuiltIn(name) => {
            Profile::named(name).ok_or_else(|| Failure::unexpected(format!("no profile `{name}`")))
        }
        ProfileSource::File(path) => {
            let shown = path.display();
            let text = std::fs::read_to_string(path).map_err(|error| {
                let help = "docs/simulator.md has the form of profiles";
                Failure::usage(format!("the profile {shown} cannot be read: {error}\n  help: {help}"))
            })?;
            Profile::parse(&name_of(path), &text)
                .map_err(|problems| Failure::problems(format!("{}\nin {shown}", problems.render(style()))))
        }
    }
}

/// The file's name as one of a profile.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

/// The faults that arguments ask for.
pub(super) fn faults(rules: &[String]) -> Result<FaultPlan, Failure> {
    FaultPlan::parse(&rules.join(",")).map_err(|error| {
        let forms = FAULTS.iter().map(|(form, what)| format!("    {form:<52} {what}")).collect::<Vec<_>>();
        let when = "behind it @10%, @1/7, @#7 or @30s..60s";
        Failure::usage(format!(
            "{error}\n  help: FAULT with a WHEN or none, {when}; faults are\n{}",
            forms.join("\n")
        ))
    })
}
