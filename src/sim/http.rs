//! The engine behind HTTP/1.1, over any byte stream and under either clock.
//!
//! One driver task sleeps until the step that runs ends, takes it from the engine and tells each request how
//! many of its tokens there are. That count is all that passes between them: a body writes the events it owes
//! when its connection has room, so a client that reads slowly costs no memory.

mod embedded;
mod generation;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use self::generation::{Body, Generation, Progress};
use super::chat::{Chat, Delivery};
use super::engine::Engine;
use super::frames::{Frames, Usage};
use super::problem::Problem;
use super::profile::Profile;
use super::request::Id;
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
            max_body_bytes: 32 << 20,
            epoch_unix_s: 0,
        }
    }
}

/// A simulated server, bound to the runtime of its clock.
///
/// Serves `POST /v1/chat/completions`, `GET /v1/models` and `GET /health`. A stream's head is sent when the
/// request has been read, its opening event with the first token, then each token as an event of its own.
/// The driver ends with the server, that is when the last handle and the last connection are gone.
pub struct Server {
    state: Rc<State>,
    driver: AbortHandle,
}

struct State {
    clock: Clock,
    engine: RefCell<Engine>,
    /// The requests that have not ended.
    open: RefCell<BTreeMap<Id, Rc<Progress>>>,
    /// Told when the end of the running step has changed.
    rescheduled: Notify,
    monitor: Monitor,
    options: Options,
    /// The served model's name, and the same as a JSON string.
    model: String,
    model_json: String,
    mean_answer_tokens: u64,
    max_model_len: u64,
}

impl Server {
    /// A server that lives on `clock`'s runtime, from within which this must be called.
    pub fn new(clock: Clock, profile: Profile, options: Options) -> Rc<Server> {
        Server::watched(clock, profile, options, Monitor::default())
    }

    fn watched(clock: Clock, profile: Profile, options: Options, monitor: Monitor) -> Rc<Server> {
        let model = options.model.clone().unwrap_or_else(|| profile.name().to_owned());
        let state = Rc::new(State {
            clock,
            open: RefCell::default(),
            rescheduled: Notify::new(),
            monitor,
            options,
            model_json: json!(model).to_string(),
            model,
            mean_answer_tokens: profile.parameters().mean_answer_tokens,
            max_model_len: profile.parameters().max_model_len,
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
        let server = Rc::clone(self);
        async move {
            let service = service_fn(|request| {
                let state = Rc::clone(&server.state);
                async move { Ok::<_, Infallible>(state.respond(request).await) }
            });
            let connection = http1::Builder::new()
                .auto_date_header(false)
                .header_read_timeout(None)
                .max_buf_size(CONNECTION_BUFFER)
                .serve_connection(TokioIo::new(stream), service);
            let _ = connection.await;
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
                    connections.spawn_local(self.serve(stream));
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
        let next = state.engine.borrow().next();
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
    /// Takes the steps that have ended by `now`, as many as make a turn.
    fn hand_out(&self, now: Nanos) {
        let mut engine = self.engine.borrow_mut();
        let mut open = self.open.borrow_mut();
        let mut tokens = 0;
        while tokens < TOKENS_A_TURN
            && let Some(step) = engine.step(now)
        {
            tokens += step.emissions.len().max(1);
            self.monitor.step(step.emissions.len() as u64, now.since(step.at));
            for emission in step.emissions {
                let progress = open.get(&emission.id).expect("a request that gets tokens is open");
                progress.advance(emission.token + 1, emission.finish);
                if emission.finish.is_some() {
                    open.remove(&emission.id);
                }
            }
        }
        self.monitor.occupancy(&engine);
    }

    async fn respond(self: Rc<State>, request: Request<Incoming>) -> Response<Body> {
        match self.route(request).await {
            Ok(response) => response,
            Err(problem) => {
                let mut response = json_response(problem.to_json());
                *response.status_mut() = StatusCode::from_u16(problem.status)
                    .expect("every problem has one of a few statuses, all between 400 and 499");
                if let Some(allowed) = problem.allowed {
                    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
                }
                response
            }
        }
    }

    async fn route(self: Rc<State>, request: Request<Incoming>) -> Result<Response<Body>, Problem> {
        let path = request.uri().path();
        if path.starts_with("/v1/") && !self.admits(&request) {
            return Err(Problem::unauthorised());
        }
        match path {
            "/v1/chat/completions" => {
                demand(&request, &Method::POST, "POST")?;
                let body = self.collect(request.into_body()).await?;
                let chat = Chat::read(&body, &*self.options.tokenizer)?;
                drop(body);
                self.complete(chat).await
            }
            "/v1/models" => {
                demand(&request, &Method::GET, "GET")?;
                Ok(json_response(self.models()))
            }
            "/health" => {
                demand(&request, &Method::GET, "GET")?;
                Ok(Response::new(Body::Whole(Bytes::new())))
            }
            _ => Err(Problem::unknown_path()),
        }
    }

    /// Whether the request bears the key, if one is asked for.
    fn admits(&self, request: &Request<Incoming>) -> bool {
        let Some(key) = &self.options.api_key else { return true };
        let bearer =
            request.headers().get(AUTHORIZATION).and_then(|value| value.as_bytes().split_at_checked(7));
        bearer
            .is_some_and(|(scheme, token)| scheme.eq_ignore_ascii_case(b"bearer ") && token == key.as_bytes())
    }

    /// The whole body, if it keeps within its bound.
    async fn collect(&self, mut body: Incoming) -> Result<Vec<u8>, Problem> {
        let limit = self.options.max_body_bytes;
        if body.size_hint().lower() > limit as u64 {
            return Err(Problem::too_large(limit));
        }
        // A length that is only claimed reserves nothing.
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Problem::bad_request("The request body broke off.", None))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > limit {
                return Err(Problem::too_large(limit));
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    }

    /// Answers a chat request: at once with a stream that follows the engine, or whole when it is complete.
    async fn complete(self: Rc<State>, chat: Chat) -> Result<Response<Body>, Problem> {
        if let Some(asked) = chat.model.as_deref().filter(|asked| *asked != self.model) {
            return Err(Problem::unknown_model(asked, &self.model));
        }
        let now = self.clock.now();
        let mut generation = self.submit(now, &chat)?;
        let id = format!("chatcmpl-{:016x}", generation.id().0);
        let created = self.options.epoch_unix_s + now.0 / 1_000_000_000;
        if let Delivery::Streamed { usage } = chat.delivery {
            let frames = Frames::new(&id, &self.model_json, created);
            let usage_of = usage.then_some(chat.prompt_tokens);
            let mut response = Response::new(Body::streamed(generation, frames, chat.answer, usage_of));
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
            return Ok(response);
        }
        let (completion_tokens, finish) = generation.finished().await;
        let usage = Usage { prompt_tokens: chat.prompt_tokens, completion_tokens };
        let answer = json!({
            "id": id,
            "object": "chat.completion",
            "created": created,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": chat.answer.text(completion_tokens) },
                "logprobs": null,
                "finish_reason": finish.reason(),
            }],
            "usage": usage.to_json(),
        });
        Ok(json_response(answer.to_string()))
    }

    fn submit(self: &Rc<State>, now: Nanos, chat: &Chat) -> Result<Generation, Problem> {
        let mut engine = self.engine.borrow_mut();
        let next = engine.next();
        let id = engine.submit(now, chat.engine_request(self.mean_answer_tokens))?;
        if engine.next() != next {
            self.rescheduled.notify_one();
        }
        let progress = Rc::<Progress>::default();
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
        let mut engine = self.engine.borrow_mut();
        let next = engine.next();
        engine.cancel(self.clock.now(), id);
        if engine.next() != next {
            self.rescheduled.notify_one();
        }
        self.monitor.occupancy(&engine);
    }

    fn models(&self) -> String {
        let model = json!({
            "id": self.model,
            "object": "model",
            "created": self.options.epoch_unix_s,
            "owned_by": "tonnage",
            "max_model_len": self.max_model_len,
        });
        json!({ "object": "list", "data": [model] }).to_string()
    }
}

fn demand(request: &Request<Incoming>, method: &Method, name: &'static str) -> Result<(), Problem> {
    if request.method() == method { Ok(()) } else { Err(Problem::method(name)) }
}

fn json_response(json: String) -> Response<Body> {
    let mut response = Response::new(Body::Whole(json.into()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests;
