//! One exchange: obtain a connection, send, read, stamp when bytes arrive, parse after.

use std::error::Error as _;
use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use hyper::Method;
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};

use super::Client;
use super::account::Account;
use super::http1::Http1;
use super::http2::{Session, broke_rules, was_reset};
use super::link::Link;
use super::pool::Owner;
use super::response::Reading;
use super::retry::{RetryAfter, again};
use super::stamp::Meter;
use super::watch::{Progress, Watch};
use crate::prompt::Outgoing;
use crate::record::{Outcome, Stamp, Timeline};
use crate::scenario::Connections;

/// Takes token-bearing events of a long stream before its end.
pub type HandOver<'a> = &'a mut dyn FnMut(Vec<Stamp>);

/// How an exchange over one connection ended.
enum Attempt {
    Over(Outcome),
    /// Refused, with what the server says of when to try again, and as what it ends if nobody does.
    Refused(Outcome, RetryAfter),
    /// The connection broke before a byte of a response: outcome and text, if no other can take its place.
    Unanswered(Outcome, String),
}

/// A connection to send a request on.
enum Obtained {
    /// Opened for it.
    Own(Link),
    /// Opened for another, and carrying many.
    Shared(Link),
}

/// Where a connection comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Supply {
    /// It waited for another request.
    Pool,
    /// It is being opened, or just was.
    Fresh,
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
        self.exchange_for(None, request, timeline, hand_over).await;
    }

    /// The same for a user of a closed loop, who may have connections of his own.
    pub async fn exchange_for(
        &self,
        user: Option<u32>,
        request: &Outgoing,
        timeline: &mut Timeline,
        hand_over: HandOver<'_>,
    ) {
        let owner = user.filter(|_| self.connections == Connections::PerUser);
        // Limits run on from the first send.
        let mut watch = Watch::new(&self.clock, &self.timeouts, timeline.sent);
        let mut supply = Supply::Pool;
        timeline.outcome = loop {
            // Once a request, and large: a stream that wakes for an event need not pass over its room.
            let (link, origin) = match Box::pin(self.supply(supply, owner, &mut watch, timeline)).await {
                Ok(supplied) => supplied,
                Err((outcome, message)) => {
                    timeline.error = Some(message);
                    break outcome;
                }
            };
            let ended = self.attempt(link, request, &mut watch, timeline, hand_over).await;
            match (ended, origin) {
                (Attempt::Over(outcome), _) => break outcome,
                // A server may close an idle connection just as it is reused. Nothing was answered, so the
                // request goes out once more on a fresh one; the time stays inside the latency.
                (Attempt::Unanswered(..), Supply::Pool) => {
                    timeline.reconnects += 1;
                    supply = Supply::Fresh;
                }
                (Attempt::Unanswered(outcome, message), Supply::Fresh) => {
                    timeline.error = Some(message);
                    break outcome;
                }
                (Attempt::Refused(outcome, after), _) => {
                    if let Err(outcome) = Box::pin(self.retry(outcome, after, &mut watch, timeline)).await {
                        break outcome;
                    }
                    again(timeline);
                    supply = Supply::Pool;
                }
            }
        };
        timeline.ended = self.clock.now();
    }

    /// Waits for the time of another attempt after a refusal; an error where there is to be none, with the outcome
    /// that stands.
    async fn retry(
        &self,
        refused: Outcome,
        after: RetryAfter,
        watch: &mut Watch,
        timeline: &mut Timeline,
    ) -> Result<(), Outcome> {
        let retries = self.retries.as_ref().ok_or(refused)?;
        let is_worth_it = timeline.http_status.is_some_and(|status| retries.on.contains(&status));
        if !is_worth_it || timeline.attempts >= retries.attempts {
            return Err(refused);
        }
        let Some(pause) = after.pause(timeline.attempts) else {
            let text = timeline.error.take().unwrap_or_default();
            timeline.error = Some(format!("{text}; it asks for more patience than a minute"));
            return Err(refused);
        };
        let mut pause = pin!(self.clock.sleep(pause));
        let limit = poll_fn(|context| match pause.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => watch.poll(context, Progress::Waiting).map(Some),
        });
        let Some(outcome) = limit.await else { return Ok(()) };
        timeline.error = Some(watch.describe(outcome));
        Err(outcome)
    }

    /// A connection, from where it may come first, and where it did come from.
    async fn supply(
        &self,
        first: Supply,
        owner: Owner,
        watch: &mut Watch,
        timeline: &mut Timeline,
    ) -> Result<(Link, Supply), (Outcome, String)> {
        if first == Supply::Pool
            && let Some(link) = self.pool.checkout(owner).await
        {
            timeline.new_connection = Some(false);
            return Ok((link, Supply::Pool));
        }
        let began = self.clock.now();
        let obtained = self.obtain(owner, watch).await;
        timeline.connect = Some(self.clock.now().since(began));
        timeline.new_connection = Some(!matches!(obtained, Ok(Obtained::Shared(_))));
        let (Obtained::Own(link) | Obtained::Shared(link)) = obtained?;
        Ok((link, Supply::Fresh))
    }

    /// A connection where none is free: one of its own, or where connections carry many a place on the one that
    /// somebody else is opening.
    async fn obtain(&self, owner: Owner, watch: &mut Watch) -> Result<Obtained, (Outcome, String)> {
        if !self.connector.is_http2() || self.connections == Connections::PerRequest {
            return self.open(owner, watch).await.map(Obtained::Own);
        }
        let progress = Progress::Connecting { began: self.clock.now() };
        while let Some(opening) = self.pool.join(owner) {
            let mut over = pin!(opening.over());
            let waited = poll_fn(|context| match over.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => watch.poll(context, progress).map(Some),
            });
            if let Some(outcome) = waited.await {
                return Err((outcome, watch.describe(outcome)));
            }
            if let Some(link) = self.pool.checkout(owner).await {
                return Ok(Obtained::Shared(link));
            }
        }
        let _opener = self.pool.begin(owner);
        let link = self.open(owner, watch).await?;
        self.pool.share(&link);
        Ok(Obtained::Own(link))
    }

    /// Opens a connection, unless a limit passes first.
    pub(super) async fn open(&self, owner: Owner, watch: &mut Watch) -> Result<Link, (Outcome, String)> {
        let progress = Progress::Connecting { began: self.clock.now() };
        let meter = Rc::new(Meter::default());
        let mut connecting = pin!(self.connector.connect(self.kernel.as_ref(), &meter));
        let connected = poll_fn(|context| match connecting.as_mut().poll(context) {
            Poll::Ready(connected) => Poll::Ready(Ok(connected)),
            Poll::Pending => watch.poll(context, progress).map(Err),
        });
        let stream = match connected.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err((error.outcome, error.message)),
            Err(outcome) => return Err((outcome, watch.describe(outcome))),
        };
        if !self.connector.is_http2() {
            let connection = Http1::open(stream, self.clock.clone(), &meter, &self.scratch).await;
            let connection = connection.map_err(|error| (Outcome::ConnectError, error.to_string()))?;
            return Ok(Link::over_http1(connection, Rc::clone(&meter), owner));
        }
        let mut shaking = pin!(Session::open(stream, self.clock.clone(), self.origin.clone()));
        let shaken = poll_fn(|context| match shaking.as_mut().poll(context) {
            Poll::Ready(shaken) => Poll::Ready(shaken.map_err(|message| (Outcome::ConnectError, message))),
            Poll::Pending => watch.poll(context, progress).map(|outcome| Err((outcome, String::new()))),
        });
        match shaken.await {
            Ok(session) => Ok(Link::over_http2(&session, owner)),
            Err((outcome, message)) if message.is_empty() => Err((outcome, watch.describe(outcome))),
            Err(failed) => Err(failed),
        }
    }

    async fn attempt(
        &self,
        mut link: Link,
        request: &Outgoing,
        watch: &mut Watch,
        timeline: &mut Timeline,
        hand_over: HandOver<'_>,
    ) -> Attempt {
        let account = Account::open(self, timeline, &link.meter, request.keep_answer || request.check_answer);
        let broken = match self.send(&mut link, request, watch).await {
            Ok(response) => {
                let after = RetryAfter::of(response.headers());
                let mut reading = Reading::new(self, link, response, watch, account);
                let (outcome, end) = reading.run(request, hand_over).await;
                reading.settle(end).await;
                return match outcome {
                    Outcome::HttpError => Attempt::Refused(Outcome::HttpError, after),
                    outcome => Attempt::Over(outcome),
                };
            }
            Err(broken) => broken,
        };
        let (outcome, message) = match broken {
            Broken::TimedOut(outcome) => (outcome, watch.describe(outcome)),
            // An answer of a kind: the request is not sent again.
            Broken::Failed(error) if was_reset(&error) => (Outcome::ConnectError, describe(&error)),
            Broken::Failed(error) if !account.has_bytes() => {
                let message = format!("the connection ended before a response: {}", describe(&error));
                return Attempt::Unanswered(unanswered(&error), message);
            }
            // The request had not gone out when these bytes came: they answer nothing.
            Broken::Failed(error) if error.is_canceled() => {
                return Attempt::Unanswered(Outcome::Malformed, describe(&error));
            }
            Broken::Failed(error) => (outcome_of(&error), describe(&error)),
        };
        account.timeline.error = Some(message);
        Attempt::Over(outcome)
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
        let accept = if request.stream { self.api.framing().media_type() } else { "application/json" };
        message.headers_mut().entry(header::ACCEPT).or_insert(HeaderValue::from_static(accept));
        if self.connections == Connections::PerRequest {
            message.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if let Ok(id) = HeaderValue::from_str(&request.id) {
            message.headers_mut().insert(REQUEST_ID, id);
        }
        let mut response = Box::pin(link.send(message));
        poll_fn(|context| match response.as_mut().poll(context) {
            Poll::Ready(response) => Poll::Ready(response.map_err(Broken::Failed)),
            Poll::Pending => {
                watch.poll(context, Progress::Waiting).map(|outcome| Err(Broken::TimedOut(outcome)))
            }
        })
        .await
    }
}

/// What a broken response means: bytes that are no HTTP, or an end before its time.
pub(super) fn outcome_of(error: &hyper::Error) -> Outcome {
    let broken_framing = || {
        let kind = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
        matches!(kind, Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput))
    };
    if error.is_parse() || broken_framing() || broke_rules(error) {
        Outcome::Malformed
    } else {
        Outcome::Truncated
    }
}

/// What a connection that ended without an answer means. Under TLS 1.3 a server that does not take our
/// certificate says so only after the handshake.
fn unanswered(error: &hyper::Error) -> Outcome {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    match cause.and_then(|cause| cause.get_ref()) {
        Some(inner) if inner.is::<rustls::Error>() => Outcome::TlsError,
        _ => Outcome::ConnectError,
    }
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
