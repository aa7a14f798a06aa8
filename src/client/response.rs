//! The response of one exchange: a stream, a document or a refusal, read to its end and judged.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::task::Poll;

use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap};

use super::Client;
use super::account::Account;
use super::exchange::{HandOver, describe, outcome_of};
use super::link::{Link, Read};
use super::settle::settle;
use super::stamp::Meter;
use super::tally::STAMPS_A_LOT;
use super::watch::{Progress, Watch};
use crate::prompt::Outgoing;
use crate::protocol::{Answer, Decoder, Failure, Step, error_message};
use crate::record::{Outcome, Stamp, Timeline, Usage};
use crate::units::Nanos;
use crate::wire::Parser;
use crate::wire::sse::Event;

/// A document longer than this is no answer.
const DOCUMENT_LIMIT_BYTES: usize = 64 << 20;
/// As much of a refusal is read.
const REFUSAL_LIMIT_BYTES: usize = 64 << 10;

/// A response being read.
pub(super) struct Reading<'a> {
    client: &'a Client,
    link: Link,
    body: Incoming,
    status: StatusCode,
    /// Whether its content type is that of a document.
    is_json: bool,
    watch: &'a mut Watch,
    /// Whether something was generated: what is waited for from then on is the next byte.
    is_flowing: bool,
    /// Whether token events may be counted where they arrive: the next byte begins an event.
    is_at_rest: bool,
    /// When the latest piece of the body came.
    latest: Nanos,
    account: Account<'a>,
}

/// The next thing a response has to say.
enum Piece {
    /// Some bytes, which have been handed over.
    Data,
    End,
    Broken(Break),
}

/// An end before the end: outcome and text.
type Break = (Outcome, String);

/// Whether a connection may still serve once its answer is over.
pub(super) enum End {
    Whole,
    Broken,
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        client: &'a Client,
        link: Link,
        response: hyper::Response<Incoming>,
        watch: &'a mut Watch,
        account: Account<'a>,
    ) -> Reading<'a> {
        let (head, body) = response.into_parts();
        let is_json = is_json(&head.headers);
        account.timeline.http_status = Some(head.status.as_u16());
        account.timeline.server_request_id = server_request_id(&head.headers);
        let latest = link.meter.last_read.get();
        Reading {
            client,
            link,
            body,
            status: head.status,
            is_json,
            watch,
            is_flowing: false,
            is_at_rest: false,
            latest,
            account,
        }
    }

    /// Reads the response as what it is.
    ///
    /// All that waits for bytes borrows the one `Reading`, and what runs once a request stands apart: a stream wakes
    /// to cold memory at every event, so that what it walks through has to be small.
    pub(super) async fn run(&mut self, request: &Outgoing, hand_over: HandOver<'_>) -> (Outcome, End) {
        if !self.status.is_success() {
            Box::pin(self.refusal()).await
        } else if request.stream && !self.is_json {
            self.stream(request.known.is_some(), hand_over).await
        } else {
            Box::pin(self.document(request.stream)).await
        }
    }

    /// Lets go of the response, and of its connection once that is free.
    pub(super) async fn settle(self, end: End) {
        if let End::Whole = end {
            Box::pin(settle(self.client, self.link, self.body)).await;
        }
    }

    /// Reads a stream. Where `tells_first`, its first token is handed over at once.
    async fn stream(&mut self, tells_first: bool, hand_over: HandOver<'_>) -> (Outcome, End) {
        let mut parser = Parser::new(self.client.api.framing());
        // What is no event and begins like JSON, in case nothing else comes.
        let mut stray = Vec::new();
        let mut fed = Ok(ControlFlow::Continue(()));
        loop {
            let piece = self.next(|account, meter, bytes| {
                // What comes after the end, or after what cannot be read, is only passed over.
                let Ok(ControlFlow::Continue(())) = fed else { return };
                if (!stray.is_empty() || bytes.first() == Some(&b'{')) && account.is_blank() {
                    let room = REFUSAL_LIMIT_BYTES - stray.len();
                    stray.extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
                let (at, read) = (meter.last_read.get(), meter.reads.get());
                fed = parser.feed(bytes, |event| account.take(event, at, read, tells_first, hand_over));
            });
            match piece.await {
                Piece::Data => {}
                Piece::End => {
                    let (at, read) = (self.latest, self.link.meter.reads.get());
                    let account = &mut self.account;
                    fed = parser.finish(|event| account.take(event, at, read, tells_first, hand_over));
                    if fed.is_ok() {
                        return (self.conclude_end(&parser, &stray), End::Whole);
                    }
                }
                Piece::Broken(broken) => return (self.conclude(Some(broken)), End::Broken),
            }
            match fed {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return (self.conclude(None), End::Whole),
                Err(overflow) => {
                    let broken = (Outcome::Malformed, overflow.to_string());
                    return (self.conclude(Some(broken)), End::Broken);
                }
            }
            if self.account.timeline.stamps.len() >= STAMPS_A_LOT {
                hand_over(std::mem::take(&mut self.account.timeline.stamps));
            }
            self.is_flowing = self.account.timeline.first_token.is_some();
            self.is_at_rest = parser.is_at_rest();
        }
    }

    /// Reads a whole document: an answer that was asked for as one, or one that came instead of a stream.
    async fn document(&mut self, stream: bool) -> (Outcome, End) {
        let bytes = match self.whole(DOCUMENT_LIMIT_BYTES).await {
            (bytes, None) => bytes,
            (_, Some((outcome, message))) => {
                self.account.timeline.error = Some(message);
                return (outcome, End::Broken);
            }
        };
        self.account.decoder.document(&bytes);
        let outcome = match self.conclude(None) {
            Outcome::Ok if stream => {
                self.account.timeline.error = Some("the server sent one document instead of a stream".into());
                Outcome::NotStreamed
            }
            Outcome::Ok => {
                self.account.timeline.last_output = Some(self.latest);
                Outcome::Ok
            }
            other => other,
        };
        (outcome, End::Whole)
    }

    /// Reads what the server has to say beside a status other than 2xx.
    async fn refusal(&mut self) -> (Outcome, End) {
        let (bytes, broken) = self.whole(REFUSAL_LIMIT_BYTES).await;
        let mut text = error_message(&bytes);
        if text.is_empty() {
            text = self.status.to_string();
        }
        if self.status == StatusCode::NOT_FOUND {
            // The likeliest reason is a wrong base path, which the scenario's URL alone does not show.
            text = format!("POST {}: {text}", self.client.url);
        }
        let mut end = End::Whole;
        if let Some((_, message)) = broken {
            text = format!("{text}; {message}");
            end = End::Broken;
        }
        self.account.timeline.error = Some(text);
        (Outcome::HttpError, end)
    }

    /// The body as far as it came, `limit_bytes` of it at most, and what broke it off.
    async fn whole(&mut self, limit_bytes: usize) -> (Vec<u8>, Option<Break>) {
        let mut whole = Vec::new();
        loop {
            let piece = self.next(|_, _, bytes| {
                // One byte too many tells that there are more.
                let room = (limit_bytes + 1).saturating_sub(whole.len());
                whole.extend_from_slice(&bytes[..bytes.len().min(room)]);
            });
            match piece.await {
                Piece::Data if whole.len() > limit_bytes => {
                    whole.truncate(limit_bytes);
                    let message = format!("the body is longer than {limit_bytes} bytes");
                    return (whole, Some((Outcome::Malformed, message)));
                }
                Piece::Data => {}
                Piece::End => return (whole, None),
                Piece::Broken(broken) => return (whole, Some(broken)),
            }
            self.is_flowing = true;
        }
    }

    /// Hands the next piece of the body to `take`, unless a limit passes before it comes.
    async fn next(&mut self, mut take: impl FnMut(&mut Account<'a>, &Meter, &[u8])) -> Piece {
        let Reading { link, body, watch, is_flowing, account, is_at_rest, .. } = self;
        let read = poll_fn(|context| {
            if account.gather() {
                return Poll::Ready(Ok(Read::Data));
            }
            if let Poll::Ready(read) =
                link.poll_body(body, context, |meter, bytes| take(account, meter, bytes))
            {
                return Poll::Ready(Ok(read));
            }
            let last_read = link.meter.last_read.get();
            let progress = if *is_flowing { Progress::Reading { last_read } } else { Progress::Waiting };
            let limit = watch.poll(context, progress);
            if limit.is_pending() && *is_at_rest {
                link.count(context, || account.lend());
            }
            limit.map(Err)
        });
        match read.await {
            Ok(Read::Data) => {
                self.latest = self.link.meter.last_read.get();
                Piece::Data
            }
            Ok(Read::End) => Piece::End,
            Ok(Read::Failed(error)) => Piece::Broken((outcome_of(&error), describe(&error))),
            Err(outcome) => Piece::Broken((outcome, self.watch.describe(outcome))),
        }
    }

    /// Decides the outcome of a stream whose body has ended. What stood unfinished at the end has been taken for
    /// an event: if it made no sense, the end cut it in two, and it counts neither way.
    /// A bare document is told from other strays by `stray`, its beginning.
    fn conclude_end(&mut self, parser: &Parser, stray: &[u8]) -> Outcome {
        let answer = self.account.decoder.answer();
        if let Some(Failure::Malformed(_)) = answer.failure {
            let mut answer = answer.clone();
            answer.failure = None;
            let message = "the answer ended in the middle of an event".to_owned();
            return self.conclude_as(judge(&answer, Some((Outcome::Truncated, message)), false));
        }
        let is_foreign = self.account.is_blank() && parser.foreign_lines() > 0;
        if is_foreign {
            let mut document = Decoder::new(self.client.api, None);
            if document.document(stray) == Step::Error
                && let Some(failure) = &document.answer().failure
            {
                return self.conclude_as((Outcome::StreamError, Some(failure.text().to_owned())));
            }
        }
        self.conclude(is_foreign.then(|| (Outcome::Malformed, "the body is no event stream".to_owned())))
    }

    /// Decides the outcome in the light of all that was read and of what broke it off.
    fn conclude(&mut self, broken: Option<Break>) -> Outcome {
        let verdict = judge(self.account.decoder.answer(), broken, self.account.is_blank());
        self.conclude_as(verdict)
    }

    fn conclude_as(&mut self, (outcome, message): (Outcome, Option<String>)) -> Outcome {
        self.account.timeline.error = message;
        outcome
    }
}

impl Account<'_> {
    /// Takes an event that `read`, at the time `at`, completed; breaks where it was the last.
    fn take(
        &mut self,
        event: Event<'_>,
        at: Nanos,
        read: u64,
        tells_first: bool,
        hand_over: HandOver<'_>,
    ) -> ControlFlow<()> {
        let step = self.decoder.event(event);
        if step.is_token_bearing() {
            self.bearing.count(1, read);
        }
        let is_told = tells_first && self.timeline.first_token.is_none() && step.has_text();
        note(self.timeline, step, at, is_told, hand_over);
        if self.decoder.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether not a single event came.
    fn is_blank(&self) -> bool {
        let Account { timeline, decoder, .. } = self;
        timeline.events == 0 && timeline.ignored_events == 0 && decoder.answer().usage() == Usage::default()
    }
}

/// What became of an answer, and the text for the row. What the server said of itself comes first, then how the
/// response ended. An answer that was complete stays so, whatever broke after it. A blank one had no events.
fn judge(answer: &Answer, broken: Option<Break>, is_blank: bool) -> (Outcome, Option<String>) {
    match (&answer.failure, answer.outcome(), broken) {
        (Some(failure), outcome, _) => (outcome, Some(failure.text().to_owned())),
        (None, Outcome::Truncated, Some((outcome, message))) => (outcome, Some(message)),
        (None, Outcome::Truncated, None) if is_blank => {
            (Outcome::Empty, Some("the response was empty".to_owned()))
        }
        (None, Outcome::Truncated, None) => {
            (Outcome::Truncated, Some("the answer ended without a finish reason".to_owned()))
        }
        (None, Outcome::Empty, _) => (Outcome::Empty, Some("the answer holds no token".to_owned())),
        (None, outcome, _) => (outcome, None),
    }
}

/// Stamps what one event was; what there is so far is handed over where `is_told`.
fn note(timeline: &mut Timeline, step: Step, at: Nanos, is_told: bool, hand_over: HandOver<'_>) {
    if step.is_token_bearing() {
        timeline.events += 1;
        timeline.stamps.push(Stamp { at, tokens: step.tokens() });
        if is_told {
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
    if step == Step::Ignored {
        timeline.ignored_events += 1;
    }
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
