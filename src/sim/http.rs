//! The engine behind HTTP/1.1, over any byte stream and under either clock.
//!
//! One driver task sleeps until the step that runs has computed, takes it from the engine and tells each request how
//! many of its tokens there are, each at its time. That count is all that passes between them: a body writes the
//! events it owes when its connection has room, so a client that reads slowly costs no memory.

mod embedded;
mod generation;
mod routes;
mod stream;
mod wire;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use self::generation::{Generation, Progress};
use self::wire::{Control, Wire};
use super::answer::Vocabulary;
use super::ask::Reader;
use super::engine::{Emission, Engine};
use super::fault::FaultPlan;
use super::knowledge::AnswerKey;
use super::metrics::{Ended, Metrics};
use super::problem::Problem;
use super::profile::Profile;
use super::request::{Id, Request};
use super::tokenize::{Tokenize, Words};
use crate::clock::Clock;
use crate::units::Nanos;

pub use self::embedded::{Embedded, Monitor, Status};

/// Most a connection buffers in either direction, in bytes; also the longest request head.
const CONNECTION_BUFFER: usize = 32 * 1024;

/// Tokens handed out before other tasks get their turn, where the engine is ahead of the clock's grain.
const TOKENS_A_TURN: usize = 16 * 1024;

/// Connections that may wait to be accepted: with the usual 128 a burst would meet retransmissions of a
/// second.
const BACKLOG: u32 = 4096;

/// How long accepting rests after a failure, for descriptors to become free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A listener at `addr` (port 0: any free one) for [`Server::listen`], from within a runtime. It lets
/// thousands of connections come at once.
///
/// # Errors
/// When the address cannot be had.
pub fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

/// What is served, beside the profile.
#[derive(Clone)]
pub struct Options {
    /// Name of the model served; `None`: the profile's.
    pub model: Option<String>,
    /// The key that requests under `/v1/` must bear; `None`: none.
    pub api_key: Option<String>,
    /// How prompts are counted; by [`Words`] unless set.
    pub tokenizer: Arc<dyn Tokenize>,
    /// Right answers to known questions; `None`: it knows none.
    pub answer_key: Option<Arc<dyn AnswerKey>>,
    /// What goes wrong on purpose; nothing unless set.
    pub faults: FaultPlan,
    /// Answers of another seed are other ones; 0 unless set.
    pub seed: u64,
    /// Longest request body, in bytes; 32 MiB unless set.
    pub max_body_bytes: usize,
    /// Unix time at the clock's zero, in seconds, for `created`; 0 unless set.
    pub epoch_unix_s: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            model: None,
            api_key: None,
            tokenizer: Arc::new(Words),
            answer_key: None,
            faults: FaultPlan::default(),
            seed: 0,
            max_body_bytes: 32 << 20,
            epoch_unix_s: 0,
        }
    }
}

/// A simulated server, bound to the runtime of its clock.
///
/// `docs/simulator.md` lists what it serves. A stream's head is sent when the request has been read, its opening event
/// with the first token, then each token as an event of its own. The driver ends with the server, that is when the last
/// handle and the last connection are gone.
pub struct Server {
    state: Rc<State>,
    driver: AbortHandle,
}

type Open = BTreeMap<Id, Rc<Progress>>;

struct State {
    clock: Clock,
    engine: RefCell<Engine>,
    /// The requests that have not ended.
    open: RefCell<Open>,
    /// Tokens on their way out, in order of their times.
    leaving: RefCell<VecDeque<Emission>>,
    /// Told when the time of the running step has changed.
    rescheduled: Notify,
    monitor: Monitor,
    metrics: RefCell<Metrics>,
    reader: Reader,
    /// The words it was shown, by their ids.
    lexicon: RefCell<BTreeMap<u32, String>>,
    options: Options,
    /// The served model's name, and the same as a JSON string.
    model: String,
    model_json: String,
    /// Requests for answers and connections so far, which faults are counted by.
    requests: Cell<u64>,
    connections: Cell<u64>,
}

impl Server {
    /// A server that lives on `clock`'s runtime, from within which this must be called.
    pub fn new(clock: Clock, profile: Profile, options: Options) -> Rc<Server> {
        Server::watched(clock, profile, options, Monitor::default())
    }

    fn watched(clock: Clock, profile: Profile, options: Options, monitor: Monitor) -> Rc<Server> {
        let model = options.model.clone().unwrap_or_else(|| profile.name().to_owned());
        let vocabulary = Vocabulary::new(&*options.tokenizer);
        let state = Rc::new(State {
            clock,
            open: RefCell::default(),
            leaving: RefCell::default(),
            rescheduled: Notify::new(),
            monitor,
            metrics: RefCell::new(Metrics::new()),
            reader: Reader {
                tokenizer: Arc::clone(&options.tokenizer),
                answer_key: options.answer_key.clone(),
                seed: options.seed,
                vocabulary,
                parameters: profile.parameters().clone(),
            },
            lexicon: RefCell::default(),
            options,
            model_json: json!(model).to_string(),
            model,
            requests: Cell::new(0),
            connections: Cell::new(0),
            engine: RefCell::new(Engine::new(profile)),
        });
        let driver = tokio::task::spawn_local(drive(Rc::clone(&state))).abort_handle();
        Rc::new(Server { state, driver })
    }

    /// Serves one connection until either side ends it; what breaks it is the client's affair, and what it
    /// had asked for is cancelled.
    pub fn serve<S>(self: &Rc<Server>, stream: S) -> impl Future<Output = ()> + use<S>
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        self.serve_resettable(stream, |_| {})
    }

    /// The same over a stream that `reset` makes end in a reset once it is dropped.
    fn serve_resettable<S>(self: &Rc<Server>, stream: S, reset: fn(&S)) -> impl Future<Output = ()> + use<S>
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let state = Rc::clone(&self.state);
        let server = Rc::clone(self);
        async move {
            let clock = state.clock.clone();
            let manner = state.options.faults.connection(next(&state.connections), clock.now());
            if !manner.accept_delay.is_zero() {
                clock.sleep(manner.accept_delay).await;
            }
            if manner.refuse {
                reset(&stream);
                return;
            }
            let control = Rc::new(Control::default());
            let wire = Wire::new(stream, reset, Rc::clone(&control), clock.clone());
            let service = service_fn(|request| {
                let (state, control) = (Rc::clone(&state), Rc::clone(&control));
                async move { state.respond(request, control).await }
            });
            let connection = http1::Builder::new()
                .auto_date_header(false)
                .header_read_timeout(None)
                .max_buf_size(CONNECTION_BUFFER)
                .writev(false)
                .serve_connection(TokioIo::new(wire), service);
            let mut connection = std::pin::pin!(connection);
            let Some(idle_close) = manner.idle_close else {
                let _ = connection.await;
                drop(server);
                return;
            };
            let mut look_at = clock.now() + idle_close;
            loop {
                tokio::select! {
                    biased;
                    _ = &mut connection => return,
                    () = clock.sleep_until(look_at) => {}
                }
                look_at = control.idle_since().unwrap_or(clock.now()) + idle_close;
                if look_at <= clock.now() {
                    return;
                }
            }
        }
    }

    /// Serves every connection that `listener` accepts, until `end` completes; then the open ones are cut.
    pub async fn listen(self: &Rc<Server>, listener: TcpListener, end: impl Future<Output = ()>) {
        let mut connections = tokio::task::JoinSet::new();
        let mut end = std::pin::pin!(end);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut end => return,
                Some(_) = connections.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    // Without it tokens would wait for one another; a refusal costs only their pace.
                    let _ = stream.set_nodelay(true);
                    // A connection that cannot be reset is closed.
                    let reset = |stream: &TcpStream| drop(stream.set_zero_linger());
                    connections.spawn_local(self.serve_resettable(stream, reset));
                }
                Err(_) => self.state.clock.sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// A view of what the server does, for any thread.
    pub fn monitor(&self) -> Monitor {
        self.state.monitor.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Steps the engine at its own times, for ever.
async fn drive(state: Rc<State>) {
    loop {
        let leaves = state.leaving.borrow().front().map(|emission| emission.at);
        let next = leaves.or_else(|| state.engine.borrow().next());
        let Some(at) = next else {
            state.rescheduled.notified().await;
            continue;
        };
        tokio::select! {
            biased;
            () = state.rescheduled.notified() => continue,
            () = state.clock.sleep_until(at) => {}
        }
        state.hand_out(state.clock.now());
        // A step may already have ended again; connections must get to write meanwhile.
        tokio::task::yield_now().await;
    }
}

impl State {
    /// Hands out the tokens that are due by `now`, as many as make a turn.
    fn hand_out(&self, now: Nanos) {
        let mut engine = self.engine.borrow_mut();
        let mut leaving = self.leaving.borrow_mut();
        let mut open = self.open.borrow_mut();
        let mut metrics = self.metrics.borrow_mut();
        for _ in 0..TOKENS_A_TURN {
            if let Some(emission) = leaving.pop_front_if(|emission| emission.at <= now) {
                self.hand_over(emission, now, &mut open, &mut metrics);
            } else if leaving.is_empty()
                && let Some(step) = engine.step(now)
            {
                metrics.step(step.processed_tokens);
                leaving.extend(step.emissions);
            } else {
                break;
            }
        }
        self.monitor.occupancy(&engine);
    }

    /// Tells a request of a token, unless its client has left since the token was computed.
    fn hand_over(&self, emission: Emission, now: Nanos, open: &mut Open, metrics: &mut Metrics) {
        let Emission { id, token, at, finish, course } = emission;
        let Some(progress) = open.get(&id) else { return };
        self.monitor.token(now.since(at));
        let mut times = progress.times.get();
        metrics.token(&mut times, token == 0, at);
        progress.times.set(times);
        progress.advance(token + 1, finish, course);
        if let Some(finish) = finish {
            metrics.ended(&Ended {
                times,
                course,
                finish,
                prompt_tokens: progress.prompt_tokens,
                generated_tokens: token + 1,
                max_tokens: progress.max_tokens,
            });
            open.remove(&id);
        }
    }

    fn submit(self: &Rc<State>, request: Request) -> Result<Generation, Problem> {
        let now = self.clock.now();
        let mut engine = self.engine.borrow_mut();
        let next = engine.next();
        let progress = Rc::new(Progress::new(now, request.prompt_tokens, request.max_tokens));
        let id = engine.submit(now, request)?;
        if engine.next() != next {
            self.rescheduled.notify_one();
        }
        self.open.borrow_mut().insert(id, Rc::clone(&progress));
        self.monitor.taken();
        self.monitor.occupancy(&engine);
        Ok(Generation::new(Rc::clone(self), id, progress))
    }

    /// Gives up a request that nobody waits for any more.
    fn cancel(&self, id: Id) {
        if self.open.borrow_mut().remove(&id).is_none() {
            return;
        }
        self.metrics.borrow_mut().aborted();
        let mut engine = self.engine.borrow_mut();
        let next = engine.next();
        engine.cancel(self.clock.now(), id);
        if engine.next() != next {
            self.rescheduled.notify_one();
        }
        self.monitor.occupancy(&engine);
    }
}

/// Counts one more and says which it is, from 1.
fn next(counter: &Cell<u64>) -> u64 {
    counter.set(counter.get() + 1);
    counter.get()
}

#[cfg(test)]
mod tests;
