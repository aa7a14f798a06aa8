//! Composing ahead of need, so that a due request is ready to go.
//!
//! Under the real clock a thread of its own composes into a queue bounded in bytes. Under the virtual clock
//! nothing may run beside the one thread, so composing is called when its result is wanted: it takes no
//! virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::plan::composer::{Composer, Next};

/// As much is composed ahead.
const AHEAD_LIMIT_BYTES: usize = 8 << 20;

/// Where a phase's sessions come from, ready to be sent.
pub enum Source {
    /// Composed when asked for.
    Inline(Box<Composer>),
    /// Composed ahead on a thread.
    Threaded(Ahead),
}

impl Source {
    /// A source that composes when asked for.
    pub fn inline(composer: Composer) -> Source {
        Source::Inline(Box::new(composer))
    }

    /// A source that composes ahead on a thread of its own.
    ///
    /// # Errors
    /// When the thread cannot be had.
    pub fn threaded(composer: Composer) -> std::io::Result<Source> {
        Ahead::start(composer).map(Source::Threaded)
    }

    pub(super) fn begin_phase(&mut self, index: usize) {
        match self {
            Source::Inline(composer) => composer.begin_phase(index),
            Source::Threaded(ahead) => ahead.begin_phase(index),
        }
    }

    pub(super) async fn next(&mut self) -> Next {
        match self {
            Source::Inline(composer) => composer.compose_next(),
            Source::Threaded(ahead) => ahead.next().await,
        }
    }

    pub(super) fn end_phase(&mut self, taken: u64) {
        match self {
            Source::Inline(composer) => composer.end_phase(taken),
            Source::Threaded(ahead) => ahead.end_phase(taken),
        }
    }
}

enum Command {
    Begin { index: usize, queue: UnboundedSender<Next>, queued_bytes: Arc<AtomicUsize> },
    End { taken: u64 },
}

/// A composing thread and the queue of the current phase.
pub struct Ahead {
    /// `None` only while being dropped.
    commands: Option<mpsc::Sender<Command>>,
    thread: Option<JoinHandle<()>>,
    queue: UnboundedReceiver<Next>,
    queued_bytes: Arc<AtomicUsize>,
}

impl Ahead {
    fn start(composer: Composer) -> std::io::Result<Ahead> {
        let (commands, inbox) = mpsc::channel();
        let thread = thread::Builder::new().name("compose".into()).spawn(move || work(composer, &inbox))?;
        let (_, queue) = unbounded_channel();
        Ok(Ahead { commands: Some(commands), thread: Some(thread), queue, queued_bytes: Arc::default() })
    }

    fn begin_phase(&mut self, index: usize) {
        let (sender, queue) = unbounded_channel();
        self.queue = queue;
        self.queued_bytes = Arc::default();
        self.tell(Command::Begin { index, queue: sender, queued_bytes: Arc::clone(&self.queued_bytes) });
    }

    async fn next(&mut self) -> Next {
        let Some(next) = self.queue.recv().await else {
            return Next::Failed("the composing thread has died".to_owned());
        };
        let size = size_bytes(&next);
        let before = self.queued_bytes.fetch_sub(size, Ordering::Relaxed);
        if before > AHEAD_LIMIT_BYTES / 2 && before - size <= AHEAD_LIMIT_BYTES / 2 {
            self.wake();
        }
        next
    }

    fn end_phase(&mut self, taken: u64) {
        self.tell(Command::End { taken });
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
        let Command::Begin { index, queue, queued_bytes } = command else { continue };
        composer.begin_phase(index);
        let Some(taken) = fill(&mut composer, inbox, &queue, &queued_bytes) else { return };
        composer.end_phase(taken);
    }
}

/// Composes into `queue` until the phase is ended; returns how many of its sessions were taken, or `None` when
/// the run is over.
fn fill(
    composer: &mut Composer,
    inbox: &mpsc::Receiver<Command>,
    queue: &UnboundedSender<Next>,
    queued_bytes: &AtomicUsize,
) -> Option<u64> {
    let mut exhausted = false;
    loop {
        let command = if exhausted { inbox.recv().ok() } else { received(inbox)? };
        match command {
            Some(Command::End { taken }) => return Some(taken),
            Some(Command::Begin { .. }) => {}
            None if exhausted => return None,
            None => {}
        }
        if queued_bytes.load(Ordering::Relaxed) > AHEAD_LIMIT_BYTES {
            thread::park();
            continue;
        }
        let next = composer.compose_next();
        exhausted = !matches!(next, Next::Session(_));
        queued_bytes.fetch_add(size_bytes(&next), Ordering::Relaxed);
        let _ = queue.send(next);
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
    use crate::plan::compose::Salt;
    use crate::plan::composer::{Form, Prompts};
    use crate::protocol::BodyOptions;
    use crate::scenario::{Overrides, parse};
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
        let form = Form { workload: "chat".into(), prompts: Prompts::Synthetic { words }, options };
        Composer::new(plan, scenario.target.api, vec![form], Salt(3), "run".into())
    }

    /// What a run sees that takes so many sessions of each phase.
    async fn taken(mut source: Source, counts: [u64; 3]) -> Vec<String> {
        let mut seen = Vec::new();
        for (index, count) in counts.into_iter().enumerate() {
            source.begin_phase(index);
            // A run always looks one session further than it takes.
            let mut next = source.next().await;
            let mut taken = 0;
            while let Next::Session(composed) = next
                && taken < count
            {
                let body = composed.outgoing.expect("a composed request").body;
                seen.push(format!("{:?} {:?} {body:?}", composed.start, composed.planned));
                taken += 1;
                next = source.next().await;
            }
            source.end_phase(taken);
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
    fn no_more_is_composed_ahead_than_fits_and_composing_goes_on_when_some_was_taken() {
        let full = |ahead: &Ahead| {
            while ahead.queued_bytes.load(Ordering::Relaxed) <= AHEAD_LIMIT_BYTES {
                thread::yield_now();
            }
        };
        Clock::run_real(|_| async move {
            let mut ahead = Ahead::start(composer(150_000)).unwrap();
            ahead.begin_phase(0);
            let mut largest = 0;
            for _ in 0..2 {
                full(&ahead);
                loop {
                    let queued = ahead.queued_bytes.load(Ordering::Relaxed);
                    let next = ahead.next().await;
                    largest = largest.max(size_bytes(&next));
                    assert!(queued <= AHEAD_LIMIT_BYTES + largest, "{queued} bytes");
                    if queued <= AHEAD_LIMIT_BYTES / 2 {
                        break;
                    }
                }
            }
            assert!(largest > 600_000);
            // A phase is left with its queue full, and the next begins all the same.
            full(&ahead);
            ahead.end_phase(1);
            ahead.begin_phase(2);
            let Next::Session(composed) = ahead.next().await else { panic!("no session") };
            assert_eq!(composed.planned.request, 1);
        })
        .unwrap();
    }
}
