//! How long a step of the engine takes.

use std::time::Duration;

/// A linear model of one forward pass.
///
/// step time = overhead + sequences × sequence cost + prefill tokens / prefill rate, the last term rounded to
/// whole nanoseconds, ties to even. Decode is bound by reading the weights, which the overhead stands for;
/// prefill by arithmetic, which is proportional to its tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CostModel {
    /// Time of every step, whatever is in it: weights, launch, scheduling.
    pub step_overhead: Duration,
    /// Time added by each sequence that takes part in the step.
    pub sequence_cost: Duration,
    /// Prompt tokens processed per second; `None` where they cost nothing.
    pub prefill_tokens_per_s: Option<f64>,
}

/// What one step processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Sequences that take part, decoding or prefilling.
    pub sequences: u64,
    /// Prompt tokens over all of them.
    pub prefill_tokens: u64,
}

impl CostModel {
    /// The time one step over `batch` takes.
    pub fn step_time(&self, batch: Batch) -> Duration {
        let sequences = self.sequence_cost.as_nanos().saturating_mul(u128::from(batch.sequences));
        let sequences = Duration::from_nanos(u64::try_from(sequences).unwrap_or(u64::MAX));
        let prefill = match self.prefill_tokens_per_s {
            // f64 to integer casts saturate, so a hopeless rate is merely very slow.
            Some(rate) => Duration::from_nanos(libm::rint(batch.prefill_tokens as f64 * 1e9 / rate) as u64),
            None => Duration::ZERO,
        };
        self.step_overhead.saturating_add(sequences).saturating_add(prefill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_terms_add_up_to_the_nanosecond() {
        let model = CostModel {
            step_overhead: Duration::from_nanos(5_000_123),
            sequence_cost: Duration::from_nanos(70_001),
            prefill_tokens_per_s: Some(7_000.0),
        };
        let time =
            |sequences, prefill_tokens| model.step_time(Batch { sequences, prefill_tokens }).as_nanos();
        assert_eq!(time(1, 0), 5_070_124);
        assert_eq!(time(3, 0), 5_210_126);
        // 10 / 7,000 s = 1,428,571.43 ns
        assert_eq!(time(3, 10), 5_210_126 + 1_428_571);
    }

    #[test]
    fn without_a_rate_prompts_cost_nothing_and_no_rate_overflows() {
        assert_eq!(
            CostModel::default().step_time(Batch { sequences: 9, prefill_tokens: u64::MAX }),
            Duration::ZERO
        );
        let hopeless = CostModel { prefill_tokens_per_s: Some(1e-300), ..CostModel::default() };
        assert_eq!(
            hopeless.step_time(Batch { sequences: 1, prefill_tokens: 1 }),
            Duration::from_nanos(u64::MAX)
        );
    }
}
