//! A simulated server on a thread of its own, and the view of one from other threads.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::oneshot;

use super::{Options, Server, bind};
use crate::clock::Clock;
use crate::sim::engine::Engine;
use crate::sim::profile::Profile;

/// What a server does and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Requests in the batch.
    pub running: u64,
    /// Requests that wait for a place in it.
    pub waiting: u64,
    /// Blocks of KV memory in use, and all there are.
    pub kv_blocks: (u64, u64),
    /// Requests taken since the start.
    pub requests: u64,
    /// Tokens generated since the start.
    pub tokens: u64,
    /// The most that a token was handed out after its exact time: beyond a few milliseconds the
    /// simulator could not keep its model's pace on this machine. Without meaning for a model without
    /// latency.
    pub max_delay: Duration,
}

impl Status {
    /// Share of KV memory in use.
    pub fn kv_share(&self) -> f64 {
        let (used, all) = self.kv_blocks;
        if all == 0 { 0.0 } else { used as f64 / all as f64 }
    }
}

/// A view of a server, from any thread.
#[derive(Clone, Default)]
pub struct Monitor(Arc<Gauges>);

/// Relaxed throughout: one thread writes, and each value stands for itself.
#[derive(Default)]
struct Gauges {
    running: AtomicU64,
    waiting: AtomicU64,
    kv_used: AtomicU64,
    kv_all: AtomicU64,
    requests: AtomicU64,
    tokens: AtomicU64,
    max_delay_ns: AtomicU64,
}

impl Monitor {
    /// The present state.
    pub fn status(&self) -> Status {
        let gauges = &*self.0;
        Status {
            running: gauges.running.load(Ordering::Relaxed),
            waiting: gauges.waiting.load(Ordering::Relaxed),
            kv_blocks: (gauges.kv_used.load(Ordering::Relaxed), gauges.kv_all.load(Ordering::Relaxed)),
            requests: gauges.requests.load(Ordering::Relaxed),
            tokens: gauges.tokens.load(Ordering::Relaxed),
            max_delay: Duration::from_nanos(gauges.max_delay_ns.load(Ordering::Relaxed)),
        }
    }

    pub(super) fn taken(&self) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn token(&self, delay: Duration) {
        self.0.tokens.fetch_add(1, Ordering::Relaxed);
        self.0.max_delay_ns.fetch_max(delay.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(super) fn occupancy(&self, engine: &Engine) {
        self.0.running.store(engine.running() as u64, Ordering::Relaxed);
        self.0.waiting.store(engine.waiting() as u64, Ordering::Relaxed);
        let (used, all) = engine.kv_blocks();
        self.0.kv_used.store(used, Ordering::Relaxed);
        self.0.kv_all.store(all, Ordering::Relaxed);
    }
}

/// A simulated server on a thread of its own, under the real clock. Dropping it ends it.
pub struct Embedded {
    addr: SocketAddr,
    monitor: Monitor,
    /// Dropping the sender is the signal to end.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Embedded {
    /// Starts one on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When the port, the thread or its runtime cannot be had.
    pub fn start(profile: Profile, options: Options) -> io::Result<Embedded> {
        Embedded::start_at((Ipv4Addr::LOCALHOST, 0).into(), profile, options)
    }

    /// Starts one at `addr`; port 0 is any free one.
    ///
    /// # Errors
    /// When the address, the thread or its runtime cannot be had.
    pub fn start_at(addr: SocketAddr, profile: Profile, options: Options) -> io::Result<Embedded> {
        let monitor = Monitor::default();
        let (end, ended) = oneshot::channel();
        let (ready, started) = mpsc::channel();
        let watched = monitor.clone();
        let thread = thread::Builder::new().name("simulator".to_owned()).spawn(move || {
            Clock::run_real(|clock| async move {
                let listener = bind(addr)?;
                let server = Server::watched(clock, profile, options, watched);
                // Nobody receives only if the starting thread is gone, and then the end has come too.
                let _ = ready.send(listener.local_addr()?);
                server.listen(listener, async { drop(ended.await) }).await;
                Ok(())
            })
            .flatten()
        })?;
        let mut embedded = Embedded { addr, monitor, end: Some(end), thread: Some(thread) };
        let Ok(addr) = started.recv() else {
            // The thread ended before it was ready: its result says why.
            return Err(embedded
                .join()
                .err()
                .unwrap_or_else(|| io::Error::other("the simulator did not start")));
        };
        embedded.addr = addr;
        Ok(embedded)
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What it does at present.
    pub fn status(&self) -> Status {
        self.monitor.status()
    }

    /// Ends it: open connections are cut, and its thread is gone when this returns.
    ///
    /// # Errors
    /// When its thread ended otherwise than by this.
    pub fn stop(mut self) -> io::Result<()> {
        self.join()
    }

    fn join(&mut self) -> io::Result<()> {
        drop(self.end.take());
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the simulator's thread panicked")))
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = self.join();
    }
}
