//! Two groups of answers, and whether one is worse by more than chance.

use std::collections::BTreeMap;

use super::{Answer, share};
use crate::stats::effective::{BLOCKS, dependence, effective_count};
use crate::stats::quantile::student_quantile;

/// How often chance alone may make a finding of two groups: once in a thousand times.
const CHANCE: f64 = 0.001;

/// Two groups of answers, each in order of time: one that should be as good as the other and may be worse, and how
/// many pairs of groups that one was chosen from.
pub(super) struct Split<'a> {
    better: Vec<Answer<'a>>,
    worse: Vec<Answer<'a>>,
    chosen_from: usize,
}

/// Shares of hits in two groups.
#[derive(Debug, PartialEq)]
pub(super) struct Rise {
    pub(super) better: f64,
    pub(super) worse: f64,
    /// Answers of the group where they are more.
    pub(super) count: usize,
}

impl Split<'_> {
    /// The shares of hits in both groups, if that of the worse one is higher by `least` and by more than chance.
    pub(super) fn rise(&self, least: f64, is_hit: impl Fn(&Answer<'_>) -> bool) -> Option<Rise> {
        let alike = Alike::of([&self.better, &self.worse], &is_hit)?;
        let share = |answers: &[Answer<'_>]| share(&answers.iter().map(&is_hit).collect::<Vec<_>>());
        let rise = Rise { better: share(&self.better), worse: share(&self.worse), count: self.worse.len() };
        let [better, worse] =
            [&self.better, &self.worse].map(|group| effective_count(group.len(), alike.dependence));
        let both = (rise.better * better + rise.worse * worse) / (better + worse);
        let error = (both * (1.0 - both) * (1.0 / better + 1.0 / worse)).sqrt();
        let beyond = student_quantile(1.0 - CHANCE / self.chosen_from as f64, alike.freedom);
        let difference = rise.worse - rise.better;
        (difference >= least && difference > beyond * error).then_some(rise)
    }
}

/// The outer thirds of a scale, as far as it has two; the upper third may be worse.
pub(super) fn thirds<'a>(
    answers: &[Answer<'a>],
    scale: impl Fn(&Answer<'a>) -> Option<f64>,
) -> Option<Split<'a>> {
    let mut places: Vec<f64> = answers.iter().filter_map(&scale).collect();
    places.sort_unstable_by(f64::total_cmp);
    let (low, high) = (*places.get(places.len() / 3)?, *places.get(places.len() * 2 / 3)?);
    let where_it = |holds: &dyn Fn(f64) -> bool| -> Vec<Answer<'a>> {
        answers.iter().filter(|answer| scale(answer).is_some_and(holds)).copied().collect()
    };
    let split =
        || Split { better: where_it(&|at| at <= low), worse: where_it(&|at| at >= high), chosen_from: 1 };
    (low < high).then(split)
}

/// The depth at which fewest needles were found, and all others.
pub(super) fn worst_depth<'a>(answers: &[Answer<'a>]) -> Option<Split<'a>> {
    let depth = |answer: &Answer<'a>| answer.checked.needle.map(|needle| needle.depth.to_bits());
    let mut depths: BTreeMap<u64, Vec<bool>> = BTreeMap::new();
    for answer in answers {
        depths.entry(depth(answer)?).or_default().push(answer.is_right());
    }
    let (worst, _) = depths.iter().min_by(|a, b| share(a.1).total_cmp(&share(b.1)))?;
    let (worse, better): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| depth(answer) == Some(*worst));
    Some(Split { better, worse, chosen_from: depths.len() }).filter(|split| !split.better.is_empty())
}

/// How much alike neighbouring answers are, beyond their phase and where their needle lies: steps there are what groups
/// are compared for.
struct Alike {
    /// Answers that are worth one independent one, as the variance of blocks within phases and groups tells.
    dependence: f64,
    /// Degrees of freedom of that.
    freedom: f64,
}

impl Alike {
    /// `None` where a group has too few answers in every phase.
    fn of(groups: [&[Answer<'_>]; 2], is_hit: impl Fn(&Answer<'_>) -> bool) -> Option<Alike> {
        let (mut variance, mut of_blocks, mut freedom) = (0.0, 0.0, 0.0);
        for group in groups {
            let mut phases: BTreeMap<usize, Vec<&Answer<'_>>> = BTreeMap::new();
            for answer in group {
                phases.entry(answer.phase).or_default().push(answer);
            }
            let freedom_before = freedom;
            for answers in phases.values() {
                let deviations = deviations(answers, &is_hit);
                let Some(dependence) = dependence(&deviations) else { continue };
                let squares: f64 = deviations.iter().map(|deviation| deviation * deviation).sum();
                (variance, of_blocks) = (variance + squares, of_blocks + squares * dependence);
                freedom += (BLOCKS - 1) as f64;
            }
            if freedom == freedom_before {
                return None;
            }
        }
        // Values that are all alike show no dependence.
        let dependence = if variance > 0.0 { of_blocks / variance } else { 1.0 };
        Some(Alike { dependence, freedom })
    }
}

/// How far each answer is from the mean of those whose needle lies where its own does.
fn deviations(answers: &[&Answer<'_>], is_hit: impl Fn(&Answer<'_>) -> bool) -> Vec<f64> {
    let place = |answer: &Answer<'_>| {
        answer.checked.needle.map(|needle| (needle.length_tokens, needle.depth.to_bits()))
    };
    let mut places: BTreeMap<_, Vec<bool>> = BTreeMap::new();
    for answer in answers {
        places.entry(place(answer)).or_default().push(is_hit(answer));
    }
    let means: BTreeMap<_, f64> = places.into_iter().map(|(place, hits)| (place, share(&hits))).collect();
    answers.iter().map(|answer| f64::from(u8::from(is_hit(answer))) - means[&place(answer)]).collect()
}
