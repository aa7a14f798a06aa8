//! Recognising a token event without parsing it.
//!
//! The token events of a stream differ in their text and perhaps in a value or two that mean little: a time, a
//! number. Once one was parsed in full and found to say nothing but its text (and token counts), its bytes are kept
//! with holes in them. An event with the same bytes around other values parses the same way, if each value is what
//! may stand in its hole:
//!
//! - in the text's, anything that JSON gives no meaning inside a string: no quote, no backslash, no control
//!   character, no broken UTF-8. So the parser is in the string when the kept bytes go on, as it was when they
//!   were learnt;
//! - in that of a member that the API's reader never reads, any plain string, integer or list of integers: whatever
//!   the value, it is passed over;
//! - in that of the counter of output tokens, an integer, which is read;
//! - in that of a member that names the stream, nothing but what was learnt: such a hole is there so that streams which
//!   differ in their names alone can share the rest.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use memchr::memchr_iter;

use super::form::Form;
use super::json::is_plain;
use super::parts::Channel;
use crate::record::Usage;

/// Larger events are not worth keeping by the thousand.
const EVENT_LIMIT_BYTES: usize = 16 << 10;

/// After so many templates in a row that fitted no event, a stream is not worth another.
const FRUITLESS_LIMIT: u32 = 8;

/// Names of a stream that take more bytes in all are kept with what surrounds them.
const OWN_BYTES: usize = 63;

/// Streams of one server mostly have the same few.
const SHARED_LAYOUTS: usize = 4;

/// What surrounds the text in a stream's token events.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// `None` before an event was learnt, and while it is lent.
    shape: Option<Shape>,
    /// Token counts of the event that was seen last.
    pub(super) usage: Option<Usage>,
    /// Templates learnt since one fitted an event.
    fruitless: u32,
    known: Layouts,
}

/// What the token events of one stream look like.
#[derive(Debug)]
pub(super) struct Shape {
    layout: Rc<Layout>,
    own: Own,
}

/// What stands in those holes of a layout that are one stream's own, one piece after the other. It stands where its
/// shape does: at each event of each stream, memory of its own would be one more cold line.
#[derive(Debug)]
struct Own {
    length: u8,
    bytes: [u8; OWN_BYTES],
}

impl Own {
    fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Adds `piece`, if there is room.
    fn push(&mut self, piece: &[u8]) -> bool {
        let from = usize::from(self.length);
        let Some(room) = self.bytes.get_mut(from..from + piece.len()) else { return false };
        room.copy_from_slice(piece);
        self.length += piece.len() as u8;
        true
    }
}

/// The bytes that events have in common.
#[derive(Debug, Default, PartialEq, Eq)]
struct Layout {
    /// What is the same in every event, one piece after the other.
    kept: Vec<u8>,
    /// Where in `kept` the holes are, in order, and what they are for.
    holes: Vec<(usize, Hole)>,
}

/// What the streams of one server have learnt: equal layouts are kept once, so that streams by the thousand read the
/// same few lines of memory instead of each its own.
#[derive(Clone, Debug, Default)]
pub struct Layouts(Rc<RefCell<Vec<Rc<Layout>>>>);

impl Layouts {
    /// `layout`, or the equal one that is known already.
    fn shared(&self, layout: Layout) -> Rc<Layout> {
        let mut known = self.0.borrow_mut();
        if let Some(same) = known.iter().find(|known| ***known == layout) {
            return Rc::clone(same);
        }
        let layout = Rc::new(layout);
        // The eldest makes room.
        known.truncate(SHARED_LAYOUTS - 1);
        known.insert(0, Rc::clone(&layout));
        layout
    }
}

/// What stands between two kept pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hole {
    Text(Channel),
    Unread,
    Counter,
    /// What is the same throughout a stream and another in the next: so many of the template's own bytes.
    Own(usize),
}

impl Template {
    /// A template that shares its layouts with those of other streams.
    pub(super) fn sharing(known: Layouts) -> Template {
        Template { known, ..Template::default() }
    }

    /// Whether both read the same memory.
    #[cfg(test)]
    pub(super) fn shares_with(&self, other: &Template) -> bool {
        matches!((&self.shape, &other.shape), (Some(one), Some(two)) if Rc::ptr_eq(&one.layout, &two.layout))
    }

    /// Keeps what surrounds `text` in `event`, which says nothing else but `usage`. `text` must be borrowed from
    /// `event`.
    pub(super) fn learn(
        &mut self,
        form: &Form,
        event: &[u8],
        (channel, text): (Channel, &str),
        usage: Option<Usage>,
    ) {
        self.shape = None;
        self.usage = usage;
        let Some(start) = text.as_ptr().addr().checked_sub(event.as_ptr().addr()) else { return };
        let is_within = event.get(start..start + text.len()) == Some(text.as_bytes());
        let text = start..start + text.len();
        let is_quoted = start > 0 && event[start - 1] == b'"' && event.get(text.end) == Some(&b'"');
        if self.fruitless == FRUITLESS_LIMIT || event.len() > EVENT_LIMIT_BYTES || !is_within || !is_quoted {
            return;
        }
        self.fruitless += 1;
        // Without a backslash each quoted name is a whole string, and before a colon that of a member.
        let has_names = !event.contains(&b'\\');
        let is_counted = usage.is_some_and(|usage| usage.completion.is_some());
        let (mut layout, mut own) = (Layout::default(), Own { length: 0, bytes: [0; OWN_BYTES] });
        let (mut counters, mut from) = (0, 0);
        for quote in memchr_iter(b'"', event) {
            let rest = &event[quote + 1..];
            let is_name =
                |name: &&str| rest.starts_with(name.as_bytes()) && rest.get(name.len()) == Some(&b'"');
            let found = if quote + 1 == text.start {
                Some((text.clone(), Hole::Text(channel)))
            } else if !has_names {
                None
            } else if let Some(name) = form.counter.filter(|name| is_counted && is_name(name)) {
                counters += 1;
                value_of(event, quote, name).map(|place| (place, Hole::Counter))
            } else {
                let value = |names: &'static [&'static str]| {
                    names.iter().find(|name| is_name(name)).and_then(|name| value_of(event, quote, name))
                };
                let unread = value(form.volatile).map(|place| (place, Hole::Unread));
                unread.or_else(|| value(form.own).map(|place| (place.clone(), Hole::Own(place.len()))))
            };
            let Some((place, hole)) = found else { continue };
            if matches!(hole, Hole::Own(_)) && !own.push(&event[place.clone()]) {
                continue;
            }
            layout.kept.extend_from_slice(&event[from..place.start]);
            layout.holes.push((layout.kept.len(), hole));
            from = place.end;
        }
        layout.kept.extend_from_slice(&event[from..]);
        // With several counters, which of them is read cannot be told here.
        if counters <= 1 {
            self.shape = Some(Shape { layout: self.known.shared(layout), own });
        }
    }

    /// The text of `event`, if it differs from the learnt one in its holes alone. Its token counts are in `usage`
    /// then.
    pub(super) fn recognise<'e>(&mut self, event: &'e [u8]) -> Option<(Channel, &'e str)> {
        let found = self.shape.as_ref()?.text(event, &mut self.usage)?;
        self.fruitless = 0;
        Some(found)
    }

    /// Lends what it has learnt, where events state no token counts.
    pub(super) fn lend(&mut self) -> Option<Shape> {
        if self.usage.is_some() { None } else { self.shape.take() }
    }

    /// Takes back what it has lent.
    pub(super) fn take_back(&mut self, shape: Shape) {
        self.shape = Some(shape);
    }
}

impl Shape {
    /// The text of `event`, if it differs from the learnt one in its holes alone. Token counts that it states are
    /// written into `usage`.
    pub(super) fn text<'e>(&self, event: &'e [u8], usage: &mut Option<Usage>) -> Option<(Channel, &'e str)> {
        let Layout { kept, holes } = &*self.layout;
        let mut found = None;
        let mut rest = event;
        let mut own = self.own.as_slice();
        let mut from = 0;
        for (at, hole) in holes {
            rest = rest.strip_prefix(&kept[from..*at])?;
            from = *at;
            let (value, after) = rest.split_at(hole.length(rest)?);
            rest = after;
            match hole {
                Hole::Text(channel) => found = Some((*channel, str::from_utf8(value).ok()?)),
                Hole::Unread => {}
                Hole::Own(_) => own = own.strip_prefix(value)?,
                Hole::Counter => {
                    let count = str::from_utf8(value).ok()?.parse().ok()?;
                    usage.as_mut()?.completion = Some(count);
                }
            }
        }
        found.filter(|_| rest == &kept[from..])
    }
}

impl Hole {
    /// How many bytes at the front of `rest` may stand in it.
    fn length(self, rest: &[u8]) -> Option<usize> {
        match self {
            Hole::Text(_) => rest.iter().position(|byte| !is_plain(*byte)).filter(|length| *length > 0),
            Hole::Unread => simple_value(rest),
            Hole::Counter => Some(digits(rest)).filter(|length| *length > 0),
            Hole::Own(length) => Some(length).filter(|length| *length <= rest.len()),
        }
    }
}

/// Where the value of the member is whose name begins at `quote`, if it may become a hole.
fn value_of(event: &[u8], quote: usize, name: &str) -> Option<Range<usize>> {
    let value = event[quote + name.len() + 2..].strip_prefix(b":")?;
    let value = value.strip_prefix(b" ").unwrap_or(value);
    let start = event.len() - value.len();
    Some(start..start + simple_value(value)?)
}

/// Length of the plain string, integer or list of integers at the front of `rest`.
fn simple_value(rest: &[u8]) -> Option<usize> {
    match rest.first()? {
        b'"' => {
            let end = 1 + rest[1..].iter().position(|byte| !is_plain(*byte) || !byte.is_ascii())?;
            (rest[end] == b'"').then_some(end + 1)
        }
        b'[' if rest.get(1) == Some(&b']') => Some(2),
        b'[' => {
            let mut length = 1;
            loop {
                length += integer(&rest[length..])?;
                match rest.get(length)? {
                    b',' => length += 1,
                    b']' => return Some(length + 1),
                    _ => return None,
                }
            }
        }
        _ => integer(rest),
    }
}

/// Length of the integer at the front of `rest`.
fn integer(rest: &[u8]) -> Option<usize> {
    let sign = usize::from(rest.first() == Some(&b'-'));
    Some(sign + digits(&rest[sign..])).filter(|length| *length > sign)
}

/// How many digits at the front of `rest` make a number: a zero stands alone.
fn digits(rest: &[u8]) -> usize {
    if rest.first() == Some(&b'0') {
        return 1;
    }
    rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len())
}
