//! What an exchange over one connection comes to, kept while it goes on.

use std::rc::Rc;

use super::Client;
use super::stamp::Meter;
use super::tally::{Bearing, STAMPS_A_LOT, Tally};
use crate::protocol::{self, Decoder, ToolCall};
use crate::record::{Texts, Timeline};

/// The longest answer that is kept, for the next turn of its conversation or the results.
const ANSWER_LIMIT_BYTES: usize = 4 << 20;

/// Room for this many stamps is made at once, so that most answers need not be moved as they grow.
const STAMPS_AT_FIRST: usize = 128;

/// After so many tallies in a row that counted nothing, a stream is not worth another.
const FRUITLESS_LIMIT: u32 = 8;

/// An open account of one exchange. What the wire and the answer said by then reaches the timeline when the
/// account is let go, be it at the end or because the exchange was dropped half-way.
pub(super) struct Account<'a> {
    client: &'a Client,
    pub(super) timeline: &'a mut Timeline,
    pub(super) decoder: Decoder,
    pub(super) bearing: Bearing,
    meter: Rc<Meter>,
    /// Tallies since one counted something.
    fruitless: u32,
}

impl<'a> Account<'a> {
    /// Opens the account of an exchange that begins now on the connection of `meter`. The text of the answer is
    /// kept where `keeps_answer`.
    pub(super) fn open(
        client: &'a Client,
        timeline: &'a mut Timeline,
        meter: &Rc<Meter>,
        keeps_answer: bool,
    ) -> Account<'a> {
        meter.begin(client.clock.now());
        let keep_bytes = (keeps_answer || client.keeps_texts).then_some(ANSWER_LIMIT_BYTES);
        let decoder = Decoder::new(client.api, keep_bytes).sharing(&client.layouts);
        let meter = Rc::clone(meter);
        Account { client, timeline, decoder, bearing: Bearing::default(), meter, fruitless: 0 }
    }

    /// Lets token events be counted where they arrive until [`Account::gather`], if those that came were plain.
    pub(super) fn lend(&mut self) -> bool {
        if self.fruitless == FRUITLESS_LIMIT || self.timeline.first_token.is_none() {
            return false;
        }
        let Some(plain) = self.decoder.lend() else { return false };
        let mut stamps = std::mem::take(&mut self.timeline.stamps);
        stamps.reserve(STAMPS_AT_FIRST.saturating_sub(stamps.len()));
        let stamps_before = stamps.len();
        let tally = Tally { plain, stamps, stamps_before, bearing: self.bearing, rest: Vec::new() };
        self.meter.tally.replace(Some(tally));
        true
    }

    /// Takes in what was counted, and leaves what came after to whoever takes the body; whether there are stamps to
    /// hand over.
    pub(super) fn gather(&mut self) -> bool {
        let Some(tally) = self.meter.tally.take() else { return false };
        let Tally { plain, stamps, stamps_before, bearing, rest } = tally;
        let timeline = &mut *self.timeline;
        if let [first, ..] = stamps[stamps_before..] {
            if plain.has_answer() {
                timeline.first_answer.get_or_insert(first.at);
            }
            timeline.events += (stamps.len() - stamps_before) as u64;
            timeline.last_token = stamps.last().map(|stamp| stamp.at);
            timeline.last_output = timeline.last_token;
            self.fruitless = 0;
        } else if !rest.is_empty() {
            self.fruitless += 1;
        }
        timeline.stamps = stamps;
        self.bearing = bearing;
        self.decoder.take_back(plain);
        self.meter.uncounted.replace(rest);
        timeline.stamps.len() >= STAMPS_A_LOT
    }

    /// Whether a byte has come back.
    pub(super) fn has_bytes(&self) -> bool {
        self.meter.received.get() > 0
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        self.gather();
        let Account { client, timeline, decoder, bearing, meter, .. } = self;
        bearing.note(&mut timeline.reads);
        timeline.bytes_sent = meter.sent.get();
        timeline.bytes_received = meter.received.get();
        timeline.first_byte = meter.first_read.get();
        timeline.reads.clamped = meter.clamped.get();
        timeline.reads.delay_max = meter.delay_max.get();
        if !client.clock.is_virtual() {
            timeline.stamp = meter.source();
        }
        timeline.upload = meter.first_write.get().map(|first| meter.last_write.get().since(first));
        let answer = decoder.answer();
        timeline.usage = answer.usage();
        timeline.counted_tokens = answer.counted_tokens();
        timeline.finish_reason.clone_from(&answer.finish_reason);
        let whole = answer.texts.as_ref().filter(|texts| !texts.cut);
        timeline.answer = whole.map(|texts| texts.answer.clone());
        timeline.texts =
            answer.texts.as_ref().filter(|_| client.keeps_texts).map(|texts| written(client, texts));
        let texts = [&mut timeline.error, &mut timeline.finish_reason, &mut timeline.server_request_id];
        for text in texts.into_iter().flatten() {
            client.redact(text);
        }
    }
}

/// All that the model wrote, without what must not be shown.
fn written(client: &Client, texts: &protocol::Texts) -> Box<Texts> {
    let shown = |text: &str| {
        let mut text = text.to_owned();
        client.redact(&mut text);
        text
    };
    let call = |call: &ToolCall| (shown(&call.name), shown(&call.arguments));
    Box::new(Texts {
        answer: shown(&texts.answer),
        reasoning: shown(&texts.reasoning),
        tool_calls: texts.tool_calls.iter().map(call).collect(),
        cut: texts.cut,
    })
}
