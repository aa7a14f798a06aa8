//! Lengths of prompts and answers, in short.

use crate::dataset::Dataset;
use crate::scenario::History;
use crate::stats::Percentile;

/// How a number of lengths lie: smallest, percentiles, largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) min: u64,
    pub(super) p50: u64,
    pub(super) p90: u64,
    pub(super) p99: u64,
    pub(super) max: u64,
    /// Whether more lengths exist than were looked at.
    pub(super) is_sampled: bool,
}

/// Most rows of a data set that are looked at.
const MOST_ROWS: u64 = 1_000;
/// Most bytes of rows that are looked at, about.
const MOST_BYTES: u64 = 64 << 20;

impl Lengths {
    /// All of them `length`.
    pub(super) fn all(length: u64) -> Lengths {
        Lengths { min: length, p50: length, p90: length, p99: length, max: length, is_sampled: false }
    }

    /// Of these; `None` of none.
    pub(super) fn of(mut lengths: Vec<u64>) -> Option<Lengths> {
        lengths.sort_unstable();
        let at = |percentile: Percentile| percentile.nearest_rank(&lengths);
        Some(Lengths {
            min: *lengths.first()?,
            p50: at(Percentile::P50)?,
            p90: at(Percentile::P90)?,
            p99: at(Percentile::P99)?,
            max: *lengths.last()?,
            is_sampled: false,
        })
    }

    /// Of what a data set asks turn by turn, in words and in characters: of all rows, or of as many as are soon read,
    /// taken at equal distances; `None` if none can be read.
    pub(super) fn of_prompts(dataset: &Dataset, history: History) -> Option<(Lengths, Lengths)> {
        let rows = u64::from(dataset.rows());
        let fitting = MOST_BYTES / (dataset.bytes() / rows.max(1)).max(1);
        let count = rows.min(MOST_ROWS).min(fitting.max(1));
        let (mut words, mut characters) = (Vec::new(), Vec::new());
        for i in 0..count {
            // A row that has gone since the scan is a matter for the run.
            let Ok(row) = dataset.row((i * rows / count) as u32) else { continue };
            for (index, turn) in row.turns.iter().enumerate() {
                let system = row.system.iter().filter(|_| index == 0 || history == History::None);
                let said = turn.said.iter().map(|message| &message.content);
                let texts = || system.clone().chain(said.clone());
                words.push(texts().map(|text| text.split_whitespace().count() as u64).sum());
                characters.push(texts().map(|text| text.chars().count() as u64).sum());
            }
        }
        let is_sampled = count < rows;
        let short = |lengths| Some(Lengths { is_sampled, ..Lengths::of(lengths)? });
        short(words).zip(short(characters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Source;

    fn dataset(rows: usize) -> Dataset {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = (0..rows).map(|i| format!("\"{}\"\n", "é ".repeat(i + 1))).collect::<String>();
        std::fs::write(file.path(), text).unwrap();
        Dataset::scan(&Source::of(file.path().to_owned())).unwrap()
    }

    #[test]
    fn prompts_are_counted_in_words_and_in_characters() {
        let (words, characters) = Lengths::of_prompts(&dataset(100), History::None).unwrap();
        assert_eq!(words, Lengths { min: 1, p50: 50, p90: 90, p99: 99, max: 100, is_sampled: false });
        assert_eq!((characters.min, characters.p50, characters.max), (2, 100, 200));
        assert_eq!(Lengths::of(Vec::new()), None);
    }

    #[test]
    fn of_many_prompts_some_are_taken_from_all_over_the_file() {
        let (words, _) = Lengths::of_prompts(&dataset(2_500), History::None).unwrap();
        assert!(words.is_sampled);
        assert_eq!((words.min, words.p50), (1, 1_248));
    }
}
