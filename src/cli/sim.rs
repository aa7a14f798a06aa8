//! `tonnage sim`: the simulated server for other tools.

use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::args::SimArgs;
use super::environment;
use super::exit::{Exit, Failure};
use super::signals::{self, Signal};
use crate::sim::{Embedded, Options, Profile};

/// How often the line of figures is renewed.
const REFRESH: Duration = Duration::from_secs(1);

pub(super) fn run(args: &SimArgs) -> Result<Exit, Failure> {
    let profile = profile(&args.profile)?;
    let api_key = args.api_key_env.as_deref().map(environment::required).transpose()?;
    let keyed = api_key.is_some();
    let options = Options { api_key, epoch_unix_s: environment::unix_time_s(), ..Options::default() };
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
        "simulating {} on {url}\n  tonnage run SCENARIO --target {url}\n  \
         any OpenAI client: base URL {url}/v1, {} key\nCtrl-C stops it.",
        args.profile,
        if keyed { "your" } else { "any" }
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
                "\r{} running, {} waiting, {} requests, {} tokens\x1b[K",
                status.running, status.waiting, status.requests, status.tokens
            );
            let _ = shown.flush();
        }
    }
}

/// The built-in profile `name`.
pub(super) fn profile(name: &str) -> Result<Profile, Failure> {
    Profile::named(name).ok_or_else(|| {
        let known = Profile::NAMES.join(", ");
        Failure::usage(format!("no profile `{name}`\n  help: one of {known}"))
    })
}
