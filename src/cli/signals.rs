//! SIGINT and SIGTERM, taken on a thread of their own so that they are heard whatever else is busy.

use std::sync::mpsc::channel;
use std::thread;

use tokio::signal::unix::{SignalKind, signal};

use super::exit::{Exit, Failure};
use crate::clock::Clock;

/// A signal that asks the program to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Interrupt,
    Terminate,
}

impl Signal {
    /// How the program ends after it.
    pub(super) fn exit(self) -> Exit {
        match self {
            Signal::Interrupt => Exit::Interrupted,
            Signal::Terminate => Exit::Terminated,
        }
    }
}

/// Hands every signal to `on` from now on, in place of their default, which is to end the process at once.
/// `on` returns whether it is to be called again.
pub(super) fn listen(mut on: impl FnMut(Signal) -> bool + Send + 'static) -> Result<(), Failure> {
    let (ready, is_ready) = channel();
    let listening = move || {
        let ended = Clock::run_real(|_| async move {
            let mut interrupt = signal(SignalKind::interrupt())?;
            let mut terminate = signal(SignalKind::terminate())?;
            let _ = ready.send(());
            loop {
                let caught = tokio::select! {
                    Some(()) = interrupt.recv() => Signal::Interrupt,
                    Some(()) = terminate.recv() => Signal::Terminate,
                };
                if !on(caught) {
                    return std::io::Result::Ok(());
                }
            }
        });
        // Where listening fails, the signals keep their default.
        drop(ended);
    };
    let started = thread::Builder::new().name("signals".into()).spawn(listening);
    started.map_err(|error| Failure::unexpected(format!("cannot start a thread: {error}")))?;
    let _ = is_ready.recv();
    Ok(())
}
