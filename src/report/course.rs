//! What charts are drawn from: requests by due time, thinned to what can be seen.

use super::chart::{Axis, Chart, Scale, Series, Shape, share_tick, tick, time_tick};
use crate::record::{Outcome, RequestRecord};
use crate::stats::TimelineRow;
use crate::units::Micros;

/// Dots in one chart at most: more only make it darker.
const MOST_DOTS: usize = 2_000;
/// Corners of one line at most: about the dots of a screen.
const MOST_CORNERS: usize = 500;
/// Seconds in one bin of a line at most show as bins of several.
const MOST_BINS: usize = 380;

/// What charts need of a request.
#[derive(Clone, Copy, Debug)]
pub struct Dot {
    at: Micros,
    ttft: Option<Micros>,
    ttft_due: Option<Micros>,
    e2e: Option<Micros>,
    e2e_due: Option<Micros>,
    phase: u32,
    measured: bool,
    failed: bool,
}

impl Dot {
    /// A request that was due; `None` for one that never was.
    pub fn of(record: &RequestRecord) -> Option<Dot> {
        let ok = record.outcome == Outcome::Ok;
        Some(Dot {
            at: record.scheduled?,
            ttft: record.ttft().filter(|_| ok),
            ttft_due: record.ttft_scheduled().filter(|_| ok),
            e2e: record.e2e(),
            e2e_due: record.e2e_scheduled(),
            phase: record.planned.phase,
            measured: record.measured,
            failed: !ok && !record.outcome.is_undecided(),
        })
    }
}

/// One point and repeat as it went.
pub struct Course<'a> {
    /// Point of a sweep, from 1.
    pub point: Option<u32>,
    /// Repeat of a point, from 1.
    pub repeat: Option<u32>,
    /// By the second.
    pub seconds: &'a [TimelineRow],
    /// Its requests.
    pub dots: &'a [Dot],
    /// Names of its phases, and where the windows of those that count begin and end, in s.
    pub phases: Vec<(&'a str, Option<(f64, f64)>)>,
}

impl Course<'_> {
    /// Its charts, with a title each.
    pub(super) fn charts(&self) -> Vec<(&'static str, Chart)> {
        let second = |name: &str, colour, value: fn(&TimelineRow) -> Option<f64>| Series {
            name: name.to_owned(),
            shape: Shape::Line,
            colour,
            points: self.by_second(value),
        };
        let rates = vec![
            second("offered", 0, |row| Some(row.offered as f64)),
            second("sent", 1, |row| Some(row.sent as f64)),
            second("completed", 2, |row| Some(row.completed as f64)),
            second("failed or dropped", 3, |row| Some((row.failed + row.dropped) as f64)),
        ];
        let output = vec![second("output", 0, |row| row.output_tokens)];
        let prompt = vec![second("prompt", 4, |row| row.prompt_tokens.map(|tokens| tokens as f64))];
        let in_flight = vec![second("in flight", 0, |row| Some(row.in_flight as f64))];
        vec![
            ("Requests", self.over_time("requests/s", Scale::Linear, tick, rates)),
            ("In flight", self.over_time("requests", Scale::Linear, tick, in_flight)),
            (
                "Time to first token",
                self.over_time("TTFT", Scale::Log, time_tick, self.dots_of(|dot| dot.ttft)),
            ),
            ("End to end", self.over_time("E2E", Scale::Log, time_tick, self.dots_of(|dot| dot.e2e))),
            (
                "Time to first token, distribution",
                self.distribution("TTFT", |dot| dot.ttft, |dot| dot.ttft_due),
            ),
            ("End to end, distribution", self.distribution("E2E", |dot| dot.e2e, |dot| dot.e2e_due)),
            ("Output tokens", self.over_time("tokens/s", Scale::Linear, tick, output)),
            ("Prompt tokens, at the first token", self.over_time("tokens/s", Scale::Linear, tick, prompt)),
        ]
    }

    fn over_time(
        &self,
        label: &'static str,
        scale: Scale,
        write: fn(f64) -> String,
        series: Vec<Series>,
    ) -> Chart {
        let bands = self
            .phases
            .iter()
            .filter_map(|(name, window)| window.map(|(from, to)| (from, to, (*name).to_owned())));
        Chart {
            x: Axis { label: "s from run start", scale: Scale::Linear, write: tick },
            y: Axis { label, scale, write },
            series,
            bands: bands.collect(),
        }
    }

    /// Means of seconds, joined to bins where they are many.
    fn by_second(&self, value: fn(&TimelineRow) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
        let bin = self.seconds.len().div_ceil(MOST_BINS).max(1);
        let mean = |rows: &[TimelineRow]| {
            let known: Vec<f64> = rows.iter().filter_map(value).collect();
            let mean = known.iter().sum::<f64>() / known.len() as f64;
            (rows[0].t_s as f64 + rows.len() as f64 / 2.0, (!known.is_empty()).then_some(mean))
        };
        self.seconds.chunks(bin).map(mean).collect()
    }

    /// A latency of each request at its due time, and those that failed along the lower edge.
    fn dots_of(&self, latency: fn(&Dot) -> Option<Micros>) -> Vec<Series> {
        let known = |dot: &Dot| latency(dot).map(|latency| (dot.at.as_s(), Some(latency.as_ms())));
        let answered: Vec<_> = self.dots.iter().filter_map(known).collect();
        let lowest =
            answered.iter().filter_map(|(_, ms)| *ms).filter(|ms| *ms > 0.0).fold(f64::INFINITY, f64::min);
        let failed = self.dots.iter().filter(|dot| dot.failed).map(|dot| (dot.at.as_s(), Some(lowest)));
        let failed: Vec<_> = failed.filter(|_| lowest.is_finite()).collect();
        let dots = |name: &str, colour, points| Series {
            name: name.to_owned(),
            shape: Shape::Dots,
            colour,
            points: thinned(points),
        };
        let mut series = vec![dots("ok", 0, answered)];
        if !failed.is_empty() {
            series.push(dots("failed or dropped (at the lower edge)", 3, failed));
        }
        series
    }

    /// Of each phase that counts, the share of measured `ok` requests within so many ms, from the send and from the due
    /// time.
    fn distribution(
        &self,
        label: &'static str,
        sent: fn(&Dot) -> Option<Micros>,
        due: fn(&Dot) -> Option<Micros>,
    ) -> Chart {
        let counting = (0..).zip(&self.phases).filter(|(_, (_, window))| window.is_some());
        let mut series = Vec::new();
        for (place, (phase, (name, _))) in counting.enumerate() {
            let sorted = |latency: fn(&Dot) -> Option<Micros>| {
                let of_phase = self.dots.iter().filter(|dot| dot.measured && dot.phase == phase);
                let mut values: Vec<Micros> = of_phase.filter_map(latency).collect();
                values.sort_unstable();
                values
            };
            let (sent, due) = (sorted(sent), sorted(due));
            let lines = if sent == due {
                vec![("from send and due time", sent)]
            } else {
                vec![("from due time", due), ("from send", sent)]
            };
            for (shade, (what, values)) in lines.into_iter().enumerate() {
                series.push(Series {
                    name: format!("{name}, {what}"),
                    shape: Shape::Line,
                    colour: (2 * place + shade) % 7,
                    points: shares(&values),
                });
            }
        }
        Chart {
            x: Axis { label, scale: Scale::Log, write: time_tick },
            y: Axis { label: "share within", scale: Scale::Share, write: share_tick },
            series,
            bands: Vec::new(),
        }
    }
}

/// Points of the distribution of ascending values.
fn shares(sorted: &[Micros]) -> Vec<(f64, Option<f64>)> {
    let count = sorted.len();
    let every = count.div_ceil(MOST_CORNERS).max(1);
    let point = |rank: usize| (sorted[rank - 1].as_ms(), Some(rank as f64 / count as f64));
    let mut points: Vec<_> = (1..=count).step_by(every).map(point).collect();
    if count > 1 {
        points.push(point(count));
    }
    points
}

/// Every so-manieth, and the highest.
fn thinned(points: Vec<(f64, Option<f64>)>) -> Vec<(f64, Option<f64>)> {
    let every = points.len().div_ceil(MOST_DOTS);
    if every <= 1 {
        return points;
    }
    let highest = points.iter().copied().max_by(|a, b| a.1.unwrap_or(0.0).total_cmp(&b.1.unwrap_or(0.0)));
    points.into_iter().step_by(every).chain(highest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_dots_are_thinned_and_the_highest_is_kept() {
        let points: Vec<_> =
            (0..10_001).map(|i| (f64::from(i), Some(f64::from(i * 7_919 % 10_001)))).collect();
        let kept = thinned(points);
        assert!(kept.len() <= MOST_DOTS + 1);
        assert!(kept.iter().any(|(_, y)| *y == Some(10_000.0)));
    }

    #[test]
    fn a_distribution_ends_at_all() {
        let values: Vec<Micros> = (1..=1_234).map(Micros).collect();
        let points = shares(&values);
        assert!(points.len() <= MOST_CORNERS + 1);
        assert_eq!(points.last(), Some(&(1.234, Some(1.0))));
        assert_eq!(shares(&[]), []);
    }
}
