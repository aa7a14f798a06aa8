//! The collector on its own thread, fed by a queue that the sender never waits for.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use tokio::sync::mpsc::UnboundedSender;

use super::host;
use super::live::Live;
use crate::clock::Monotonic;
use crate::collect::{Collector, Memory};
use crate::record::Event;
use crate::results::ResultsError;
use crate::run::Sink;
use crate::run::stop::{Stop, StopSwitch};
use crate::units::Nanos;

/// With this much queued, files cannot keep up and the run stops with what it has.
const QUEUE_LIMIT_BYTES: usize = 256 << 20;
/// With this much queued, texts of answers and rows of single events are let go, and counted.
const DETAIL_LIMIT_BYTES: usize = 64 << 20;
/// The queue is looked at this often. Looking, rather than being woken, spares the sender a system call an event.
const LOOK: Duration = Duration::from_millis(100);

/// A collector at work.
pub(super) struct Collecting {
    thread: JoinHandle<Gathered>,
    queue: Queue,
}

/// The sender's end of the queue.
struct Queue {
    sender: Sender<Event>,
    queued_bytes: Arc<AtomicUsize>,
    dropped_texts: Arc<AtomicU64>,
}

/// What the thread hands back.
pub(super) struct Gathered {
    pub(super) collector: Collector,
    /// The first row that could not be written.
    pub(super) failure: Option<ResultsError>,
}

/// Starts a collector. It shows progress on `live` and asks for a stop when files fail. `is_alone` is false where a
/// server shares the process, so that its work and memory would be taken for the client's.
pub(super) fn start(
    collector: Collector,
    clock: Monotonic,
    live: Option<Live>,
    stop: UnboundedSender<Stop>,
    is_alone: bool,
) -> std::io::Result<Collecting> {
    let (sender, events) = channel();
    let queue = Queue { sender, queued_bytes: Arc::default(), dropped_texts: Arc::default() };
    let desk = Desk {
        collector,
        queued_bytes: Arc::clone(&queue.queued_bytes),
        dropped_texts: Arc::clone(&queue.dropped_texts),
        clock,
        live,
        stop,
        failure: None,
        origin: None,
        usage: is_alone.then(Usage::new),
        second: None,
        is_stopped: false,
    };
    let thread = thread::Builder::new().name("collect".into()).spawn(move || desk.work(&events))?;
    Ok(Collecting { thread, queue })
}

impl Collecting {
    /// Where the run's events go. `stop` is asked when the queue outgrows its limit.
    pub(super) fn sink(&self, stop: Rc<StopSwitch>) -> Sink {
        self.queue.sink(stop)
    }

    /// Waits for everything queued to be taken in.
    pub(super) fn join(self) -> thread::Result<Gathered> {
        drop(self.queue);
        self.thread.join()
    }
}

impl Queue {
    fn sink(&self, stop: Rc<StopSwitch>) -> Sink {
        let (sender, queued_bytes) = (self.sender.clone(), Arc::clone(&self.queued_bytes));
        let dropped_texts = Arc::clone(&self.dropped_texts);
        Rc::new(move |mut event: Event| {
            if queued_bytes.load(Ordering::Relaxed) > DETAIL_LIMIT_BYTES && event.drop_texts() {
                dropped_texts.fetch_add(1, Ordering::Relaxed);
            }
            let size = event.size_bytes();
            if queued_bytes.fetch_add(size, Ordering::Relaxed) + size > QUEUE_LIMIT_BYTES {
                stop.ask(Stop::Failed("results could not be written as fast as they came".into()));
            }
            // The thread ends only after the event that ends the run.
            let _ = sender.send(event);
        })
    }
}

struct Desk {
    collector: Collector,
    queued_bytes: Arc<AtomicUsize>,
    dropped_texts: Arc<AtomicU64>,
    clock: Monotonic,
    live: Option<Live>,
    stop: UnboundedSender<Stop>,
    failure: Option<ResultsError>,
    origin: Option<Nanos>,
    usage: Option<Usage>,
    /// The second since the origin that was last seen to.
    second: Option<u64>,
    /// Whether a rule has stopped the run.
    is_stopped: bool,
}

impl Desk {
    fn work(mut self, events: &Receiver<Event>) -> Gathered {
        loop {
            while let Ok(event) = events.try_recv() {
                if self.take(event) {
                    self.collector.add_dropped_texts(self.dropped_texts.load(Ordering::Relaxed));
                    let flushed = self.collector.flush();
                    self.note(flushed);
                    if let Some(live) = &self.live {
                        live.clear();
                    }
                    return Gathered { collector: self.collector, failure: self.failure };
                }
            }
            self.tick();
            thread::sleep(LOOK);
        }
    }

    /// Takes in one event; true for the last one.
    fn take(&mut self, event: Event) -> bool {
        let queued_bytes = self.queued_bytes.fetch_sub(event.size_bytes(), Ordering::Relaxed);
        self.collector.take_backlog(queued_bytes as u64);
        self.collector.hurry(queued_bytes > DETAIL_LIMIT_BYTES);
        match event {
            Event::RunStarted { origin } => self.origin = Some(origin),
            Event::RunEnded { .. } => return true,
            _ => {}
        }
        let taken = self.collector.take(event);
        self.note(taken);
        if let Some(rule) = self.collector.broken_rule().filter(|_| !self.is_stopped) {
            self.is_stopped = true;
            let _ = self.stop.send(Stop::Rule(rule));
        }
        false
    }

    fn tick(&mut self) {
        let Some(origin) = self.origin else { return };
        let elapsed = self.clock.now().since(origin);
        let last = self.second.replace(elapsed.as_secs());
        if last == self.second {
            return;
        }
        if let Some((cpu_s, memory)) = self.usage.as_mut().and_then(Usage::since_last) {
            self.collector.take_memory(memory);
            if let (Some(last), Some(cpu_s)) = (last, cpu_s) {
                self.collector.take_cpu(last, cpu_s);
            }
        }
        let flushed = self.collector.flush();
        self.note(flushed);
        if let Some(live) = &mut self.live {
            live.show(&self.collector.progress(), elapsed);
        }
    }

    fn note(&mut self, result: Result<(), ResultsError>) {
        let Err(error) = result else { return };
        if self.failure.is_none() {
            // The run may be over already.
            let _ = self.stop.send(Stop::Failed(error.to_string()));
            self.failure = Some(error);
        }
    }
}

/// What this process takes of the machine.
struct Usage {
    last_us: Option<i64>,
    memory_limit: Option<u64>,
}

impl Usage {
    fn new() -> Usage {
        Usage { last_us: None, memory_limit: host::memory_bytes() }
    }

    /// CPU seconds since the last call, none at the first, and the most memory so far.
    fn since_last(&mut self) -> Option<(Option<f64>, Memory)> {
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
        let now_us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        let last_us = self.last_us.replace(now_us);
        // The kernel counts it in KiB.
        let peak_bytes = u64::try_from(usage.max_rss()).ok()? << 10;
        let memory = Memory { peak_bytes, limit_bytes: self.memory_limit };
        Some((last_us.map(|last_us| (now_us - last_us) as f64 / 1e6), memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Ended, Fate, Planned, Slot, StampSource, Texts, Timeline};

    fn queue() -> (Queue, Receiver<Event>) {
        let (sender, events) = channel();
        (Queue { sender, queued_bytes: Arc::default(), dropped_texts: Arc::default() }, events)
    }

    /// A request whose answer has so many bytes, kept for `responses.jsonl`.
    fn ended(request: u64, answer_bytes: usize) -> Event {
        let mut timeline = Timeline::begin(Nanos(0), StampSource::Virtual);
        timeline.texts = Some(Box::new(Texts { answer: "x".repeat(answer_bytes), ..Texts::default() }));
        let planned = Planned { request, ..Planned::default() };
        let slot = Slot { scheduled: Some(Nanos(0)), measured: true, user: None, held: None };
        Event::Ended(Box::new(Ended { planned, slot, fate: Fate::Sent(Box::new(timeline)) }))
    }

    /// Which request, and whether its texts are there.
    fn told(event: &Event) -> (u64, bool) {
        let Event::Ended(ended) = event else { panic!("{event:?}") };
        let Fate::Sent(timeline) = &ended.fate else { panic!("{event:?}") };
        (ended.planned.request, timeline.texts.is_some())
    }

    #[test]
    fn texts_are_let_go_and_counted_above_64_mib_but_no_row_is() {
        let (queue, events) = queue();
        let stop = Rc::new(StopSwitch::default());
        let put = queue.sink(Rc::clone(&stop));
        (0..80).for_each(|request| put(ended(request, 1 << 20)));
        let arrived: Vec<_> = events.try_iter().map(|event| told(&event)).collect();
        let expected: Vec<_> = (0..80).map(|request| (request, request < 64)).collect();
        assert_eq!(arrived, expected);
        assert_eq!(queue.dropped_texts.load(Ordering::Relaxed), 16);
        assert_eq!(stop.asked(), None);

        queue.queued_bytes.store(DETAIL_LIMIT_BYTES, Ordering::Relaxed);
        put(ended(80, 10));
        assert_eq!(
            events.try_iter().map(|event| told(&event)).collect::<Vec<_>>(),
            [(80, true)],
            "room again"
        );
    }

    #[test]
    fn a_queue_beyond_its_limit_stops_the_run_with_its_reason_and_keeps_the_row() {
        let (queue, events) = queue();
        let stop = Rc::new(StopSwitch::default());
        let put = queue.sink(Rc::clone(&stop));
        queue.queued_bytes.store(QUEUE_LIMIT_BYTES, Ordering::Relaxed);
        put(ended(0, 10));
        let Some(Stop::Failed(reason)) = stop.asked() else { panic!("{:?}", stop.asked()) };
        assert!(reason.contains("as fast as they came"), "{reason}");
        assert_eq!(events.try_iter().map(|event| told(&event)).collect::<Vec<_>>(), [(0, false)]);
    }
}
