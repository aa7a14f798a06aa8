//! What is served where.

use std::convert::Infallible;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use super::generation::Generation;
use super::stream::{Body, Stream};
use super::wire::{Busy, Control};
use super::{State, next};
use crate::sim::answer::{Channel, Vocabulary};
use crate::sim::ask::{Ask, Delivery, Form, Reader};
use crate::sim::fault::{Ending, FaultPlan, Manner, Stage, UsageManner};
use crate::sim::frames::{Frames, Usage};
use crate::sim::problem::Problem;

/// Names the faults of its own request.
const FAULT_HEADER: &str = "x-sim-fault";

/// What `/version` tells.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Words remembered to turn ids into text again.
const LEXICON_WORDS: usize = 1 << 16;

/// How a request went wrong: with an answer that says so, or a time to try again beside it.
struct Refused {
    problem: Problem,
    retry_after: Option<Duration>,
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Refused {
        Refused { problem, retry_after: None }
    }
}

impl State {
    pub(super) async fn respond(
        self: Rc<State>,
        request: Request<Incoming>,
        control: Rc<Control>,
    ) -> Result<Response<Body>, Infallible> {
        let busy = Busy::new(&control, &self.clock);
        let refused = match self.route(request, &control).await {
            Ok(reply) => return Ok(reply.response(busy)),
            Err(refused) => refused,
        };
        let Refused { problem, retry_after } = refused;
        let mut response = Reply::Json(problem.to_json()).response(busy);
        *response.status_mut() =
            StatusCode::from_u16(problem.status).expect("every problem has a status from 400 to 599");
        if let Some(allowed) = problem.allowed {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        }
        if let Some(after) = retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(after.as_secs_f64().ceil() as u64));
        }
        Ok(response)
    }

    async fn route(
        self: Rc<State>,
        request: Request<Incoming>,
        control: &Rc<Control>,
    ) -> Result<Reply, Refused> {
        let path = request.uri().path();
        if path.starts_with("/v1/") && !self.admits(&request) {
            return Err(Problem::unauthorised().into());
        }
        match path {
            "/v1/chat/completions" | "/v1/completions" => {
                demand(&request, &Method::POST, "POST")?;
                let form = if path == "/v1/completions" { Form::Completion } else { Form::Chat };
                self.answer(form, request, control).await
            }
            "/v1/models" => {
                demand(&request, &Method::GET, "GET")?;
                Ok(Reply::Json(self.models()))
            }
            "/version" => {
                demand(&request, &Method::GET, "GET")?;
                Ok(Reply::Json(json!({ "version": VERSION }).to_string()))
            }
            "/tokenize" => {
                demand(&request, &Method::POST, "POST")?;
                let body = self.collect(request.into_body(), None).await?;
                let (ids, text) = self.reader.tokenize(&body)?;
                self.remember(&text);
                Ok(Reply::Json(
                    json!({
                        "count": ids.len(),
                        "max_model_len": self.reader.parameters.max_model_len,
                        "tokens": ids,
                        "token_strs": null,
                    })
                    .to_string(),
                ))
            }
            "/detokenize" => {
                demand(&request, &Method::POST, "POST")?;
                let body = self.collect(request.into_body(), None).await?;
                let text = self.recall(&Reader::detokenize(&body)?)?;
                Ok(Reply::Json(json!({ "prompt": text }).to_string()))
            }
            "/metrics" => {
                demand(&request, &Method::GET, "GET")?;
                let page =
                    self.metrics.borrow().page(&self.engine.borrow(), &self.reader.parameters, &self.model);
                Ok(Reply::Metrics(page))
            }
            "/reset_prefix_cache" => {
                demand(&request, &Method::POST, "POST")?;
                self.engine.borrow_mut().reset_prefix_cache();
                Ok(Reply::Empty)
            }
            "/health" => {
                demand(&request, &Method::GET, "GET")?;
                Ok(Reply::Empty)
            }
            _ => Err(Problem::unknown_path().into()),
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

    /// The whole body, if it keeps within its bound; read no faster than so many bytes a second.
    async fn collect(&self, mut body: Incoming, bytes_per_s: Option<u64>) -> Result<Vec<u8>, Problem> {
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
            if let Some(bytes_per_s) = bytes_per_s {
                self.clock.sleep(Duration::from_secs_f64(data.len() as f64 / bytes_per_s as f64)).await;
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes)
    }

    /// Answers a request, or fails it as planned.
    async fn answer(
        self: Rc<State>,
        form: Form,
        request: Request<Incoming>,
        control: &Rc<Control>,
    ) -> Result<Reply, Refused> {
        let manner = self.manner(&request)?;
        control.begin(
            match manner.end {
                Some((Stage::Bytes(bytes), ending)) => Some((bytes, ending)),
                _ => None,
            },
            manner.split,
        );
        if let Some((Stage::Head, ending)) = manner.end {
            control.end(ending);
            return pending().await;
        }
        let body = self.collect(request.into_body(), manner.read_bytes_per_s).await?;
        if !manner.delay.is_zero() {
            self.clock.sleep(manner.delay).await;
        }
        if let Some((status, retry_after)) = manner.status {
            return Err(Refused { problem: Problem::injected(status), retry_after });
        }
        let ask = self.reader.read(form, &body, manner.corrupt)?;
        drop(body);
        if let Some(asked) = ask.model.as_deref().filter(|asked| *asked != self.model) {
            return Err(Problem::unknown_model(asked, &self.model).into());
        }
        let Ask { form, answer, delivery, request, .. } = ask;
        let generation = self.submit(request)?;
        let id = format!("{}-{:016x}", form.id_prefix(), generation.id().0);
        let created = self.options.epoch_unix_s + self.clock.now().0 / 1_000_000_000;
        let document = Document { id, created, form, generation };
        match delivery {
            Delivery::Streamed(usage) if !manner.document => {
                let frames = Frames::new(form, &document.id, &self.model_json, created, &manner);
                Ok(Reply::Stream(Box::new(Stream {
                    generation: document.generation,
                    frames,
                    answer,
                    usage,
                    caching: self.reader.parameters.prefix_caching,
                    manner,
                    control: Rc::clone(control),
                    clock: self.clock.clone(),
                    flow: super::stream::Flow::default(),
                })))
            }
            Delivery::Streamed(_) | Delivery::Whole => document.write(&self, &answer, &manner, control).await,
        }
    }

    /// How this request is answered: as planned, and as it asks for itself.
    fn manner(&self, request: &Request<Incoming>) -> Result<Manner, Problem> {
        let mut manner = self.options.faults.request(next(&self.requests), self.clock.now());
        if let Some(header) = request.headers().get(FAULT_HEADER) {
            let text = header.to_str().unwrap_or("?");
            let plan = FaultPlan::of_header(text)
                .map_err(|error| Problem::bad_request(error.to_string(), Some(FAULT_HEADER)))?;
            manner.overlay(&plan.request(1, self.clock.now()));
        }
        Ok(manner)
    }

    fn models(&self) -> String {
        let model = json!({
            "id": self.model,
            "object": "model",
            "created": self.options.epoch_unix_s,
            "owned_by": "tonnage",
            "max_model_len": self.reader.parameters.max_model_len,
        });
        json!({ "object": "list", "data": [model] }).to_string()
    }

    /// Keeps the words of answers and those of `text`, as many as there is room for, to tell them from their ids.
    fn remember(&self, text: &str) {
        let mut lexicon = self.lexicon.borrow_mut();
        let mut ids = Vec::new();
        let own: Vec<&str> = if lexicon.is_empty() { Vocabulary::words().collect() } else { Vec::new() };
        for word in own.into_iter().chain(text.split_whitespace()) {
            if lexicon.len() >= LEXICON_WORDS {
                return;
            }
            ids.clear();
            self.reader.tokenizer.encode(word, &mut ids);
            if let [id] = ids[..] {
                lexicon.entry(id).or_insert_with(|| word.to_owned());
            }
        }
    }

    /// The text of `ids`: the tokenizer's, or the words that were shown to it.
    fn recall(&self, ids: &[u32]) -> Result<String, Problem> {
        if let Some(text) = self.reader.tokenizer.decode(ids) {
            return Ok(text);
        }
        self.remember("");
        let lexicon = self.lexicon.borrow();
        let words = ids.iter().map(|id| {
            lexicon.get(id).map(String::as_str).ok_or_else(|| {
                let message = format!(
                    "Token {id} is not known: ids are hashes of words, and only words that were tokenized here can be \
                     told from them."
                );
                Problem::bad_request(message, Some("tokens"))
            })
        });
        Ok(words.collect::<Result<Vec<_>, _>>()?.join(" "))
    }
}

/// An answer in one piece, on its way.
struct Document {
    id: String,
    created: u64,
    form: Form,
    generation: Generation,
}

impl Document {
    async fn write(
        mut self,
        state: &State,
        answer: &crate::sim::answer::Answer,
        manner: &Manner,
        control: &Control,
    ) -> Result<Reply, Refused> {
        let (completion_tokens, finish) = self.generation.finished().await;
        match manner.end {
            Some((Stage::Tokens(_), ending @ (Ending::Reset | Ending::Cut | Ending::Hang))) => {
                control.end(ending);
                return pending().await;
            }
            _ if manner.error.is_some() => return Err(Problem::injected(500).into()),
            _ => {}
        }
        let thoughts = answer.thoughts();
        let usage = Usage {
            prompt_tokens: self.generation.progress.prompt_tokens,
            completion_tokens,
            cached_tokens: (state.reader.parameters.prefix_caching)
                .then(|| self.generation.progress.course().cached_tokens),
            reasoning_tokens: (thoughts > 0).then(|| thoughts.min(completion_tokens)),
        };
        let text = answer.text(completion_tokens, Channel::Answer);
        let (object, choice) = match self.form {
            Form::Chat => {
                let mut message = json!({ "role": "assistant", "content": text });
                if thoughts > 0 {
                    message["reasoning_content"] = answer.text(completion_tokens, Channel::Reasoning).into();
                }
                ("chat.completion", ("message", message))
            }
            Form::Completion => {
                let whole = answer.text(completion_tokens, Channel::Reasoning) + &text;
                ("text_completion", ("text", Value::from(whole)))
            }
        };
        let mut whole = json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": state.model,
            "choices": [{ "index": 0, "logprobs": null, "finish_reason": finish.reason(), choice.0: choice.1 }],
        });
        match manner.usage {
            UsageManner::Absent => {}
            UsageManner::Zero => whole["usage"] = Usage::default().to_json(),
            _ => whole["usage"] = usage.to_json(),
        }
        let mut whole = whole.to_string();
        let broken = manner.malformed_after.is_some() || matches!(manner.end, Some((_, Ending::Truncate)));
        if broken {
            whole.truncate(whole.floor_char_boundary(whole.len() / 2));
        }
        Ok(Reply::Json(whole))
    }
}

/// What goes back.
enum Reply {
    Json(String),
    Metrics(String),
    Empty,
    Stream(Box<Stream>),
}

impl Reply {
    fn response(self, busy: Busy) -> Response<Body> {
        let (kind, body) = match self {
            Reply::Json(text) => (Some("application/json"), Body::whole(text, busy)),
            Reply::Metrics(text) => {
                (Some("text/plain; version=0.0.4; charset=utf-8"), Body::whole(text, busy))
            }
            Reply::Empty => (None, Body::whole(Vec::new(), busy)),
            Reply::Stream(stream) => (Some("text/event-stream; charset=utf-8"), Body::streamed(stream, busy)),
        };
        let mut response = Response::new(body);
        if let Some(kind) = kind {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        response
    }
}

fn demand(request: &Request<Incoming>, method: &Method, name: &'static str) -> Result<(), Problem> {
    if request.method() == method { Ok(()) } else { Err(Problem::method(name)) }
}
