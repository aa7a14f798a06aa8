//! The order in which rows are taken.

use std::sync::Arc;
use std::time::Duration;

use super::{FurtherAnswers, Lengths};
use crate::seed::{Seed, Stream};

/// What follows when every row has been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenExhausted {
    /// The phase stops offering load.
    Stop,
    /// The rows are taken again, shuffled anew where they are shuffled.
    Repeat,
    /// The run is refused or stopped.
    Error,
}

impl WhenExhausted {
    /// Every choice.
    pub const ALL: [WhenExhausted; 3] = [WhenExhausted::Stop, WhenExhausted::Repeat, WhenExhausted::Error];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            WhenExhausted::Stop => "stop",
            WhenExhausted::Repeat => "repeat",
            WhenExhausted::Error => "error",
        }
    }
}

/// Row indices in the order of taking: each row once a pass. Ends after the first pass unless rows repeat; whether
/// that end is an error is for the caller, who knows [`WhenExhausted`].
#[derive(Clone)]
pub struct RowOrder {
    rows: u32,
    taken: u32,
    repeats: bool,
    shuffle: Option<Shuffle>,
    /// How many turns each row has, where rows are conversations.
    turns: Option<Arc<[u32]>>,
    /// Of each row, where rows state them.
    lengths: Option<Arc<[Lengths]>>,
    further_answers: Option<Arc<FurtherAnswers>>,
    /// Of each row of a trace, ascending.
    times: Option<Arc<[Duration]>>,
}

#[derive(Clone)]
struct Shuffle {
    order: Vec<u32>,
    stream: Stream,
}

impl RowOrder {
    /// The order of `rows` rows. `workload` is the name of the workload whose stream shuffles them.
    pub fn new(
        rows: u32,
        shuffle: bool,
        when_exhausted: WhenExhausted,
        seed: Seed,
        workload: &str,
    ) -> RowOrder {
        let shuffle =
            shuffle.then(|| Shuffle { order: (0..rows).collect(), stream: seed.stream("rows", workload) });
        let mut order = RowOrder {
            rows,
            taken: 0,
            repeats: when_exhausted == WhenExhausted::Repeat,
            shuffle,
            turns: None,
            lengths: None,
            further_answers: None,
            times: None,
        };
        order.begin_pass();
        order
    }

    /// The same order of rows that are conversations of so many turns.
    #[must_use]
    pub fn of_conversations(self, turns: Arc<[u32]>) -> RowOrder {
        RowOrder { turns: Some(turns), ..self }
    }

    /// The same order of rows that state their lengths.
    #[must_use]
    pub(super) fn with_lengths(self, lengths: Arc<[Lengths]>, further: Arc<FurtherAnswers>) -> RowOrder {
        RowOrder { lengths: Some(lengths), further_answers: Some(further), ..self }
    }

    /// The same order of rows that were recorded at these times.
    #[must_use]
    pub fn with_times(self, times: Arc<[Duration]>) -> RowOrder {
        RowOrder { times: Some(times), ..self }
    }

    /// How long the answer to turn `turn` of a row is, in tokens, where the row says so.
    pub fn output_tokens(&self, row: u32, turn: u32) -> Option<u32> {
        let answers = self.further_answers.as_ref().and_then(|further| further.get(&row));
        match (turn.checked_sub(1), answers) {
            (Some(further), Some(answers)) => answers.get(further as usize).copied(),
            _ => self.lengths(row)?.output,
        }
    }

    /// What a row says of lengths.
    pub fn lengths(&self, row: u32) -> Option<Lengths> {
        self.lengths.as_ref()?.get(row as usize).copied()
    }

    /// Goes on with the first row recorded at `at` or later.
    pub fn seek(&mut self, at: Duration) {
        if let Some(times) = &self.times {
            self.taken = times.partition_point(|time| *time < at) as u32;
        }
    }

    /// Turns of a row; `None` where rows are no conversations.
    pub fn turns(&self, row: u32) -> Option<u32> {
        self.turns.as_ref()?.get(row as usize).copied()
    }

    /// Number of rows in a pass.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Fisher and Yates, from the last place down: every order equally likely.
    fn begin_pass(&mut self) {
        self.taken = 0;
        let Some(Shuffle { order, stream }) = &mut self.shuffle else { return };
        for last in (1..order.len()).rev() {
            let chosen = stream.below(last as u64 + 1) as usize;
            order.swap(last, chosen);
        }
    }
}

impl Iterator for RowOrder {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.taken == self.rows {
            if !self.repeats || self.rows == 0 {
                return None;
            }
            self.begin_pass();
        }
        let place = self.taken;
        self.taken += 1;
        Some(self.shuffle.as_ref().map_or(place, |shuffle| shuffle.order[place as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(rows: u32, shuffle: bool, when: WhenExhausted, seed: u64) -> Vec<u32> {
        RowOrder::new(rows, shuffle, when, Seed(seed), "w").take(1_000).collect()
    }

    #[test]
    fn a_shuffled_order_of_a_seed_is_pinned() {
        insta::assert_compact_debug_snapshot!(taken(10, true, WhenExhausted::Stop, 7), @"[0, 1, 9, 7, 3, 6, 2, 4, 8, 5]");
    }

    #[test]
    fn a_shuffle_follows_the_seed_and_the_workload() {
        let first = taken(100, true, WhenExhausted::Stop, 1);
        assert_eq!(first, taken(100, true, WhenExhausted::Stop, 1));
        assert_ne!(first, taken(100, true, WhenExhausted::Stop, 2));
        let other = RowOrder::new(100, true, WhenExhausted::Stop, Seed(1), "other").collect::<Vec<_>>();
        assert_ne!(first, other);
    }

    #[test]
    fn five_rows_asked_for_twenty_times_are_taken_four_times_each() {
        let order = RowOrder::new(5, false, WhenExhausted::Repeat, Seed(1), "w");
        assert_eq!(order.take(20).collect::<Vec<_>>(), [0, 1, 2, 3, 4].repeat(4));
        assert_eq!(taken(5, false, WhenExhausted::Stop, 1), [0, 1, 2, 3, 4]);
        assert_eq!(taken(5, false, WhenExhausted::Error, 1), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn repeated_passes_are_shuffled_anew() {
        let order = taken(50, true, WhenExhausted::Repeat, 3);
        assert_ne!(order[..50], order[50..100]);
    }

    #[test]
    fn no_rows_give_no_order_even_repeated() {
        assert!(taken(0, true, WhenExhausted::Repeat, 1).is_empty());
    }

    #[test]
    fn every_order_of_three_rows_is_equally_likely() {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..6_000 {
            *counts.entry(taken(3, true, WhenExhausted::Stop, seed)).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (880..1_120).contains(count)), "{counts:?}");
    }

    proptest::proptest! {
        #[test]
        fn every_pass_takes_each_row_once(rows in 1..40_u32, shuffle: bool, seed: u64) {
            let order = taken(rows, shuffle, WhenExhausted::Repeat, seed);
            for pass in order.chunks_exact(rows as usize) {
                let mut pass = pass.to_vec();
                pass.sort_unstable();
                proptest::prop_assert_eq!(pass, (0..rows).collect::<Vec<_>>());
            }
        }
    }
}
