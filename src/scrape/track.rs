//! Pages of one endpoint, one after another: counters from the first look on, restarts told from progress.
//!
//! A counter that has gone back began anew with its server; what it shows then is all gained since. This is kept by
//! series, since engines of one page restart one by one. A series that was not in the first page began at nothing.

use std::collections::BTreeMap;

use super::page::{Reading, read};
use crate::record::{ExtraSample, Scraped, ServerFigure, ServerFigures, ServerSample};
use crate::units::Nanos;

/// Most series of counters that are followed; a page with more has those of its beginning counted.
const MOST_SERIES: usize = 4_096;

/// Figures are kept as `server.csv` holds them, so that what is computed from them can be computed again.
const ROUNDING: f64 = 1e6;

/// What is known of one page over a run.
#[derive(Clone, Debug, Default)]
pub struct Track {
    extra: Vec<String>,
    /// Last value of each series.
    last: BTreeMap<(ServerFigure, String), f64>,
    gained: BTreeMap<ServerFigure, f64>,
    /// What came of all looks.
    pub tally: ScrapeTally,
}

/// What came of looking at one page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrapeTally {
    /// `vllm`, `sglang` or `llamacpp`; `None` where no page had a known name.
    pub server: Option<&'static str>,
    /// Looks that were made.
    pub looks: u64,
    /// Of those, looks that brought no page.
    pub failed: u64,
    /// Looks left out because the one before took too long.
    pub missed: u64,
    /// Times that a counter went back: the server began anew.
    pub resets: u64,
    /// Lines that could not be read.
    pub faults: u64,
    /// Series of counters beyond those that are followed.
    pub series_left_out: u64,
    /// Why the last failed look failed.
    pub last_error: Option<String>,
}

impl Track {
    /// Nothing seen yet; `extra` are further metrics wanted.
    pub fn new(extra: Vec<String>) -> Track {
        Track { extra, ..Track::default() }
    }

    /// Takes in a look; times count from `origin`.
    pub fn take(&mut self, scraped: Scraped, origin: Nanos) -> (ServerSample, Vec<ExtraSample>) {
        self.tally.looks += 1;
        self.tally.missed += scraped.missed;
        let mut sample = ServerSample {
            point: None,
            repeat: None,
            endpoint: scraped.endpoint,
            at: scraped.sent.micros_from(origin),
            took: scraped.received.micros_from(origin) - scraped.sent.micros_from(origin),
            error: None,
            figures: ServerFigures::default(),
        };
        let page = match scraped.page {
            Ok(page) => page,
            Err(error) => {
                self.tally.failed += 1;
                self.tally.last_error = Some(error.clone());
                return (ServerSample { error: Some(error), ..sample }, Vec::new());
            }
        };
        let reading = read(&String::from_utf8_lossy(&page), &self.extra);
        self.tally.faults += reading.faults;
        self.tally.server = self.tally.server.or(reading.server);
        sample.figures = self.figures(&reading);
        let extra = reading.extra.into_iter();
        let extra =
            extra.map(|(name, labels, value)| ExtraSample { of: sample.clone(), name, labels, value });
        let extra = extra.collect();
        (sample, extra)
    }

    fn figures(&mut self, reading: &Reading) -> ServerFigures {
        let mut figures = ServerFigures::default();
        let is_first = self.last.is_empty() && self.gained.is_empty();
        for (figure, series) in &reading.series {
            let sum = || series.iter().map(|(_, value)| value).sum::<f64>();
            let value = match figure {
                ServerFigure::KvUse => sum() / series.len() as f64,
                ServerFigure::BlockTokens => series.iter().map(|(_, value)| *value).fold(0.0, f64::max),
                figure if figure.is_counter() => self.counted(*figure, series, is_first),
                _ => sum(),
            };
            figures.set(*figure, Some((value * ROUNDING).round() / ROUNDING));
        }
        figures
    }

    fn counted(&mut self, figure: ServerFigure, series: &[(String, f64)], is_first: bool) -> f64 {
        let gained = self.gained.entry(figure).or_default();
        for (labels, value) in series {
            let key = (figure, labels.clone());
            if self.last.len() >= MOST_SERIES && !self.last.contains_key(&key) {
                self.tally.series_left_out += 1;
                continue;
            }
            *gained += match self.last.insert(key, *value) {
                Some(last) if *value >= last => value - last,
                Some(_) => {
                    self.tally.resets += 1;
                    *value
                }
                None if is_first => 0.0,
                None => *value,
            };
        }
        *gained
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(track: &mut Track, at_s: u64, page: &str) -> ServerFigures {
        let sent = Nanos(at_s * 1_000_000_000);
        let page = Ok(page.as_bytes().to_vec());
        let scraped = Scraped { endpoint: 0, sent, received: sent, page, missed: 0 };
        track.take(scraped, Nanos::ZERO).0.figures
    }

    #[test]
    fn counters_count_from_the_first_look_and_go_on_after_a_restart() {
        let mut track = Track::new(Vec::new());
        let mut tokens =
            |at_s, page: &str| look(&mut track, at_s, page).figure(ServerFigure::GenerationTokens);
        assert_eq!(tokens(0, "vllm:generation_tokens_total{engine=\"0\"} 1000\n"), Some(0.0));
        assert_eq!(tokens(1, "vllm:generation_tokens_total{engine=\"0\"} 1010\n"), Some(10.0));
        // The metric is missing for a while, then the server has begun anew.
        assert_eq!(tokens(2, "up 1\n"), None);
        assert_eq!(tokens(3, "vllm:generation_tokens_total{engine=\"0\"} 4\n"), Some(14.0));
        // A further engine begins at nothing; together they show more than before, and one has begun anew.
        let two =
            "vllm:generation_tokens_total{engine=\"0\"} 1\nvllm:generation_tokens_total{engine=\"1\"} 7\n";
        assert_eq!(tokens(4, two), Some(22.0));
        assert_eq!((track.tally.resets, track.tally.looks, track.tally.server), (2, 5, Some("vllm")));
    }

    #[test]
    fn a_counter_that_appears_later_began_at_nothing() {
        let mut track = Track::new(Vec::new());
        look(&mut track, 0, "vllm:generation_tokens_total 5\n");
        let figures = look(&mut track, 1, "vllm:generation_tokens_total 5\nvllm:num_preemptions_total 3\n");
        assert_eq!(figures.figure(ServerFigure::Preemptions), Some(3.0));
    }

    #[test]
    fn use_is_the_mean_of_engines_and_capacity_their_sum() {
        let page = "vllm:kv_cache_usage_perc{engine=\"0\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.4\n\
                    vllm:cache_config_info{engine=\"0\",block_size=\"16\",num_gpu_blocks=\"10\"} 1\n\
                    vllm:cache_config_info{engine=\"1\",block_size=\"16\",num_gpu_blocks=\"10\"} 1\n";
        let figures = look(&mut Track::new(Vec::new()), 0, page);
        let figure = |figure| figures.figure(figure).map(|value| (value * 1e6).round() / 1e6);
        assert_eq!(figure(ServerFigure::KvUse), Some(0.3));
        assert_eq!(figure(ServerFigure::KvCapacityTokens), Some(320.0));
        assert_eq!(figure(ServerFigure::BlockTokens), Some(16.0));
    }

    #[test]
    fn a_page_that_could_not_be_had_is_a_look_without_figures() {
        let mut track = Track::new(Vec::new());
        let (sent, received) = (Nanos(5_000_000), Nanos(7_500_000));
        let page = Err("connection refused".to_owned());
        let (sample, _) =
            track.take(Scraped { endpoint: 2, sent, received, page, missed: 3 }, Nanos(1_000_000));
        assert_eq!((sample.at.0, sample.took.0, sample.endpoint), (4_000, 2_500, 2));
        assert_eq!(sample.error.as_deref(), Some("connection refused"));
        assert_eq!(sample.figures, ServerFigures::default());
        let tally = ScrapeTally {
            looks: 1,
            failed: 1,
            missed: 3,
            last_error: Some("connection refused".to_owned()),
            ..ScrapeTally::default()
        };
        assert_eq!(track.tally, tally);
    }

    #[test]
    fn series_without_end_are_followed_up_to_a_bound() {
        let page = |from: usize| {
            let line = |at| format!("vllm:generation_tokens_total{{engine=\"{at}\"}} 1\n");
            (from..from + MOST_SERIES).map(line).collect::<String>()
        };
        let mut track = Track::new(Vec::new());
        look(&mut track, 0, &page(0));
        look(&mut track, 1, &page(MOST_SERIES));
        assert_eq!((track.last.len(), track.tally.series_left_out), (MOST_SERIES, MOST_SERIES as u64));
    }
}
