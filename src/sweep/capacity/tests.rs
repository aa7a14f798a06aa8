//! Searches over made-up servers whose capacity is known.

use proptest::prelude::*;

use super::*;
use crate::seed::{Seed, Stream};

const SETTINGS: Settings = Settings {
    from: 1.0,
    to: 64.0,
    whole: false,
    precision: 0.05,
    confidence: 0.95,
    looks: 5,
    confirm: false,
};

/// A run of so many independent requests, five in a hundred of which may miss.
fn look(misses: u64, n: u64) -> Look {
    let trial = Trial { misses, open: 0, n, dependence: Some(1.0), allowed: 0.05 };
    Look { trials: vec![trial], growing: false, stopped: false, valid: true }
}

/// Takes in a run as the command line does.
fn take(search: &mut Search, look: &Look) -> (StepResult, Reason) {
    let said = search.judge(look);
    search.take(said.result, said.reason);
    (said.result, said.reason)
}

/// A server whose share of missed requests depends on the load.
struct Server<'a> {
    misses: &'a dyn Fn(f64) -> f64,
    /// Requests that share one fate.
    alike: u64,
    /// From which load on its queue grows.
    grows: f64,
    /// Requests of the shortest try at load 1.
    requests: f64,
}

impl Server<'_> {
    fn look(&self, tried: Try, stream: &mut Stream) -> Look {
        let n = (self.requests * tried.value * f64::from(1 << (tried.look - 1))) as u64;
        let share = (self.misses)(tried.value);
        let blocks = n / self.alike;
        let misses = (0..blocks).filter(|_| stream.unit() < share).count() as u64 * self.alike;
        let trial = Trial {
            misses,
            open: 0,
            n: blocks * self.alike,
            dependence: Some(self.alike as f64),
            allowed: 0.05,
        };
        Look { trials: vec![trial], growing: tried.value > self.grows, stopped: false, valid: true }
    }

    fn search(&self, settings: Settings, seed: u64) -> (Answer, u32) {
        let mut stream = Seed(seed).stream("test", "search");
        let mut search = Search::new(settings);
        let mut tries = 0;
        while let Some(tried) = search.next_try() {
            take(&mut search, &self.look(tried, &mut stream));
            tries += 1;
            assert!(tries < 200, "it does not end");
        }
        (search.answer(), tries)
    }
}

/// Misses rise from none to all around a load of 10, five in a hundred there.
fn smooth(load: f64) -> f64 {
    1.0 / (1.0 + 19.0 * libm::pow(10.0 / load, 12.0))
}

fn server(misses: &dyn Fn(f64) -> f64) -> Server<'_> {
    Server { misses, alike: 1, grows: f64::INFINITY, requests: 60.0 }
}

/// Of 400 searches: those with a wrong word beyond the precision, those without an answer, and tries of a search.
fn of_many(server: &Server<'_>, capacity: f64) -> (usize, usize, f64) {
    let all: Vec<_> = (0..400).map(|seed| server.search(SETTINGS, seed)).collect();
    let beyond = 1.0 + SETTINGS.precision;
    let is_wrong = |answer: &Answer| {
        answer.holds.is_some_and(|holds| holds > capacity * beyond)
            || answer.fails.is_some_and(|fails| fails < capacity / beyond)
    };
    let wrong = all.iter().filter(|(answer, _)| is_wrong(answer)).count();
    let open = all.iter().filter(|(answer, _)| answer.undetermined.is_some()).count();
    (wrong, open, all.iter().map(|(_, tries)| f64::from(*tries)).sum::<f64>() / 400.0)
}

#[test]
fn the_capacity_of_a_noisy_server_is_found_and_the_chance_to_err_is_kept() {
    let (wrong, open, tries) = of_many(&server(&smooth), 10.0);
    assert!(wrong <= 8, "{wrong} of 400 searches are wrong, where 20 may be");
    assert!(open <= 40 && tries < 40.0, "{open} of 400 are open, {tries} tries each");
}

#[test]
fn requests_that_are_alike_are_not_counted_one_by_one() {
    let correlated = Server { alike: 20, requests: 1_200.0, ..server(&smooth) };
    let (wrong, open, _) = of_many(&correlated, 10.0);
    assert!(wrong <= 8 && open <= 40, "{wrong} wrong, {open} open");
}

#[test]
fn a_cliff_is_found_to_within_the_precision_on_both_sides() {
    let cliff = |load: f64| if load < 17.3 { 0.0 } else { 1.0 };
    let (answer, tries) = server(&cliff).search(SETTINGS, 1);
    let (holds, fails) = (answer.holds.unwrap(), answer.fails.unwrap());
    assert!(holds < 17.3 && fails >= 17.3 && fails / holds <= 1.05, "{answer:?}");
    assert!(answer.undetermined.is_none() && tries <= 18, "{tries} tries");
}

#[test]
fn one_that_never_holds_fails_at_once_and_one_that_always_does_is_doubled_to_the_end() {
    let (answer, tries) = server(&|_| 1.0).search(SETTINGS, 1);
    assert_eq!(
        (answer, tries),
        (Answer { holds: None, fails: Some(1.0), unclear: None, undetermined: None }, 1)
    );
    let (answer, _) = server(&|_| 0.0).search(SETTINGS, 1);
    assert_eq!(answer, Answer { holds: Some(64.0), fails: None, unclear: None, undetermined: None });
}

#[test]
fn an_overloaded_server_that_begins_empty_never_passes() {
    // No request has missed a limit yet: the queue is only growing.
    let fresh = |_: f64| 0.0;
    let empty = Server { grows: 10.0, ..server(&fresh) };
    for seed in 0..50 {
        let (answer, _) = empty.search(SETTINGS, seed);
        assert!(answer.holds.unwrap() <= 10.0 && answer.fails.unwrap() > 10.0, "{answer:?}");
        assert!(answer.fails.unwrap() / answer.holds.unwrap() <= 1.05);
    }
}

#[test]
fn a_server_that_holds_again_higher_up_is_bounded_where_it_fails_first_on_the_way() {
    let island = |load: f64| if (6.0..20.0).contains(&load) || load > 40.0 { 1.0 } else { 0.0 };
    let (answer, _) = server(&island).search(SETTINGS, 1);
    assert!(answer.holds.unwrap() < 6.0 && (6.0..6.6).contains(&answer.fails.unwrap()), "{answer:?}");
}

#[test]
fn values_that_stay_unclear_are_closed_in_from_both_sides_or_leave_the_search_open() {
    // At the very capacity over a wide range: nothing tells.
    let flat = |load: f64| match load {
        low if low < 8.0 => 0.0,
        high if high > 12.0 => 1.0,
        _ => 0.05,
    };
    let (answer, _) = server(&flat).search(SETTINGS, 3);
    assert!(answer.holds.unwrap() < 8.0 && answer.fails.unwrap() > 12.0, "{answer:?}");
    assert_eq!(answer.undetermined, Some(Undetermined::Unclear));
    // So few requests that none of its tries says anything.
    let idle = Server { requests: 0.5, ..server(&smooth) };
    let (answer, _) = idle.search(SETTINGS, 1);
    assert!(answer.undetermined.is_some(), "{answer:?}");
}

#[test]
fn whole_numbers_are_tried_whole_and_bounded_by_neighbours() {
    let cliff = |load: f64| if load < 4.5 { 0.0 } else { 1.0 };
    let settings = Settings { whole: true, ..SETTINGS };
    let (answer, _) = server(&cliff).search(settings, 1);
    assert_eq!((answer.holds, answer.fails), (Some(4.0), Some(5.0)));
}

#[test]
fn a_stop_rule_fails_a_value_and_a_search_without_time_is_open() {
    let mut search = Search::new(SETTINGS);
    assert_eq!(take(&mut search, &look(0, 10_000)), (StepResult::Pass, Reason::FewMisses));
    assert_eq!(search.next_try(), Some(Try { value: 2.0, step: 2, look: 1, confirms: false }));
    let stopped = Look { stopped: true, ..look(0, 10_000) };
    assert_eq!(take(&mut search, &stopped), (StepResult::Fail, Reason::Stopped));
    search.give_up();
    assert_eq!(search.next_try(), None);
    let answer = search.answer();
    assert_eq!((answer.holds, answer.fails), (Some(1.0), Some(2.0)));
    assert_eq!(answer.undetermined, Some(Undetermined::Time));
}

#[test]
fn an_unclear_value_is_tried_for_longer_before_it_is_left() {
    let mut search = Search::new(SETTINGS);
    for look_number in 1..=5 {
        let tried = Try { value: 1.0, step: 1, look: look_number, confirms: false };
        assert_eq!(search.next_try(), Some(tried));
        assert_eq!(take(&mut search, &look(1, 40)).0, StepResult::Unclear);
    }
    assert_eq!(search.next_try(), Some(Try { value: 2.0, step: 2, look: 1, confirms: false }));
}

#[test]
fn a_value_holds_where_all_objectives_do_and_fails_where_one_does_not() {
    let search = Search::new(SETTINGS);
    let [good, bad, few] = [look(0, 9_000), look(900, 9_000), look(0, 30)].map(|look| look.trials[0]);
    let said = |trials: &[Trial]| {
        let said = search.judge(&Look { trials: trials.to_vec(), ..look(0, 0) });
        (said.result, said.by)
    };
    assert_eq!(said(&[good, good]).0, StepResult::Pass);
    assert_eq!(said(&[good, bad, few]), (StepResult::Fail, Some(1)));
    assert_eq!(said(&[good, few]), (StepResult::Unclear, Some(1)));
}

#[test]
fn runs_that_are_not_valid_say_nothing_and_leave_the_search_open() {
    let mut search = Search::new(Settings { to: 2.0, ..SETTINGS });
    while search.next_try().is_some() {
        let bad = Look { valid: false, ..look(9_000, 9_000) };
        assert_eq!(take(&mut search, &bad), (StepResult::Unclear, Reason::Invalid));
    }
    let answer = search.answer();
    assert_eq!((answer.holds, answer.fails), (None, None));
    assert_eq!(answer.undetermined, Some(Undetermined::Invalid));
}

/// A search of a server that holds up to 10 in short runs; its confirming run says `word`.
fn confirmed(word: impl Fn(f64) -> Look) -> Answer {
    let mut search = Search::new(Settings { confirm: true, precision: 0.2, ..SETTINGS });
    while let Some(tried) = search.next_try() {
        let short = if tried.value <= 10.0 { look(0, 90_000) } else { look(90_000, 90_000) };
        let seen = if tried.confirms { word(tried.value) } else { short };
        take(&mut search, &seen);
    }
    search.answer()
}

#[test]
fn what_holds_is_confirmed_at_length_or_gives_way_to_a_lower_value() {
    let at_once = confirmed(|_| look(0, 90_000));
    assert!((8.0..=10.0).contains(&at_once.holds.unwrap()) && at_once.undetermined.is_none());
    // A leak: at length it holds up to 5 only.
    let leaking = confirmed(|value| if value <= 5.0 { look(0, 90_000) } else { look(90_000, 90_000) });
    let (holds, fails) = (leaking.holds.unwrap(), leaking.fails.unwrap());
    assert!(holds <= 5.0 && fails > 5.0, "{leaking:?}");
    assert!(leaking.undetermined.is_none(), "{leaking:?}");
    let open = confirmed(|_| look(0, 30));
    assert_eq!(open.undetermined, Some(Undetermined::Unconfirmed));
}

#[test]
fn names_in_files_are_read_back() {
    for result in StepResult::ALL {
        assert_eq!(StepResult::named(result.name()), Some(result));
    }
    for reason in Reason::ALL {
        assert_eq!(Reason::named(reason.name()), Some(reason));
    }
}

/// Time in an M/D/1 queue of service time 1 that begins empty, by Lindley's recursion, of so many arrivals after the
/// first fifth.
fn times_in_queue(rate: f64, count: usize, stream: &mut Stream) -> Vec<f64> {
    let mut wait: f64 = 0.0;
    let mut next = || {
        let time = wait + 1.0;
        wait = (time - stream.exponential() / rate).max(0.0);
        time
    };
    (0..count / 5 + count).map(|_| next()).skip(count / 5).collect()
}

/// Searches of the rate at which nine in ten stay at most four service times: 0.694 (Erlang's waiting times in M/D/1).
/// Returns wrong words beyond the precision, searches without an answer, and requests of each.
fn of_queues(settings: Settings, shortest: f64, searches: u64) -> (usize, usize, usize) {
    let capacity = 0.693_95;
    let (mut wrong, mut open, mut requests) = (0, 0, 0);
    for seed in 0..searches {
        let mut stream = Seed(seed).stream("test", "queue");
        let mut search = Search::new(settings);
        while let Some(tried) = search.next_try() {
            let count = shortest * tried.value * f64::from(1 << (tried.look - 1));
            let times = times_in_queue(tried.value, count as usize, &mut stream);
            requests += times.len();
            let missed: Vec<_> = times.iter().map(|time| Some(*time > 4.0)).collect();
            let slow = {
                let mut sorted = times.clone();
                sorted.sort_by(f64::total_cmp);
                sorted[sorted.len() * 9 / 10]
            };
            let proxy: Vec<_> = times.iter().map(|time| *time > slow).collect();
            let trials = vec![Trial::new(&missed, &proxy, 0.1)];
            take(&mut search, &Look { trials, growing: false, stopped: false, valid: true });
        }
        let answer = search.answer();
        let beyond = 1.0 + settings.precision;
        wrong += usize::from(answer.holds.is_some_and(|holds| holds > capacity * beyond));
        wrong += usize::from(answer.fails.is_some_and(|fails| fails < capacity / beyond));
        open += usize::from(answer.undetermined.is_some());
    }
    (wrong, open, requests / searches as usize)
}

#[test]
fn the_capacity_of_a_queue_is_found_though_its_times_are_alike() {
    for (precision, looks) in [(0.3, 4), (0.25, 5)] {
        let settings = Settings { from: 0.2, to: 2.0, precision, confidence: 0.8, looks, ..SETTINGS };
        let (wrong, open, requests) = of_queues(settings, 300.0, 100);
        assert!(wrong <= 5, "{wrong} of 100 searches are wrong, where 20 may be");
        assert!(open <= 10 && requests < 25_000, "{open} of 100 are open, {requests} requests each");
    }
}

proptest! {
    /// Whatever runs say, a search ends, tries nothing outside its bounds, and what holds lies under what fails.
    #[test]
    fn every_search_ends_within_its_bounds(
        words in prop::collection::vec((0..3_usize, 0..6_usize), 1..40),
        from in 0.01..100.0_f64, factor in 1.1..1e4_f64, precision in 0.005..1.0_f64,
        whole: bool, confirm: bool, looks in 1..5_u32,
    ) {
        let from = if whole { from.ceil() } else { from };
        let to = if whole { (from * factor).ceil() } else { from * factor };
        let mut search = Search::new(Settings { from, to, whole, precision, confidence: 0.9, looks, confirm });
        let mut words = words.iter().cycle();
        let mut tries = 0;
        while let Some(tried) = search.next_try() {
            prop_assert!(tried.value >= from && tried.value <= to, "{tried:?}");
            prop_assert!(!whole || tried.value.fract() == 0.0);
            prop_assert!(tried.look <= looks);
            let (result, reason) = words.next().unwrap();
            search.take(StepResult::ALL[*result], Reason::ALL[*reason]);
            tries += 1;
            prop_assert!(tries < 1_000, "it does not end");
        }
        let answer = search.answer();
        if let (Some(holds), Some(fails)) = (answer.holds, answer.fails) {
            prop_assert!(holds < fails);
            let close = fails / holds <= libm::pow(1.0 + precision, 3.0) * 1.000_001;
            prop_assert!(answer.undetermined.is_some() || close || (whole && fails - holds <= 3.0), "{answer:?}");
        }
    }
}
