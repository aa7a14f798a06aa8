//! Whose times an answer has: the kernel's, also where the client is too late to see its bytes arrive.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};
use tonnage::client::{Client, Connector};
use tonnage::clock::{Clock, Monotonic};
use tonnage::record::{Outcome, StampSource, Timeline};
use tonnage::scenario::{Http, Stamps, TargetUrl, TlsOptions, Transport};
use tonnage::units::Nanos;

use crate::support::bench::{BODY, ms, outgoing, settings, tell};
use crate::support::frames::{DONE, content, finish};
use crate::support::script::{LAST_CHUNK, chunk};
use crate::support::tls::{Authority, server, wrap};

/// The kernel's clock and ours are compared as closely as this.
const ERROR: Duration = Duration::from_micros(2);

/// When a server began and ended the write of each event.
type Writes = Vec<(Nanos, Nanos)>;

/// Answers one request on a thread of its own with events at these pauses, and tells when it wrote each.
fn answer<S: Read + Write>(mut stream: S, pauses: &[Duration], clock: Monotonic) -> Writes {
    let mut request = Vec::new();
    while !request.ends_with(BODY.as_bytes()) {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "the request ended early");
        request.extend_from_slice(&piece[..read]);
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let event = chunk(content("x").as_bytes());
    let mut writes = Writes::new();
    for pause in pauses {
        sleep(*pause);
        let before = clock.now();
        stream.write_all(&event).unwrap();
        stream.flush().unwrap();
        writes.push((before, clock.now()));
    }
    sleep(ms(20));
    let end = [&chunk([finish("stop"), DONE.to_owned()].concat().as_bytes()), LAST_CHUNK].concat();
    stream.write_all(&end).unwrap();
    stream.flush().unwrap();
    // Until the client has hung up.
    let _ = stream.read(&mut [0; 1]);
    writes
}

/// A server on loopback that answers one request over whatever `wrap` makes of its connection.
fn serve<S: Read + Write>(
    clock: Monotonic,
    pauses: Vec<Duration>,
    wrap: impl FnOnce(TcpStream) -> S + Send + 'static,
) -> (String, JoinHandle<Writes>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let thread = std::thread::spawn(move || {
        let stream = listener.accept().unwrap().0;
        stream.set_nodelay(true).unwrap();
        answer(wrap(stream), &pauses, clock)
    });
    (address, thread)
}

/// How the client's thread is kept from its work meanwhile.
#[derive(Clone, Copy)]
struct Stall {
    busy: Duration,
    free: Duration,
}

/// One request over plain TCP from a thread that stalls.
fn ask(transport: Transport, stall: Stall, pauses: Vec<Duration>) -> (Timeline, Writes) {
    ask_at("http", TlsOptions::default(), |stream| stream, transport, stall, pauses)
}

/// The same over TLS.
fn ask_tls(version: &'static SupportedProtocolVersion, pauses: Vec<Duration>) -> (Timeline, Writes) {
    let authority = Authority::new();
    let config = server(&authority.sign("127.0.0.1"), None, &[version]);
    let tls = TlsOptions { ca: Some(authority.file()), ..TlsOptions::default() };
    ask_at("https", tls, |stream| wrap(config, stream), Transport::default(), BUSY, pauses)
}

fn ask_at<S: Read + Write>(
    scheme: &str,
    tls: TlsOptions,
    wrap: impl FnOnce(TcpStream) -> S + Send + 'static,
    transport: Transport,
    stall: Stall,
    pauses: Vec<Duration>,
) -> (Timeline, Writes) {
    Clock::run_real(|clock| async move {
        let (address, server) = serve(clock.monotonic().unwrap(), pauses, wrap);
        let url = TargetUrl::parse(&format!("{scheme}://{address}")).unwrap();
        let connector = Connector::resolve(&url, &tls, Http::Auto).await.unwrap();
        let timeline = ask_over(&clock, connector, transport, stall).await;
        (timeline, server.join().unwrap())
    })
    .unwrap()
}

async fn ask_over(clock: &Clock, connector: Connector, transport: Transport, stall: Stall) -> Timeline {
    let staller = tokio::task::spawn_local({
        let clock = clock.clone();
        async move {
            loop {
                sleep(stall.busy);
                clock.sleep(stall.free).await;
            }
        }
    });
    let settings = tonnage::client::Settings { transport, ..settings() };
    let client = Client::new(clock.clone(), connector, settings).unwrap();
    // The kernel takes a moment to begin with it.
    clock.sleep(ms(20)).await;
    let mut timeline = Timeline::begin(clock.now(), client.stamp_source());
    client.exchange(&outgoing(BODY), &mut timeline, &mut |_| {}).await;
    staller.abort();
    timeline
}

/// The events that each read completed: the places of the first and the last.
fn reads(timeline: &Timeline) -> Vec<(usize, usize)> {
    let stamps = &timeline.stamps;
    let mut reads: Vec<(usize, usize)> = Vec::new();
    for k in 0..stamps.len() {
        match reads.last_mut() {
            Some((first, last)) if stamps[*first].at == stamps[k].at => *last = k,
            _ => reads.push((k, k)),
        }
    }
    reads
}

/// No event is stamped before it was written nor after it was read, and the events of a read have the time at
/// which the last of them was written. That time is later where the window of the connection kept a write from
/// going out at once, and where a read had room for the beginning of a further event only: rarely.
fn assert_arrivals(timeline: &Timeline, writes: &Writes) {
    assert_eq!(timeline.outcome, Outcome::Ok, "{}", tell(timeline));
    assert_eq!(timeline.stamp, StampSource::Kernel);
    assert_eq!(timeline.stamps.len(), writes.len());
    let reads = reads(timeline);
    let mut late = 0;
    for (_, last) in &reads {
        let at = timeline.stamps[*last].at;
        let (before, after) = writes[*last];
        assert!(at + ERROR >= before, "event {last}: {at:?} is before its write at {before:?}");
        late += usize::from(at > after + ERROR);
    }
    assert!(late * 2 < reads.len(), "{late} of {} reads have a later time than that", reads.len());
    let shared = reads.iter().filter(|(first, last)| first < last).count();
    assert_eq!((timeline.reads.bearing, timeline.reads.shared), (reads.len() as u64, shared as u64));
    // None had to be moved to lie between the read before and its own.
    assert_eq!(timeline.reads.clamped, 0);
}

/// Each event that was read on its own has the time at which it was written.
fn assert_each_at_its_arrival(timeline: &Timeline, writes: &Writes) {
    assert_arrivals(timeline, writes);
    let alone: Vec<_> = reads(timeline).into_iter().filter(|(first, last)| first == last).collect();
    assert!(alone.len() * 2 > writes.len(), "only {} of {} were read alone", alone.len(), writes.len());
    for (_, event) in alone {
        let (at, (before, after)) = (timeline.stamps[event].at, writes[event]);
        assert!(at <= after + ERROR, "event {event}: {at:?} not in {before:?}..{after:?}");
    }
}

const BUSY: Stall = Stall { busy: Duration::from_millis(9), free: Duration::from_millis(1) };

/// Events that lie further apart than the client is ever kept from reading.
fn sparse() -> Vec<Duration> {
    (0..16).map(|k| Duration::from_micros(20_000 + 377 * k)).collect()
}

/// Events of which several come while the client is kept from reading.
fn dense() -> Vec<Duration> {
    vec![Duration::from_micros(1_500); 100]
}

#[test]
fn a_late_read_of_one_event_has_the_time_of_its_arrival() {
    let (timeline, writes) = ask(Transport::default(), BUSY, sparse());
    assert_each_at_its_arrival(&timeline, &writes);
    let delay = timeline.reads.delay_max.unwrap();
    assert!(delay > ms(1), "the client was kept from reading, and saw no more than {delay:?} of it");
}

#[test]
fn a_late_read_of_one_event_has_the_time_of_its_arrival_under_tls_too() {
    for version in [&TLS12, &TLS13] {
        let (timeline, writes) = ask_tls(version, sparse());
        assert_each_at_its_arrival(&timeline, &writes);
        assert!(timeline.reads.delay_max.unwrap() > ms(1));
    }
}

#[test]
fn events_that_a_late_read_finds_together_share_the_last_ones_time_under_tls_too() {
    for version in [&TLS12, &TLS13] {
        let (timeline, writes) = ask_tls(version, dense());
        assert_arrivals(&timeline, &writes);
        assert!(timeline.reads.shared > 0, "{:?}", timeline.reads);
    }
}

#[test]
fn events_that_a_late_read_finds_together_have_the_time_of_the_last_ones_arrival() {
    let (timeline, writes) = ask(Transport::default(), BUSY, dense());
    assert_arrivals(&timeline, &writes);
    assert!(timeline.reads.shared > 0, "{:?}", timeline.reads);
}

#[test]
fn without_the_kernel_a_late_read_has_its_own_time() {
    let (timeline, writes) = ask(Transport { stamps: Stamps::User, ..Transport::default() }, BUSY, sparse());
    assert_eq!((timeline.outcome, timeline.stamp), (Outcome::Ok, StampSource::Read), "{}", tell(&timeline));
    assert_eq!((timeline.reads.delay_max, timeline.reads.clamped), (None, 0));
    let late = timeline.stamps.iter().zip(&writes).filter(|(stamp, (_, after))| stamp.at > *after + ms(1));
    assert!(late.count() > 0);
}

#[test]
fn an_idle_client_reads_soon_after_the_arrival() {
    let idle = Stall { busy: Duration::ZERO, free: ms(1_000) };
    let (timeline, writes) = ask(Transport::default(), idle, vec![ms(2); 20]);
    assert_arrivals(&timeline, &writes);
    assert!(timeline.first_byte.unwrap() > timeline.sent);
    assert!(timeline.first_byte.unwrap() <= timeline.stamps[0].at);
}
