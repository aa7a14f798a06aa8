//! Times and counts of what has not happened yet, and how far to trust them.

use std::time::Duration;

/// A time, and how far to trust it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) time: Duration,
    pub(super) certainty: Certainty,
}

/// How far to trust a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// It is this.
    Exact,
    /// It depends on the seed.
    About,
    /// It depends on the server, and this is the longest.
    AtMost,
}

impl Span {
    pub(super) fn new(time: Duration, certainty: Certainty) -> Span {
        Span { time, certainty }
    }

    /// One after the other.
    pub(super) fn then(self, other: Span) -> Span {
        Span::new(self.time.saturating_add(other.time), self.certainty.max(other.certainty))
    }
}

/// A number of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// This many.
    Exactly(u64),
    /// It depends on the seed: between `low` and `high` for 19 seeds of 20.
    Between { expected: u64, low: u64, high: u64 },
    /// It depends on the seed.
    About(u64),
    /// It depends on the server, and this is the most.
    AtMost(u64),
}

impl Count {
    /// The number to reckon with.
    pub(super) fn number(self) -> u64 {
        match self {
            Count::Exactly(count)
            | Count::About(count)
            | Count::AtMost(count)
            | Count::Between { expected: count, .. } => count,
        }
    }
}

/// Where 95 of 100 counts of a Poisson law of this mean lie. Exact below 400, by its normal limit above.
pub(super) fn middle_of_poisson(mean: f64) -> (u64, u64) {
    if mean > 400.0 {
        let reach = 1.96 * mean.sqrt();
        return ((mean - reach).floor() as u64, (mean + reach).ceil() as u64);
    }
    let (mut probability, mut below) = (libm::exp(-mean), 0.0);
    let (mut low, mut count) = (None, 0_u64);
    loop {
        below += probability;
        if below > 0.025 {
            low.get_or_insert(count);
        }
        // The sum may end a rounding short of one.
        if below >= 0.975 || count > 1_000 {
            return (low.unwrap_or(count), count);
        }
        count += 1;
        probability *= mean / count as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_poisson_law_holds_nineteen_of_twenty_counts() {
        // Exact quantiles at 2.5 % and 97.5 %.
        for (mean, range) in
            [(0.0, (0, 0)), (0.01, (0, 0)), (1.0, (0, 3)), (10.0, (4, 17)), (100.0, (81, 120))]
        {
            assert_eq!(middle_of_poisson(mean), range, "{mean}");
        }
        let (exact, limit) = (middle_of_poisson(399.9), middle_of_poisson(400.1));
        assert!(exact.0.abs_diff(limit.0) <= 1 && exact.1.abs_diff(limit.1) <= 1, "{exact:?} {limit:?}");
        assert_eq!(middle_of_poisson(1e6), (998_040, 1_001_960));
    }

    #[test]
    fn times_in_a_row_are_as_certain_as_the_least_certain() {
        let span = |seconds, certainty| Span::new(Duration::from_secs(seconds), certainty);
        let both = span(2, Certainty::About).then(span(3, Certainty::Exact));
        assert_eq!(both, span(5, Certainty::About));
        assert_eq!(both.then(span(1, Certainty::AtMost)), span(6, Certainty::AtMost));
    }
}
