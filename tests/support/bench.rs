//! A client in front of a scripted server, and words for what became of its requests.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use tonnage::client::{Client, Connector, Settings};
use tonnage::clock::Clock;
use tonnage::prompt::Outgoing;
use tonnage::protocol::Api;
use tonnage::record::{Outcome, Planned, RequestRecord, Stamp, Timeline, Usage};
use tonnage::scenario::{Http, TargetUrl, Timeouts, TlsOptions, Transport};
use tonnage::units::Nanos;

use super::script::Script;
use super::server::Server;

/// The key of every request.
pub(crate) const KEY: &str = "sk-TEST-123";

/// A body that a test need not care about.
pub(crate) const BODY: &str = r#"{"messages":[{"role":"user","content":"Hi"}],"stream":true}"#;

/// A client and the server it talks to.
pub(crate) struct Bench {
    pub(crate) clock: Clock,
    pub(crate) server: Server,
    pub(crate) client: Client,
}

impl Bench {
    /// Both in memory, the server with one script a request.
    pub(crate) fn new<S: Into<Script>>(clock: &Clock, scripts: impl IntoIterator<Item = S>) -> Bench {
        Bench::before(Server::new(clock, scripts), clock, settings())
    }

    /// A client of these settings before a server in memory.
    pub(crate) fn before(server: Server, clock: &Clock, settings: Settings) -> Bench {
        let client = Client::new(clock.clone(), server.in_memory(), settings).unwrap();
        Bench { clock: clock.clone(), server, client }
    }

    /// The same over loopback.
    pub(crate) async fn over_tcp(server: Server, clock: &Clock, settings: Settings) -> Bench {
        let address = server.on_loopback().await;
        let client = Client::new(clock.clone(), resolve(&address.to_string()).await, settings).unwrap();
        Bench { clock: clock.clone(), server, client }
    }

    /// Sends a request for a stream.
    pub(crate) async fn ask(&self) -> Timeline {
        self.send(&outgoing(BODY)).await
    }

    /// Sends `request` and keeps all stamps in its timeline.
    pub(crate) async fn send(&self, request: &Outgoing) -> Timeline {
        let mut timeline = Timeline::begin(self.clock.now(), self.client.stamp_source());
        let mut stamps: Vec<Stamp> = Vec::new();
        self.client.exchange(request, &mut timeline, &mut |lot| stamps.extend(lot)).await;
        stamps.append(&mut timeline.stamps);
        timeline.stamps = stamps;
        timeline
    }
}

/// A way to a server at this address.
pub(crate) async fn resolve(authority: &str) -> Connector {
    let url = TargetUrl::parse(&format!("http://{authority}")).unwrap();
    Connector::resolve(&url, &TlsOptions::default(), Http::Auto).await.unwrap()
}

/// What becomes of one request for a stream, sent at zero of the virtual clock, on a new connection.
pub(crate) fn ask(script: impl Into<Script>) -> Timeline {
    ask_with(settings(), script)
}

/// The same under other settings.
pub(crate) fn ask_with(settings: Settings, script: impl Into<Script>) -> Timeline {
    let script = script.into();
    Clock::run_virtual(|clock| async move {
        Bench::before(Server::new(&clock, [script]), &clock, settings).ask().await
    })
    .unwrap()
}

/// Settings with the default time-outs and a key.
pub(crate) fn settings() -> Settings {
    let mut key = HeaderValue::from_str(&format!("Bearer {KEY}")).unwrap();
    key.set_sensitive(true);
    Settings {
        authority: "mock.test:8000".to_owned(),
        path: "/v1/chat/completions".to_owned(),
        models_path: "/v1/models".to_owned(),
        health_path: "/health".to_owned(),
        keeps_texts: false,
        api: Api::Chat,
        headers: vec![(AUTHORIZATION, key), header_of("x-tenant", "load-test")],
        timeouts: Timeouts {
            connect: Duration::from_secs(5),
            first_token: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            total: None,
        },
        transport: Transport::default(),
    }
}

/// A header of these.
pub(crate) fn header_of(name: &'static str, value: &str) -> (HeaderName, HeaderValue) {
    (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
}

/// A request for a stream.
pub(crate) fn outgoing(body: impl Into<Bytes>) -> Outgoing {
    Outgoing {
        id: "run-0-0-7".to_owned(),
        stream: true,
        keep_answer: false,
        check_answer: false,
        body_hash: None,
        known: None,
        body: body.into(),
    }
}

/// So many milliseconds.
pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What became of a request, in one line. Times are milliseconds from the send, exact; what is not known is `-`.
pub(crate) fn tell(timeline: &Timeline) -> String {
    let at = |instant: Option<Nanos>| instant.map_or("-".to_owned(), |at| in_ms(at.since(timeline.sent)));
    let mut told = format!(
        "{}: token {} answer {} last {} output {} ended {}; {} events, {} ignored; usage {}; {}",
        timeline.outcome.name(),
        at(timeline.first_token),
        at(timeline.first_answer),
        at(timeline.last_token),
        at(timeline.last_output),
        at(Some(timeline.ended)),
        timeline.events,
        timeline.ignored_events,
        counts(timeline.usage),
        timeline.finish_reason.as_deref().unwrap_or("-"),
    );
    if let Some(error) = &timeline.error {
        told = format!("{told}; {error}");
    }
    told
}

fn counts(usage: Usage) -> String {
    let count = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
    format!("{}+{}", count(usage.prompt), count(usage.completion))
}

/// Exact to the nanosecond, without needless zeros.
fn in_ms(duration: Duration) -> String {
    let text = format!("{}.{:06}", duration.as_millis(), duration.as_nanos() % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Times between successive token-bearing events.
pub(crate) fn gaps(timeline: &Timeline) -> Vec<Duration> {
    timeline.stamps.windows(2).map(|pair| pair[1].at.since(pair[0].at)).collect()
}

/// Time per output token by the row's own formula, from the server's count.
pub(crate) fn tpot_ms(timeline: &Timeline) -> Option<f64> {
    row(timeline).tpot_ms()
}

/// The row that `timeline` closes as, as far as its formulas go.
pub(crate) fn row(timeline: &Timeline) -> RequestRecord {
    let from_start = |at: Nanos| at.micros_from(Nanos::ZERO);
    RequestRecord {
        sent: Some(from_start(timeline.sent)),
        first_token: timeline.first_token.map(from_start),
        last_token: timeline.last_token.map(from_start),
        last_output: timeline.last_output.map(from_start),
        output_tokens: timeline.usage.completion,
        ..RequestRecord::unsent(Planned::default(), timeline.outcome)
    }
}

/// Whether `timeline` tells of a failure rather than a success.
pub(crate) fn has_failed(timeline: &Timeline) -> bool {
    timeline.outcome != Outcome::Ok
}
