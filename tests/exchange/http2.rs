//! HTTP/2: many requests on one connection, and what becomes of each when it ends.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::{Builder, SendResponse};
use h2::{Reason, RecvStream};
use hyper::http::request::Parts;
use hyper::{Request, Response};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

use tonnage::client::{Client, Connector, Settings};
use tonnage::clock::Clock;
use tonnage::record::{Outcome, StampSource, Timeline};
use tonnage::scenario::{Connections, Http, TargetUrl, Timeouts, TlsOptions, Transport};
use tonnage::units::Nanos;

use crate::support::bench::{BODY, outgoing, settings, tell};
use crate::support::frames::{DONE, content, finish};
use crate::support::tls::{Authority, server as showing};

/// What a server does with a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Play {
    /// Answers it with two events.
    Answer,
    /// Resets its stream instead.
    Refuse(Reason),
    /// Resets its stream after the first event.
    Break(Reason),
    /// Drops the connection after the first event.
    Drop,
}

/// A server that plays the n-th of `plays` to the n-th request, and answers those after.
#[derive(Clone, Default)]
struct Server(Rc<State>);

#[derive(Default)]
struct State {
    plays: RefCell<Vec<Play>>,
    /// Answers begin when so many requests have come.
    gathers: Cell<usize>,
    /// Streams it allows on a connection.
    streams: Cell<Option<u32>>,
    /// It says goodbye to a connection after so many requests.
    goodbye_after: Cell<Option<usize>>,
    heard: RefCell<Vec<(usize, Parts, Bytes)>>,
    opened: Cell<usize>,
    came: Notify,
    /// When each event was written.
    written: RefCell<Vec<Nanos>>,
}

impl Server {
    fn playing(plays: &[Play]) -> Server {
        let server = Server::default();
        server.0.plays.replace(plays.to_vec());
        server
    }

    async fn listen(&self) -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// Serves without TLS.
    async fn on_loopback(&self, clock: &Clock) -> SocketAddr {
        let (listener, address) = self.listen().await;
        let (server, clock) = (self.clone(), clock.clone());
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::task::spawn_local(server.clone().attend(stream, clock.clone()));
            }
        });
        address
    }

    async fn attend(self, stream: impl AsyncRead + AsyncWrite + Unpin, clock: Clock) {
        let number = self.0.opened.replace(self.0.opened.get() + 1);
        let mut builder = Builder::new();
        if let Some(streams) = self.0.streams.get() {
            builder.max_concurrent_streams(streams);
        }
        let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else { return };
        let dropped = Rc::new(Notify::new());
        let mut accepted = 0;
        loop {
            let next = tokio::select! {
                next = connection.accept() => next,
                () = dropped.notified() => return,
            };
            let Some(Ok((request, respond))) = next else { return };
            accepted += 1;
            if self.0.goodbye_after.get() == Some(accepted) {
                connection.graceful_shutdown();
            }
            let answering = self.clone().answer(number, request, respond, clock.clone(), Rc::clone(&dropped));
            tokio::task::spawn_local(answering);
        }
    }

    async fn answer(
        self,
        connection: usize,
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        clock: Clock,
        dropped: Rc<Notify>,
    ) {
        let (head, mut body) = request.into_parts();
        let mut whole = Vec::new();
        while let Some(Ok(piece)) = body.data().await {
            let _ = body.flow_control().release_capacity(piece.len());
            whole.extend_from_slice(&piece);
        }
        let place = self.0.heard.borrow().len();
        self.0.heard.borrow_mut().push((connection, head, whole.into()));
        self.0.came.notify_waiters();
        while self.0.heard.borrow().len() < self.0.gathers.get() {
            self.0.came.notified().await;
        }
        let play = self.0.plays.borrow().get(place).copied().unwrap_or(Play::Answer);
        if let Play::Refuse(reason) = play {
            return respond.send_reset(reason);
        }
        let head = Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
        let mut stream = respond.send_response(head, false).unwrap();
        let write = |bytes: String| {
            self.0.written.borrow_mut().push(clock.now());
            Bytes::from(bytes)
        };
        stream.send_data(write(content("a")), false).unwrap();
        clock.sleep(Duration::from_millis(1)).await;
        match play {
            Play::Break(reason) => stream.send_reset(reason),
            Play::Drop => dropped.notify_one(),
            _ => stream.send_data(write([&content("b"), &finish("stop"), DONE].concat()), true).unwrap(),
        }
    }

    fn heard(&self) -> usize {
        self.0.heard.borrow().len()
    }
}

fn speaking(connections: Connections) -> Settings {
    let transport = Transport { connections, http: Http::Two, ..Transport::default() };
    let timeouts = Timeouts { first_token: Duration::from_secs(10), ..settings().timeouts };
    Settings { transport, timeouts, ..settings() }
}

async fn client_of(address: SocketAddr, clock: &Clock, settings: Settings) -> Client {
    let url = TargetUrl::parse(&format!("http://{address}")).unwrap();
    let connector = Connector::resolve(&url, &TlsOptions::default(), Http::Two).await.unwrap();
    Client::new(clock.clone(), connector, settings).unwrap()
}

async fn ask(client: &Client, clock: &Clock) -> Timeline {
    let mut timeline = Timeline::begin(clock.now(), client.stamp_source());
    client.exchange(&outgoing(BODY), &mut timeline, &mut |_| {}).await;
    timeline
}

/// What becomes of `count` requests at once.
async fn ask_at_once(client: &Rc<Client>, clock: &Clock, count: usize) -> Vec<Timeline> {
    let asks = (0..count).map(|_| {
        let (client, clock) = (Rc::clone(client), clock.clone());
        tokio::task::spawn_local(async move { ask(&client, &clock).await })
    });
    let mut timelines = Vec::new();
    for asking in asks.collect::<Vec<_>>() {
        timelines.push(asking.await.unwrap());
    }
    timelines
}

/// Runs `test` with a client before `server`.
fn with<F: Future>(
    server: &Server,
    settings: Settings,
    test: impl FnOnce(Rc<Client>, Clock) -> F,
) -> F::Output {
    Clock::run_real(|clock| async move {
        let address = server.on_loopback(&clock).await;
        let client = Rc::new(client_of(address, &clock, settings).await);
        test(client, clock).await
    })
    .unwrap()
}

/// What becomes of `count` requests one after the other.
fn ask_in_turn(server: &Server, count: usize) -> Vec<Timeline> {
    with(server, speaking(Connections::Reuse), async |client, clock| {
        let mut timelines = Vec::new();
        for _ in 0..count {
            timelines.push(ask(&client, &clock).await);
        }
        timelines
    })
}

fn ended(timeline: &Timeline) -> String {
    format!("{}: {}", timeline.outcome.name(), timeline.error.as_deref().unwrap_or("-"))
}

#[test]
fn many_requests_share_a_connection_even_while_it_is_being_opened() {
    let server = Server::default();
    server.0.gathers.set(20);
    let timelines = with(&server, speaking(Connections::Reuse), async |client, clock| {
        ask_at_once(&client, &clock, 20).await
    });
    assert!(timelines.iter().all(|timeline| timeline.outcome == Outcome::Ok), "{}", tell(&timelines[0]));
    assert_eq!((server.heard(), server.0.opened.get()), (20, 1));
    let opened = timelines.iter().filter(|timeline| timeline.new_connection == Some(true)).count();
    assert_eq!(opened, 1);
    assert!(timelines.iter().all(|timeline| timeline.connect.is_some()));
}

#[test]
fn no_connection_carries_more_than_the_server_allows() {
    let server = Server::default();
    server.0.gathers.set(7);
    server.0.streams.set(Some(3));
    let timelines = with(&server, speaking(Connections::Reuse), async |client, clock| {
        ask_at_once(&client, &clock, 7).await
    });
    assert!(timelines.iter().all(|timeline| timeline.outcome == Outcome::Ok), "{}", tell(&timelines[0]));
    let mut carried = vec![0; server.0.opened.get()];
    for (connection, ..) in server.0.heard.borrow().iter() {
        carried[*connection] += 1;
    }
    assert_eq!(carried, [3, 3, 1]);
}

#[test]
fn requests_on_connections_of_their_own_share_none() {
    let server = Server::default();
    server.0.gathers.set(4);
    let timelines = with(&server, speaking(Connections::PerRequest), async |client, clock| {
        ask_at_once(&client, &clock, 4).await
    });
    assert!(timelines.iter().all(|timeline| timeline.outcome == Outcome::Ok));
    assert_eq!(server.0.opened.get(), 4);
}

#[test]
fn an_event_has_the_time_of_a_read_after_its_write() {
    let server = Server::default();
    let timeline = ask_in_turn(&server, 1).remove(0);
    assert_eq!(timeline.stamp, StampSource::Read);
    let written = server.0.written.borrow();
    let stamps: Vec<Nanos> = timeline.stamps.iter().map(|stamp| stamp.at).collect();
    assert_eq!(stamps.len(), 2);
    assert!(
        written[0] <= stamps[0] && stamps[0] < written[1] && written[1] <= stamps[1],
        "{written:?} {stamps:?}"
    );
    assert!(stamps[1] <= timeline.ended);
    assert_eq!((timeline.first_token, timeline.last_token), (Some(stamps[0]), Some(stamps[1])));
    assert!(timeline.first_byte.unwrap() <= stamps[0]);
    assert_eq!(timeline.upload, None);
    let events = [&content("a"), &content("b"), &finish("stop"), DONE].concat();
    assert_eq!((timeline.bytes_sent, timeline.bytes_received), (BODY.len() as u64, events.len() as u64));
}

#[test]
fn a_request_says_where_it_goes_by_the_rules_of_http2() {
    let server = Server::default();
    let body = vec![b'x'; 1 << 20];
    let outcome = with(&server, speaking(Connections::PerRequest), async |client, clock| {
        let mut timeline = Timeline::begin(clock.now(), client.stamp_source());
        client.exchange(&outgoing(body.clone()), &mut timeline, &mut |_| {}).await;
        timeline.outcome
    });
    assert_eq!(outcome, Outcome::Ok);
    let heard = server.0.heard.borrow();
    let (_, head, received) = &heard[0];
    assert_eq!(head.uri, "http://mock.test:8000/v1/chat/completions");
    assert_eq!(head.headers["x-request-id"], "run-0-0-7");
    assert!(!head.headers.contains_key("host") && !head.headers.contains_key("connection"));
    assert!(received == &body);
}

#[test]
fn a_request_that_the_server_has_not_looked_at_is_sent_again() {
    let server = Server::playing(&[Play::Answer, Play::Refuse(Reason::REFUSED_STREAM)]);
    let timelines = ask_in_turn(&server, 2);
    assert_eq!(timelines.iter().map(ended).collect::<Vec<_>>(), ["ok: -", "ok: -"]);
    assert_eq!((timelines[1].reconnects, server.heard()), (1, 3));
}

#[test]
fn a_stream_reset_instead_of_an_answer_is_a_failure_and_not_sent_again() {
    let server = Server::playing(&[Play::Answer, Play::Refuse(Reason::INTERNAL_ERROR)]);
    let timelines = ask_in_turn(&server, 3);
    let ended: Vec<_> = timelines.iter().map(ended).collect();
    insta::assert_snapshot!(ended.join("\n"), @"
    ok: -
    connect_error: http2 error: stream error received: unexpected internal error encountered
    ok: -
    ");
    assert_eq!((timelines[1].reconnects, server.heard(), server.0.opened.get()), (0, 3, 1));
}

#[test]
fn a_stream_reset_in_the_middle_is_truncated_and_leaves_the_others_alone() {
    let server = Server::playing(&[Play::Answer, Play::Break(Reason::CANCEL), Play::Answer]);
    server.0.gathers.set(3);
    let mut ended: Vec<_> = with(&server, speaking(Connections::Reuse), async |client, clock| {
        ask_at_once(&client, &clock, 3).await.iter().map(ended).collect()
    });
    ended.sort();
    insta::assert_snapshot!(ended.join("\n"), @"
    ok: -
    ok: -
    truncated: error reading a body from connection: stream error received: stream no longer needed
    ");
    assert_eq!(server.0.opened.get(), 1);
}

#[test]
fn a_connection_that_breaks_truncates_what_it_carried() {
    let server = Server::playing(&[Play::Drop, Play::Answer]);
    let timelines = ask_in_turn(&server, 2);
    assert_eq!(
        (timelines[0].outcome, timelines[0].events),
        (Outcome::Truncated, 1),
        "{}",
        tell(&timelines[0])
    );
    assert_eq!((timelines[1].outcome, timelines[1].reconnects), (Outcome::Ok, 0), "{}", tell(&timelines[1]));
    assert_eq!(server.0.opened.get(), 2);
}

#[test]
fn a_goodbye_lets_what_is_open_end_and_sends_the_next_request_elsewhere() {
    let server = Server::default();
    server.0.goodbye_after.set(Some(2));
    let timelines = ask_in_turn(&server, 5);
    assert!(timelines.iter().all(|timeline| timeline.outcome == Outcome::Ok), "{}", tell(&timelines[2]));
    assert_eq!(server.0.opened.get(), 3);
}

#[test]
fn a_request_given_up_frees_its_place() {
    let server = Server::default();
    server.0.streams.set(Some(1));
    server.0.gathers.set(2);
    let outcomes = with(&server, speaking(Connections::Reuse), async |client, clock| {
        let mut given_up = Timeline::begin(clock.now(), client.stamp_source());
        let (request, mut hand_over) = (outgoing(BODY), |_| {});
        tokio::select! {
            () = client.exchange(&request, &mut given_up, &mut hand_over) => panic!("nothing was answered"),
            () = server.0.came.notified() => {}
        }
        (given_up.outcome, ask(&client, &clock).await.outcome)
    });
    assert_eq!(outcomes, (Outcome::Truncated, Outcome::Ok));
    assert_eq!(server.0.opened.get(), 1);
}

#[test]
fn a_server_of_http1_that_is_addressed_in_http2_is_told_apart() {
    let timeline = Clock::run_real(|clock| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 64]).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
        });
        ask(&client_of(address, &clock, speaking(Connections::Reuse)).await, &clock).await
    });
    assert_eq!(ended(&timeline.unwrap()), "connect_error: the server does not speak HTTP/2");
}

/// How a request ends that is sent by a client of `http` to a TLS server that offers these, and how many requests
/// came by HTTP/2.
fn negotiate(http: Http, offered: &[&[u8]]) -> (String, usize) {
    let authority = Authority::new();
    let mut config =
        Arc::into_inner(showing(&authority.sign("localhost"), None, &[&rustls::version::TLS13])).unwrap();
    config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
    let options = TlsOptions { ca: Some(authority.file()), ..TlsOptions::default() };
    let server = Server::default();
    let serving = server.clone();
    let timeline = Clock::run_real(|clock| async move {
        let (listener, address) = serving.listen().await;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let its_clock = clock.clone();
        tokio::task::spawn_local(async move {
            let Ok(mut stream) = acceptor.accept(listener.accept().await.unwrap().0).await else { return };
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                return serving.attend(stream, its_clock).await;
            }
            let answer = [&content("a"), &finish("stop"), DONE].concat();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
                answer.len()
            );
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(format!("{head}{answer}").as_bytes()).await;
            let _ = stream.read(&mut [0; 1]).await;
        });
        let url = TargetUrl::parse(&format!("https://localhost:{}", address.port())).unwrap();
        let connector = Connector::resolve(&url, &options, http).await.unwrap();
        let transport = Transport { http, ..Transport::default() };
        let client = Client::new(clock.clone(), connector, Settings { transport, ..settings() }).unwrap();
        ask(&client, &clock).await
    });
    (ended(&timeline.unwrap()), server.heard())
}

#[test]
fn under_tls_the_server_chooses_unless_the_scenario_does() {
    let (both, old): (&[&[u8]], &[&[u8]]) = (&[b"h2", b"http/1.1"], &[b"http/1.1"]);
    assert_eq!(negotiate(Http::Auto, both), ("ok: -".to_owned(), 1));
    assert_eq!(negotiate(Http::Auto, old), ("ok: -".to_owned(), 0));
    assert_eq!(negotiate(Http::Auto, &[]), ("ok: -".to_owned(), 0));
    assert_eq!(negotiate(Http::One, both), ("ok: -".to_owned(), 0));
    assert_eq!(negotiate(Http::Two, both), ("ok: -".to_owned(), 1));
    for offered in [old, &[]] {
        let (ended, _) = negotiate(Http::Two, offered);
        let refusal = "the server does not offer HTTP/2: leave target.http out, or set it to \"1.1\"";
        assert!(ended.starts_with("tls_error: TLS with 127.0.0.1") && ended.ends_with(refusal), "{ended}");
    }
}
