//! Composing ahead of need, so that a due request is ready to go.
//!
//! Under the real clock a thread of its own composes into queues bounded in bytes, one for each load of a phase.
//! Under the virtual clock nothing may run beside the one thread, so composing is called when its result is
//! wanted: it takes no virtual time.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle, Thread};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use crate::plan::composer::{Composer, Next};

/// As much is composed ahead, for all loads together.
const AHEAD_LIMIT_BYTES: usize = 8 << 20;

/// Where sessions come from, ready to be sent.
pub enum Source {
    /// Composed when asked for.
    Inline(Rc<RefCell<Composer>>),
    /// Composed ahead on a thread.
    Threaded(Ahead),
}

impl Source {
    /// A source that composes when asked for.
    pub fn inline(composer: Composer) -> Source {
        Source::Inline(Rc::new(RefCell::new(composer)))
    }

    /// A source that composes ahead on a thread of its own.
    ///
    /// # Errors
    /// When the thread cannot be had.
    pub fn threaded(composer: Composer) -> std::io::Result<Source> {
        Ahead::start(composer).map(Source::Threaded)
    }

    /// Turns to phase `index`: the sessions of each of its `loads`, the main one first.
    pub(super) fn begin_phase(&mut self, index: usize, loads: usize) -> Vec<Feed> {
        match self {
            Source::Inline(composer) => {
                composer.borrow_mut().begin_phase(index);
                (0..loads).map(|load| Feed::Inline { composer: Rc::clone(composer), load }).collect()
            }
            Source::Threaded(ahead) => ahead.begin_phase(index, loads),
        }
    }

    /// Ends a phase of which so many sessions of each load were taken. Where `counts_rest`, returns how many turns
    /// were still to come.
    pub(super) async fn end_phase(&mut self, taken: Vec<u64>, counts_rest: bool) -> u64 {
        match self {
            Source::Inline(composer) => composer.borrow_mut().end_phase(&taken, counts_rest),
            Source::Threaded(ahead) => ahead.end_phase(taken, counts_rest).await,
        }
    }
}

/// The sessions of one load of a phase.
pub(super) enum Feed {
    Inline { composer: Rc<RefCell<Composer>>, load: usize },
    Threaded(Queue),
}

/// What a thread has composed of one load.
pub(super) struct Queue {
    items: UnboundedReceiver<Next>,
    queued_bytes: Arc<AtomicUsize>,
    limit_bytes: usize,
    thread: Thread,
}

impl Feed {
    /// The next session. Not to be asked again once it has given another answer.
    pub(super) async fn next(&mut self) -> Next {
        match self {
            Feed::Inline { composer, load } => composer.borrow_mut().compose_next(*load),
            Feed::Threaded(queue) => queue.next().await,
        }
    }
}

impl Queue {
    async fn next(&mut self) -> Next {
        let Some(next) = self.items.recv().await else {
            return Next::Failed("the composing thread has died".to_owned());
        };
        let size = size_bytes(&next);
        let before = self.queued_bytes.fetch_sub(size, Ordering::Relaxed);
        let low = self.limit_bytes / 2;
        if before > low && before - size <= low {
            self.thread.unpark();
        }
        next
    }
}

enum Command {
    Begin { index: usize, queues: Vec<Slot> },
    End { taken: Vec<u64>, counts_rest: bool, rest: oneshot::Sender<u64> },
}

/// The thread's end of a [`Queue`].
struct Slot {
    items: UnboundedSender<Next>,
    queued_bytes: Arc<AtomicUsize>,
    limit_bytes: usize,
    is_exhausted: bool,
}

impl Slot {
    fn has_room(&self) -> bool {
        self.queued_bytes.load(Ordering::Relaxed) <= self.limit_bytes
    }
}

/// A composing thread.
pub struct Ahead {
    /// `None` only while being dropped.
    commands: Option<mpsc::Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Ahead {
    fn start(composer: Composer) -> std::io::Result<Ahead> {
        let (commands, inbox) = mpsc::channel();
        let thread = thread::Builder::new().name("compose".into()).spawn(move || work(composer, &inbox))?;
        Ok(Ahead { commands: Some(commands), thread: Some(thread) })
    }

    fn begin_phase(&mut self, index: usize, loads: usize) -> Vec<Feed> {
        let Some(thread) = self.thread.as_ref().map(|thread| thread.thread().clone()) else {
            return Vec::new();
        };
        let limit_bytes = AHEAD_LIMIT_BYTES / loads.max(1);
        let mut feeds = Vec::with_capacity(loads);
        let queues = (0..loads).map(|_| {
            let (sender, items) = unbounded_channel();
            let queued_bytes: Arc<AtomicUsize> = Arc::default();
            let bytes = Arc::clone(&queued_bytes);
            feeds.push(Feed::Threaded(Queue { items, queued_bytes, limit_bytes, thread: thread.clone() }));
            Slot { items: sender, queued_bytes: bytes, limit_bytes, is_exhausted: false }
        });
        let queues = queues.collect();
        self.tell(Command::Begin { index, queues });
        feeds
    }

    async fn end_phase(&mut self, taken: Vec<u64>, counts_rest: bool) -> u64 {
        let (rest, counted) = oneshot::channel();
        self.tell(Command::End { taken, counts_rest, rest });
        // A dead thread shows as a failed load.
        if counts_rest { counted.await.unwrap_or(0) } else { 0 }
    }

    fn tell(&self, command: Command) {
        if let Some(commands) = &self.commands {
            // A dead thread shows as a closed queue.
            let _ = commands.send(command);
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.commands = None;
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(mut composer: Composer, inbox: &mpsc::Receiver<Command>) {
    while let Ok(command) = inbox.recv() {
        let Command::Begin { index, queues } = command else { continue };
        composer.begin_phase(index);
        if fill(&mut composer, inbox, queues).is_none() {
            return;
        }
    }
}

/// Composes into `queues` until the phase is ended; `None` when the run is over.
fn fill(composer: &mut Composer, inbox: &mpsc::Receiver<Command>, mut queues: Vec<Slot>) -> Option<()> {
    loop {
        let all_exhausted = queues.iter().all(|queue| queue.is_exhausted);
        let command = if all_exhausted { Some(inbox.recv().ok()?) } else { received(inbox)? };
        if let Some(Command::End { taken, counts_rest, rest }) = command {
            // Whoever does not count has gone.
            let _ = rest.send(composer.end_phase(&taken, counts_rest));
            return Some(());
        }
        let wanting =
            queues.iter_mut().enumerate().filter(|(_, queue)| !queue.is_exhausted && queue.has_room());
        let emptiest = wanting.min_by_key(|(_, queue)| queue.queued_bytes.load(Ordering::Relaxed));
        let Some((load, queue)) = emptiest else {
            thread::park();
            continue;
        };
        let next = composer.compose_next(load);
        queue.is_exhausted = !matches!(next, Next::Session(_));
        queue.queued_bytes.fetch_add(size_bytes(&next), Ordering::Relaxed);
        let _ = queue.items.send(next);
    }
}

/// A command if there is one; the outer `None` when there will be none any more.
fn received(inbox: &mpsc::Receiver<Command>) -> Option<Option<Command>> {
    match inbox.try_recv() {
        Ok(command) => Some(Some(command)),
        Err(mpsc::TryRecvError::Empty) => Some(None),
        Err(mpsc::TryRecvError::Disconnected) => None,
    }
}

fn size_bytes(next: &Next) -> usize {
    match next {
        Next::Session(composed) => composed.size_bytes(),
        Next::End(_) | Next::Failed(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::clock::Clock;
    use crate::plan::Plan;
    use crate::plan::compose::{Form, Prompts, Salt, System};
    use crate::protocol::BodyOptions;
    use crate::scenario::{CachePolicy, History, Overrides, parse};
    use crate::seed::Seed;

    /// An open and a closed phase without count, and a counted one.
    fn composer(words: u64) -> Composer {
        let text = "name = \"ahead\"\ntarget.url = \"http://server\"\n\
                    [[workload]]\nname = \"chat\"\nprompt.synthetic = 1\n\
                    [[phase]]\nname = \"a\"\nduration = \"1h\"\nload.poisson = \"9/s\"\n\
                    [[phase]]\nname = \"b\"\nduration = \"1h\"\nload.closed = 3\n\
                    [[phase]]\nname = \"c\"\nrequests = 5\nload.constant = \"9/s\"\n";
        let loaded = parse("ahead.toml", text.as_bytes(), Path::new("/"), &Overrides::default());
        let scenario = Arc::new(loaded.expect("a good scenario").scenario);
        let plan = Plan::new(Arc::clone(&scenario), Seed(7), vec![None]);
        let options = BodyOptions { model: "m".into(), stream: true, ..BodyOptions::default() };
        let prompts = Prompts::Synthetic { words, passage: None };
        let form = Form {
            workload: "chat".into(),
            prompts,
            system: System::None,
            measure: None,
            cache: CachePolicy::Cold,
            history: History::None,
            context: None,
            tokenizer: None,
            options,
            checks: false,
            compares: false,
        };
        Composer::new(plan, scenario.target.api, vec![form], Salt(3), "run".into())
    }

    /// What a run sees that takes so many sessions of each phase.
    async fn taken(mut source: Source, counts: [u64; 3]) -> Vec<String> {
        let mut seen = Vec::new();
        for (index, count) in counts.into_iter().enumerate() {
            let mut feed = source.begin_phase(index, 1).remove(0);
            // A run always looks one session further than it takes.
            let mut next = feed.next().await;
            let mut taken = 0;
            while let Next::Session(composed) = next
                && taken < count
            {
                let body = composed.outgoing.expect("a composed request").body;
                seen.push(format!("{:?} {:?} {body:?}", composed.start, composed.turns));
                taken += 1;
                next = feed.next().await;
            }
            source.end_phase(vec![taken], false).await;
        }
        seen
    }

    #[test]
    fn a_thread_composes_the_same_sessions_and_leaves_the_plan_where_the_phase_did() {
        Clock::run_real(|_| async {
            for counts in [[40, 30, 9], [0, 1, 2], [7, 0, 5]] {
                let threaded = taken(Source::threaded(composer(20)).unwrap(), counts).await;
                assert_eq!(threaded, taken(Source::inline(composer(20)), counts).await);
                let last = counts[0] + counts[1] + counts[2].min(5) - 1;
                let number = format!("request: {last}, session: {last},");
                assert!(threaded.last().unwrap().contains(&number), "{number}");
            }
        })
        .unwrap();
    }

    #[test]
    fn c164_no_more_is_composed_ahead_than_fits_and_composing_goes_on_when_some_was_taken() {
        let full = |feed: &Feed| {
            let Feed::Threaded(queue) = feed else { panic!("an inline feed") };
            while queue.queued_bytes.load(Ordering::Relaxed) <= AHEAD_LIMIT_BYTES {
                thread::yield_now();
            }
        };
        Clock::run_real(|_| async move {
            let mut ahead = Ahead::start(composer(150_000)).unwrap();
            let mut feed = ahead.begin_phase(0, 1).remove(0);
            let mut largest = 0;
            for _ in 0..2 {
                full(&feed);
                loop {
                    let Feed::Threaded(queue) = &mut feed else { panic!("an inline feed") };
                    let queued = queue.queued_bytes.load(Ordering::Relaxed);
                    let next = queue.next().await;
                    largest = largest.max(size_bytes(&next));
                    assert!(queued <= AHEAD_LIMIT_BYTES + largest, "{queued} bytes");
                    if queued <= AHEAD_LIMIT_BYTES / 2 {
                        break;
                    }
                }
            }
            assert!(largest > 600_000);
            // A phase is left with its queue full, and the next begins all the same.
            full(&feed);
            assert_eq!(ahead.end_phase(vec![1], false).await, 0);
            let mut feed = ahead.begin_phase(2, 1).remove(0);
            let Next::Session(composed) = feed.next().await else { panic!("no session") };
            assert_eq!(composed.turns[0].planned.request, 1);
            assert_eq!(ahead.end_phase(vec![2], true).await, 3, "of five requests");
        })
        .unwrap();
    }
}
