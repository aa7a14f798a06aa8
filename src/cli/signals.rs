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

/// The signal that is no longer asked of anyone: the program leaves as a kill would make it.
const LAST_STRAW: u32 = 3;

/// Hands signals to `on` from now on, in place of their default, which is to end the process at once. The third
/// ends it all the same, should whoever was told not get round to it.
pub(super) fn listen(mut on: impl FnMut(Signal) + Send + 'static) -> Result<(), Failure> {
    let (ready, is_ready) = channel();
    let listening = move || {
        let ended = Clock::run_real(|_| async move {
            let kinds = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
            // Where listening fails, the signals keep their default.
            let (Ok(mut interrupt), Ok(mut terminate)) = kinds else { return };
            let _ = ready.send(());
            let mut heard = 0;
            loop {
                let caught = tokio::select! {
                    Some(()) = interrupt.recv() => Signal::Interrupt,
                    Some(()) = terminate.recv() => Signal::Terminate,
                };
                heard += 1;
                if heard == LAST_STRAW {
                    caught.exit().at_once();
                }
                on(caught);
            }
        });
        // As where no runtime can be had.
        drop(ended);
    };
    let started = thread::Builder::new().name("signals".into()).spawn(listening);
    started.map_err(|error| Failure::unexpected(format!("cannot start a thread: {error}")))?;
    let _ = is_ready.recv();
    Ok(())
}
