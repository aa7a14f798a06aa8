//! Another attempt after a refusal, where the scenario asks for it.

use std::time::Duration;

use hyper::header::{self, HeaderMap};

use crate::record::{Outcome, Reads, Timeline};

/// A server that asks for more than this is not asked again.
const LONGEST: Duration = Duration::from_secs(60);
/// The first pause where the server does not say how long; each further one is twice the last.
const FIRST: Duration = Duration::from_millis(500);
/// The longest of those.
const LAST: Duration = Duration::from_secs(8);

/// When the server wants to be asked again, if it says so in seconds. A date is not understood: the server's
/// clock is not ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryAfter(Option<Duration>);

impl RetryAfter {
    /// What the `headers` of a response say.
    pub(super) fn of(headers: &HeaderMap) -> RetryAfter {
        let text = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        RetryAfter(text.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs))
    }

    /// How long to wait after so many attempts; `None` to give up.
    pub(super) fn pause(self, attempts: u32) -> Option<Duration> {
        match self.0 {
            Some(asked) => (asked <= LONGEST).then_some(asked),
            None => Some(FIRST.saturating_mul(1 << attempts.saturating_sub(1).min(4)).min(LAST)),
        }
    }
}

/// Makes room in `timeline` for the account of another attempt; when it began is still the first one's.
pub(super) fn again(timeline: &mut Timeline) {
    timeline.attempts += 1;
    timeline.outcome = Outcome::Truncated;
    timeline.http_status = None;
    timeline.error = None;
    timeline.server_request_id = None;
    timeline.first_byte = None;
    timeline.connect = None;
    timeline.upload = None;
    timeline.new_connection = None;
    timeline.reads = Reads::default();
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn after(value: &'static str) -> RetryAfter {
        RetryAfter::of(&HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static(value))]))
    }

    #[test]
    fn the_server_says_how_long_up_to_a_minute() {
        assert_eq!(after("0").pause(1), Some(Duration::ZERO));
        assert_eq!(after(" 60 ").pause(9), Some(Duration::from_secs(60)));
        assert_eq!(after("61").pause(1), None);
    }

    #[test]
    fn where_it_does_not_the_pauses_double_up_to_eight_seconds() {
        for silent in [RetryAfter(None), after("Fri, 31 Dec 1999 23:59:59 GMT"), after("-1")] {
            let pauses: Vec<_> =
                (1..=7).map(|attempts| silent.pause(attempts).unwrap().as_millis()).collect();
            assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
        }
    }
}
