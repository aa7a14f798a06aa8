//! Recognising a token event without parsing it.
//!
//! The events of a stream differ, nearly always, in one string alone. Once one was parsed in full and found to
//! say nothing but that string, its bytes before and after the string are kept. An event with the same bytes
//! around other text parses the same way, with that text in place of the old, as long as the text holds
//! nothing that JSON gives a meaning inside a string: no quote, no backslash, no control character, no broken
//! UTF-8. Then the parser is in the string when the kept tail begins, as it was when the tail was learnt.

use super::parts::Channel;

/// Larger events are not worth keeping by the thousand.
const EVENT_LIMIT_BYTES: usize = 16 << 10;

/// What surrounds the text in a stream's token events.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// Head, then tail.
    around: Vec<u8>,
    head: usize,
    channel: Option<Channel>,
}

impl Template {
    /// Keeps what surrounds `text` in `event`, which said nothing else. `text` must be borrowed from `event`.
    pub(super) fn learn(&mut self, event: &[u8], channel: Channel, text: &str) {
        self.channel = None;
        let Some(head) = text.as_ptr().addr().checked_sub(event.as_ptr().addr()) else { return };
        let tail = head + text.len();
        if event.len() > EVENT_LIMIT_BYTES || event.get(head..tail) != Some(text.as_bytes()) {
            return;
        }
        self.around.clear();
        self.around.extend_from_slice(&event[..head]);
        self.around.extend_from_slice(&event[tail..]);
        self.head = head;
        self.channel = Some(channel);
    }

    /// The text of `event`, if it differs from the learnt one in its text alone.
    pub(super) fn match_text<'e>(&self, event: &'e [u8]) -> Option<(Channel, &'e str)> {
        let channel = self.channel?;
        let (head, tail) = self.around.split_at(self.head);
        let text = event.strip_prefix(head)?.strip_suffix(tail)?;
        if text.is_empty() || !text.iter().all(|byte| is_plain(*byte)) {
            return None;
        }
        Some((channel, str::from_utf8(text).ok()?))
    }
}

/// Whether JSON takes `byte` inside a string for itself.
fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}
