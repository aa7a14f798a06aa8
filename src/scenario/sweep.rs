//! What a scenario says of its sweep: the points it is run at, how often, and in which order.

use std::time::Duration;

/// A scenario run again and again with other values of some of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// What differs between points, at least one. They cross each other.
    pub axes: Vec<Axis>,
    /// How often each point is run, at least once.
    pub repeats: u32,
    /// In which order.
    pub order: Order,
    /// The time between two runs in which nothing is sent.
    pub pause: Duration,
    /// Points left out: each names steps of some axes, by index of axis and step.
    pub skip: Vec<Vec<(usize, usize)>>,
}

/// Keys that change together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Paths of the keys, at least one.
    pub keys: Vec<String>,
    /// What they are set to, at least one.
    pub steps: Vec<Step>,
}

/// One step of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is called in tables: its value as a plain number (tokens, per second, seconds) where it has one, else
    /// as it was written; those of several keys joined by ` + `.
    pub label: String,
    /// The value of each key, as TOML.
    pub values: Vec<String>,
}

/// The order in which points and repeats are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All repeats of a point, then the next point.
    Points,
    /// All points, then the next repeat.
    Repeats,
    /// As drawn from the seed.
    Shuffled,
}

impl Order {
    /// Every choice.
    pub const ALL: [Order; 3] = [Order::Points, Order::Repeats, Order::Shuffled];

    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Order::Points => "points",
            Order::Repeats => "repeats",
            Order::Shuffled => "shuffled",
        }
    }
}

/// One combination of steps: the index of a step for each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point(pub Vec<usize>);

impl Sweep {
    /// Every point that is not left out; the last axis changes fastest.
    pub fn points(&self) -> Vec<Point> {
        let mut points = vec![Vec::new()];
        for axis in &self.axes {
            let longer = points.iter().flat_map(|point| {
                (0..axis.steps.len()).map(move |step| point.iter().copied().chain([step]).collect())
            });
            points = longer.collect();
        }
        let is_skipped = |point: &Vec<usize>| {
            self.skip.iter().any(|skip| skip.iter().all(|(axis, step)| point.get(*axis) == Some(step)))
        };
        points.into_iter().filter(|point| !is_skipped(point)).map(Point).collect()
    }

    /// Name and value of each axis at `point`.
    pub fn settings<'a>(&'a self, point: &'a Point) -> impl Iterator<Item = (&'a str, &'a str)> {
        let steps = self.axes.iter().zip(&point.0);
        steps.filter_map(|(axis, step)| Some((axis.name.as_str(), axis.steps.get(*step)?.label.as_str())))
    }
}

/// A search for the highest value of a key at which every objective holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The key's own name, without its path.
    pub name: String,
    /// Path of the key.
    pub key: String,
    /// Lowest and highest value as TOML.
    pub bounds: [String; 2],
    /// The lowest value as a plain number above 0: tokens, per second, seconds.
    pub from: f64,
    /// The highest value, above `from`.
    pub to: f64,
    /// Whether values are whole numbers.
    pub whole: bool,
    /// How far apart, as a share, the highest value that holds and the lowest that fails may be.
    pub precision: f64,
    /// The chance that no run is taken wrongly.
    pub confidence: f64,
    /// The longest duration of the measured phase.
    pub max_step: Duration,
    /// When it ends without an answer.
    pub max_time: Duration,
    /// How long the highest value that holds is run once more; `None` for not at all.
    pub confirm: Option<Duration>,
}

impl Capacity {
    /// How often a value is tried where its phase is first `duration` long, each time twice as long.
    pub fn looks(&self, duration: Duration) -> u32 {
        let times = self.max_step.as_secs_f64() / duration.as_secs_f64();
        libm::ceil(libm::log2(times.max(1.0)) - 1e-9) as u32 + 1
    }

    /// How long the measured phase is at try `look`, from 1, if it is first `duration` long.
    pub fn duration(&self, duration: Duration, look: u32) -> Duration {
        let doubled = 1_u32.checked_shl(look.saturating_sub(1)).unwrap_or(u32::MAX);
        duration.saturating_mul(doubled).min(self.max_step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, labels: &[&str]) -> Axis {
        let step = |label: &&str| Step { label: (*label).to_owned(), values: vec![(*label).to_owned()] };
        Axis {
            name: name.to_owned(),
            keys: vec![format!("about.{name}")],
            steps: labels.iter().map(step).collect(),
        }
    }

    #[test]
    fn axes_cross_and_what_is_skipped_is_left_out() {
        let mut sweep = Sweep {
            axes: vec![axis("context", &["1024", "4096"]), axis("users", &["1", "8", "64"])],
            repeats: 1,
            order: Order::Points,
            pause: Duration::ZERO,
            skip: Vec::new(),
        };
        assert_eq!(sweep.points().len(), 6);
        sweep.skip = vec![vec![(0, 1), (1, 2)], vec![(1, 0)]];
        let points = sweep.points();
        let told = points.iter().map(|point| {
            sweep
                .settings(point)
                .map(|(name, value)| format!("{name} {value}"))
                .collect::<Vec<_>>()
                .join(", ")
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            ["context 1024, users 8", "context 1024, users 64", "context 4096, users 8"]
        );
    }
}
