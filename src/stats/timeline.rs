//! The course of a run, second by second: what `timeline.csv` holds.
//!
//! Percentiles of a second are nearest rank over whatever fell into it, few values or many: they draw a curve
//! and claim nothing.

use std::collections::BTreeMap;

use super::histogram::Histogram;
use super::percentile::Percentile;
use super::tally::{RowEvents, answer_end, counts_as_output};
use crate::record::{Outcome, RequestRecord};
use crate::units::Micros;

/// Rows of one point and repeat by the seconds in which they did something.
#[derive(Clone, Debug, Default)]
pub struct PerSecond {
    point: Option<u32>,
    repeat: Option<u32>,
    /// Start and name of each phase, in order of starting.
    phases: Vec<(Micros, String)>,
    /// By whole second from run start.
    seconds: BTreeMap<u64, Second>,
}

/// One line of `timeline.csv`: the second from `t_s` to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineRow {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// Begin of the second, from run start.
    pub t_s: u64,
    /// The phase that ran when it began, or began in it.
    pub phase: Option<String>,
    /// Requests due.
    pub offered: u64,
    /// Requests sent.
    pub sent: u64,
    /// Answers that ended `ok`.
    pub completed: u64,
    /// Exchanges that ended otherwise, but for those cut or cancelled.
    pub failed: u64,
    /// Requests dropped.
    pub dropped: u64,
    /// Exchanges open when it was over.
    pub in_flight: u64,
    /// Tokens of prompts whose first token fell into it; `None` where one is not known.
    pub prompt_tokens: Option<u64>,
    /// Output tokens of `ok` and `cut_at_end` requests that arrived; `None` where one answer's are not known.
    pub output_tokens: Option<f64>,
    /// Median TTFT of requests whose first token fell into it.
    pub ttft_p50: Option<Micros>,
    /// Their p99.
    pub ttft_p99: Option<Micros>,
    /// p99 of gaps that ended in it.
    pub gap_p99: Option<Micros>,
    /// p99 of the lag of requests sent in it.
    pub lag_p99: Option<Micros>,
    /// CPU seconds that the client took.
    pub client_cpu: Option<f64>,
}

#[derive(Clone, Debug, Default)]
struct Second {
    offered: u64,
    sent: u64,
    completed: u64,
    failed: u64,
    dropped: u64,
    /// Exchanges that ended, whatever became of them.
    closed: u64,
    prompt_tokens: u64,
    prompt_unknown: bool,
    output_tokens: f64,
    output_unknown: bool,
    ttfts: Vec<Micros>,
    lags: Vec<Micros>,
    gaps: Histogram,
    client_cpu: Option<f64>,
}

impl PerSecond {
    /// Nothing has happened yet.
    pub fn new(point: Option<u32>, repeat: Option<u32>) -> PerSecond {
        PerSecond { point, repeat, ..PerSecond::default() }
    }

    /// Says that a phase began; phases begin in order.
    pub fn start_phase(&mut self, name: &str, at: Micros) {
        self.phases.push((at, name.to_owned()));
    }

    /// Says how many CPU seconds the client took in the second that begins at `t_s`.
    pub fn set_client_cpu(&mut self, t_s: u64, cpu_s: f64) {
        self.seconds.entry(t_s).or_default().client_cpu = Some(cpu_s);
    }

    /// Takes in a closed row with its token-bearing events, measured or not.
    pub fn add(&mut self, record: &RequestRecord, events: RowEvents<'_>) {
        if let Some(scheduled) = record.scheduled {
            let second = self.second(scheduled);
            second.offered += 1;
            second.dropped += u64::from(record.outcome == Outcome::Dropped);
        }
        if let Some(sent) = record.sent {
            let second = self.second(sent);
            second.sent += 1;
            second.lags.extend(record.lag());
            self.second(record.ended.unwrap_or(sent).max(sent)).closed += 1;
        }
        self.add_end(record);
        if let Some(first_token) = record.first_token {
            let second = self.second(first_token);
            second.ttfts.extend(record.ttft());
            if counts_as_output(record.outcome) {
                second.prompt_tokens += record.prompt_tokens.unwrap_or(0);
                second.prompt_unknown |= record.prompt_tokens.is_none();
            }
        }
        self.add_events(record, events);
    }

    fn add_end(&mut self, record: &RequestRecord) {
        let is_failed = record.outcome.was_sent()
            && !matches!(record.outcome, Outcome::Ok | Outcome::CutAtEnd | Outcome::Cancelled);
        if record.outcome == Outcome::Ok
            && let Some(end) = answer_end(record)
        {
            self.second(end).completed += 1;
        } else if is_failed && let Some(at) = record.ended.or(record.scheduled) {
            self.second(at).failed += 1;
        }
    }

    fn add_events(&mut self, record: &RequestRecord, events: RowEvents<'_>) {
        let output_counts = counts_as_output(record.outcome);
        let even_share = record.output_tokens.map(|tokens| tokens as f64 / events.stamps.len() as f64);
        if events.stamps.is_empty()
            && output_counts
            && let Some(at) = record.last_output
        {
            // One document, whose tokens came with its end; or events too many to be kept.
            let second = self.second(at);
            second.output_tokens += record.output_tokens.unwrap_or(0) as f64;
            second.output_unknown |= record.output_tokens.is_none() || record.events.is_some_and(|n| n > 0);
        }
        let mut before = None;
        let mut place = 0;
        // Events ascend, so that each second is looked up once for all of its events.
        for run in events.stamps.chunk_by(|a, b| second_of(*a) == second_of(*b)) {
            let second = self.second(run[0]);
            for at in run {
                if let Some(before) = before.replace(*at) {
                    second.gaps.add(*at - before);
                }
            }
            if output_counts {
                let stated = events.tokens.and_then(|tokens| tokens.get(place..place + run.len()));
                let stated = stated.map(|tokens| tokens.iter().map(|tokens| f64::from(*tokens)).sum());
                let tokens: Option<f64> = stated.or(even_share.map(|share| share * run.len() as f64));
                second.output_tokens += tokens.unwrap_or(0.0);
                second.output_unknown |= tokens.is_none();
            }
            place += run.len();
        }
    }

    /// One row for every second from the first in which something happened to the last.
    pub fn rows(&self) -> Vec<TimelineRow> {
        let (Some((first, _)), Some((last, _))) =
            (self.seconds.first_key_value(), self.seconds.last_key_value())
        else {
            return Vec::new();
        };
        let quiet = Second::default();
        let mut in_flight = 0;
        (*first..=*last)
            .map(|t_s| {
                let second = self.seconds.get(&t_s).unwrap_or(&quiet);
                in_flight = in_flight + second.sent - second.closed;
                self.row(t_s, second, in_flight)
            })
            .collect()
    }

    fn row(&self, t_s: u64, second: &Second, in_flight: u64) -> TimelineRow {
        let mut ttfts = second.ttfts.clone();
        ttfts.sort_unstable();
        let mut lags = second.lags.clone();
        lags.sort_unstable();
        TimelineRow {
            point: self.point,
            repeat: self.repeat,
            t_s,
            phase: self.phase_at(t_s).map(str::to_owned),
            offered: second.offered,
            sent: second.sent,
            completed: second.completed,
            failed: second.failed,
            dropped: second.dropped,
            in_flight,
            prompt_tokens: (!second.prompt_unknown).then_some(second.prompt_tokens),
            output_tokens: (!second.output_unknown).then_some(second.output_tokens),
            ttft_p50: Percentile::P50.nearest_rank(&ttfts),
            ttft_p99: Percentile::P99.nearest_rank(&ttfts),
            gap_p99: second.gaps.nearest_rank(Percentile::P99),
            lag_p99: Percentile::P99.nearest_rank(&lags),
            client_cpu: second.client_cpu,
        }
    }

    fn phase_at(&self, t_s: u64) -> Option<&str> {
        let begin = Micros(t_s * 1_000_000);
        let running = self.phases.iter().rev().find(|(start, _)| *start <= begin);
        let begins_here = || self.phases.iter().find(|(start, _)| second_of(*start) == t_s);
        running.or_else(begins_here).map(|(_, name)| name.as_str())
    }

    fn second(&mut self, at: Micros) -> &mut Second {
        self.seconds.entry(second_of(at)).or_default()
    }
}

fn second_of(at: Micros) -> u64 {
    at.0 / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::super::test_rows::{failed, ms, ok, row};
    use super::*;

    fn seconds(rows: &[(RequestRecord, &[Micros])]) -> Vec<TimelineRow> {
        let mut fold = PerSecond::new(None, None);
        fold.start_phase("steady", ms(0));
        for (row, stamps) in rows {
            fold.add(row, RowEvents { stamps, tokens: None });
        }
        fold.rows()
    }

    #[test]
    fn each_second_counts_what_happened_in_it() {
        let answer = ok(200, 700, 2_300, 4);
        let stamps = [ms(700), ms(1_000), ms(1_999), ms(2_300)];
        let rows = seconds(&[
            (answer, &stamps),
            (failed(900, Outcome::HttpError, 1_100), &[]),
            (row(1_500, Outcome::Dropped), &[]),
        ]);
        let counts: Vec<_> = rows
            .iter()
            .map(|s| {
                (s.t_s, s.offered, s.sent, s.completed, s.failed, s.dropped, s.in_flight, s.output_tokens)
            })
            .collect();
        assert_eq!(
            counts,
            [
                (0, 2, 2, 0, 0, 0, 2, Some(1.0)),
                (1, 1, 0, 0, 1, 1, 1, Some(2.0)),
                (2, 0, 0, 1, 0, 0, 0, Some(1.0)),
            ]
        );
        assert_eq!(rows[0].ttft_p50, Some(ms(500)));
        assert_eq!(rows[0].gap_p99, None);
        assert_eq!(rows[1].gap_p99.map(|gap| gap.0 / 10_000), Some(99));
        assert_eq!((rows[0].lag_p99, rows[1].lag_p99), (Some(ms(0)), None));
    }

    #[test]
    fn quiet_seconds_have_rows_too_and_keep_what_is_in_flight() {
        let rows = seconds(&[(ok(100, 3_500, 3_600, 1), &[ms(3_500)])]);
        assert_eq!(rows.iter().map(|s| s.in_flight).collect::<Vec<_>>(), [1, 1, 1, 0]);
        assert_eq!(rows[1].output_tokens, Some(0.0), "nothing arrived is not unknown");
    }

    #[test]
    fn tokens_follow_the_counts_in_events_where_stated_and_are_empty_where_unknown() {
        let mut fold = PerSecond::new(None, None);
        let stamps = [ms(500), ms(1_500)];
        fold.add(&ok(0, 500, 1_500, 10), RowEvents { stamps: &stamps, tokens: Some(&[1, 9]) });
        assert_eq!(fold.rows().iter().map(|s| s.output_tokens).collect::<Vec<_>>(), [Some(1.0), Some(9.0)]);
        let mut unknown = ok(0, 1_500, 1_500, 1);
        unknown.output_tokens = None;
        fold.add(&unknown, RowEvents { stamps: &[ms(1_500)], tokens: None });
        assert_eq!(fold.rows().iter().map(|s| s.output_tokens).collect::<Vec<_>>(), [Some(1.0), None]);
    }

    #[test]
    fn tokens_of_a_whole_document_come_with_its_end_and_those_of_lost_events_are_unknown() {
        let document = RequestRecord { first_token: None, events: Some(0), ..ok(0, 500, 1_500, 10) };
        let lost = RequestRecord { events: Some(9), ..ok(0, 500, 2_500, 9) };
        let rows = seconds(&[(document, &[]), (lost, &[])]);
        let tokens: Vec<_> = rows.iter().map(|s| s.output_tokens).collect();
        assert_eq!(tokens, [Some(0.0), Some(10.0), None]);
    }

    #[test]
    fn a_prompt_counts_in_the_second_of_its_first_token() {
        let mut request = ok(100, 1_200, 1_300, 2);
        request.prompt_tokens = Some(800);
        let rows = seconds(&[(request, &[])]);
        assert_eq!(rows.iter().map(|s| s.prompt_tokens).collect::<Vec<_>>(), [Some(0), Some(800)]);
    }

    #[test]
    fn a_second_belongs_to_the_phase_that_runs_at_its_begin() {
        let mut fold = PerSecond::new(None, None);
        fold.start_phase("warm", ms(100));
        fold.start_phase("steady", ms(1_400));
        fold.add(&ok(200, 2_500, 2_600, 1), RowEvents::default());
        fold.set_client_cpu(1, 0.25);
        let phases: Vec<_> = fold.rows().into_iter().map(|s| s.phase.unwrap_or_default()).collect();
        assert_eq!(phases, ["warm", "warm", "steady"]);
        assert_eq!(fold.rows()[1].client_cpu, Some(0.25));
        assert!(PerSecond::new(None, None).rows().is_empty());
    }
}
