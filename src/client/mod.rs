//! The client: one request in, one timeline out.
//!
//! It owns its connections (`link`, `pool`) rather than using a general HTTP client, because a general one
//! retries in silence, hides which connection served, and stamps when its own tasks get round to it.

mod account;
mod addresses;
pub mod connect;
pub mod exchange;
mod gate;
mod http1;
mod http2;
mod kernel;
mod link;
mod pool;
pub mod preflight;
mod response;
mod retry;
mod settle;
mod stamp;
mod tally;
mod tap;
mod tls;
mod watch;

use std::rc::Rc;

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::Scheme;
use hyper::{Method, Request, Uri};

use crate::clock::Clock;
use crate::protocol::{Api, Layouts};
use crate::record::StampSource;
use crate::scenario::{Connections, Retries, Stamps, Timeouts, Transport};
use http2::Origin;
use kernel::KernelTime;

pub use connect::{ConnectError, Connector};

/// Shorter values are no secrets, and to take them out would garble the text.
const SHORTEST_SECRET_BYTES: usize = 6;

/// What every request to one target has in common.
pub struct Settings {
    /// Value of `host`.
    pub authority: String,
    /// Path of the API on the target, base path included.
    pub path: String,
    /// Path of its model list.
    pub models_path: String,
    /// Path under which it says whether it is well.
    pub health_path: String,
    /// Whether all that models write is kept, for the results.
    pub keeps_texts: bool,
    /// The API spoken.
    pub api: Api,
    /// The scenario's headers, the key among them, each marked as sensitive.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Time-outs of an exchange.
    pub timeouts: Timeouts,
    /// How connections are made and measured.
    pub transport: Transport,
}

/// Sends requests to one target over connections of its own.
pub struct Client {
    clock: Clock,
    connector: Connector,
    timeouts: Rc<Timeouts>,
    api: Api,
    uri: Uri,
    models_uri: Uri,
    health_uri: Uri,
    /// What users would call the place that requests go to.
    url: String,
    connections: Connections,
    retries: Option<Retries>,
    headers: HeaderMap,
    keeps_texts: bool,
    /// Values that must not show in any text.
    secrets: Vec<String>,
    kernel: Option<Rc<KernelTime>>,
    origin: Origin,
    pool: Rc<pool::Pool>,
    scratch: tap::Scratch,
    /// What events of this server look like, as its streams have found.
    layouts: Layouts,
}

/// A setting that cannot stand in a request.
#[derive(Debug)]
pub struct SettingsError(pub String);

impl Client {
    /// A client for the target behind `connector`.
    ///
    /// # Errors
    /// When a path or authority cannot stand in an HTTP request.
    pub fn new(clock: Clock, connector: Connector, settings: Settings) -> Result<Client, SettingsError> {
        let parse = |path: &str| {
            path.parse::<Uri>().map_err(|error| SettingsError(format!("path `{path}`: {error}")))
        };
        let url = format!("{}://{}{}", connector.scheme(), settings.authority, settings.path);
        let mut headers = HeaderMap::new();
        let host = HeaderValue::from_str(&settings.authority)
            .map_err(|_| SettingsError(format!("host `{}` cannot stand in a request", settings.authority)))?;
        headers.insert(header::HOST, host);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            header::USER_AGENT,
            HeaderValue::from_static(concat!("tonnage/", env!("CARGO_PKG_VERSION"))),
        );
        for (name, value) in settings.api.headers() {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let secrets = settings.headers.iter().flat_map(|(_, value)| secrets_of(value)).collect();
        for (name, value) in settings.headers {
            headers.insert(name, value);
        }
        let timed = settings.transport.stamps == Stamps::Kernel && connector.is_network();
        let origin = Origin {
            scheme: if connector.scheme() == "https" { Scheme::HTTPS } else { Scheme::HTTP },
            authority: settings.authority.parse().map_err(|error| {
                SettingsError(format!("host `{}` cannot stand in a request: {error}", settings.authority))
            })?,
        };
        let kernel = timed.then(|| KernelTime::new(&clock)).flatten().map(Rc::new);
        Ok(Client {
            clock,
            connector,
            timeouts: Rc::new(settings.timeouts),
            api: settings.api,
            uri: parse(&settings.path)?,
            models_uri: parse(&settings.models_path)?,
            health_uri: parse(&settings.health_path)?,
            url,
            connections: settings.transport.connections,
            retries: settings.transport.retries,
            headers,
            keeps_texts: settings.keeps_texts,
            secrets,
            kernel,
            origin,
            pool: Rc::default(),
            scratch: tap::scratch(),
            layouts: Layouts::default(),
        })
    }

    /// Where the times of its timelines come from, as far as can be told before there is a connection: where
    /// the kernel keeps none, a timeline says so itself.
    pub fn stamp_source(&self) -> StampSource {
        match &self.kernel {
            _ if self.clock.is_virtual() => StampSource::Virtual,
            Some(_) if !self.connector.is_http2() => StampSource::Kernel,
            _ => StampSource::Read,
        }
    }

    /// Takes every header value of the scenario out of `text`: servers echo what they refuse. Texts are cut to
    /// a length, so the last value in one may be there in part.
    fn redact(&self, text: &mut String) {
        const MARK: &str = "[redacted]";
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), MARK);
            }
            let lengths = (SHORTEST_SECRET_BYTES..secret.len()).rev();
            let mut parts = lengths.filter_map(|length| secret.get(..length));
            if let Some(part) = parts.find(|part| text.ends_with(part)) {
                text.truncate(text.len() - part.len());
                text.push_str(MARK);
            }
        }
    }

    fn request(&self, method: Method, uri: &Uri, body: Bytes) -> Request<http_body_util::Full<Bytes>> {
        let mut request = Request::new(http_body_util::Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// A header value, and the credential within it where it names its scheme first.
fn secrets_of(value: &HeaderValue) -> Vec<String> {
    let Ok(value) = value.to_str() else { return Vec::new() };
    let credential = value.split_once(' ').map(|(_, credential)| credential.trim());
    let parts = [Some(value), credential].into_iter().flatten();
    parts.filter(|part| part.len() >= SHORTEST_SECRET_BYTES).map(str::to_owned).collect()
}
