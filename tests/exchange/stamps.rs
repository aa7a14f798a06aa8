//! Whose times an answer has: the kernel's, also where the client is too late to see its bytes arrive.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use tonnage::client::{Client, Connector};
use tonnage::clock::{Clock, Monotonic};
use tonnage::record::{Outcome, StampSource, Timeline};
use tonnage::scenario::{Stamps, TargetUrl, Transport};
use tonnage::units::Nanos;

use crate::support::bench::{BODY, ms, outgoing, settings, tell};
use crate::support::frames::{DONE, content, finish};
use crate::support::script::{LAST_CHUNK, chunk};

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
    Clock::run_real(|clock| async move {
        let (address, server) = serve(clock.monotonic().unwrap(), pauses, |stream| stream);
        let url = TargetUrl::parse(&format!("http://{address}")).unwrap();
        let connector = Connector::resolve(&url).await.unwrap();
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

/// Each event has the time at which the last event of its read was written.
fn assert_arrivals(timeline: &Timeline, writes: &Writes) {
    assert_eq!(timeline.outcome, Outcome::Ok, "{}", tell(timeline));
    assert_eq!(timeline.stamp, StampSource::Kernel);
    assert_eq!(timeline.stamps.len(), writes.len());
    let reads = reads(timeline);
    for (first, last) in &reads {
        let at = timeline.stamps[*last].at;
        let (before, after) = writes[*last];
        assert!(at + ERROR >= before, "event {last}: {at:?} is before its write at {before:?}");
        assert!(at <= after + ERROR, "event {last}: {at:?} is after its write at {after:?}");
        assert!(writes[*first].0 <= at + ERROR, "event {first} is stamped before it was written");
    }
    let shared = reads.iter().filter(|(first, last)| first < last).count();
    assert_eq!((timeline.reads.bearing, timeline.reads.shared), (reads.len() as u64, shared as u64));
    assert_eq!(timeline.reads.clamped, 0);
}

const BUSY: Stall = Stall { busy: Duration::from_millis(4), free: Duration::from_millis(1) };

/// Events that lie further apart than the client is ever kept from reading.
fn sparse() -> Vec<Duration> {
    (0..20).map(|k| Duration::from_micros(8_000 + 377 * k)).collect()
}

#[test]
fn a_late_read_of_one_event_has_the_time_of_its_arrival() {
    let (timeline, writes) = ask(Transport::default(), BUSY, sparse());
    assert_arrivals(&timeline, &writes);
    let delay = timeline.reads.delay_max.unwrap();
    assert!(delay > ms(1), "the client was kept from reading, and saw no more than {delay:?} of it");
}

#[test]
fn events_that_a_late_read_finds_together_have_the_time_of_the_last_ones_arrival() {
    let dense = vec![Duration::from_micros(300); 300];
    let (timeline, writes) = ask(Transport::default(), BUSY, dense);
    assert_arrivals(&timeline, &writes);
    assert!(timeline.reads.shared > 0, "{:?}", timeline.reads);
}

#[test]
fn without_the_kernel_a_late_read_has_its_own_time() {
    let (timeline, writes) = ask(Transport { stamps: Stamps::User }, BUSY, sparse());
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
