//! The highest value of a key at which objectives hold, in as few runs as an honest answer takes.
//!
//! Values are doubled from the lowest on until one fails; the gap between the highest that holds and the lowest that
//! fails is then halved, on a scale of ratios, until it is no wider than the precision. A run says `pass` or `fail` only
//! where a test does ([`Trial`]); else its value is run again for twice as long, and one that stays unclear at its longest
//! is taken to lie at the capacity itself, which is then closed in on from both sides. The chance to err is split evenly
//! over all tests that may be needed: those of each value, and as many values as doubling and halving can take.
//!
//! A run that looks well never passes while it is under way: an overloaded queue that began empty keeps every limit at
//! first.

use crate::stats::Trial;
use crate::stats::objective::Answer as Word;

/// What is searched for, and how surely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The lowest value, above 0.
    pub from: f64,
    /// The highest value.
    pub to: f64,
    /// Whether values are whole numbers.
    pub whole: bool,
    /// How far apart, as a share, the highest value that holds and the lowest that fails may be.
    pub precision: f64,
    /// The chance that no word of the search is wrong.
    pub confidence: f64,
    /// How often a value is tried, each time twice as long, at least once.
    pub looks: u32,
    /// Whether the highest value that holds is run once more, at length.
    pub confirm: bool,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// How requests kept the bound of each objective.
    pub trials: Vec<Trial>,
    /// Whether requests in flight and times to first token both grew.
    pub growing: bool,
    /// Whether a rule stopped it.
    pub stopped: bool,
    /// Whether its figures can stand; those of a client that could not keep up say nothing of the server.
    pub valid: bool,
}

/// What a run says of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The objectives hold.
    Pass,
    /// One does not.
    Fail,
    /// It does not tell.
    Unclear,
}

impl StepResult {
    const ALL: [StepResult; 3] = [StepResult::Pass, StepResult::Fail, StepResult::Unclear];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            StepResult::Pass => "pass",
            StepResult::Fail => "fail",
            StepResult::Unclear => "unclear",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<StepResult> {
        StepResult::ALL.into_iter().find(|result| result.name() == name)
    }
}

/// Why a run says what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Significantly fewer requests missed than may.
    FewMisses,
    /// Significantly more did.
    ManyMisses,
    /// The count of misses goes with either.
    TooFew,
    /// In flight and in waiting, requests kept growing.
    Growing,
    /// A rule stopped it.
    Stopped,
    /// Its figures cannot stand.
    Invalid,
}

impl Reason {
    const ALL: [Reason; 6] = [
        Reason::FewMisses,
        Reason::ManyMisses,
        Reason::TooFew,
        Reason::Growing,
        Reason::Stopped,
        Reason::Invalid,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Reason::FewMisses => "few_misses",
            Reason::ManyMisses => "many_misses",
            Reason::TooFew => "too_few",
            Reason::Growing => "growing",
            Reason::Stopped => "stopped",
            Reason::Invalid => "invalid",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Reason> {
        Reason::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// What a run says, why, and by which of its trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// What it says of its value.
    pub result: StepResult,
    /// Why.
    pub reason: Reason,
    /// The index of the trial that decided, or is nearest to it.
    pub by: Option<usize>,
}

/// A value to be tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Try {
    /// The value.
    pub value: f64,
    /// Which value of the search it is, from 1.
    pub step: u32,
    /// Which run of it, from 1: each is twice as long as the one before.
    pub look: u32,
    /// Whether it is run at length, to confirm that it holds.
    pub confirms: bool,
}

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The highest value that holds; `None` where none was found.
    pub holds: Option<f64>,
    /// The lowest value above it that fails; `None` where none was found.
    pub fails: Option<f64>,
    /// The lowest and the highest value between the two that stayed unclear.
    pub unclear: Option<(f64, f64)>,
    /// Why the two do not bound the capacity as closely as wanted, if they do not.
    pub undetermined: Option<Undetermined>,
}

/// Why a search has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undetermined {
    /// Values between the two stay unclear at their longest runs.
    Unclear,
    /// Runs were not valid.
    Invalid,
    /// What held did not hold at length for sure.
    Unconfirmed,
    /// Its time is up.
    Time,
}

impl Undetermined {
    /// What it means and what to do.
    pub fn describe(self) -> &'static str {
        match self {
            Undetermined::Unclear => {
                "values between stay unclear at their longest runs: raise capacity.max_step or capacity.precision"
            }
            Undetermined::Invalid => {
                "runs were not valid, so that they say nothing of the server: the findings of its points say why"
            }
            Undetermined::Unconfirmed => {
                "the run that was to confirm the value does not tell: raise capacity.confirm"
            }
            Undetermined::Time => "its time is up: raise capacity.max_time, or begin nearer to the answer",
        }
    }
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    /// Values that hold and lie under the lowest that fails, ascending.
    passed: Vec<f64>,
    fails: Option<f64>,
    /// Lowest and highest value between the two that stayed unclear.
    unclear: Option<(f64, f64)>,
    /// Whether one of them did since its runs were not valid.
    invalid: bool,
    confirmed: Confirmed,
    current: Option<Try>,
    steps: u32,
    gave_up: bool,
}

/// How far the highest value that holds is confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confirmed {
    NotYet,
    Done,
    Unclear,
}

impl Search {
    /// A search that has tried nothing yet.
    pub fn new(settings: Settings) -> Search {
        let first = Try { value: settings.from, step: 1, look: 1, confirms: false };
        Search {
            settings,
            passed: Vec::new(),
            fails: None,
            unclear: None,
            invalid: false,
            confirmed: if settings.confirm { Confirmed::NotYet } else { Confirmed::Done },
            current: Some(first),
            steps: 1,
            gave_up: false,
        }
    }

    /// The value to try next; `None` where the search is over.
    pub fn next_try(&self) -> Option<Try> {
        self.current.filter(|_| !self.gave_up)
    }

    /// Ends the search where it is: its time is up.
    pub fn give_up(&mut self) {
        self.gave_up = self.current.is_some();
    }

    /// What it came to; of one that is not over, what is known so far.
    pub fn answer(&self) -> Answer {
        let is_wide = self.unclear.is_some_and(|(low, high)| !self.is_bounded(low, high));
        let undetermined = match self.confirmed {
            _ if self.current.is_some() => Some(Undetermined::Time),
            _ if is_wide && self.invalid => Some(Undetermined::Invalid),
            _ if is_wide => Some(Undetermined::Unclear),
            Confirmed::Unclear => Some(Undetermined::Unconfirmed),
            _ => None,
        };
        Answer { holds: self.holds(), fails: self.fails, unclear: self.unclear, undetermined }
    }

    /// What a run says, at this search's share of the chance to err.
    pub fn judge(&self, look: &Look) -> Said {
        let err = self.chance_to_err();
        let said = |result, reason, by| Said { result, reason, by };
        let strained = || {
            let strain = |(_, trial): &(usize, &Trial)| trial.strain();
            let trials = look.trials.iter().enumerate();
            trials.max_by(|a, b| strain(a).total_cmp(&strain(b))).map(|(at, _)| at)
        };
        if look.stopped {
            return said(StepResult::Fail, Reason::Stopped, strained());
        }
        if !look.valid {
            return said(StepResult::Unclear, Reason::Invalid, strained());
        }
        // One that fails is enough, and each has a chance to do so wrongly; passing takes them all.
        let each = err / look.trials.len().max(1) as f64;
        if let Some(by) = look.trials.iter().position(|trial| trial.judge(each) == Word::Fail) {
            return said(StepResult::Fail, Reason::ManyMisses, Some(by));
        }
        if look.growing {
            return said(StepResult::Unclear, Reason::Growing, strained());
        }
        match look.trials.iter().position(|trial| trial.judge(err) != Word::Pass) {
            Some(by) => said(StepResult::Unclear, Reason::TooFew, Some(by)),
            None => said(StepResult::Pass, Reason::FewMisses, strained()),
        }
    }

    /// Takes in what a run of the value of [`Search::next_try`] said.
    pub fn take(&mut self, result: StepResult, reason: Reason) {
        let Some(tried) = self.current else { return };
        let is_last = tried.confirms || tried.look >= self.settings.looks;
        match result {
            StepResult::Unclear if !is_last => {
                self.current = Some(Try { look: tried.look + 1, ..tried });
                return;
            }
            // At its longest, a queue that still grows is one that the server does not keep up with.
            StepResult::Unclear if reason == Reason::Growing => self.fail(tried.value),
            StepResult::Unclear if tried.confirms => self.confirmed = Confirmed::Unclear,
            StepResult::Unclear => {
                self.invalid |= reason == Reason::Invalid;
                let (low, high) = self.unclear.unwrap_or((tried.value, tried.value));
                self.unclear = Some((low.min(tried.value), high.max(tried.value)));
            }
            StepResult::Pass if tried.confirms => self.confirmed = Confirmed::Done,
            StepResult::Pass => {
                self.passed.push(tried.value);
                self.unclear = self.unclear.filter(|(low, _)| *low > tried.value);
            }
            StepResult::Fail => self.fail(tried.value),
        }
        let confirming = || self.holds().filter(|_| self.confirmed == Confirmed::NotYet);
        let (next, confirms) = match self.next_value() {
            Some(value) => (Some(value), false),
            None => (confirming(), true),
        };
        self.current = next.map(|value| {
            self.steps += 1;
            Try { value, step: self.steps, look: 1, confirms }
        });
    }

    /// The chance to err that one test has.
    pub fn chance_to_err(&self) -> f64 {
        let Settings { from, to, precision, confidence, looks, confirm, .. } = self.settings;
        let doublings = libm::ceil(libm::log2(to / from).max(0.0)) + 1.0;
        let halvings = libm::ceil(libm::log2(std::f64::consts::LN_2 / libm::log1p(precision)).max(0.0));
        // Twice: values that stay unclear have two sides, and each is halved once more.
        let steps = doublings + 2.0 * (halvings + 1.0);
        (1.0 - confidence) / (steps * f64::from(looks) + f64::from(u8::from(confirm)))
    }

    fn holds(&self) -> Option<f64> {
        self.passed.last().copied()
    }

    fn fail(&mut self, value: f64) {
        self.fails = Some(value);
        self.passed.retain(|passed| *passed < value);
        self.unclear = self.unclear.filter(|(_, high)| *high < value);
    }

    fn next_value(&self) -> Option<f64> {
        match (self.holds(), self.unclear, self.fails) {
            // Not even the lowest value holds, or is clear.
            (None, None, Some(_)) => None,
            (None, Some((_, high)), fails) => self.above(high, fails),
            (Some(low), None, Some(high)) => self.between(low, high, self.widest()),
            (Some(low), None, None) => (low < self.settings.to).then(|| (low * 2.0).min(self.settings.to)),
            // Closed in on from below first: what holds is what is asked for.
            (Some(low), Some((unclear, high)), fails) => {
                self.between(low, unclear, self.widest_beside()).or_else(|| self.above(high, fails))
            }
            (None, None, None) => Some(self.settings.from),
        }
    }

    /// The next value over one that stayed unclear.
    fn above(&self, unclear: f64, fails: Option<f64>) -> Option<f64> {
        match fails {
            Some(fails) => self.between(unclear, fails, self.widest_beside()),
            None => (unclear < self.settings.to).then(|| (unclear * 2.0).min(self.settings.to)),
        }
    }

    /// The widest gap, as a ratio, between a value that holds and one that fails.
    fn widest(&self) -> f64 {
        1.0 + self.settings.precision
    }

    /// The widest between either and one that stays unclear: half of that, since the capacity may lie a little beyond the
    /// unclear one.
    fn widest_beside(&self) -> f64 {
        libm::sqrt(self.widest())
    }

    /// The middle of a gap that is wider than `widest`.
    fn between(&self, low: f64, high: f64, widest: f64) -> Option<f64> {
        if high / low <= widest {
            return None;
        }
        let middle = libm::sqrt(low * high);
        if !self.settings.whole {
            let round = rounded(middle);
            return Some(if low < round && round < high { round } else { middle });
        }
        let middle = libm::rint(middle).max(low + 1.0);
        (middle < high).then_some(middle)
    }

    /// Whether values that stayed unclear are within the precision of one that holds and of one that fails.
    fn is_bounded(&self, low: f64, high: f64) -> bool {
        let near = |low: f64, high: f64| self.between(low, high, self.widest_beside()).is_none();
        self.between(low, high, self.widest()).is_none()
            && self.holds().is_some_and(|holds| near(holds, low))
            && self.fails.is_some_and(|fails| near(high, fails))
    }
}

/// To four digits: values are read by people, and precisions are percents.
fn rounded(value: f64) -> f64 {
    let unit = libm::pow(10.0, 3.0 - libm::floor(libm::log10(value)));
    libm::rint(value * unit) / unit
}

#[cfg(test)]
mod tests;
