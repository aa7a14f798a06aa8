//! The engine against queueing theory, where theory has closed forms, and against the arithmetic of its own profiles.

use std::time::Duration;

use tonnage::seed::Seed;
use tonnage::sim::{BlockHash, CostModel, Engine, FixedCost, Parameters, Profile, Request};
use tonnage::units::Nanos;

/// One server, first come, first served; a prompt token takes 1 µs.
fn queue(step_overhead: Duration) -> Engine {
    let cost = FixedCost { step_overhead, sequence_cost: Duration::ZERO, prefill_tokens_per_s: Some(1e6) };
    let parameters = Parameters {
        cost: CostModel::Fixed(cost),
        max_num_seqs: 1,
        max_batched_tokens: 1 << 20,
        max_model_len: 1 << 20,
        block_tokens: 1 << 20,
        ..Parameters::default()
    };
    Engine::new(Profile::new("queue", parameters).expect("a possible queue"))
}

fn one_token(prompt_tokens: u64) -> Request {
    Request { prompt_tokens, max_tokens: Some(1), stop_after: None, blocks: Vec::new() }
}

/// What a run of the queue showed: the waits in seconds, and the integral of the number in it.
struct Observed {
    waits_s: Vec<f64>,
    sojourns_ns: u128,
    population_ns: u128,
}

impl Observed {
    /// Holds the mean wait to `expected` within four of its standard errors, which come from the means of 100
    /// batches: waits that follow one another are alike. The error must be small enough to mean something.
    fn assert_mean_wait(&self, expected: f64, case: &str) {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let batches = self.waits_s.chunks(self.waits_s.len() / 100).map(mean).collect::<Vec<_>>();
        let centre = mean(&batches);
        let variance = mean(&batches.iter().map(|batch| (batch - centre).powi(2)).collect::<Vec<_>>());
        let error = (variance / batches.len() as f64).sqrt();
        assert!(error < 0.04 * expected, "{case}: an error of {error} tells nothing about {expected}");
        let off = (centre - expected).abs();
        assert!(off < 4.0 * error, "{case}: {centre} s, expected {expected} s, standard error {error} s");
    }
}

/// Poisson arrivals at `rate` with these service times in prompt tokens.
fn observe(
    mut engine: Engine,
    rate: f64,
    requests: usize,
    mut service: impl FnMut() -> u64,
    service_ns: impl Fn(u64) -> u64,
) -> Observed {
    let mut gaps = Seed(7).stream("arrivals", "theory");
    let mut observed = Observed { waits_s: Vec::new(), sojourns_ns: 0, population_ns: 0 };
    let (mut at, mut last, mut population) = (0.0, 0u64, 0u128);
    let mut arrivals = Vec::new();
    let mut note = |engine: &mut Engine, until: u64, arrivals: &[(u64, u64)]| {
        while let Some(end) = engine.next().filter(|end| end.0 <= until) {
            population += u128::from(end.0 - last) * (engine.running() + engine.waiting()) as u128;
            last = end.0;
            for emission in engine.step(end).expect("a step that has ended").emissions {
                let (arrived, tokens) = arrivals[emission.id.0 as usize];
                let sojourn = end.0 - arrived;
                observed.sojourns_ns += u128::from(sojourn);
                observed.waits_s.push((sojourn - service_ns(tokens)) as f64 / 1e9);
            }
        }
        if until < u64::MAX {
            population += u128::from(until - last) * (engine.running() + engine.waiting()) as u128;
            last = until;
        }
    };
    for _ in 0..requests {
        at += gaps.exponential() / rate;
        let now = (at * 1e9) as u64;
        let tokens = service();
        note(&mut engine, now, &arrivals);
        arrivals.push((now, tokens));
        engine.submit(Nanos(now), one_token(tokens)).expect("it fits");
    }
    note(&mut engine, u64::MAX, &arrivals);
    observed.population_ns = population;
    observed
}

#[test]
fn waits_of_an_m_d_1_queue_are_those_of_pollaczek_and_khinchine() {
    for load in [0.3, 0.6, 0.8] {
        // Service 10 ms: 1 ms of overhead and 9,000 tokens.
        let seen = observe(queue(Duration::from_millis(1)), load / 0.010, 200_000, || 9_000, |_| 10_000_000);
        let expected = load * 0.010 / (2.0 * (1.0 - load));
        seen.assert_mean_wait(expected, &format!("load {load}"));
    }
}

#[test]
fn waits_of_an_m_m_1_queue_are_load_over_slack() {
    for load in [0.3, 0.6, 0.8] {
        let mut draws = Seed(5).stream("service", "theory");
        // Exponential with mean 10 ms, in whole microseconds, at least one.
        let service = || (draws.exponential() * 10_000.0).round().max(1.0) as u64;
        let seen = observe(queue(Duration::ZERO), load / 0.010, 200_000, service, |tokens| tokens * 1_000);
        let expected = load * 0.010 / (1.0 - load);
        seen.assert_mean_wait(expected, &format!("load {load}"));
    }
}

#[test]
fn littles_law_holds_to_the_nanosecond() {
    let mut draws = Seed(5).stream("service", "little");
    let service = || 1 + draws.below(20_000);
    let seen = observe(queue(Duration::from_micros(7)), 90.0, 20_000, service, |_| 0);
    assert_eq!(
        seen.population_ns, seen.sojourns_ns,
        "the number in the queue over time is the sum of all stays"
    );
}

/// Time to the first token of a prompt of `tokens` on an idle server, the first `cached` of them known.
fn first_token(name: &str, tokens: u64, cached: u64) -> f64 {
    let mut engine = Engine::new(Profile::named(name).expect("built in"));
    let blocks = |tokens: u64| (0..tokens / 16).map(BlockHash).collect::<Vec<_>>();
    let mut now = 0;
    for (length, known) in [(cached + 1, cached), (tokens, tokens)] {
        let request = Request { blocks: blocks(known), ..one_token(length) };
        engine.submit(Nanos(now), request).expect("it fits");
        let mut end = now;
        while let Some(at) = engine.next() {
            end = engine.step(at).expect("it has computed").ends.0;
        }
        if length == tokens {
            return (end - now) as f64 / 1e9;
        }
        now = end;
    }
    unreachable!("the second request returns")
}

#[test]
fn the_first_token_takes_as_long_as_the_uncached_tokens_say() {
    for name in Profile::NAMES {
        let ladder = [1024, 2048, 4096, 8192, 16_384].map(|tokens| first_token(name, tokens, 0));
        for pair in ladder.windows(2) {
            let growth = pair[1] / pair[0];
            assert!((1.8..2.3).contains(&growth), "{name}: {ladder:?}");
        }
        // A prompt of which all but 1,024 tokens are known costs little more than one of 1,024.
        let (warm, short, cold) = (first_token(name, 16_384, 15_360), first_token(name, 1024, 0), ladder[4]);
        assert!(warm > short && warm < 1.6 * short && warm < cold / 5.0, "{name}: {warm}, {short}, {cold}");
    }
}

#[test]
fn time_to_first_token_is_the_quadratic_in_uncached_tokens_that_the_roofline_states() {
    // Bound by arithmetic throughout: TTFT = a · chunks + b · u + c · u · (2k + u).
    let time = |tokens, cached| first_token("8b-h100", tokens, cached);
    let Parameters { cost: CostModel::Roofline(cost), .. } =
        Profile::named("8b-h100").unwrap().parameters().clone()
    else {
        panic!("a roofline")
    };
    let flops = cost.machine.flops * cost.machine.flops_share;
    let heads = (cost.model.layers * cost.model.attention_heads * cost.model.head_size) as f64;
    for (tokens, cached) in [(2048u64, 0u64), (4096, 2048), (8192, 0), (24_576, 8192), (24_576, 16_384)] {
        let (u, k) = ((tokens - cached) as f64, cached as f64);
        let chunks = (tokens - cached).div_ceil(8192) as f64;
        let steps = chunks * (cost.step_overhead + cost.sequence_cost).as_secs_f64();
        let expected =
            steps + 2.0 * cost.model.parameters * u / flops + 2.0 * heads * u * (2.0 * k + u) / flops;
        let seen = time(tokens, cached);
        assert!((seen - expected).abs() < 1e-7, "{tokens}, {cached} cached: {seen} against {expected}");
    }
}
