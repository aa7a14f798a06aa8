//! Token events that say nothing but text, read apart from the answer they belong to.
//!
//! Nearly all events of a stream are such. Whoever counts them where their bytes arrive spares the memory that an
//! answer is kept in, and for a stream that wakes to each event that memory is cold.

use super::answer::Generated;
use super::template::Shape;
use crate::wire::EVENT_LIMIT_BYTES;
use crate::wire::sse::split_whole_event;

/// Reads such events of one stream, whose [`super::Decoder`] lends it.
#[derive(Debug)]
pub struct Plain {
    pub(super) shape: Shape,
    /// The most that any of the events carried.
    pub(super) generated: Generated,
}

impl Plain {
    /// Reads the events that `bytes` begins with, as long as they are whole and plain: how many there are, and how
    /// many bytes of it are theirs.
    pub fn read(&mut self, bytes: &[u8]) -> (usize, usize) {
        let (mut events, mut rest) = (0, bytes);
        while let Some((event, after)) = split_whole_event(rest, EVENT_LIMIT_BYTES) {
            if event.is_failure() {
                break;
            }
            let Some((channel, _)) = self.shape.text(event.data, &mut None) else { break };
            self.generated = self.generated.max(channel.generated());
            events += 1;
            rest = after;
        }
        (events, bytes.len() - rest.len())
    }

    /// Whether an event carried text of the answer.
    pub fn has_answer(&self) -> bool {
        self.generated == Generated::Answer
    }
}
