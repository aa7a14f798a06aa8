//! Looking at the target before the clock starts: is it there, does it take our key, what does it serve.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use hyper::{HeaderMap, Method, StatusCode, Uri};

use super::Client;
use super::exchange::describe;
use super::link::Read;
use super::watch::Watch;
use crate::protocol::{model_names, version};
use crate::record::Outcome;

/// A target that has not answered the first question by then is not ready.
const PATIENCE: Duration = Duration::from_secs(10);
/// Of a longer answer the beginning is read.
const ANSWER_LIMIT_BYTES: usize = 4 << 20;
/// A longer `server` header names nothing.
const LONGEST_HEADER: usize = 200;

type Answer = (StatusCode, HeaderMap, Vec<u8>);

/// What the target said when asked for its models.
#[derive(Debug, PartialEq, Eq)]
pub enum Models {
    /// These, by name, in its order.
    Listed(Vec<String>),
    /// It answered, but has no such list.
    Unlisted,
}

/// What runs at the target, as far as it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Software {
    /// Its version.
    pub version: Option<String>,
    /// Its name and version in the `server` header: that of a proxy where there is one.
    pub header: Option<String>,
}

/// A target that cannot be measured now.
#[derive(Debug, PartialEq, Eq)]
pub enum NotReady {
    /// It cannot be reached: why.
    Unreachable(String),
    /// It is there, but TLS with it fails, or we have no means to reach it: why. Waiting mends neither.
    Unusable(String),
    /// It refuses our key.
    Refused(StatusCode),
    /// It answers that it is not ready.
    Unavailable(StatusCode),
}

impl Client {
    /// Asks the target for its models, and where it has no list of them whether it is well. Counts for nothing.
    ///
    /// # Errors
    /// When the target is not there, not ready, or does not take our key.
    pub async fn models(&self) -> Result<Models, NotReady> {
        let (status, body) = self.fetch(&self.models_uri).await?;
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(NotReady::Refused(status)),
            status if status.is_server_error() => Err(NotReady::Unavailable(status)),
            status if status.is_success() => Ok(model_names(&body).map_or(Models::Unlisted, Models::Listed)),
            _ => match self.fetch(&self.health_uri).await? {
                (StatusCode::SERVICE_UNAVAILABLE, _) => {
                    Err(NotReady::Unavailable(StatusCode::SERVICE_UNAVAILABLE))
                }
                _ => Ok(Models::Unlisted),
            },
        }
    }

    /// Asks the target at `path` what it is. What does not answer says nothing. Counts for nothing.
    pub async fn software(&self, path: &str) -> Software {
        let Ok(uri) = path.parse::<Uri>() else { return Software::default() };
        let Ok((status, headers, body)) = self.ask(Method::GET, &uri, Bytes::new()).await else {
            return Software::default();
        };
        // Whoever answers may say anything, also what it was sent.
        let without_secrets = |mut text: String| {
            self.redact(&mut text);
            text
        };
        let header = headers.get(hyper::header::SERVER).and_then(|value| value.to_str().ok());
        let header = header.filter(|value| !value.is_empty() && value.len() <= LONGEST_HEADER);
        Software {
            version: status.is_success().then(|| version(&body)).flatten().map(without_secrets),
            header: header.map(str::to_owned).map(without_secrets),
        }
    }

    /// Asks for the page `uri` over a connection of its own, with all headers of the scenario. Counts for nothing.
    ///
    /// # Errors
    /// When there is no answer within ten seconds.
    pub async fn fetch(&self, uri: &Uri) -> Result<(StatusCode, Vec<u8>), NotReady> {
        let (status, _, body) = self.ask(Method::GET, uri, Bytes::new()).await?;
        Ok((status, body))
    }

    /// Posts `body` to `path` and returns status and answer. Counts for nothing.
    ///
    /// # Errors
    /// When there is no answer, in words.
    pub async fn post(&self, path: &str, body: Bytes) -> Result<(u16, Vec<u8>), String> {
        let uri = path.parse::<Uri>().map_err(|error| format!("path `{path}`: {error}"))?;
        match self.ask(Method::POST, &uri, body).await {
            Ok((status, _, answer)) => Ok((status.as_u16(), answer)),
            Err(NotReady::Unreachable(why) | NotReady::Unusable(why)) => Err(format!("{path}: {why}")),
            Err(NotReady::Refused(status) | NotReady::Unavailable(status)) => {
                Err(format!("{path} answers {status}"))
            }
        }
    }

    async fn ask(&self, method: Method, uri: &Uri, body: Bytes) -> Result<Answer, NotReady> {
        let mut patience = pin!(self.clock.sleep(PATIENCE));
        let mut answer = pin!(self.carry_unmeasured(method, uri, body));
        let answered = poll_fn(|context| match answer.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending => patience.as_mut().poll(context).map(|()| None),
        });
        let silent = || NotReady::Unreachable(format!("no answer within {PATIENCE:?}"));
        answered.await.ok_or_else(silent)?
    }

    async fn carry_unmeasured(&self, method: Method, uri: &Uri, body: Bytes) -> Result<Answer, NotReady> {
        let failed = |error: hyper::Error| NotReady::Unreachable(describe(&error));
        let mut watch = Watch::new(&self.clock, &self.timeouts, self.clock.now());
        let opened = self.open(None, &mut watch).await;
        let mut link = opened.map_err(|(outcome, message)| match outcome {
            Outcome::TlsError | Outcome::ClientError => NotReady::Unusable(message),
            _ => NotReady::Unreachable(message),
        })?;
        let request = self.request(method, uri, body);
        let response = link.send(request).await.map_err(failed)?;
        let (head, mut body) = response.into_parts();
        let mut whole = Vec::new();
        loop {
            let mut keep = |_: &_, bytes: &[u8]| whole.extend_from_slice(bytes);
            match poll_fn(|context| link.poll_body(&mut body, context, &mut keep)).await {
                Read::Data if whole.len() > ANSWER_LIMIT_BYTES => break,
                Read::Data => {}
                // The connection is not kept: the run's first request opens its own, as all others may.
                Read::End => break,
                Read::Failed(error) => return Err(failed(error)),
            }
        }
        Ok((head.status, head.headers, whole))
    }
}
