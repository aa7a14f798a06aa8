//! The response of one exchange: a stream, a document or a refusal, read to its end and judged.

use std::future::{Future as _, poll_fn};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap};
use hyper::http::response::Parts;

use super::Client;
use super::exchange::{HandOver, account, describe, outcome_of};
use super::link::{Link, Read};
use super::watch::{Progress, Watch};
use crate::prompt::Outgoing;
use crate::protocol::{Answer, Decoder, Step, error_message};
use crate::record::{Outcome, Stamp, Timeline, Usage};
use crate::units::Nanos;
use crate::wire::sse;

/// Stamps are handed over in lots of this many, so that an endless stream holds no memory.
const STAMPS_A_LOT: usize = 8_192;
/// The longest answer that is kept for the next turn of its conversation.
const ANSWER_LIMIT_BYTES: usize = 4 << 20;
/// A document longer than this is no answer.
const DOCUMENT_LIMIT_BYTES: usize = 64 << 20;
/// As much of a refusal is read.
const REFUSAL_LIMIT_BYTES: usize = 64 << 10;
/// How long the connection of a finished answer may take to end the response before it is given up.
const LINGER: Duration = Duration::from_secs(1);

/// A response being read.
pub(super) struct Reading<'a> {
    client: &'a Client,
    link: Link,
    head: Parts,
    body: Incoming,
    watch: Watch,
    progress: Progress,
    timeline: &'a mut Timeline,
}

/// The next thing a response has to say.
enum Piece {
    Data(Bytes),
    End,
    /// It broke off: outcome and text.
    Broken(Outcome, String),
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        client: &'a Client,
        link: Link,
        response: hyper::Response<Incoming>,
        watch: Watch,
        timeline: &'a mut Timeline,
    ) -> Reading<'a> {
        let (head, body) = response.into_parts();
        timeline.http_status = Some(head.status.as_u16());
        timeline.server_request_id = server_request_id(&head.headers);
        Reading { client, link, head, body, watch, progress: Progress::Waiting, timeline }
    }

    /// Reads the response to `request` as what it is.
    pub(super) async fn run(self, request: &Outgoing, hand_over: HandOver<'_>) -> Outcome {
        if !self.head.status.is_success() {
            return self.refusal().await;
        }
        let decoder = Decoder::new(self.client.api, request.keep_answer.then_some(ANSWER_LIMIT_BYTES));
        if request.stream && !is_json(&self.head.headers) {
            return self.stream(decoder, hand_over).await;
        }
        self.document(decoder, request.stream).await
    }

    async fn stream(mut self, mut decoder: Decoder, hand_over: HandOver<'_>) -> Outcome {
        let mut parser = sse::Parser::new();
        loop {
            let piece = self.next().await;
            let at = self.link.meter.last_read.get();
            let timeline = &mut *self.timeline;
            let mut take = |event: sse::Event<'_>| note(timeline, decoder.event(event), at, hand_over);
            let (fed, is_end) = match piece {
                Piece::Data(bytes) => (parser.feed(&bytes, &mut take), false),
                Piece::End => (parser.finish(&mut take), true),
                Piece::Broken(outcome, message) => {
                    return self.conclude(decoder.answer(), Some((outcome, message)));
                }
            };
            match fed {
                Ok(ControlFlow::Continue(())) if !is_end => {}
                Ok(_) => {
                    let no_stream = self.is_blank(decoder.answer()) && parser.foreign_lines() > 0;
                    let broken =
                        no_stream.then(|| (Outcome::Malformed, "the body is no event stream".into()));
                    let outcome = self.conclude(decoder.answer(), broken);
                    self.timeline.answer = whole_text(decoder.into_answer());
                    self.settle().await;
                    return outcome;
                }
                Err(overflow) => {
                    return self.conclude(decoder.answer(), Some((Outcome::Malformed, overflow.to_string())));
                }
            }
            if self.timeline.first_token.is_some() {
                self.progress = Progress::Reading { last_read: at };
            }
        }
    }

    /// Reads a whole document: an answer that was asked for as one, or one that came instead of a stream.
    async fn document(mut self, mut decoder: Decoder, stream: bool) -> Outcome {
        let bytes = match self.whole(DOCUMENT_LIMIT_BYTES).await {
            Ok(bytes) => bytes,
            Err((outcome, message)) => {
                self.timeline.error = Some(message);
                return outcome;
            }
        };
        decoder.document(&bytes);
        let outcome = match self.conclude(decoder.answer(), None) {
            Outcome::Ok if stream => {
                self.timeline.error = Some("the server sent one document instead of a stream".into());
                Outcome::NotStreamed
            }
            Outcome::Ok => {
                self.timeline.last_output = Some(self.link.meter.last_read.get());
                Outcome::Ok
            }
            other => other,
        };
        self.timeline.answer = whole_text(decoder.into_answer());
        self.settle().await;
        outcome
    }

    /// Reads what the server has to say beside a status other than 2xx.
    async fn refusal(mut self) -> Outcome {
        let status = self.head.status;
        let whole = self.whole(REFUSAL_LIMIT_BYTES).await;
        account(self.timeline, &self.link);
        match whole {
            Ok(bytes) => {
                let said = error_message(&bytes);
                self.timeline.error = Some(if said.is_empty() { status.to_string() } else { said });
                self.settle().await;
            }
            Err((_, message)) => self.timeline.error = Some(format!("{status}; {message}")),
        }
        Outcome::HttpError
    }

    /// The whole body, if it is no longer than `limit_bytes`.
    async fn whole(&mut self, limit_bytes: usize) -> Result<Vec<u8>, (Outcome, String)> {
        let mut whole = Vec::new();
        loop {
            match self.next().await {
                Piece::Data(bytes) if whole.len() + bytes.len() > limit_bytes => {
                    let message = format!("the body is longer than {limit_bytes} bytes");
                    return Err((Outcome::Malformed, message));
                }
                Piece::Data(bytes) => whole.extend_from_slice(&bytes),
                Piece::End => return Ok(whole),
                Piece::Broken(outcome, message) => return Err((outcome, message)),
            }
            self.progress = Progress::Reading { last_read: self.link.meter.last_read.get() };
        }
    }

    /// The next piece of the body, or the limit that passed before it came.
    async fn next(&mut self) -> Piece {
        let Reading { link, body, watch, progress, .. } = self;
        let read = poll_fn(|context| match link.poll_body(body, context) {
            Poll::Ready(read) => Poll::Ready(Ok(read)),
            Poll::Pending => watch.poll(context, *progress).map(Err),
        });
        match read.await {
            Ok(Read::Data(bytes)) => Piece::Data(bytes),
            Ok(Read::End) => Piece::End,
            Ok(Read::Failed(error)) => Piece::Broken(outcome_of(&error), describe(&error)),
            Err(outcome) => Piece::Broken(outcome, self.watch.describe(outcome)),
        }
    }

    /// Decides the outcome in the light of all that was read: what the server said of itself first, then how the
    /// response ended. An answer that was complete stays so, whatever broke after it.
    fn conclude(&mut self, answer: &Answer, broken: Option<(Outcome, String)>) -> Outcome {
        account(self.timeline, &self.link);
        self.timeline.usage = answer.usage();
        self.timeline.counted_tokens = answer.counted_tokens();
        self.timeline.finish_reason = answer.finish_reason.clone();
        let (outcome, message) = match (&answer.failure, answer.outcome(), broken) {
            (Some(failure), outcome, _) => (outcome, Some(failure.text().to_owned())),
            (None, Outcome::Truncated, Some((outcome, message))) => (outcome, Some(message)),
            (None, Outcome::Truncated, None) if self.is_blank(answer) => {
                (Outcome::Empty, Some("the response was empty".to_owned()))
            }
            (None, Outcome::Truncated, None) => {
                (Outcome::Truncated, Some("the answer ended without a finish reason".to_owned()))
            }
            (None, Outcome::Empty, _) => (Outcome::Empty, Some("the answer holds no token".to_owned())),
            (None, outcome, _) => (outcome, None),
        };
        self.timeline.error = message;
        outcome
    }

    /// Whether not a single event came.
    fn is_blank(&self, answer: &Answer) -> bool {
        self.timeline.events == 0 && self.timeline.ignored_events == 0 && answer.usage() == Usage::default()
    }

    /// Gives the connection back once its response is at its end. A server may hold the end back for a while
    /// after the last event; that is waited for beside the schedule, not in it.
    async fn settle(self) {
        let Reading { client, mut link, mut body, .. } = self;
        let pool = Rc::clone(&client.pool);
        let now = poll_fn(|context| Poll::Ready(at_end(&mut link, &mut body, context))).await;
        match now {
            Poll::Ready(true) => pool.give_back(link),
            Poll::Ready(false) => {}
            Poll::Pending => {
                let mut expiry = Box::pin(client.clock.sleep(LINGER));
                tokio::task::spawn_local(async move {
                    let ended = poll_fn(|context| match at_end(&mut link, &mut body, context) {
                        Poll::Ready(ended) => Poll::Ready(ended),
                        Poll::Pending => expiry.as_mut().poll(context).map(|()| false),
                    });
                    if ended.await {
                        pool.give_back(link);
                    }
                });
            }
        }
    }
}

/// Reads on to the end of a response: ready with whether there was a clean one.
fn at_end(link: &mut Link, body: &mut Incoming, context: &mut Context<'_>) -> Poll<bool> {
    loop {
        match link.poll_body(body, context) {
            Poll::Ready(Read::Data(_)) => {}
            Poll::Ready(Read::End) => return Poll::Ready(true),
            Poll::Ready(Read::Failed(_)) => return Poll::Ready(false),
            Poll::Pending => return Poll::Pending,
        }
    }
}

/// Stamps what one event was. Nothing that counts follows an end marker or a failure: reading stops there.
fn note(timeline: &mut Timeline, step: Step, at: Nanos, hand_over: HandOver<'_>) -> ControlFlow<()> {
    if step.is_token_bearing() {
        timeline.events += 1;
        timeline.stamps.push(Stamp { at, tokens: step.tokens() });
        if timeline.stamps.len() == STAMPS_A_LOT {
            hand_over(std::mem::take(&mut timeline.stamps));
        }
    }
    if step.has_text() {
        timeline.first_token.get_or_insert(at);
        timeline.last_token = Some(at);
    }
    if step.has_answer() {
        timeline.first_answer.get_or_insert(at);
    }
    if step.has_text_or_finish() {
        timeline.last_output = Some(at);
    }
    match step {
        Step::Done | Step::Error | Step::Malformed => ControlFlow::Break(()),
        Step::Ignored => {
            timeline.ignored_events += 1;
            ControlFlow::Continue(())
        }
        Step::Output { .. } | Step::Usage => ControlFlow::Continue(()),
    }
}

/// The text of an answer that was kept whole.
fn whole_text(answer: Answer) -> Option<String> {
    answer.texts.filter(|texts| !texts.cut).map(|texts| texts.answer)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.trim_start().to_ascii_lowercase().starts_with("application/json"))
}

/// The id that the server, or a gateway before it, gives the request.
fn server_request_id(headers: &HeaderMap) -> Option<String> {
    const LONGEST: usize = 200;
    let value = ["x-request-id", "request-id"].into_iter().find_map(|name| headers.get(name))?;
    value.to_str().ok().map(|id| id.chars().take(LONGEST).collect())
}
