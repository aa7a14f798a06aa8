//! The runs of a sweep in their order: every point, so many times.

use std::collections::VecDeque;

use crate::scenario::{Order, Sweep};
use crate::seed::Seed;

/// One run of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// Its point, from 1, in the order of [`Sweep::points`].
    pub point: u32,
    /// Its repeat of the point, from 1.
    pub repeat: u32,
}

impl Run {
    /// What its random choices follow from: those of a first repeat from the sweep's seed, so that it is the run that
    /// a scenario without sweep would be; those of the others from a seed of their own, equal for all points.
    pub fn seed(self, seed: Seed) -> Seed {
        match self.repeat {
            1 => seed,
            repeat => Seed(seed.indexed_stream("repeat", "", repeat.into()).bits()),
        }
    }

    /// What makes its prompts unlike those of every other run of the sweep whose salt is `salt`.
    pub fn salt(self, salt: u64) -> u64 {
        let index = u64::from(self.point) << 32 | u64::from(self.repeat);
        Seed(salt).indexed_stream("salt", "sweep", index).bits()
    }
}

/// The runs of a sweep that are still to come.
#[derive(Clone, Debug)]
pub struct Grid {
    left: VecDeque<Run>,
    total: usize,
}

impl Grid {
    /// All runs of `sweep`. A shuffled order follows from `seed`.
    pub fn new(sweep: &Sweep, seed: Seed) -> Grid {
        let points = 1..=sweep.points().len() as u32;
        let repeats = 1..=sweep.repeats;
        let mut runs: Vec<Run> = match sweep.order {
            Order::Repeats => {
                repeats.flat_map(|repeat| points.clone().map(move |point| Run { point, repeat })).collect()
            }
            Order::Points | Order::Shuffled => {
                points.flat_map(|point| repeats.clone().map(move |repeat| Run { point, repeat })).collect()
            }
        };
        if sweep.order == Order::Shuffled {
            // Fisher and Yates.
            let mut stream = seed.stream("order", "sweep");
            for last in (1..runs.len()).rev() {
                runs.swap(last, stream.below(last as u64 + 1) as usize);
            }
        }
        Grid { total: runs.len(), left: runs.into() }
    }

    /// The same without the runs that are `done`.
    #[must_use]
    pub fn without(self, done: impl Fn(Run) -> bool) -> Grid {
        Grid { left: self.left.into_iter().filter(|run| !done(*run)).collect(), ..self }
    }

    /// How many runs the sweep has in all.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Those that are still to come, in order.
    pub fn left(&self) -> impl Iterator<Item = Run> {
        self.left.iter().copied()
    }
}

impl Iterator for Grid {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        self.left.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::scenario::{Axis, Step};

    fn sweep(values: usize, repeats: u32, order: Order) -> Sweep {
        let step = |value: usize| Step { label: value.to_string(), values: vec![value.to_string()] };
        let axis = Axis {
            name: "users".to_owned(),
            keys: vec!["phase.p.load.closed.users".to_owned()],
            steps: (0..values).map(step).collect(),
        };
        Sweep { axes: vec![axis], repeats, order, pause: Duration::ZERO, skip: Vec::new() }
    }

    fn runs(order: Order, seed: u64) -> Vec<(u32, u32)> {
        Grid::new(&sweep(3, 2, order), Seed(seed)).map(|run| (run.point, run.repeat)).collect()
    }

    #[test]
    fn runs_come_by_points_by_repeats_or_as_the_seed_draws_them() {
        assert_eq!(runs(Order::Points, 1), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]);
        assert_eq!(runs(Order::Repeats, 1), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2)]);
        let shuffled = runs(Order::Shuffled, 1);
        assert_eq!(shuffled, runs(Order::Shuffled, 1));
        assert_ne!(shuffled, runs(Order::Shuffled, 2));
        assert_eq!(shuffled.iter().collect::<BTreeSet<_>>().len(), 6);
    }

    #[test]
    fn what_is_done_is_not_run_again() {
        let grid = Grid::new(&sweep(3, 2, Order::Repeats), Seed(1));
        let mut grid = grid.without(|run| run.repeat == 1 || run.point == 2);
        assert_eq!((grid.total(), grid.left().count()), (6, 2));
        assert_eq!(grid.next(), Some(Run { point: 1, repeat: 2 }));
    }

    #[test]
    fn repeats_have_seeds_of_their_own_and_every_run_a_salt() {
        let run = |point, repeat| Run { point, repeat };
        assert_eq!(run(1, 1).seed(Seed(7)), Seed(7));
        assert_eq!(run(1, 2).seed(Seed(7)), run(2, 2).seed(Seed(7)));
        assert_ne!(run(1, 2).seed(Seed(7)), run(1, 3).seed(Seed(7)));
        let salts: BTreeSet<u64> =
            Grid::new(&sweep(9, 9, Order::Points), Seed(1)).map(|run| run.salt(5)).collect();
        assert_eq!(salts.len(), 81);
    }
}
