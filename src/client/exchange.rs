//! One exchange: obtain a connection, send, read, stamp when bytes arrive, parse after.

use std::error::Error as _;
use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};

use super::Client;
use super::link::Link;
use super::response::Reading;
use super::watch::{Progress, Watch};
use crate::prompt::Outgoing;
use crate::record::{Outcome, Stamp, Timeline};

/// Takes token-bearing events of a long stream before its end.
pub type HandOver<'a> = &'a mut dyn FnMut(Vec<Stamp>);

/// How an exchange over one connection ended.
enum Attempt {
    Over(Outcome),
    /// The connection broke before a byte of a response: the text says how.
    Unanswered(String),
}

/// An end other than a whole response.
pub(super) enum Broken {
    TimedOut(Outcome),
    Failed(hyper::Error),
}

impl Client {
    /// Carries `request` through and writes all that happens into `timeline`, which the caller began: if the
    /// returned future is dropped, what had happened by then stands there.
    pub async fn exchange(&self, request: &Outgoing, timeline: &mut Timeline, hand_over: HandOver<'_>) {
        timeline.outcome = self.carry(request, timeline, hand_over).await;
        timeline.ended = self.clock.now();
        if let Some(error) = &mut timeline.error {
            self.redact(error);
        }
    }

    async fn carry(&self, request: &Outgoing, timeline: &mut Timeline, hand_over: HandOver<'_>) -> Outcome {
        if let Some(link) = self.pool.checkout().await {
            timeline.new_connection = Some(false);
            match self.attempt(link, request, timeline, hand_over).await {
                Attempt::Over(outcome) => return outcome,
                // A server may close an idle connection just as it is reused. Nothing was answered, so the
                // request goes out once more on a fresh one; the time stays inside the latency.
                Attempt::Unanswered(_) => timeline.reconnects += 1,
            }
        }
        let began = self.clock.now();
        let opened = self.open().await;
        timeline.connect = Some(self.clock.now().since(began));
        timeline.new_connection = Some(true);
        let (outcome, message) = match opened {
            Ok(link) => match self.attempt(link, request, timeline, hand_over).await {
                Attempt::Over(outcome) => return outcome,
                Attempt::Unanswered(message) => (Outcome::ConnectError, message),
            },
            Err(failure) => failure,
        };
        timeline.error = Some(message);
        outcome
    }

    /// Opens a connection within its time limit.
    pub(super) async fn open(&self) -> Result<Link, (Outcome, String)> {
        let limit = self.timeouts.connect;
        let mut expiry = pin!(self.clock.sleep(limit));
        let mut connecting = pin!(self.connector.connect());
        let connected = poll_fn(|context| match connecting.as_mut().poll(context) {
            Poll::Ready(connected) => Poll::Ready(Some(connected)),
            Poll::Pending => expiry.as_mut().poll(context).map(|()| None),
        });
        let stream = match connected.await {
            Some(Ok(stream)) => stream,
            Some(Err(error)) => return Err((error.outcome, error.message)),
            None => return Err((Outcome::TimeoutConnect, format!("no connection within {limit:?}"))),
        };
        let link = Link::open(stream, self.clock.clone()).await;
        link.map_err(|error| (Outcome::ConnectError, error.to_string()))
    }

    async fn attempt(
        &self,
        mut link: Link,
        request: &Outgoing,
        timeline: &mut Timeline,
        hand_over: HandOver<'_>,
    ) -> Attempt {
        link.meter.begin();
        let mut watch = Watch::new(&self.clock, self.timeouts, timeline.sent);
        let head = self.send(&mut link, request, &mut watch).await;
        account(timeline, &link);
        let broken = match head {
            Ok(response) => {
                let reading = Reading::new(self, link, response, watch, timeline);
                return Attempt::Over(reading.run(request, hand_over).await);
            }
            Err(broken) => broken,
        };
        match broken {
            Broken::TimedOut(outcome) => {
                timeline.error = Some(watch.describe(outcome));
                Attempt::Over(outcome)
            }
            Broken::Failed(error) if timeline.bytes_received == 0 => {
                Attempt::Unanswered(format!("the connection ended before a response: {}", describe(&error)))
            }
            Broken::Failed(error) => {
                timeline.error = Some(describe(&error));
                Attempt::Over(outcome_of(&error))
            }
        }
    }

    /// Sends and waits for the head of the response.
    async fn send(
        &self,
        link: &mut Link,
        request: &Outgoing,
        watch: &mut Watch,
    ) -> Result<hyper::Response<Incoming>, Broken> {
        const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
        let mut message = self.request(Method::POST, &self.uri, request.body.clone());
        let accept = if request.stream { "text/event-stream" } else { "application/json" };
        message.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(accept));
        if let Ok(id) = HeaderValue::from_str(&request.id) {
            message.headers_mut().insert(REQUEST_ID, id);
        }
        let mut response = pin!(link.send(message));
        poll_fn(|context| match response.as_mut().poll(context) {
            Poll::Ready(response) => Poll::Ready(response.map_err(Broken::Failed)),
            Poll::Pending => {
                watch.poll(context, Progress::Waiting).map(|outcome| Err(Broken::TimedOut(outcome)))
            }
        })
        .await
    }
}

/// Writes the connection's account of this exchange into `timeline`.
pub(super) fn account(timeline: &mut Timeline, link: &Link) {
    timeline.bytes_sent = link.meter.sent.get();
    timeline.bytes_received = link.meter.received.get();
    timeline.first_byte = link.meter.first_read.get();
    timeline.upload = link.meter.first_write.get().map(|first| link.meter.last_write.get().since(first));
}

/// What a broken response means: bytes that are no HTTP, or an end before its time.
pub(super) fn outcome_of(error: &hyper::Error) -> Outcome {
    let broken_framing = || {
        let kind = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
        matches!(kind, Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput))
    };
    if error.is_parse() || broken_framing() { Outcome::Malformed } else { Outcome::Truncated }
}

/// The error and what caused it, in one line.
pub(super) fn describe(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
