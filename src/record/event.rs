//! What happens in a run, in order of happening.

use std::time::Duration;

use super::outcome::Outcome;
use super::planned::Planned;
use super::server::Scraped;
use super::timeline::{Stamp, Timeline};
use crate::blocks::KnownPrompt;
use crate::units::Nanos;

/// How the request stood in the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// When it was due; `None` for a request that never became due.
    pub scheduled: Option<Nanos>,
    /// Whether it counts.
    pub measured: bool,
    /// User of a closed loop.
    pub user: Option<u32>,
    /// Time it waited for a place in flight or for its user.
    pub held: Option<Duration>,
}

/// What became of a planned request that was or was not sent.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The plan's part.
    pub planned: Planned,
    /// The schedule's part.
    pub slot: Slot,
    /// The wire's part.
    pub fate: Fate,
}

/// Whether a planned request reached the wire.
#[derive(Clone, Debug)]
pub enum Fate {
    /// An exchange began.
    Sent(Box<Timeline>),
    /// None did: `dropped`, `not_sent`, `skipped`, or `client_error` with its reason.
    Unsent {
        /// Why.
        outcome: Outcome,
        /// Text for the row's `error`.
        error: Option<String>,
    },
}

/// Why a phase stopped offering load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// Its `duration`.
    Duration,
    /// Its `requests`.
    Requests,
    /// A data set under `when_exhausted = "stop"`.
    Data,
    /// A stop rule or a failure of ours.
    Stop,
    /// A signal.
    Signal,
}

impl EndedBy {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            EndedBy::Duration => "duration",
            EndedBy::Requests => "requests",
            EndedBy::Data => "data",
            EndedBy::Stop => "stop",
            EndedBy::Signal => "signal",
        }
    }
}

/// One thing that happened in a run, in order of happening.
#[derive(Clone, Debug)]
pub enum Event {
    /// The clock of the run starts: every column subtracts this instant.
    RunStarted {
        /// When.
        origin: Nanos,
    },
    /// A phase began to offer load.
    PhaseStarted {
        /// Index of the phase.
        phase: u32,
        /// When.
        at: Nanos,
    },
    /// An exchange began.
    Sent {
        /// Index of the phase.
        phase: u32,
        /// Index of the request.
        request: u64,
        /// What its prompt begins with, where that is known.
        known: Option<KnownPrompt>,
        /// When it was due.
        scheduled: Nanos,
        /// When it began.
        at: Nanos,
    },
    /// Token-bearing events of a long stream, handed over before its end so that none is held in bulk.
    Stamps {
        /// Index of the request.
        request: u64,
        /// The events.
        stamps: Vec<Stamp>,
    },
    /// A planned request is over.
    Ended(Box<Ended>),
    /// A phase stopped offering load. Its requests may still be running.
    PhaseEnded {
        /// Index of the phase.
        phase: u32,
        /// When.
        at: Nanos,
        /// Why.
        by: EndedBy,
    },
    /// The first request that counts of a phase whose warm-up is counted in requests is due.
    WindowStarted {
        /// Index of the phase.
        phase: u32,
        /// When.
        at: Nanos,
    },
    /// A phase's last request is over.
    PhaseDrained {
        /// Index of the phase.
        phase: u32,
        /// When.
        at: Nanos,
        /// Arrivals after a stop or signal, and slots that users never reached.
        not_planned: u64,
    },
    /// The sender's event loop served a wake-up of its own.
    SenderWoke {
        /// When it woke.
        at: Nanos,
        /// How late that was.
        delay: Duration,
        /// How long the sender has been at work since the wake-up before, where that can be had.
        busy: Option<Duration>,
        /// By how much the time of day was set meanwhile, where that can be had.
        step: Option<Duration>,
    },
    /// A page of the server's metrics was looked at.
    Scraped(Box<Scraped>),
    /// Nothing more will happen.
    RunEnded {
        /// When.
        at: Nanos,
    },
}

impl Event {
    /// Bytes held by the event, about.
    pub fn size_bytes(&self) -> usize {
        let held = match self {
            Event::Sent { known: Some(known), .. } => size_of_val(&*known.blocks),
            Event::Stamps { stamps, .. } => stamps.capacity() * size_of::<Stamp>(),
            Event::Scraped(scraped) => {
                size_of::<Scraped>() + scraped.page.as_ref().map_or_else(String::capacity, Vec::capacity)
            }
            Event::Ended(ended) => {
                let text = |text: &Option<String>| text.as_ref().map_or(0, String::capacity);
                size_of::<Ended>()
                    + match &ended.fate {
                        Fate::Sent(timeline) => {
                            size_of::<Timeline>()
                                + timeline.stamps.capacity() * size_of::<Stamp>()
                                + text(&timeline.error)
                                + text(&timeline.finish_reason)
                                + text(&timeline.answer)
                                + timeline.texts.as_ref().map_or(0, |texts| texts.size_bytes())
                                + text(&timeline.server_request_id)
                        }
                        Fate::Unsent { error, .. } => text(error),
                    }
            }
            _ => 0,
        };
        size_of::<Event>() + held
    }

    /// Lets go of what a model wrote: an answer stays unchecked, a response unkept. Whether there was one to keep.
    pub fn drop_texts(&mut self) -> bool {
        let Event::Ended(ended) = self else { return false };
        let Fate::Sent(timeline) = &mut ended.fate else { return false };
        timeline.answer = None;
        timeline.texts.take().is_some()
    }
}
