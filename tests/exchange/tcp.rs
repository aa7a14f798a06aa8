//! The same client over real sockets on loopback: what pipes in memory cannot show.

use std::net::{SocketAddr, TcpStream as BlockingStream};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};
use tonnage::client::{Client, Connector, Settings};
use tonnage::clock::Clock;
use tonnage::record::{Outcome, StampSource, Timeline};
use tonnage::scenario::{Http, TargetUrl, Timeouts, TlsOptions};

use crate::support::bench::{BODY, Bench, ms, outgoing, resolve, settings, tell};
use crate::support::frames::{DONE, content, finish};
use crate::support::script::{Framing, Intake, Reply, Script, chunk, reply, stream};
use crate::support::server::Server;

fn answer() -> Reply {
    stream().at(0, [&content("a"), &finish("stop"), DONE].concat())
}

/// What `talk` makes of a client before a server of these scripts on loopback.
fn over_tcp<T>(scripts: Vec<Script>, talk: impl AsyncFnOnce(Bench) -> T) -> T {
    Clock::run_real(|clock| async move {
        talk(Bench::over_tcp(Server::new(&clock, scripts), &clock, settings()).await).await
    })
    .unwrap()
}

/// What becomes of one request to `connector`.
async fn ask(clock: &Clock, connector: Connector, settings: Settings) -> Timeline {
    let client = Client::new(clock.clone(), connector, settings).unwrap();
    let mut timeline = Timeline::begin(clock.now(), client.stamp_source());
    client.exchange(&outgoing(BODY), &mut timeline, &mut |_| {}).await;
    timeline
}

/// Lets the kernel's news of closed connections reach the client.
async fn hear_news(bench: &Bench) {
    bench.clock.sleep(ms(2)).await;
}

#[test]
fn a_stream_over_tcp_has_its_events_in_order_at_the_times_of_their_arrival() {
    let timeline = over_tcp(
        vec![
            (1..=20)
                .fold(stream(), |reply, k| reply.at(2 * k, content("x")))
                .at(40, finish("stop"))
                .at(40, DONE)
                .into(),
        ],
        async |bench| bench.ask().await,
    );
    assert_eq!((timeline.outcome, timeline.stamp, timeline.events), (Outcome::Ok, StampSource::Kernel, 20));
    assert!(timeline.stamps.is_sorted_by_key(|stamp| stamp.at));
    for (k, stamp) in (1..).zip(&timeline.stamps) {
        assert!(stamp.at.since(timeline.sent) >= ms(2) * k);
    }
    assert_eq!(timeline.first_token, Some(timeline.stamps[0].at));
    assert_eq!(timeline.last_token, Some(timeline.stamps[19].at));
    assert!(timeline.connect.unwrap() > Duration::ZERO);
}

#[test]
fn c042_a_refused_connection_is_told_with_its_address() {
    let (timeline, address) = Clock::run_real(|clock| async move {
        // Bound, so that nobody else has it, but not listening.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = socket.local_addr().unwrap();
        (ask(&clock, resolve(&address.to_string()).await, settings()).await, address)
    })
    .unwrap();
    assert_eq!(timeline.outcome, Outcome::ConnectError);
    assert_eq!(timeline.error, Some(format!("connection refused by {address}")));
    assert_eq!((timeline.first_byte, timeline.upload, timeline.bytes_sent), (None, None, 0));
}

/// An address that takes no more connections and answers no attempt: its queue is full.
fn deaf() -> (Vec<BlockingStream>, TcpListener, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let queued = std::iter::from_fn(|| BlockingStream::connect_timeout(&address, ms(50)).ok());
    (queued.collect(), listener, address)
}

#[test]
fn a_connection_that_is_not_had_in_time_is_given_up_at_the_exact_instant() {
    // The sockets are real and silent, the clock is virtual: it moves on to the next limit.
    let limits = |connect, first_token, total: Option<u64>| Timeouts {
        connect: ms(connect),
        first_token: ms(first_token),
        idle: ms(60_000),
        total: total.map(ms),
    };
    for (timeouts, told) in [
        (limits(5_000, 120_000, None), ("timeout_connect", 5_000, "no connection within 5s")),
        (limits(5_000, 3_000, None), ("timeout_first_token", 3_000, "no token within 3s of the send")),
        (limits(5_000, 3_000, Some(700)), ("timeout_total", 700, "not done within 700ms of the send")),
    ] {
        let timeline = Clock::run_virtual(|clock| async move {
            let (_queued, _listener, address) = deaf();
            ask(&clock, resolve(&address.to_string()).await, Settings { timeouts, ..settings() }).await
        })
        .unwrap();
        let (outcome, after, error) = told;
        assert_eq!((timeline.outcome.name(), timeline.error.as_deref()), (outcome, Some(error)));
        assert_eq!(timeline.ended.since(timeline.sent), ms(after));
    }
}

#[test]
fn head_and_body_go_out_in_one_write() {
    for size in [2, 1_000, 100_000] {
        let timeline =
            over_tcp(vec![answer().into()], async |bench| bench.send(&outgoing(vec![b'x'; size])).await);
        // Two writes would lie apart by some nanoseconds at least.
        assert_eq!((timeline.outcome, timeline.upload), (Outcome::Ok, Some(Duration::ZERO)), "{size}");
    }
}

#[test]
fn a_large_body_arrives_whole() {
    let body: Vec<u8> = (0..1_u32 << 20).map(|k| b'a' + (k % 23) as u8).collect();
    let (timeline, heard) = over_tcp(vec![answer().into()], async |bench| {
        (bench.send(&outgoing(body.clone())).await, bench.server.heard().remove(0))
    });
    assert_eq!(timeline.outcome, Outcome::Ok);
    assert!(heard.body == body);
    assert!(timeline.bytes_sent > 1 << 20 && timeline.upload.is_some());
}

/// Answers `requests` requests of so many bytes over one connection, and acknowledges none of their bytes sooner than
/// the system lets it: with the answer, or after about 40 ms.
async fn acknowledge_late(listener: TcpListener, requests: usize, body_bytes: usize) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let answer = answer().script().bytes();
    for _ in 0..requests {
        let mut heard = Vec::new();
        let end = |heard: &[u8]| heard.windows(4).position(|window| window == b"\r\n\r\n");
        while end(&heard).is_none_or(|head| heard.len() < head + 4 + body_bytes) {
            stream.set_quickack(false).unwrap();
            assert!(stream.read_buf(&mut heard).await.unwrap() > 0);
        }
        stream.write_all(&answer).await.unwrap();
    }
}

#[test]
fn a_peer_that_acknowledges_late_delays_no_request() {
    const REQUESTS: usize = 10;
    // In one segment, in several, and in many.
    for body_bytes in [200, 100_000, 1 << 20] {
        let latencies = Clock::run_real(|clock| async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let connector = resolve(&listener.local_addr().unwrap().to_string()).await;
            let server = tokio::task::spawn_local(acknowledge_late(listener, REQUESTS, body_bytes));
            let client = Client::new(clock.clone(), connector, settings()).unwrap();
            let mut latencies = Vec::new();
            for _ in 0..REQUESTS {
                let mut timeline = Timeline::begin(clock.now(), client.stamp_source());
                client.exchange(&outgoing(vec![b'x'; body_bytes]), &mut timeline, &mut |_| {}).await;
                assert_eq!((timeline.outcome, timeline.reconnects), (Outcome::Ok, 0), "{}", tell(&timeline));
                latencies.push(timeline.ended.since(timeline.sent));
            }
            server.await.unwrap();
            // A client that waits for acknowledgements waits nearly each time; a busy machine is not slow as often.
            latencies.sort_unstable();
            latencies
        })
        .unwrap();
        assert!(latencies[REQUESTS / 2] < ms(35), "{body_bytes} bytes: {latencies:?}");
    }
}

#[test]
fn the_upload_lasts_as_long_as_the_server_takes_it_in() {
    // More than the buffers of both sockets hold.
    let body = vec![b'x'; 32 << 20];
    let slow = answer().script().taking(Intake::Slow { bytes: 64 << 10, pause: Duration::from_micros(50) });
    let timeline = over_tcp(vec![slow], async |bench| bench.send(&outgoing(body)).await);
    assert_eq!(timeline.outcome, Outcome::Ok);
    let upload = timeline.upload.unwrap();
    assert!(upload > ms(5), "{upload:?}");
    assert!(timeline.sent + upload < timeline.first_byte.unwrap());
}

#[test]
fn a_reset_before_a_byte_is_no_connection() {
    for intake in [Intake::Whole, Intake::Beginning, Intake::Nothing] {
        let reset = Script::silent(intake).reset(Duration::ZERO);
        let timeline = over_tcp(vec![reset], async |bench| bench.ask().await);
        assert_eq!(
            (timeline.outcome, timeline.first_byte),
            (Outcome::ConnectError, None),
            "{}",
            tell(&timeline)
        );
        let error = timeline.error.unwrap();
        assert!(error.starts_with("the connection ended before a response: "), "{error}");
    }
}

#[test]
fn a_reset_after_tokens_is_truncated_and_keeps_them() {
    let reset = stream().at(0, content("a")).at(1, content("b")).open().script().reset(ms(20));
    let timeline = over_tcp(vec![reset], async |bench| bench.ask().await);
    assert_eq!((timeline.outcome, timeline.events), (Outcome::Truncated, 2), "{}", tell(&timeline));
    let error = timeline.error.unwrap();
    assert!(error.contains("reset"), "{error}");
}

#[test]
fn a_reset_of_a_reused_connection_before_a_byte_is_redone_once() {
    let reset = Script::silent(Intake::Whole).reset(ms(5));
    let (first, second, opened) = over_tcp(vec![answer().into(), reset, answer().into()], async |bench| {
        (bench.ask().await, bench.ask().await, bench.server.opened())
    });
    assert_eq!((first.outcome, second.outcome), (Outcome::Ok, Outcome::Ok));
    assert_eq!((second.reconnects, second.new_connection, opened), (1, Some(true), 2));
    assert!(second.first_token.unwrap().since(second.sent) >= ms(5));
}

#[test]
fn a_server_that_closes_after_each_stream_causes_neither_failure_nor_reconnect() {
    for framing in [Framing::Chunked, Framing::Length, Framing::Close] {
        let closing = answer().framed(framing).script().close(Duration::ZERO);
        let timelines = over_tcp(vec![closing], async |bench| {
            let mut timelines = Vec::new();
            for k in 1..=10 {
                timelines.push(bench.ask().await);
                bench.server.has_closed(k).await;
                hear_news(&bench).await;
            }
            timelines
        });
        for timeline in timelines {
            assert_eq!((timeline.outcome, timeline.reconnects), (Outcome::Ok, 0), "{}", tell(&timeline));
            assert_eq!(timeline.new_connection, Some(true));
        }
    }
}

#[test]
fn a_server_that_closes_after_each_stream_causes_no_failure_without_a_pause_either() {
    let closing = answer().script().close(Duration::ZERO);
    over_tcp(vec![closing], async |bench| {
        for _ in 0..200 {
            let timeline = bench.ask().await;
            assert_eq!(timeline.outcome, Outcome::Ok, "{}", tell(&timeline));
            assert!(timeline.reconnects <= 1);
        }
    });
}

#[test]
fn c038_idle_connections_closed_at_the_pace_of_the_requests_cause_no_failure() {
    Clock::run_real(|clock| async move {
        let server = Server::new(&clock, [answer()]).with_patience(ms(5));
        let bench = Bench::over_tcp(server, &clock, settings()).await;
        let start = clock.now();
        for k in 0..60 {
            clock.sleep_until(start + ms(5) * k).await;
            let timeline = bench.ask().await;
            assert_eq!(timeline.outcome, Outcome::Ok, "{}", tell(&timeline));
            assert!(timeline.reconnects <= 1);
        }
    })
    .unwrap();
}

#[test]
fn a_server_without_tls_is_a_tls_error() {
    let timeline = Clock::run_real(|clock| async move {
        let rude =
            Script::silent(Intake::Beginning).write(Duration::ZERO, "HTTP/1.1 400 Bad Request\r\n\r\n");
        let address = Server::new(&clock, [rude.close(ms(1))]).on_loopback().await;
        let url = TargetUrl::parse(&format!("https://{address}")).unwrap();
        ask(&clock, Connector::resolve(&url, &TlsOptions::default(), Http::Auto).await.unwrap(), settings())
            .await
    })
    .unwrap();
    assert_eq!(timeline.outcome, Outcome::TlsError, "{}", tell(&timeline));
    assert!(timeline.error.unwrap().starts_with("TLS with 127.0.0.1:"));
}

#[test]
fn a_tls_handshake_that_gets_no_answer_is_ended_by_the_connect_limit() {
    let timeline = Clock::run_virtual(|clock| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = TargetUrl::parse(&format!("https://{}", listener.local_addr().unwrap())).unwrap();
        ask(&clock, Connector::resolve(&url, &TlsOptions::default(), Http::Auto).await.unwrap(), settings())
            .await
    })
    .unwrap();
    assert_eq!(timeline.outcome, Outcome::TimeoutConnect, "{}", tell(&timeline));
    assert_eq!(timeline.ended.since(timeline.sent), ms(5_000));
}

#[test]
fn a_refusal_of_a_body_that_is_still_under_way_is_heard() {
    let refusal =
        reply("413 Content Too Large", "text/plain").header("connection", "close").at(0, "too long");
    let script = refusal.script().taking(Intake::Beginning).close(ms(5));
    for _ in 0..20 {
        let timeline =
            over_tcp(vec![script.clone()], async |bench| bench.send(&outgoing(vec![b'x'; 32 << 20])).await);
        assert_eq!(
            (timeline.outcome, timeline.http_status),
            (Outcome::HttpError, Some(413)),
            "{}",
            tell(&timeline)
        );
        // The reset that follows may be heard before the end of the body.
        assert!(timeline.error.unwrap().starts_with("too long"));
    }
}

#[test]
fn a_flood_of_comments_does_not_outrun_the_total_limit() {
    let comments = format!(": {}\n", "x".repeat(98)).repeat(600);
    let start = stream().at(0, content("a")).open().script();
    let flood = Script { repeats: usize::MAX, ..start.write(Duration::ZERO, chunk(comments.as_bytes())) };
    let timeline = Clock::run_real(|clock| async move {
        let mut settings = settings();
        settings.timeouts.total = Some(ms(100));
        Bench::over_tcp(Server::new(&clock, [flood]), &clock, settings).await.ask().await
    })
    .unwrap();
    assert_eq!(timeline.outcome, Outcome::TimeoutTotal, "{}", tell(&timeline));
    assert!(timeline.bytes_received > 1 << 20);
}
